"""The frame rate of a stream that does not say it, from when its first pictures came."""

from itertools import pairwise
from statistics import median

COMMON_FPS = (5.0, 10.0, 15.0, 20.0, 24.0, 25.0, 30.0, 50.0, 60.0, 90.0, 120.0)
CLOSE = 0.07  # as near to one of them as this share, it is that one
UNKNOWN_FPS = 30.0
LEAST_FPS, MOST_FPS = 1.0, 240.0


def frame_rate(times_ns: list[int]) -> float:
    """Give the rate by the times of some pictures in a row [ns]; a common one where it is close; 30 where too few came."""
    if len(times_ns) < 3 or times_ns[-1] <= times_ns[0]:
        return UNKNOWN_FPS
    mean = (len(times_ns) - 1) * 1e9 / (times_ns[-1] - times_ns[0])
    middle = median(later - earlier for earlier, later in pairwise(times_ns))
    # Where pictures came in bursts the median means nothing; where some were lost the mean is too low.
    rate = 1e9 / middle if middle > 0.0 and 1e9 / middle < 1.6 * mean else mean
    near = min(COMMON_FPS, key=lambda common: abs(common - rate))
    return near if abs(near - rate) < CLOSE * near else min(max(rate, LEAST_FPS), MOST_FPS)
