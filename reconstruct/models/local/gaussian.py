"""What the neighbours of a frame say of it, as Gaussians: where the joints are, how fast they move, how their motion bends.

Chai & Hodgins 2005, eq. 3, spans q = p + U w by the K nearest poses. Here their covariance is not truncated but widened by that
of the whole database, so that markers may pull a limb off the examples' plane, and more easily the way limbs usually go.

How well neighbours know a pose depends on how near they are: of poses that were nearly recorded markers are expected to a
centimetre, of strange ones to fifteen. All deviations are scaled by `familiar + by_strangeness distance`.
"""

from dataclasses import dataclass

import numpy as np

from config.arrays import Floats, Singles
from config.settings import SolveSettings
from database.geometry.rotations import matrix_from_rotvec
from numerics.definite import invert_definite
from reconstruct.models.local.model import FULL, LocalModel, Neighbours, Quadratic, build_local_model, compute_strangeness_rad
from reconstruct.models.local.motion import (
    compute_bend_covariance,
    compute_drift_shape,
    compute_example_steps,
    compute_weighted_moments,
    find_example_ends,
    find_example_starts,
)
from reconstruct.search.examples import Examples

ENOUGH = 10  # neighbours with a frame before and after, for their second differences to count


@dataclass(frozen=True, slots=True)
class NeighbourGaussians:
    """Gaussians over the pose of one frame, with covariances.

    Attributes:
        pose: joint coordinates, (D,) [rad].
        velocity: velocity of the joint coordinates and the root, (D + 6,) [rad/s], [m/s], the root's in its own axes.
        acceleration: acceleration in the same order, (D + 6,) [rad/s^2], [m/s^2].
        noise: covariance of a velocity's departure in a second, (D + 6, D + 6).
        certainty: share of what they say of pose and velocity that makes these more certain.
    """

    pose: Floats
    pose_covariance: Floats
    velocity: Floats
    velocity_covariance: Floats
    acceleration: Floats
    noise: Floats
    certainty: float


class GaussianFitter:
    """Fits Gaussians to neighbours among examples whose covariance is (D, D) [rad^2]."""

    def __init__(self, examples: Examples, covariance: Floats, s: SolveSettings) -> None:
        self._examples, self._settings = examples, s
        self._starts = find_example_starts(examples)
        self._ends = find_example_ends(self._starts)
        self._background = s.background * covariance
        self._usual_bend = s.bend_share * compute_bend_covariance(examples)
        # What is added to the neighbours' steps.
        self._drift, n = np.zeros_like(self._usual_bend), len(covariance)
        self._drift[:n, :n] = s.step_drift_rad**2 * compute_drift_shape(covariance)
        self._drift[range(n, n + 6), range(n, n + 6)] = np.repeat([s.root_drift_rad**2, s.root_drift_m**2], 3)

    def fit(self, neighbours: Neighbours, pose: Floats | None) -> NeighbourGaussians:
        """Return the Gaussians of the neighbours of a pose, (D,) [rad], None where it is not known, nor how strange it is."""
        s, fps = self._settings, self._examples.fps
        far2 = 1.0 if pose is None else (s.familiar + s.by_strangeness * compute_strangeness_rad(neighbours, pose)) ** 2
        rows, weights, poses = neighbours.rows, neighbours.weights, neighbours.poses
        mean, C = compute_weighted_moments(poses, weights)
        covariance = widen_covariance(C, self._background, s.floor_rad, s.shrinkage)
        before, after = np.maximum(rows - 1, self._starts[rows]), np.minimum(rows + 1, self._ends[rows] - 1)
        ends = np.concatenate([poses, self._examples.pose[after]])
        both = compute_example_steps(self._examples, np.concatenate([before, rows]), np.concatenate([rows, after]), ends)
        steps, later = both[: len(rows)], both[len(rows) :]
        step, spread = compute_weighted_moments(steps, weights)
        spread = s.step_spread * spread + self._drift
        inside, bend, noise = after - before == 2, np.zeros(len(step)), self._usual_bend
        if np.count_nonzero(inside) >= ENOUGH:
            bend, bend_spread = compute_weighted_moments((later - steps)[inside], weights[inside])
            noise = bend_spread + noise
        spread, noise = far2 * fps**2 * spread, far2 * fps**3 * s.bend_noise * noise
        certainty = s.neighbour_certainty * neighbours.informed
        return NeighbourGaussians(mean, far2 * covariance, fps * step, spread, fps**2 * bend, noise, certainty)

    def fit_change(self, neighbours: Neighbours, seconds: float) -> tuple[Floats, Floats] | None:
        """Return how the neighbours went on, (D + 6,), the root in its axes of before, and its covariance; None of too few."""
        rows, s = neighbours.rows, self._settings
        later = rows + max(round(seconds * self._examples.fps), 1)
        inside = later < self._ends[rows]
        if np.count_nonzero(inside) < ENOUGH:
            return None
        rows, later = rows[inside], later[inside]
        changes = compute_example_steps(self._examples, rows, later, self._examples.pose[later])
        changes[:, -3:] = np.einsum("kij,kj->ki", matrix_from_rotvec(changes[:, -6:-3]), changes[:, -3:])
        mean, spread = compute_weighted_moments(changes, neighbours.weights[inside])
        return mean, s.change_spread * spread + s.change_drift**2 * np.eye(len(mean))


def widen_covariance(C: Floats, background: Floats, floor_rad: float, shrinkage: float) -> Floats:
    """Return the covariance of neighbours, (D, D) [rad^2], less sure: a share of it replaced by its diagonal, and more added.

    Args:
        background: covariance that is added, (D, D) [rad^2].
        floor_rad: standard deviation that is added in every direction.
        shrinkage: share that is replaced by the diagonal.
    """
    result = (1.0 - shrinkage) * C + background
    result[np.diag_indices(len(C))] += shrinkage * C.diagonal() + floor_rad**2
    return np.asarray(result)


def fit_local_gaussian(
    poses: Floats | Singles, weights: Floats, background: Floats, *, floor_rad: float, shrinkage: float
) -> LocalModel:
    """Fit a Gaussian to the K nearest poses.

    Args:
        poses: (K, D) [rad].
        weights: (K,), any positive scale.
        background, floor_rad, shrinkage: as in `widened`.
    """
    mean, C = compute_weighted_moments(poses, weights)
    precision = invert_definite(widen_covariance(C, background, floor_rad, shrinkage))
    if precision is None:
        raise np.linalg.LinAlgError("a covariance of joint coordinates is not positive definite")
    return build_local_model(mean, FULL, Quadratic(np.zeros(len(mean)), precision))
