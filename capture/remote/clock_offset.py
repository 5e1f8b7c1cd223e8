"""The offset of another machine's clock from ours, from round trips of four timestamps; time comes only from these.

A message sent at t0 (our clock), received at t1 and answered at t2 (theirs) and received at t3 (ours) took some time each way, so
the offset of their clock lies between t2 - t3 and t1 - t0 (Mills 1991, RFC 5905), whatever the jitter and however unequal the two
ways. What all round trips of the last seconds allow is narrower than the best of them alone.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from statistics import median

WINDOW_NS = 10_000_000_000
MAX_SAMPLES = 200
BLOCK_NS = 2_000_000_000
N_BLOCKS = 30
MIN_BLOCKS = 5  # fewer are jitter rather than drift
MAX_DRIFT = 100e-6  # of two crystals against each other; good ones stay within 20e-6
JUMP_SAMPLES = 3  # in a row that contradict all before but not each other
UNKNOWN_NS = 1 << 62


@dataclass(frozen=True, slots=True)
class ClockSample:
    """One round trip [ns]: sent at t0 and answered at t3 by our clock, received at t1 and sent back at t2 by theirs."""

    t0_ns: int
    t1_ns: int
    t2_ns: int
    t3_ns: int

    @property
    def rtt_ns(self) -> int:
        """Time both ways."""
        return (self.t3_ns - self.t0_ns) - (self.t2_ns - self.t1_ns)

    @property
    def low_ns(self) -> int:
        """Least offset: the answer took no time."""
        return self.t2_ns - self.t3_ns

    @property
    def high_ns(self) -> int:
        """Largest offset: the question took no time."""
        return self.t1_ns - self.t0_ns

    @property
    def offset_ns(self) -> int:
        """Offset if both ways took equal time."""
        return (self.low_ns + self.high_ns) // 2


@dataclass(frozen=True, slots=True)
class ClockMap:
    """Map of our clock to theirs: offset_ns (theirs minus ours) at t_ns of ours, growing by drift (a ratio)."""

    offset_ns: int = 0
    t_ns: int = 0
    drift: float = 0.0

    def offset_at(self, t_ns: int) -> int:
        """Return theirs minus ours at t_ns of ours."""
        return self.offset_ns + round(self.drift * (t_ns - self.t_ns))

    def there(self, t_ns: int) -> int:
        """Return the time of their clock when ours shows t_ns."""
        return t_ns + self.offset_at(t_ns)


class ClockFilter:
    """Estimates offset, drift and jumps of their clock; add a few round trips a second.

    error_ns, the bound of the offset, holds for any asymmetry of the two ways and a drift within MAX_DRIFT. A jump smaller than
    half the round trip contradicts nothing: it is followed within WINDOW_NS.
    """

    def __init__(self) -> None:
        self._samples: deque[ClockSample] = deque(maxlen=MAX_SAMPLES)
        self._contradictions: list[ClockSample] = []
        self._blocks: deque[ClockSample] = deque(maxlen=N_BLOCKS)
        self.map = ClockMap()
        self.error_ns = UNKNOWN_NS
        self.n_jumps = 0

    @property
    def known(self) -> bool:
        """Whether any round trip was made."""
        return bool(self._samples)

    @property
    def n_samples(self) -> int:
        """Number of round trips behind the estimate."""
        return len(self._samples)

    @property
    def offset_ns(self) -> int:
        """Their clock minus ours, at the newest round trip; 0 before the first."""
        return self.map.offset_ns

    @property
    def rtt_ns(self) -> int:
        """Shortest round trip of the last seconds; 0 before the first."""
        return min((sample.rtt_ns for sample in self._samples), default=0)

    def add(self, sample: ClockSample) -> None:
        """Add one round trip; one with impossible times is ignored."""
        if sample.t3_ns < sample.t0_ns or sample.t2_ns < sample.t1_ns or sample.rtt_ns < 0:
            return
        if self._contradicts(sample):
            self._add_contradiction(sample)
            return
        self._contradictions.clear()
        self._take(sample)

    def _contradicts(self, sample: ClockSample) -> bool:
        """Return whether no offset fits this round trip and those before, at the largest drift."""
        if not self._samples:
            return False
        low, high = compute_offset_bounds(self._samples, sample.t3_ns, MAX_DRIFT)
        return sample.low_ns > high or sample.high_ns < low

    def _add_contradiction(self, sample: ClockSample) -> None:
        """Keep a contradiction; restart when several agree that a clock was set or stood still."""
        self._contradictions.append(sample)
        low, high = compute_offset_bounds(self._contradictions, sample.t3_ns, MAX_DRIFT)
        if low > high:
            self._contradictions = [sample]
        if len(self._contradictions) < JUMP_SAMPLES:
            return
        self.n_jumps += 1
        self._samples.clear()
        self._blocks.clear()
        for contradiction in self._contradictions:
            self._take(contradiction)
        self._contradictions = []

    def _take(self, sample: ClockSample) -> None:
        """Update the estimate with one round trip."""
        self._samples.append(sample)
        t_ns = max(self.map.t_ns if len(self._samples) > 1 else sample.t3_ns, sample.t3_ns)
        while self._samples[0].t3_ns < t_ns - WINDOW_NS:
            self._samples.popleft()
        self._keep_best(sample)
        drift = estimate_drift(self._blocks)
        # Bounds moved on with the drift: the least delay of either way, perhaps of two different round trips.
        low, high = _compute_moved_bounds(self._samples, t_ns, drift)
        offset_ns = (low + high) // 2
        self.map = ClockMap(offset_ns, t_ns, drift)
        low, high = compute_offset_bounds(self._samples, t_ns, MAX_DRIFT)
        self.error_ns = max(high - offset_ns, offset_ns - low, 0)

    def _keep_best(self, sample: ClockSample) -> None:
        """Keep the shortest round trip of every BLOCK_NS, for the drift."""
        if not self._blocks or sample.t3_ns // BLOCK_NS != self._blocks[-1].t3_ns // BLOCK_NS:
            self._blocks.append(sample)
        elif sample.rtt_ns < self._blocks[-1].rtt_ns:
            self._blocks[-1] = sample


def compute_offset_bounds(samples: Iterable[ClockSample], t_ns: int, drift: float) -> tuple[int, int]:
    """Return the least and largest offset that all samples allow [ns].

    Args:
        samples: round trips.
        t_ns: at which time.
        drift: of the clocks at most, either way.
    """
    aged = [(sample, round(drift * abs(t_ns - sample.t3_ns))) for sample in samples]
    # The question's bound is as old as t0, a round trip more: the drift of that time is added too.
    spare = [round(drift * max(sample.t3_ns - sample.t0_ns, 0)) for sample, _ in aged]
    low = max(sample.low_ns - age for sample, age in aged)
    high = min(sample.high_ns + age + more for (sample, age), more in zip(aged, spare, strict=True))
    return low, high


def estimate_drift(samples: Iterable[ClockSample]) -> float:
    """Return the drift of their clock: the median slope between round trips (Theil 1950), 0 while they are few."""
    points = [(sample.t3_ns, sample.offset_ns) for sample in samples]
    if len(points) < MIN_BLOCKS:
        return 0.0
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in combinations(points, 2) if b[0] - a[0] >= BLOCK_NS]
    return min(max(median(slopes), -MAX_DRIFT), MAX_DRIFT) if slopes else 0.0


def _compute_moved_bounds(samples: Iterable[ClockSample], t_ns: int, drift: float) -> tuple[int, int]:
    """Return the bounds of all samples moved to t_ns by a known drift; they may cross by its error."""
    moved = [(sample, round(drift * (t_ns - sample.t3_ns))) for sample in samples]
    return max(sample.low_ns + more for sample, more in moved), min(sample.high_ns + more for sample, more in moved)
