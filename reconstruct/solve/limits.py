"""Joint limits, from the poses of the database: knees do not bend forwards.

A Gaussian knows no limits: with a leg a little too long, the markers are explained as well by a knee that bends the wrong way.
What all poses of the database keep to costs nothing; beyond, the energy rises.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from config.arrays import Floats
from config.jit import inline_kernel
from reconstruct.models.local.model import DOFS
from reconstruct.solve.linearise import PoseSpace

RARE_PERCENT = 0.05  # of the poses may lie beyond a limit: flips and other faults of the recordings
MARGIN_RAD, MARGIN_SHARE = 0.03, 0.02  # and a performer may go a little farther than the database, by its range too
STILL_RAD = 0.1  # coordinates that move less than this are left to the local model, which hardly moves them either
SIGMA_RAD = 0.03  # of a coordinate beyond its limit


class Limits(NamedTuple):
    """Least and greatest value of every joint coordinate, (D,) [rad]; infinite where there is no limit."""

    low: Floats
    high: Floats


NO_LIMITS = Limits(np.full(DOFS, -np.inf), np.full(DOFS, np.inf))


def compute_limits(poses: NDArray[np.float32]) -> Limits:
    """Return the limits that poses, (N, D) [rad], keep to."""
    low, high = np.percentile(poses, [RARE_PERCENT, 100.0 - RARE_PERCENT], axis=0).astype(np.float64)
    margin = np.where(high - low < STILL_RAD, np.inf, MARGIN_RAD + MARGIN_SHARE * (high - low))
    return Limits(low - margin, high + margin)


@inline_kernel
def _compute_coordinate(space: PoseSpace, i: int, w: Floats) -> float:
    """Return a joint coordinate of the pose at w, (B,)."""
    joint, axis = 1 + i // 3, i % 3
    q: float = space.mean[joint, axis]
    for b in range(space.span[joint, 0], space.span[joint, 1]):
        q += space.directions[joint, axis, b] * w[b]
    return q


@inline_kernel
def add_limits(limits: Limits, space: PoseSpace, x: Floats, A: Floats, g: Floats) -> float:
    """Add the energy (q_i - limit_i)^2 / (2 SIGMA_RAD^2) of every joint coordinate q_i beyond its limit; return the energy.

    The lower triangle of its Hessian and its gradient, both with respect to x, are added to A and g.

    Args:
        limits: limits of the joint coordinates.
        space: affine map from the coordinates of a pose to joint coordinates.
        x: coordinates of the pose, (B,).
        A: lower triangle of the Hessian, (B, B); added to.
        g: gradient, (B,); added to.
    """
    U, energy, stiff = space.directions, 0.0, SIGMA_RAD**-2.0
    for i in range(limits.low.shape[0]):
        q = _compute_coordinate(space, i, x)
        beyond = q - min(max(q, limits.low[i]), limits.high[i])
        if beyond == 0.0:
            continue
        joint, axis = 1 + i // 3, i % 3
        energy += 0.5 * stiff * beyond * beyond
        for a in range(space.span[joint, 0], space.span[joint, 1]):
            along = stiff * U[joint, axis, a]
            g[a] += along * beyond
            for b in range(space.span[joint, 0], a + 1):
                A[a, b] += along * U[joint, axis, b]
    return energy
