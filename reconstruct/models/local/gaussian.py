"""A Gaussian over all joint coordinates, from the weighted neighbours and the covariance of the whole database.

Chai & Hodgins 2005, eq. 3, spans q = p + U w by the K nearest poses. Here their covariance is not truncated but widened by that
of the whole database, so that markers may pull a limb off the examples' plane, and more easily the way limbs usually go. The
smoothness term of eq. 9 is a Gaussian, too (`motion`), and multiplied with it.
"""

import numpy as np

from config.arrays import Floats
from config.settings import SolveSettings
from reconstruct.definite import factored, inverse, mirrored, solved
from reconstruct.history import MAX_AHEAD_S
from reconstruct.models.local.model import DOFS, FULL, LocalModel, MotionContext, Neighbours, Quadratic, model_around
from reconstruct.models.local.motion import MotionPrior, drift_shape, example_starts, expected_motion, steps_to, weighted_moments
from reconstruct.search.examples import Examples


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
            frames * steps_to(self._examples, self._starts, neighbours.rows),
            neighbours.weights,
            share=s.neighbour_motion,
            spread=s.motion_spread,
            drift=(context.inflation * s.drift_rad) ** 2 * self._drift,
        )


def local_gaussian(
    poses: Floats, weights: Floats, motion: MotionPrior | None, background: Floats, *, floor_rad: float, shrinkage: float
) -> LocalModel:
    """Fit a Gaussian to the K nearest poses and multiply it with the one around the pose that motion leads to.

    poses: (K, D) [rad]; weights: (K,), any positive scale; motion: where the last poses lead, or None; background: covariance
    (D, D) [rad^2] added to the neighbours'; floor_rad: standard deviation added in every direction; shrinkage: share of the
    neighbours' covariance replaced by its diagonal.
    """
    mean, C = weighted_moments(poses, weights)
    diagonal = np.einsum("ii->i", C)
    spread = diagonal.copy()
    C *= 1.0 - shrinkage
    C += background
    diagonal += shrinkage * spread + floor_rad**2
    half = inverse(_factored(C))
    if motion is None:
        return model_around(mean, FULL, Quadratic(np.zeros(DOFS), mirrored(half)))
    L = _factored(motion.covariance)
    precision = mirrored(half + inverse(L))
    center = solved(_factored(precision), solved(L, motion.expected - mean))
    return model_around(mean, FULL, Quadratic(center, precision))


def _factored(C: Floats) -> Floats:
    """Return L of a covariance or a precision L L', which the floor keeps positive definite. Raises LinAlgError: it is not."""
    L = factored(C)
    if L is None:
        raise np.linalg.LinAlgError("a covariance of joint coordinates is not positive definite")
    return L
