"""Joint limits, from the poses of the database: knees do not bend forwards.

A Gaussian knows no limits: with a leg a little too long, the markers are explained as well by a knee that bends the wrong way.
Where a minimum oversteps what all poses of the database keep to, the prior is clamped there and minimised further.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from config.arrays import Floats, Ints
from config.jit import kernel
from reconstruct.models.local.model import DOFS, Quadratic
from reconstruct.solve.linearise import PoseSpace

RARE_PERCENT = 0.05  # of the poses may lie beyond a limit: flips and other faults of the recordings
MARGIN_RAD, MARGIN_SHARE = 0.03, 0.02  # and a performer may go a little farther than the database, by its range too
STILL_RAD = 0.1  # coordinates that move less than this are left to the local model, which hardly moves them either
SIGMA_RAD = 0.03  # of a clamped coordinate


class Limits(NamedTuple):
    """Least and greatest value of every joint coordinate, (D,) [rad]; infinite where there is no limit."""

    low: Floats
    high: Floats


NO_LIMITS = Limits(np.full(DOFS, -np.inf), np.full(DOFS, np.inf))


def limits_of(poses: NDArray[np.float32]) -> Limits:
    """Return the limits that poses, (N, D) [rad], keep to."""
    low, high = np.percentile(poses, [RARE_PERCENT, 100.0 - RARE_PERCENT], axis=0).astype(np.float64)
    margin = np.where(high - low < STILL_RAD, np.inf, MARGIN_RAD + MARGIN_SHARE * (high - low))
    return Limits(low - margin, high + margin)


@kernel
def _coordinate(space: PoseSpace, i: int, w: Floats) -> float:
    """Return a joint coordinate of the pose at w, (B,)."""
    joint, axis = 1 + i // 3, i % 3
    q: float = space.mean[joint, axis]
    for b in range(space.span[joint, 0], space.span[joint, 1]):
        q += space.directions[joint, axis, b] * w[b]
    return q


@kernel
def _oversteps(space: PoseSpace, limits: Limits, w: Floats, moved: Ints) -> bool:
    """Return whether the pose at w, (B,), oversteps a limit, but for the joints that other directions move: moved (J, 2)."""
    for i in range(limits.low.shape[0]):
        if moved[1 + i // 3, 0] == moved[1 + i // 3, 1] and not limits.low[i] <= _coordinate(space, i, w) <= limits.high[i]:
            return True
    return False


@kernel
def _clamp(prior: Quadratic, space: PoseSpace, limits: Limits, w: Floats, pull: Floats) -> bool:
    """Add (q_i - limit_i)^2 / (2 SIGMA_RAD^2) to a prior for all coordinates q_i of the pose at w, (B,), that overstep a limit.

    Changes the precision P and writes P c to `pull`, (B,), with c the new centre. Returns whether a limit is overstepped.
    """
    U, n_w, stiff, found = space.directions, pull.shape[0], SIGMA_RAD**-2.0, False
    for i in range(limits.low.shape[0]):
        joint, axis = 1 + i // 3, i % 3
        first, last, q = space.span[joint, 0], space.span[joint, 1], _coordinate(space, i, w)
        limit = min(max(q, limits.low[i]), limits.high[i])
        if limit == q or first == last:
            continue
        if not found:
            for a in range(n_w):
                pull[a] = 0.0
                for b in range(n_w):
                    pull[a] += prior.precision[a, b] * prior.center[b]
            found = True
        for a in range(first, last):
            along = stiff * U[joint, axis, a]
            if along != 0.0:
                pull[a] += along * (limit - space.mean[joint, axis])
                for b in range(first, last):
                    prior.precision[a, b] += along * U[joint, axis, b]
    return found
