"""The time offset between two cameras from one movement that both see: a jump, a clap of the hands.

How fast blobs move on average, downwards and in any direction, is alike in both views. The offset is the lag at which the two
courses agree best; between frames they are splines, so that it comes out far finer than a frame.
"""

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline

from capture.packets import Floats

COARSE_S = 0.005
FINE_S = 0.001
REACH_S = 0.025  # of the fine search about the coarse one's best
CAUCHY = 3.0
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

    Values are speeds in any unit, one column a kind; the one in which the two agree best decides: a jump is all in the fall, a
    clap is none of it.
    """
    if min(len(left.t_s), len(right.t_s)) < 8:
        return None
    columns = range(left.value.shape[1])
    sides = [(Course(left.t_s, left.value[:, [c]]), Course(right.t_s, right.value[:, [c]])) for c in columns]
    sides = [(one, other) for one, other in sides if _stands_out(one) and _stands_out(other)]
    lags = np.arange(-max_lag_s, max_lag_s + 1e-9, COARSE_S)
    fits = [np.array([_agreement(one, other, lag) for lag in lags]) for one, other in sides]
    if not fits:
        return None
    chosen = int(np.argmax([fit.max() for fit in fits]))
    fit, best = fits[chosen], int(np.argmax(fits[chosen]))
    rivals = fit[np.abs(lags - lags[best]) > RIVAL_S]
    if fit[best] < LEAST_CORRELATION or not 0 < best < len(lags) - 1 or rivals.max(initial=-1.0) > fit[best] - RIVAL:
        return None
    return _refined(sides[chosen][0], sides[chosen][1], float(lags[best]))


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


def _refined(left: Course, right: Course, lag_s: float) -> FoundOffset | None:
    """Fit right(t) = a left(t - lag) + c about a lag, for courses of one column; single frames that do not fit count little.

    None where the best lag is not among those tried: what agreed roughly does not agree closely, so that it was no one movement.
    """
    t_s, y = left.t_s, right.value[:, 0]
    spline = CubicSpline(t_s, left.value[:, 0])
    lags = lag_s + np.arange(-REACH_S, REACH_S + 1e-9, FINE_S)
    after = np.clip(np.searchsorted(t_s, right.t_s - lag_s), 1, len(t_s) - 1)
    # Between frames further apart than usual the spline is free to do anything.
    known = (t_s[after] - t_s[after - 1] < 1.6 * np.median(np.diff(t_s))) & (right.t_s - lag_s > t_s[0] + REACH_S)
    t, y = right.t_s[known & (right.t_s - lag_s < t_s[-1] - REACH_S)], y[known & (right.t_s - lag_s < t_s[-1] - REACH_S)]
    fits = [_robust(spline(t - lag), y) for lag in lags]
    scale = min(spread for _, spread in fits)
    costs = np.array([np.sum(np.log1p((residual / (CAUCHY * scale)) ** 2)) for residual, _ in fits])
    best = int(np.argmin(costs))
    if not 0 < best < len(lags) - 1:
        return None
    below, at, above = costs[best - 1 : best + 2]
    shift = 0.5 * (below - above) / max(below - 2.0 * at + above, 1e-12)
    offset_s = float(lags[best] + np.clip(shift, -1.0, 1.0) * FINE_S)
    slope = spline(t - offset_s, 1) / (1.0 + (fits[best][0] / (CAUCHY * scale)) ** 2)
    return FoundOffset(offset_s, float(scale * np.sqrt(CORRELATED / max(float(np.sum(slope**2)), 1e-12))))


def _robust(x: Floats, y: Floats) -> tuple[Floats, float]:
    """Give the residuals of y = a x + c by reweighted least squares, and their spread."""
    weight, model = np.ones(len(x)), np.column_stack([x, np.ones(len(x))])
    residual, spread = y, 1.0
    for _ in range(6):
        solution = np.linalg.lstsq(model * np.sqrt(weight)[:, None], y * np.sqrt(weight), rcond=None)[0]
        residual = y - model @ solution
        spread = max(1.4826 * float(np.median(np.abs(residual))), 1e-9)
        weight = 1.0 / (1.0 + (residual / (CAUCHY * spread)) ** 2)
    return residual, spread
