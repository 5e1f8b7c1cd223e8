"""A source that lasts: a camera that is gone is closed and opened anew, again and again, until it is back.

It is used like any other source. Its thread may be kept for long by a driver; its `Tether` tells others since when.
"""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import cv2

from capture.clock import now_ns
from capture.news import News
from capture.packets import Frame
from capture.sources import Source
from config.errors import SourceError

log = logging.getLogger(__name__)

GONE = (SourceError, OSError, cv2.error)
FIRST_PAUSE_S, MAX_PAUSE_S, GROWTH = 0.2, 3.0, 1.3
SETTLED_NS = 5_000_000_000  # pictures for so long: the next loss begins with a short pause again


@dataclass(slots=True)
class Tether:
    """What other threads hold of one that reads: how to end its waiting, what it tells, and since when a driver keeps it.

    busy_since_ns: 0 while no driver has the thread; opening: whether that one is opening a camera.
    """

    stop: threading.Event = field(default_factory=threading.Event)
    news: News = field(default_factory=News)
    busy_since_ns: int = 0
    opening: bool = False


class LastingSource:
    """Frames of one camera, through its absences. name: of the camera, for the words told; patience_s: for the first opening.

    Frames are numbered on through absences. Raises SourceError if the camera is not there at first and does not come within
    patience_s.
    """

    n_frames: int | None = None
    truncated = False

    def __init__(
        self,
        opener: Callable[[], Source],
        name: str,
        tether: Tether,
        patience_s: float = 0.0,
        clock: Callable[[], int] = now_ns,
    ) -> None:
        self._opener, self._called, self._tether, self._clock = opener, name, tether, clock
        self._news, self._stop = tether.news, tether.stop
        self._pause_s = FIRST_PAUSE_S
        self._anew = threading.Event()
        self._adjusted: dict[str, int | float | str] = {}
        self._closed = False
        self._n_read = self._base = 0
        self._t_back_ns = 0
        self.n_lost = 0
        self.lost = False
        self._source = self._first_opened(patience_s)
        self.name, self.size, self.fps = self._source.name, self._source.size, self._source.fps
        self.stamp, self.facts = self._source.stamp, self._source.facts

    def read(self) -> Frame | None:
        """Give the next frame, however long that takes; None where it was stopped or closed."""
        while not self._stop.is_set() and not self._closed:
            words = ""
            try:
                frame = self._read(self._source)
                if not self._anew.is_set():
                    return None if frame is None else self._numbered(frame)
            except GONE as error:
                words = " ".join(str(error).split())
            if self._stop.is_set() or self._closed:
                break
            frame = self._found_again(words)
            if frame is not None:
                return self._numbered(frame)
        return None

    def open_anew(self) -> None:
        """Have the camera closed and opened again, as after a sleep of the machine; from any thread."""
        self._anew.set()

    def release(self) -> None:
        """Close what is open now, so that a driver that waits comes back; it is opened anew then. May be slow in itself."""
        self._anew.set()
        self._source.close()

    def adjust(self, settings: dict[str, int | float | str]) -> list[str]:
        """Pass settings on to the camera, now and whenever it is opened anew; gives what it did otherwise, in words.

        Raises SourceError: it cannot be adjusted.
        """
        adjust = getattr(self._source, "adjust", None)
        if adjust is None:
            raise SourceError(f"{self.name} has no settings that can be changed while it runs")
        self._adjusted |= settings
        return list(adjust(settings) or [])

    def close(self) -> None:
        """Close the camera for good."""
        self._closed = True
        self._source.close()

    def _read(self, source: Source) -> Frame | None:
        """Read, noting that the driver has the thread."""
        self._tether.busy_since_ns = self._clock()
        try:
            return source.read()
        finally:
            self._tether.busy_since_ns = 0

    def _open(self) -> Source:
        """Open, noting that the driver has the thread."""
        self._tether.busy_since_ns, self._tether.opening = self._clock(), True
        try:
            return self._opener()
        finally:
            self._tether.busy_since_ns, self._tether.opening = 0, False

    def _first_opened(self, patience_s: float) -> Source:
        """Open for the first time, with as much patience as there is."""
        t_begin_ns = self._clock()
        while True:
            try:
                return self._open()
            except GONE as error:
                if self._stop.is_set() or (self._clock() - t_begin_ns) * 1e-9 >= patience_s:
                    raise
                if not self.lost:
                    self._news.say("absent", f"{self._called} camera: {error}; waiting for it", self._clock())
                self.lost = True
                self._wait()

    def _found_again(self, words: str) -> Frame | None:
        """Close and open until a picture comes; None where it was stopped meanwhile."""
        t_lost_ns, asked_for = self._clock(), self._anew.is_set()
        self.lost, self.n_lost = True, self.n_lost + 1
        if t_lost_ns - self._t_back_ns > SETTLED_NS:
            self._pause_s = FIRST_PAUSE_S
        told = not asked_for and self._news.say("lost", f"{self._called} camera: {words}; looking for it", t_lost_ns)
        while not self._stop.is_set() and not self._closed:
            self._quietly_close()
            if self._wait():
                break
            frame = self._tried()
            if frame is not None:
                self._t_back_ns, self.lost = self._clock(), False
                if told:
                    took_s = (self._t_back_ns - t_lost_ns) * 1e-9
                    self._news.say("back", f"{self._called} camera: back after {took_s:.1f} s", self._t_back_ns)
                return frame
        return None

    def _tried(self) -> Frame | None:
        """Open once more and read a picture of the size there was; None where there is none."""
        try:
            self._anew.clear()
            self._source = self._open()
            if self._source.size != self.size:
                (width, height), (before_w, before_h) = self._source.size, self.size
                raise SourceError(
                    f"the pictures are {width}x{height} now, {before_w}x{before_h} before; set the camera back to that size"
                )
            self._base = self._n_read
            if self._adjusted:
                self.adjust(self._adjusted)
            return self._read(self._source)
        except GONE as error:
            log.debug("%s camera: not yet: %s", self._called, error)
            if "before; set" in str(error):
                self._news.say("size", f"{self._called} camera: {error}", self._clock())
            return None

    def _wait(self) -> bool:
        """Pause, longer every time; True where it was stopped."""
        pause_s, self._pause_s = self._pause_s, min(GROWTH * self._pause_s, MAX_PAUSE_S)
        return self._stop.wait(pause_s)

    def _quietly_close(self) -> None:
        """Close a camera that may already be broken."""
        try:
            self._source.close()
        except GONE as error:
            log.debug("%s camera: closing it: %s", self._called, error)

    def _numbered(self, frame: Frame) -> Frame:
        """Give a frame its number since the first opening."""
        self.stamp, self.facts = self._source.stamp, self._source.facts
        index = self._base + frame.index
        self._n_read = index + 1
        return frame if index == frame.index else replace(frame, index=index)
