"""The rate of a camera as the stamps of its frames tell it: one rule for files, reports and exports."""

import numpy as np

from config.arrays import Floats, Ints

MIN_GAP = 1.5  # periods between two frames, from which on one is missing
MAX_GAP = 4.5  # median periods, up to which the number of missing frames follows from the length of a gap
PHASE_GAIN = 0.1  # by how much of a stamp's deviation the expected times move
MAX_JITTER = 0.23  # periods, RMS, beyond which stamps follow no fixed rate; at random they deviate by 0.29


def estimate_frame_period_s(seconds: Floats) -> float:
    """Return the time between frames of a camera [s] from stamps that jitter, are coarse, or lack frames, (N,) [s].

    Expected times at a fixed period follow the stamps as a phase-locked loop does, so that a late stamp before an early one is no
    missing frame. Of several periods to begin with that is used which the stamps deviate from least; where they deviate from
    all, as of a variable rate, the mean. Gaps of more than MAX_GAP median periods are left out.
    """
    gaps = np.diff(seconds)
    if not len(gaps):
        return 1.0 / 30.0
    middle = float(np.median(gaps))
    gaps = gaps[gaps < MAX_GAP * middle]
    total_s, mean = float(gaps.sum()), float(gaps.mean())
    begin = {middle, float(gaps[gaps < MIN_GAP * middle].mean()), mean, *np.quantile(gaps, (0.25, 0.75)).tolist()}
    period_s, jitter = min((_refine_period(gaps.tolist(), total_s, start) for start in sorted(begin)), key=lambda found: found[1])
    return period_s if jitter < MAX_JITTER else mean


def count_missing_frames(seconds: Floats) -> Ints:
    """Return how many frames are missing between each two stamps, (N,) [s] -> (N - 1,).

    A late stamp before an early one is no gap, as in `estimate_frame_period_s`; where stamps follow no fixed rate, a gap is of
    MIN_GAP mean periods or more.
    """
    gaps, period_s = np.diff(seconds), estimate_frame_period_s(seconds)
    periods, jitter = _count_periods(gaps.tolist(), period_s)
    if jitter < MAX_JITTER:
        return np.array(periods, np.int64) - 1
    return np.where(gaps > MIN_GAP * period_s, np.maximum(1, np.rint(gaps / period_s).astype(np.int64) - 1), 0)


def _refine_period(gaps: list[float], total_s: float, period_s: float) -> tuple[float, float]:
    """Return the period that a period settles at when it is counted how often it fits, and the stamps' RMS deviation in it."""
    for _ in range(5):
        periods, jitter = _count_periods(gaps, period_s)
        before, period_s = period_s, total_s / sum(periods)
        if abs(period_s / before - 1.0) < 1e-9:
            break
    return period_s, jitter


def _count_periods(gaps: list[float], period_s: float) -> tuple[list[int], float]:
    """Return how many periods there are in each gap, at least one, and the RMS deviation from expected times, in periods."""
    late = squares = 0.0
    counts = []
    for gap in gaps:
        late += gap
        periods = max(1, round(late / period_s))
        counts.append(periods)
        late -= periods * period_s
        squares += late * late
        late *= 1.0 - PHASE_GAIN
    return counts, float(np.sqrt(squares / max(1, len(gaps)))) / period_s
