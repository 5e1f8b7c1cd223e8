"""A Gaussian over all joint coordinates, from the weighted neighbours and the covariance of the whole database.

Chai & Hodgins 2005, eq. 3, spans q = p + U w by the K nearest poses. Here their covariance is not truncated but widened by that
of the whole database, so that markers may pull a limb off the examples' plane, and more easily the way limbs usually go. The
smoothness term of eq. 9 is a Gaussian, too (`motion`), and multiplied with it.
"""

import numpy as np

from config.arrays import Floats, Singles
from config.jit import kernel
from config.settings import SolveSettings
from numerics.definite import add_triangle_product, eliminate_rows, invert_triangle, substitute_rows
from reconstruct.history import MAX_AHEAD_S
from reconstruct.models.local.model import DOFS, FULL, LocalModel, MotionContext, Neighbours, Quadratic, model_around
from reconstruct.models.local.motion import MotionPrior, drift_shape, example_starts, expected_motion, steps_to, weighted_moments
from reconstruct.search.examples import Examples

NO_MOTION = np.zeros((0, 0))


class GaussianFitter:
    """Fits Gaussians to neighbours among examples whose covariance is (D, D) [rad^2]."""

    free = True

    def __init__(self, examples: Examples, covariance: Floats) -> None:
        self._examples, self._covariance = examples, covariance
        self._starts, self._drift = example_starts(examples), drift_shape(covariance)

    def fit(self, neighbours: Neighbours, context: MotionContext, settings: SolveSettings) -> LocalModel:
        """Return the Gaussian of the neighbours, multiplied with where the motion leads."""
        s, n = settings, neighbours
        motion = self._motion(n, context, s)
        background = s.background * self._covariance
        return local_gaussian(n.poses, n.weights, motion, background, floor_rad=s.floor_rad, shrinkage=s.shrinkage)

    def _motion(self, neighbours: Neighbours, context: MotionContext, s: SolveSettings) -> MotionPrior | None:
        """Return where the pose is expected from its velocity and the neighbours' own, None without a last pose."""
        if context.predicted is None or context.last is None:
            return None
        frames = min((context.t_ns - context.last.t_ns) * 1e-9, MAX_AHEAD_S) * self._examples.fps
        return expected_motion(
            context.last.joints[1:].ravel(),
            context.predicted,
            np.float32(frames) * steps_to(self._examples, self._starts, neighbours.rows, neighbours.poses),
            neighbours.weights,
            share=s.neighbour_motion,
            spread=s.motion_spread,
            drift=(context.inflation * s.drift_rad) ** 2 * self._drift,
        )


def local_gaussian(
    poses: Floats | Singles,
    weights: Floats,
    motion: MotionPrior | None,
    background: Floats,
    *,
    floor_rad: float,
    shrinkage: float,
) -> LocalModel:
    """Fit a Gaussian to the K nearest poses and multiply it with the one around the pose that motion leads to.

    poses: (K, D) [rad]; weights: (K,), any positive scale; motion: where the last poses lead, or None; background: covariance
    (D, D) [rad^2] added to the neighbours'; floor_rad: standard deviation added in every direction; shrinkage: share of the
    neighbours' covariance replaced by its diagonal.
    """
    mean, C = weighted_moments(poses, weights)
    center, precision = np.empty(DOFS), np.empty((DOFS, DOFS))
    expected, covariance = (mean, NO_MOTION) if motion is None else (motion.expected, motion.covariance)
    if not _product(mean, C, (shrinkage, floor_rad**2), background, expected, covariance, center, precision):
        raise np.linalg.LinAlgError("a covariance of joint coordinates is not positive definite")
    return model_around(mean, FULL, Quadratic(center, precision))


@kernel
def _product(
    mean: Floats,
    C: Floats,
    widened: tuple[float, float],
    background: Floats,
    expected: Floats,
    motion: Floats,
    center: Floats,
    precision: Floats,
) -> bool:
    """Write the product of the neighbours' Gaussian and the motion's: its centre from the mean, (D,), and precision, (D, D).

    mean (D,), C (D, D): of the neighbours; widened: share of C replaced by its diagonal, and variance added; motion: covariance
    around `expected`, (D, D), or (0, 0) for none. Returns whether all are positive definite. Changes C.
    """
    n, (shrinkage, floor2), pull = mean.shape[0], widened, np.zeros(mean.shape[0])
    L = np.empty((n, n))
    for i in range(n):
        spread = C[i, i]
        for j in range(i + 1):
            C[i, j] = (1.0 - shrinkage) * C[i, j] + background[i, j]
            precision[i, j] = 0.0
        C[i, i] += shrinkage * spread + floor2
        center[i] = 0.0
    if not eliminate_rows(C, pull, 0):
        return False
    invert_triangle(C)
    add_triangle_product(C, precision)
    if motion.shape[0] > 0:
        for i in range(n):
            for j in range(i + 1):
                C[i, j] = motion[i, j]
        if not eliminate_rows(C, pull, 0):
            return False
        invert_triangle(C)
        add_triangle_product(C, precision)
        # The pull of the motion, X X' (expected - mean), and the centre by the factor of the sum.
        for k in range(n):
            for j in range(k + 1):
                pull[j] += C[k, j] * (expected[k] - mean[k])
        for i in range(n):
            for j in range(i + 1):
                center[i] += C[i, j] * pull[j]
                L[i, j] = precision[i, j]
        if not eliminate_rows(L, center, 0):
            return False
        substitute_rows(L, center, 0)
    for i in range(n):
        for j in range(i):
            precision[j, i] = precision[i, j]
    return True
