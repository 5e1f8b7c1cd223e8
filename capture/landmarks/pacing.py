"""Landmarks as often as the machine holds: in every picture, or in every second, third or fourth one."""

from collections import deque
from collections.abc import Callable
from statistics import median
from typing import Protocol

from capture.clock import now_ns
from capture.packets import Frame, Landmarks

OFF = "off"  # the model's name where none is wanted
MAX_EVERY = 4
# Parts of the time from one sought picture to the next that finding takes on average: above the first fewer are sought, below the
# second more. The rest is for reading, markers and sending; the second is the first at twice the rate, with some room between.
BUSY, IDLE = 0.7, 0.3
MEMORY = 0.05  # weight of a new picture in the averages: some 20 pictures
SETTLE = 20  # pictures between two changes


class UnpacedFinder(Protocol):
    """Finds the landmarks of the body in pictures that come in order."""

    def step(self, frame: Frame) -> Landmarks | None:
        """Return them, None where nobody is found."""


class MomentCount:
    """Numbers pictures by when they were taken, so that cameras of one rate number those of one moment alike.

    Pictures that a camera dropped are counted, too. A number follows the one before by the whole periods between, so that jitter
    changes nothing, as long as it stays within three quarters of a period of what the clock alone says.
    """

    def __init__(self) -> None:
        self._steps_ns: deque[int] = deque(maxlen=3 * SETTLE)
        self._last_ns, self._number = 0, 0

    def count(self, t_ns: int) -> int:
        """Return the number of a picture."""
        if self._last_ns and t_ns > self._last_ns:
            self._steps_ns.append(t_ns - self._last_ns)
        step_ns, self._last_ns = t_ns - self._last_ns, t_ns
        if not self._steps_ns:
            return self._number
        usual_ns = median(self._steps_ns)
        n_periods = sum(max(1, round(each / usual_ns)) for each in self._steps_ns)
        # Rates are whole: cameras would drift apart by less.
        period_ns = 1e9 / max(1, round(1e9 * n_periods / sum(self._steps_ns)))
        self._number += round(step_ns / period_ns)
        if abs(t_ns / period_ns - self._number - 0.5) > 0.75:
            self._number = int(t_ns // period_ns)
        return self._number


class PacedLandmarks:
    """A finder that is asked for some of the pictures only where it takes too long for all; cameras take turns."""

    def __init__(self, finder: UnpacedFinder, max_every: int = MAX_EVERY, clock: Callable[[], int] = now_ns) -> None:
        self._finder, self._max_every, self._clock = finder, max_every, clock
        self.every = 1
        self._n, self._changed = 0, 0
        self._moments = MomentCount()
        self._period_ns = self._busy_ns = 0.0
        self._last_ns: int | None = None
        self._n_sought = self._n_found = 0

    def step(self, frame: Frame) -> Landmarks | None:
        """Return the landmarks of a frame, None where nobody is found or it is not this frame's turn."""
        if self._last_ns is not None:
            self._period_ns = _average(self._period_ns, max(frame.t_capture_ns - self._last_ns, 0))
        self._last_ns = frame.t_capture_ns
        self._n += 1
        if (self._moments.count(frame.t_capture_ns) + frame.camera) % self.every:
            return None
        t_ns = self._clock()
        found = self._finder.step(frame)
        self._busy_ns = _average(self._busy_ns, self._clock() - t_ns)
        self._n_sought, self._n_found = self._n_sought + 1, self._n_found + (found is not None)
        self._adapt()
        return found

    def _adapt(self) -> None:
        """Seek in fewer pictures, or in more."""
        if self._n - self._changed < SETTLE or self._period_ns <= 0.0:
            return
        share = self._busy_ns / (self._period_ns * self.every)
        every = self.every + (share > BUSY and self.every < self._max_every) - (share < IDLE and self.every > 1)
        if every != self.every:
            self.every, self._changed = every, self._n

    def details(self) -> dict[str, float]:
        """Return figures for the status: pictures a second in which a body is sought, ms for each, share with one."""
        rate_hz = 1e9 / (self._period_ns * self.every) if self._period_ns > 0.0 else 0.0
        found = self._n_found / self._n_sought if self._n_sought else 0.0
        return {
            "landmarks_hz": round(rate_hz, 1),
            "landmarks_ms": round(1e-6 * self._busy_ns, 1),
            "landmarks_found": round(found, 3),
        }


def _average(value: float, new: float) -> float:
    """Return a moving average with a new value; the first is taken as it is."""
    return new if value == 0.0 else value + MEMORY * (new - value)


def open_landmarks(model: str, max_every: int = MAX_EVERY) -> PacedLandmarks | None:
    """Return a finder of landmarks for one camera, None where the model is `off`.

    model: lite, full or heavy; max_every: of so many pictures one is sought in at least. Raises LandmarksUnavailableError.
    """
    if model == OFF:
        return None
    from capture.landmarks.detector import LandmarkDetector

    return PacedLandmarks(LandmarkDetector(model), max_every)
