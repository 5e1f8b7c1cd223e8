"""What cameras of all network protocols share: a thread receives images, the reader gets the newest, silence is an error."""

import threading
import time
from collections import deque
from itertools import pairwise
from statistics import median
from typing import Generic, TypeVar

from capture.packets import Frame
from capture.sources.network.sender_clock import SenderClock
from capture.sources.source import Facts, Stamp
from config.errors import SourceError

T = TypeVar("T")
MAX_WAITING = 3  # two may arrive at once over a network; at three, the reader is too slow
PAUSE_S = 5.0  # without a read for so long, the drops meanwhile do not count
SILENCE_S = 2.5  # a stream that sends nothing for so long has ended
RATE_FRAMES, RATE_S = 16, 1.0  # so many frames, or so long, are measured for the frame rate
COMMON_FPS = (5.0, 10.0, 15.0, 20.0, 24.0, 25.0, 30.0, 50.0, 60.0, 90.0, 120.0)
CLOSE = 0.07  # relative difference within which a rate is a common one
UNKNOWN_FPS, MIN_FPS, MAX_FPS = 30.0, 1.0, 240.0


class NewestQueue(Generic[T]):
    """A short queue between two threads: the reader gets the oldest item, or only the newest when it has fallen behind.

    dropped: number of items the reader missed, besides those during a pause.
    """

    def __init__(self) -> None:
        self._items: deque[T] = deque()
        self._changed = threading.Condition()
        self._error: Exception | None = None
        self.closed = False
        self.dropped = self._dropped_before = 0
        self._t_taken_s = time.monotonic()

    def put(self, item: T) -> None:
        """Add an item; the oldest is dropped where too many wait."""
        with self._changed:
            if len(self._items) == MAX_WAITING:
                self._items.popleft()
                self.dropped += 1
            self._items.append(item)
            self._changed.notify()

    def fail(self, error: Exception) -> None:
        """End the queue; `take` raises the error once everything is taken."""
        with self._changed:
            self._error = self._error or error
            self._changed.notify_all()

    def close(self) -> None:
        """End the waiting; `take` returns None from now on."""
        with self._changed:
            self.closed = True
            self._items.clear()
            self._changed.notify_all()

    def take(self, timeout_s: float) -> T | None:
        """Return the next item, waiting for it; None when closed. Raises TimeoutError, or the error given to `fail`."""
        until_s = time.monotonic() + timeout_s
        with self._changed:
            if until_s - timeout_s - self._t_taken_s > PAUSE_S:
                self.dropped = self._dropped_before
            while not self._items and not self.closed:
                if self._error is not None:
                    raise self._error
                left_s = until_s - time.monotonic()
                if left_s <= 0.0:
                    raise TimeoutError
                self._changed.wait(left_s)
            if len(self._items) == MAX_WAITING:
                self.dropped += MAX_WAITING - 1
                self._items = deque([self._items[-1]])
            self._t_taken_s, self._dropped_before = time.monotonic(), self.dropped
            return self._items.popleft() if self._items else None


def estimate_frame_rate(times_ns: list[int]) -> float:
    """Return the rate of frames in a row by their times [ns], a common one where it is close; 30 where they are too few."""
    if len(times_ns) < 3 or times_ns[-1] <= times_ns[0]:
        return UNKNOWN_FPS
    mean = (len(times_ns) - 1) * 1e9 / (times_ns[-1] - times_ns[0])
    middle = median(later - earlier for earlier, later in pairwise(times_ns))
    # Where frames came in bursts the median means nothing; where some were lost the mean is too low.
    rate = 1e9 / middle if middle > 0.0 and 1e9 / middle < 1.6 * mean else mean
    near = min(COMMON_FPS, key=lambda common: abs(common - rate))
    return near if abs(near - rate) < CLOSE * near else min(max(rate, MIN_FPS), MAX_FPS)


class NetworkCamera(Generic[T]):
    """A `Source` whose images are received by a thread as T. A protocol starts the thread and converts T to frames.

    shown: the address without its secrets; viewer: another program to look with. facts: `address`, and the counts `received`,
    `overtaken` by newer images before they were read, `corrupt`, `stamp_jumps` of the sender's clock.
    """

    n_frames: int | None = None
    truncated = False

    def __init__(self, shown: str, camera: int, viewer: str) -> None:
        self.name, self._camera, self.stamp, self._viewer = shown, camera, Stamp.READ, viewer
        self.facts: Facts = {"address": shown, **dict.fromkeys(("received", "overtaken", "corrupt", "stamp_jumps"), 0)}
        self._images: NewestQueue[T] = NewestQueue()
        self._times_ns: deque[int] = deque(maxlen=RATE_FRAMES)
        self._clock = SenderClock()
        self._t_last_ns = self._n_received = 0
        self._n_cut = self._n_undecoded = 0  # damaged images: counted by the thread that receives, and by the reader

    def read(self) -> Frame | None:
        """Return the next frame; None when closed. Raises SourceError: none for some seconds, or one of another size."""
        frame = self._next(SILENCE_S)
        if frame is not None and (frame.image.shape[1], frame.image.shape[0]) != self.size:
            raise SourceError(
                f"{self.name}: the pictures are {frame.image.shape[1]}x{frame.image.shape[0]} now, were {self.size[0]}x"
                f"{self.size[1]}; was the phone turned, or its settings changed? set it back, or calibrate anew"
            )
        return frame

    def close(self) -> None:
        """End the waiting of `read`."""
        self._images.close()

    def _frame(self, received: T) -> Frame | None:
        """Return the frame of a received image, None if it cannot be decoded."""
        raise NotImplementedError

    def _begin(self, fps: float | None, timeout_s: float) -> None:
        """Wait for the first frame; learn size and rate from what comes. Raises SourceError."""
        try:
            first = self._next(timeout_s)
            if first is None:
                raise SourceError(f"{self.name}: closed while it was opened")
            self.size = (first.image.shape[1], first.image.shape[0])
            self.fps = fps or self._measure_fps()
        except BaseException:
            self.close()
            raise

    def _next(self, timeout_s: float) -> Frame | None:
        """Return the next frame that can be decoded; None when closed. Raises SourceError."""
        until_s, n_undecoded = time.monotonic() + timeout_s, self._n_undecoded
        while True:
            try:
                received = self._images.take(until_s - time.monotonic())
            except TimeoutError:
                break
            self.facts["overtaken"] = self._images.dropped
            frame = None if received is None else self._frame(received)
            if received is None or frame is not None:
                return frame
            self._n_undecoded += 1
            self._update_corrupt()
            if time.monotonic() > until_s:  # there may be more and more of these
                break
        if self._n_undecoded > n_undecoded:
            raise SourceError(f"{self.name}: pictures come, but none for {timeout_s:g} s that can be decoded")
        raise SourceError(f"{self.name}: {self._describe_silence(timeout_s)}")

    def _count_received(self) -> int:
        """Count an image; return its number."""
        self._n_received += 1
        self.facts["received"] = self._n_received
        return self._n_received - 1

    def _update_corrupt(self) -> None:
        """Update the fact `corrupt`."""
        self.facts["corrupt"] = self._n_cut + self._n_undecoded

    def _timestamp(self, sender_ns: int | None, t_arrival_ns: int) -> int:
        """Return an image's time on our clock: by the sender's timestamp while it is plausible, else its arrival."""
        t_ns, self.stamp = t_arrival_ns, Stamp.READ
        if sender_ns is not None:
            mapped_ns = self._clock.ours_ns(sender_ns, t_arrival_ns)
            self.facts["stamp_jumps"] = self._clock.jumps
            if self._clock.trusted:
                t_ns, self.stamp = mapped_ns, Stamp.SENDER
        self._t_last_ns = max(t_ns, self._t_last_ns + 1)
        return self._t_last_ns

    def _describe_silence(self, waited_s: float) -> str:
        """Return what did not come, for the user."""
        if self._n_received:
            return f"no picture for {waited_s:g} s; is the camera still on, and the network good enough?"
        return f"connected, but no picture within {waited_s:g} s; does it show in {self._viewer}?"

    def _measure_fps(self) -> float:
        """Return the frame rate of what comes."""
        until_s = time.monotonic() + RATE_S
        while len(self._times_ns) < RATE_FRAMES and time.monotonic() < until_s and not self._images.closed:
            time.sleep(0.02)
        return estimate_frame_rate(list(self._times_ns))
