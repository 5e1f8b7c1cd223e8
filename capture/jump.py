"""The time offset between two cameras from one movement that both see: a jump, a clap of the hands.

How fast blobs move on average, downwards and in any direction, is alike in both views. The offset is the lag at which the two
courses agree best; between frames they are splines, so that it comes out far finer than a frame.
"""

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline

from capture.packets import Floats

COARSE_S = 0.005
FINE_S = 0.0005
LEAST_OVERLAP_S = 1.0
LEAST_CORRELATION = 0.8
RIVAL_S, RIVAL = 0.08, 0.1  # a lag this far from the best must agree worse by this much, or steps are taken for one another
LEAST_MOVE = 6.0  # a jump's fastest moment against the usual one
CORRELATED = 3.0  # the residuals of neighbouring frames are alike: so many frames count as one


@dataclass(frozen=True, slots=True)
class FoundOffset:
    """How late the right camera's stamps are [s], and the standard deviation of that."""

    offset_s: float
    sigma_s: float


@dataclass(frozen=True, slots=True)
class Course:
    """What one camera saw over time. t_s: stamps, increasing, (N,); value: (N, C)."""

    t_s: Floats
    value: Floats


def jump_offset(left: Course, right: Course, max_lag_s: float = 0.5) -> FoundOffset | None:
    """Give the lag at which the right course agrees best with the left one; None where nothing jumped, or more than one lag fits.

    Values are speeds in any unit, one column a kind; either side's columns are scaled to one size.
    """
    if min(len(left.t_s), len(right.t_s)) < 8 or not (_stands_out(left) and _stands_out(right)):
        return None
    lags = np.arange(-max_lag_s, max_lag_s + 1e-9, COARSE_S)
    fit = np.array([_agreement(left, right, lag) for lag in lags])
    best = int(np.argmax(fit))
    rivals = fit[np.abs(lags - lags[best]) > RIVAL_S]
    if fit[best] < LEAST_CORRELATION or not 0 < best < len(lags) - 1 or rivals.max(initial=-1.0) > fit[best] - RIVAL:
        return None
    return _refined(left, right, float(lags[best]))


def _stands_out(course: Course) -> bool:
    """Tell whether there is a movement much faster than the usual ones."""
    size = np.abs(course.value).max(axis=1)
    return bool(size.max() > LEAST_MOVE * max(float(np.median(size)), 1e-9))


def _agreement(left: Course, right: Course, lag_s: float) -> float:
    """Give the mean correlation of the columns where both are known, -1 where they hardly overlap."""
    inside = (right.t_s - lag_s >= left.t_s[0]) & (right.t_s - lag_s <= left.t_s[-1])
    t = right.t_s[inside]
    if not len(t) or t[-1] - t[0] < LEAST_OVERLAP_S:
        return -1.0
    found = []
    for c in range(left.value.shape[1]):
        a, b = np.interp(t - lag_s, left.t_s, left.value[:, c]), right.value[inside, c]
        a, b = a - a.mean(), b - b.mean()
        # Against all of the energy: a lag that shows half of the movement only is not a good one.
        whole = np.sqrt(np.sum((left.value[:, c] - left.value[:, c].mean()) ** 2) * len(t) / len(left.t_s))
        found.append(float(a @ b) / max(max(whole, float(np.linalg.norm(a))) * float(np.linalg.norm(b)), 1e-12))
    return float(np.mean(found))


def _refined(left: Course, right: Course, lag_s: float) -> FoundOffset:
    """Fit right(t) = a left(t - lag) + c about a lag, all columns at once."""
    inside = (right.t_s - lag_s >= left.t_s[0] + 0.05) & (right.t_s - lag_s <= left.t_s[-1] - 0.05)
    t, scale = right.t_s[inside], np.maximum(np.std(right.value[inside], axis=0), 1e-9)
    splines = [CubicSpline(left.t_s, left.value[:, c]) for c in range(left.value.shape[1])]
    lags = lag_s + np.arange(-2.0 * COARSE_S, 2.0 * COARSE_S + 1e-9, FINE_S)
    costs, slopes = np.empty(len(lags)), np.empty(len(lags))
    for k, lag in enumerate(lags):
        costs[k] = slopes[k] = 0.0
        for c, spline in enumerate(splines):
            model = np.column_stack([spline(t - lag), np.ones(len(t))])
            y = right.value[inside, c]
            solution = np.linalg.lstsq(model, y, rcond=None)[0]
            costs[k] += float(np.sum(((y - model @ solution) / scale[c]) ** 2))
            slopes[k] += float(np.sum((solution[0] * spline(t - lag, 1) / scale[c]) ** 2))
    best = int(np.clip(np.argmin(costs), 1, len(lags) - 2))
    below, at, above = costs[best - 1 : best + 2]
    shift = 0.5 * (below - above) / max(below - 2.0 * at + above, 1e-12)
    variance = CORRELATED * at / max(len(splines) * len(t) - 3, 1) / max(slopes[best], 1e-12)
    return FoundOffset(float(lags[best] + np.clip(shift, -1.0, 1.0) * FINE_S), float(np.sqrt(variance)))
