"""A camera that is closed and opened again when it is lost, until it is back; used like any other source.

A driver may keep the reading thread for long; the `ReaderHandle` tells other threads since when.
"""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import cv2

from capture.clock import now_ns
from capture.notices import NoticeLog
from capture.packets import Frame
from capture.sources.source import Source
from config.errors import SourceError

log = logging.getLogger(__name__)

LOST = (SourceError, OSError, cv2.error)
FIRST_PAUSE_S, MAX_PAUSE_S, GROWTH = 0.2, 3.0, 1.3
SETTLED_NS = 5_000_000_000  # images for so long: the next loss begins with a short pause again


@dataclass(slots=True)
class ReaderHandle:
    """How other threads reach a reading thread.

    stop: ends its waiting; busy_since_ns: since when it has been inside the driver, 0 while it is not; opening: whether it is
    opening a camera there.
    """

    stop: threading.Event = field(default_factory=threading.Event)
    notices: NoticeLog = field(default_factory=NoticeLog)
    busy_since_ns: int = 0
    opening: bool = False


class SizeChangedError(SourceError):
    """A camera that was opened again gives images of another size."""


class ReopeningSource:
    """Frames of one camera, also after it was lost; their numbers go on. name: of the camera, for notices.

    Raises SourceError if the camera is not there at first and does not come within patience_s.
    """

    n_frames: int | None = None
    truncated = False

    def __init__(
        self,
        opener: Callable[[], Source],
        name: str,
        handle: ReaderHandle,
        patience_s: float = 0.0,
        clock: Callable[[], int] = now_ns,
    ) -> None:
        self._opener, self._label, self._handle, self._clock = opener, name, handle, clock
        self._notices, self._stop = handle.notices, handle.stop
        self._pause_s = FIRST_PAUSE_S
        self._reopen = threading.Event()
        self._adjusted: dict[str, int | float | str] = {}  # settings to repeat after opening
        self._closed = False
        self._n_read = self._base = 0
        self._t_back_ns = 0
        self.n_lost = 0
        self.lost = False
        self._source = self._first_opened(patience_s)
        self.name, self.size, self.fps = self._source.name, self._source.size, self._source.fps
        self.stamp, self.facts = self._source.stamp, self._source.facts

    def read(self) -> Frame | None:
        """Return the next frame, however long that takes; None once stopped or closed."""
        while not self._stop.is_set() and not self._closed:
            reason = ""
            try:
                frame = self._read(self._source)
                if not self._reopen.is_set():
                    return None if frame is None else self._numbered(frame)
            except LOST as error:
                reason = " ".join(str(error).split())
            if self._stop.is_set() or self._closed:
                break
            frame = self._find_again(reason)
            if frame is not None:
                return self._numbered(frame)
        return None

    def reopen(self) -> None:
        """Have the camera closed and opened again, as after a suspend; from any thread."""
        self._reopen.set()

    def release(self) -> None:
        """Close the camera so that a waiting driver returns, and have it opened again. May be slow itself."""
        self._reopen.set()
        self._source.close()

    def adjust(self, settings: dict[str, int | float | str]) -> list[str]:
        """Change settings of the camera, now and whenever it is opened again; return what it did otherwise, for the user.

        Raises SourceError: it has no settings.
        """
        adjust = getattr(self._source, "adjust", None)
        if adjust is None:
            raise SourceError(f"{self.name} has no settings that can be changed while it runs")
        self._adjusted |= settings
        return list(adjust(settings) or [])

    def close(self) -> None:
        """Close the camera; it is not opened again."""
        self._closed = True
        self._source.close()

    def _read(self, source: Source) -> Frame | None:
        """Read, marking the handle as busy."""
        self._handle.busy_since_ns = self._clock()
        try:
            return source.read()
        finally:
            self._handle.busy_since_ns = 0

    def _open(self) -> Source:
        """Open, marking the handle as busy."""
        self._handle.busy_since_ns, self._handle.opening = self._clock(), True
        try:
            return self._opener()
        finally:
            self._handle.busy_since_ns, self._handle.opening = 0, False

    def _first_opened(self, patience_s: float) -> Source:
        """Open for the first time, waiting for the camera for patience_s at most."""
        t_begin_ns = self._clock()
        while True:
            try:
                return self._open()
            except LOST as error:
                if self._stop.is_set() or (self._clock() - t_begin_ns) * 1e-9 >= patience_s:
                    raise
                if not self.lost:
                    self._notices.add("absent", f"{self._label} camera: {error}; waiting for it", self._clock())
                self.lost = True
                self._wait()

    def _find_again(self, reason: str) -> Frame | None:
        """Close and open until a frame comes; None once stopped."""
        t_lost_ns, requested = self._clock(), self._reopen.is_set()
        self.lost, self.n_lost = True, self.n_lost + 1
        if t_lost_ns - self._t_back_ns > SETTLED_NS:
            self._pause_s = FIRST_PAUSE_S
        told = not requested and self._notices.add("lost", f"{self._label} camera: {reason}; looking for it", t_lost_ns)
        while not self._stop.is_set() and not self._closed:
            self._quietly_close()
            if self._wait():
                break
            frame = self._try_once()
            if frame is not None:
                self._t_back_ns, self.lost = self._clock(), False
                if told:
                    took_s = (self._t_back_ns - t_lost_ns) * 1e-9
                    self._notices.add("back", f"{self._label} camera: back after {took_s:.1f} s", self._t_back_ns)
                return frame
        return None

    def _try_once(self) -> Frame | None:
        """Open the camera and return a frame of the former size, None if that fails."""
        try:
            self._reopen.clear()
            self._source = self._open()
            if self._source.size != self.size:
                (width, height), (before_w, before_h) = self._source.size, self.size
                raise SizeChangedError(
                    f"the pictures are {width}x{height} now, {before_w}x{before_h} before; set the camera back to that size"
                )
            self._base = self._n_read
            if self._adjusted:
                self.adjust(self._adjusted)
            return self._read(self._source)
        except LOST as error:
            log.debug("%s camera: not yet: %s", self._label, error)
            if isinstance(error, SizeChangedError):
                self._notices.add("size", f"{self._label} camera: {error}", self._clock())
            return None

    def _wait(self) -> bool:
        """Pause, longer every time; return whether it was stopped."""
        pause_s, self._pause_s = self._pause_s, min(GROWTH * self._pause_s, MAX_PAUSE_S)
        return self._stop.wait(pause_s)

    def _quietly_close(self) -> None:
        """Close a camera that may already be broken."""
        try:
            self._source.close()
        except LOST as error:
            log.debug("%s camera: closing it: %s", self._label, error)

    def _numbered(self, frame: Frame) -> Frame:
        """Return a frame with its number since the first opening."""
        self.stamp, self.facts = self._source.stamp, self._source.facts
        index = self._base + frame.index
        self._n_read = index + 1
        return frame if index == frame.index else replace(frame, index=index)
