"""What rate the machine holds: a judgement after each of the demo's first seconds; pure, times are passed in."""

from collections.abc import Sequence

from config.arrays import Floats
from config.units import NS_PER_S
from stream.protocol.latency import Receipt

BEGIN_S = 1.0  # the performer is found and every cache filled by then
WINDOW_S = 2.0
WINDOWS = 4  # later on it is no longer the demo that a machine is too slow for, but what else runs on it
GRACE_S = 0.25  # a pose is there by then, or was dropped
HELD = 0.9  # of the pairs that were due
EVERY = 2  # of the frames one is left
SETTLE_S = 0.5  # what was under way is through by then


class RateWatch:
    """Compares poses that came with pairs that were due, in the first windows of a run.

    t_start_ns: time at which the run began [ns]; slowed_s: time at which fewer frames were called for [s after the start], None
    before.
    """

    def __init__(self, t_start_ns: int, fps: float) -> None:
        self._t_start_ns, self._fps, self._window = t_start_ns, fps, 0
        self._came: set[int] = set()
        self.held_hz = fps
        self.slowed_s: float | None = None

    def add(self, t_capture_ns: int) -> None:
        """Note a pose; one that is held counts once."""
        if self._window < WINDOWS:
            self._came.add(t_capture_ns)

    def turn(self, t_ns: int) -> bool:
        """Return, once, whether fewer frames should be given, at t_ns."""
        now_s = (t_ns - self._t_start_ns) / NS_PER_S
        begin_s = BEGIN_S + WINDOW_S * self._window
        if self.slowed_s is not None or self._window >= WINDOWS or now_s < begin_s + WINDOW_S + GRACE_S:
            return False
        seconds = [(t - self._t_start_ns) / NS_PER_S for t in self._came]
        self.held_hz = sum(begin_s <= t < begin_s + WINDOW_S for t in seconds) / WINDOW_S
        self._window += 1
        if self.held_hz < HELD * self._fps:
            self.slowed_s = now_s
        return self.slowed_s is not None

    def message(self) -> str:
        """Return the finding, in words."""
        return (
            f"this machine holds {self.held_hz:.0f} of {self._fps:.0f} poses a second now; going on at {self._fps / EVERY:.0f} Hz"
        )

    @property
    def judged_from_s(self) -> float:
        """When the part of the run begins that is reported [s after the start]."""
        return 0.0 if self.slowed_s is None else self.slowed_s + SETTLE_S

    def judged(self, poses: Sequence[Receipt]) -> list[Receipt]:
        """Return the poses of that part."""
        return [one for one in poses if one.pose.t_capture_ns - self._t_start_ns >= self.judged_from_s * NS_PER_S]

    def n_due(self, times_s: Floats) -> int:
        """Return how many of the frames taken at times_s, (N,) [s], are due in the part that is reported."""
        kept = times_s if self.slowed_s is None else times_s[::EVERY]
        return int((kept >= self.judged_from_s).sum())

    def words(self) -> str:
        """Return the rate of the run, in words."""
        if self.slowed_s is None:
            return f"{self._fps:.0f} Hz"
        slow = f"{self._fps / EVERY:.0f} Hz, reported from {self.judged_from_s:.1f} s on"
        return f"{slow}; at {self._fps:.0f} Hz, {self.held_hz:.0f} poses a second came"
