"""The time offset between two cameras from one event that both see: a jump (or a clap), or a light switched on and off.

By a jump: the downward and the mean speed of all blobs are alike in both views. The offset is the lag at which the two time
series agree best; between frames they are splines, so that it is much finer than a frame.

By flashes: a change of brightness between two frames of one camera, and between two of the other, bounds the offset from both
sides, by a frame time each. The mean of ten changes (five flashes) is good to 5 ms at 30 Hz, enough to pair the right frames;
the rest is learned from the epipolar error.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from config.arrays import Floats

MAX_LAG_S = 0.5
COARSE_S = 0.005
FINE_S = 0.001
REACH_S = 0.025  # of the fine search about the coarse one's best
CAUCHY = 3.0
MIN_OVERLAP_S = 1.0
MIN_CORRELATION = 0.8
RIVAL_S, RIVAL = 0.08, 0.1  # a lag this far from the best must agree worse by this much: else steps were confused
MIN_PEAK = 6.0  # a jump's largest speed over the usual one
CORRELATED = 3.0  # the residuals of neighbouring frames are correlated: three frames count as one


@dataclass(frozen=True, slots=True)
class OffsetMeasurement:
    """How late the right camera's timestamps are, and the standard deviation of that [s]."""

    offset_s: float
    sigma_s: float


@dataclass(frozen=True, slots=True)
class TimeSeries:
    """Values of one camera over time. t_s: increasing, (N,); value: (N, C)."""

    t_s: Floats
    value: Floats


def estimate_jump_offset(left: TimeSeries, right: TimeSeries) -> OffsetMeasurement | None:
    """Return the lag at which the right series agrees best with the left one; None without a jump, or if several lags fit.

    Values are speeds in any unit, one column a kind; the column in which the two agree best is used: a jump shows in the downward
    speed, a clap in the mean one.
    """
    if min(len(left.t_s), len(right.t_s)) < 8:
        return None
    columns = range(left.value.shape[1])
    sides = [(TimeSeries(left.t_s, left.value[:, [c]]), TimeSeries(right.t_s, right.value[:, [c]])) for c in columns]
    sides = [(one, other) for one, other in sides if _has_jump(one) and _has_jump(other)]
    lags = np.arange(-MAX_LAG_S, MAX_LAG_S + 1e-9, COARSE_S)
    fits = [np.array([_correlate_series(one, other, lag) for lag in lags]) for one, other in sides]
    if not fits:
        return None
    chosen = int(np.argmax([fit.max() for fit in fits]))
    fit, best = fits[chosen], int(np.argmax(fits[chosen]))
    rivals = fit[np.abs(lags - lags[best]) > RIVAL_S]
    if fit[best] < MIN_CORRELATION or not 0 < best < len(lags) - 1 or rivals.max(initial=-1.0) > fit[best] - RIVAL:
        return None
    return _refine_lag(sides[chosen][0], sides[chosen][1], float(lags[best]))


def _has_jump(series: TimeSeries) -> bool:
    """Return whether there is a movement much faster than the usual ones."""
    size = np.abs(series.value).max(axis=1)
    return bool(size.max() > MIN_PEAK * max(float(np.median(size)), 1e-9))


def _correlate_series(left: TimeSeries, right: TimeSeries, lag_s: float) -> float:
    """Return the correlation of two series of one column where both are known, -1 where they hardly overlap."""
    inside = (right.t_s - lag_s >= left.t_s[0]) & (right.t_s - lag_s <= left.t_s[-1])
    t = right.t_s[inside]
    if not len(t) or t[-1] - t[0] < MIN_OVERLAP_S:
        return -1.0
    one = left.value[:, 0]
    a, b = np.interp(t - lag_s, left.t_s, one), right.value[inside, 0]
    a, b = a - a.mean(), b - b.mean()
    # Relative to all of the energy: a lag that overlaps half of the movement is not a good one.
    whole = np.sqrt(np.sum((one - one.mean()) ** 2) * len(t) / len(left.t_s))
    return float(a @ b / max(max(whole, np.linalg.norm(a)) * np.linalg.norm(b), 1e-12))


def _refine_lag(left: TimeSeries, right: TimeSeries, lag_s: float) -> OffsetMeasurement | None:
    """Fit right(t) = a left(t - lag) + c about a lag robustly, for time series of one column.

    None where the best lag is at the edge of the search: the two agree roughly but not closely, so it was not one movement.
    """
    from scipy.interpolate import CubicSpline

    t_s, y = left.t_s, right.value[:, 0]
    spline = CubicSpline(t_s, left.value[:, 0])
    lags = lag_s + np.arange(-REACH_S, REACH_S + 1e-9, FINE_S)
    after = np.clip(np.searchsorted(t_s, right.t_s - lag_s), 1, len(t_s) - 1)
    # Between frames further apart than usual the spline is unreliable.
    known = (t_s[after] - t_s[after - 1] < 1.6 * np.median(np.diff(t_s))) & (right.t_s - lag_s > t_s[0] + REACH_S)
    t, y = right.t_s[known & (right.t_s - lag_s < t_s[-1] - REACH_S)], y[known & (right.t_s - lag_s < t_s[-1] - REACH_S)]
    fits = [_fit_line_robustly(spline(t - lag), y) for lag in lags]
    scale = min(spread for _, spread in fits)
    costs = np.array([np.sum(np.log1p((residual / (CAUCHY * scale)) ** 2)) for residual, _ in fits])
    best = int(np.argmin(costs))
    if not 0 < best < len(lags) - 1:
        return None
    below, at, above = costs[best - 1 : best + 2]
    shift = 0.5 * (below - above) / max(below - 2.0 * at + above, 1e-12)
    offset_s = float(lags[best] + np.clip(shift, -1.0, 1.0) * FINE_S)
    slope = spline(t - offset_s, 1) / (1.0 + (fits[best][0] / (CAUCHY * scale)) ** 2)
    return OffsetMeasurement(offset_s, float(scale * np.sqrt(CORRELATED / max(float(np.sum(slope**2)), 1e-12))))


def _fit_line_robustly(x: Floats, y: Floats) -> tuple[Floats, float]:
    """Return the residuals of y = a x + c by reweighted least squares, and their spread."""
    weight, model = np.ones(len(x)), np.column_stack([x, np.ones(len(x))])
    residual, spread = y, 1.0
    for _ in range(6):
        solution = np.linalg.lstsq(model * np.sqrt(weight)[:, None], y * np.sqrt(weight), rcond=None)[0]
        residual = y - model @ solution
        spread = max(1.4826 * float(np.median(np.abs(residual))), 1e-9)
        weight = 1.0 / (1.0 + (residual / (CAUCHY * spread)) ** 2)
    return residual, spread


MIN_LEVELS, NOISE_TIMES = 6.0, 8.0  # least change of 255 grey levels, and in units of the usual one
JITTER_S = 0.002  # of timestamps
MAX_EDGES = 40


def find_light_changes(series: TimeSeries) -> tuple[NDArray[np.int64], Floats]:
    """Return the frames in which the light begins to change, and by how much: rising positive. series: brightness, (N, 1)."""
    step = np.diff(series.value[:, 0])
    least = max(MIN_LEVELS, NOISE_TIMES * 1.4826 * float(np.median(np.abs(step)))) if len(step) else MIN_LEVELS
    sign = np.where(np.abs(step) > least, np.sign(step), 0.0)
    # A frame exposed while the light goes on shows half of it: the next frame's step is the same change.
    begins = (sign != 0.0) & (np.concatenate([[0.0], sign[:-1]]) != sign)
    at = np.flatnonzero(begins)[:MAX_EDGES]
    return at + 1, sign[at]


def estimate_flash_offset(left: TimeSeries, right: TimeSeries) -> OffsetMeasurement | None:
    """Return the offset that explains most changes of the light in both views; None where fewer than two agree.

    The result is the mean of all, within the bounds of each unless timestamps jitter by more than JITTER_S. With shutters of
    constant phase a change falls into one of two pairs of frames, hence a standard deviation of at most half a frame.
    """
    (left_frames, left_signs), (right_frames, right_signs) = find_light_changes(left), find_light_changes(right)
    # Of the slower camera.
    frame_s = max((float(np.median(np.diff(series.t_s))) for series in (left, right) if len(series.t_s) > 1), default=0.04)
    pairs = _match_changes(left.t_s[left_frames], left_signs, right.t_s[right_frames], right_signs, frame_s)
    if len(pairs) < 2:
        return None
    i, j = left_frames[[a for a, _ in pairs]], right_frames[[b for _, b in pairs]]
    low, high = right.t_s[j - 1] - left.t_s[i], right.t_s[j] - left.t_s[i - 1]
    mean_s, sigma_s = float(np.mean(0.5 * (low + high))), 0.5 * frame_s / np.sqrt(len(pairs))
    least_s, most_s = float(low.max()) - JITTER_S, float(high.min()) + JITTER_S
    if least_s < most_s:
        mean_s, sigma_s = float(np.clip(mean_s, least_s, most_s)), min(sigma_s, (most_s - least_s) / np.sqrt(12.0))
    return OffsetMeasurement(mean_s, float(sigma_s))


def _match_changes(
    left_s: Floats, left_sign: Floats, right_s: Floats, right_sign: Floats, frame_s: float
) -> list[tuple[int, int]]:
    """Return pairs of changes (left, right) that one lag explains: the smallest of the lags with the most pairs."""
    best: list[tuple[int, int]] = []
    lags = sorted((b - a for a in left_s for b in right_s if abs(b - a) <= MAX_LAG_S), key=abs)
    for lag in lags:
        found, used = [], -1
        for a in range(len(left_s)):
            near = [
                b
                for b in range(used + 1, len(right_s))
                if right_sign[b] == left_sign[a] and abs(right_s[b] - left_s[a] - lag) < 1.2 * frame_s
            ]
            if near:
                used = min(near, key=lambda b: abs(right_s[b] - left_s[a] - lag))
                found.append((a, used))
        if len(found) > len(best):
            best = found
    return best
