"""What cameras of every network protocol share: a thread receives pictures, the reader gets the newest, silence is an error."""

import time
from collections import deque
from typing import Generic, TypeVar

from capture.frame_rate import frame_rate
from capture.newest import Newest
from capture.packets import Frame
from capture.sources import Facts, Stamp
from config.errors import SourceError

T = TypeVar("T")
SILENCE_S = 2.5  # a stream that gives nothing for so long has ended
RATE_PICTURES, RATE_S = 16, 1.0  # as many, or as long, are listened to for the frame rate


class NetworkCamera(Generic[T]):
    """A `Source` whose pictures a thread of its own receives as T; a protocol says how T becomes a frame, and begins the thread.

    shown: the address without its secrets; viewer: what a user may look with. facts: `address`, and the counts `received`,
    `overtaken` by newer ones before they were read, `corrupt`, `stamp_jumps` of the sender's clock.
    """

    n_frames: int | None = None
    truncated = False

    def __init__(self, shown: str, camera: int, stamp: Stamp, viewer: str) -> None:
        self.name, self._camera, self.stamp, self._viewer = shown, camera, stamp, viewer
        self.facts: Facts = {"address": shown, **dict.fromkeys(("received", "overtaken", "corrupt", "stamp_jumps"), 0)}
        self._pictures: Newest[T] = Newest()
        self._times_ns: deque[int] = deque(maxlen=RATE_PICTURES)
        self._t_last_ns = self._n_received = 0
        self._n_cut = self._n_undecoded = 0  # damaged pictures: counted by the thread that receives, and by the reader

    def read(self) -> Frame | None:
        """Give the next picture; None when closed. Raises SourceError: none came for some seconds, or one of another size."""
        frame = self._next(SILENCE_S)
        if frame is not None and (frame.image.shape[1], frame.image.shape[0]) != self.size:
            raise SourceError(
                f"{self.name}: the pictures are {frame.image.shape[1]}x{frame.image.shape[0]} now, were {self.size[0]}x"
                f"{self.size[1]}; was the phone turned, or its settings changed? set it back, or calibrate anew"
            )
        return frame

    def close(self) -> None:
        """End the waiting of `read`."""
        self._pictures.close()

    def _frame(self, taken: T) -> Frame | None:
        """Give the frame of a picture, None for one that cannot be decoded."""
        raise NotImplementedError

    def _begin(self, fps: float | None, timeout_s: float) -> None:
        """Wait for the first picture and learn size and rate from what comes. Raises SourceError."""
        try:
            first = self._next(timeout_s)
            if first is None:
                raise SourceError(f"{self.name}: closed while it was opened")
            self.size = (first.image.shape[1], first.image.shape[0])
            self.fps = fps or self._measured_fps()
        except BaseException:
            self.close()
            raise

    def _next(self, timeout_s: float) -> Frame | None:
        """Give the next picture that can be decoded; None when closed. Raises SourceError."""
        until_s, n_undecoded = time.monotonic() + timeout_s, self._n_undecoded
        while True:
            try:
                taken = self._pictures.take(until_s - time.monotonic())
            except TimeoutError:
                break
            self.facts["overtaken"] = self._pictures.dropped
            frame = None if taken is None else self._frame(taken)
            if taken is None or frame is not None:
                return frame
            self._n_undecoded += 1
            self._tell_corrupt()
            if time.monotonic() > until_s:  # there may be more and more of these
                break
        decoded = self._n_undecoded == n_undecoded
        words = (
            self._what_is_missing(timeout_s) if decoded else f"pictures come, but none for {timeout_s:g} s that can be decoded"
        )
        raise SourceError(f"{self.name}: {words}")

    def _tell_corrupt(self) -> None:
        """Bring the fact up to date."""
        self.facts["corrupt"] = self._n_cut + self._n_undecoded

    def _what_is_missing(self, waited_s: float) -> str:
        """Say what did not come."""
        if self._n_received:
            return f"no picture for {waited_s:g} s; is the camera still on, and the network good enough?"
        return f"connected, but no picture within {waited_s:g} s; does it show in {self._viewer}?"

    def _measured_fps(self) -> float:
        """Listen for the frame rate."""
        until_s = time.monotonic() + RATE_S
        while len(self._times_ns) < RATE_PICTURES and time.monotonic() < until_s and not self._pictures.closed:
            time.sleep(0.02)
        return frame_rate(list(self._times_ns))
