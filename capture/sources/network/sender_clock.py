"""Map the timestamps of a sender to our clock by the least delay seen, since a network only ever delays.

A timestamp s of the sender's clock and the arrival a on ours differ by a - s = offset + drift * s + delay, delay >= 0. The
highest line under all those differences is offset and drift plus the least delay (Moon, Skelly & Towsley 1999, "Estimation and
removal of clock skew from network delay measurements"); here over the last minute.
"""

from collections import deque
from itertools import pairwise

from config.units import NS_PER_S

BUCKET_NS = NS_PER_S  # of each second, the least delayed timestamp is kept
N_BUCKETS = 60
MAX_DRIFT = 300e-6  # of clocks with a crystal, generously; a steeper line means a longer path
SHRINK_S = 5.0  # a drift seen over a few seconds is mostly noise
WRONG_RATE, WRONG_RATE_S = 2e-3, 30.0  # a drift so large for so long is no clock's
EARLY_NS = NS_PER_S // 10  # nothing arrives before it was sent: the sender's clock was set
LATE_NS, LATE_FOR_NS = NS_PER_S // 4, 2 * NS_PER_S  # a queue empties again; what stays late means the clock was set
MANY_JUMPS, JUMPS_NS = 4, 30 * NS_PER_S

Point = tuple[float, float]


class SenderClock:
    """Maps the timestamps of one sender; feed every one, in the order of arrival.

    jumps: how often the sender's clock was set, or its timestamps began again.
    """

    def __init__(self) -> None:
        self.jumps = 0
        self._jumped_ns: deque[int] = deque(maxlen=MANY_JUMPS)
        self._last_ns: int | None = None
        self._begin(0, 0)
        self._empty = True

    @property
    def trusted(self) -> bool:
        """Whether the timestamps are those of a clock: rarely set, and about as fast as ours."""
        jumped = self._jumped_ns
        often = len(jumped) == MANY_JUMPS and jumped[-1] - jumped[0] < JUMPS_NS
        return not often and not self._wrong_rate

    def ours_ns(self, sender_ns: int, arrival_ns: int) -> int:
        """Return the time on our clock when the sender's showed sender_ns, late by the least delay [ns].

        arrival_ns: when the frame arrived. The result never decreases, and is not after the arrival.
        """
        if self._empty:
            self._empty = False
            self._begin(sender_ns, arrival_ns)
        elif self._was_set(sender_ns, arrival_ns):
            self.jumps += 1
            self._jumped_ns.append(arrival_ns)
            self._begin(sender_ns, arrival_ns)
        self._note(sender_ns, arrival_ns)
        ours = min(sender_ns + self._delay_ns + round(self._line_ns(sender_ns)), arrival_ns)
        self._last_ns = ours if self._last_ns is None else max(ours, self._last_ns + 1)
        return self._last_ns

    def _begin(self, sender_ns: int, arrival_ns: int) -> None:
        """Restart with a first pair."""
        self._sender0_ns, self._delay_ns, self._newest_ns = sender_ns, arrival_ns - sender_ns, sender_ns - 1
        self._buckets: deque[Point] = deque(maxlen=N_BUCKETS)  # seconds since sender0, delay over delay0 [ns]
        self._bucket = -1
        self._offset_ns = self._slope = 0.0
        self._wrong_rate = False
        self._late_since_ns = arrival_ns

    def _was_set(self, sender_ns: int, arrival_ns: int) -> bool:
        """Return whether the sender's clock was set: it went back, or is early, or late for too long."""
        late_ns = arrival_ns - sender_ns - self._delay_ns - self._line_ns(sender_ns)
        if late_ns < LATE_NS:
            self._late_since_ns = arrival_ns
        return sender_ns <= self._newest_ns or late_ns < -EARLY_NS or arrival_ns - self._late_since_ns > LATE_FOR_NS

    def _line_ns(self, sender_ns: int) -> float:
        """Return the height of the line at a timestamp, over the first delay [ns]."""
        return self._offset_ns + self._slope * (sender_ns - self._sender0_ns)

    def _note(self, sender_ns: int, arrival_ns: int) -> None:
        """Keep the least delayed timestamp of each second, and update the line."""
        self._newest_ns = sender_ns
        since_ns = sender_ns - self._sender0_ns
        point = (since_ns / NS_PER_S, float(arrival_ns - sender_ns - self._delay_ns))
        if since_ns // BUCKET_NS != self._bucket:
            self._bucket = since_ns // BUCKET_NS
            self._buckets.append(point)
            self._fit_line()
        elif point[1] < self._buckets[-1][1]:
            self._buckets[-1] = point
            self._offset_ns = min(self._offset_ns, point[1] - self._slope * since_ns)

    def _fit_line(self) -> None:
        """Fit the line under all points."""
        points = list(self._buckets)[:-1] or list(self._buckets)  # the last second has only begun
        span_s = points[-1][0] - points[0][0]
        slope = fit_slope_under(points) / NS_PER_S
        self._wrong_rate = span_s >= WRONG_RATE_S and abs(slope) > WRONG_RATE
        if abs(slope) <= MAX_DRIFT:
            self._slope = slope * span_s**2 / (span_s**2 + SHRINK_S**2)
        self._offset_ns = min(delay_ns - self._slope * NS_PER_S * at_s for at_s, delay_ns in self._buckets)


def fit_slope_under(points: list[Point]) -> float:
    """Return the slope of the line under points (in order of x) with the least sum of distances.

    That is the edge of the lower convex hull at the mean of x.
    """
    hull: list[Point] = []
    for point in points:
        while len(hull) >= 2 and _is_turning_down(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    mean = sum(x for x, _ in points) / len(points)
    for (x0, y0), (x1, y1) in pairwise(hull):
        if x0 <= mean <= x1 and x1 > x0:
            return (y1 - y0) / (x1 - x0)
    return 0.0


def _is_turning_down(a: Point, b: Point, c: Point) -> bool:
    """Return whether b lies on or over the line from a to c."""
    return (b[1] - a[1]) * (c[0] - a[0]) >= (c[1] - a[1]) * (b[0] - a[0])
