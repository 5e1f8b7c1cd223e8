"""The root: its prior, and its fit to the torso's markers before the pose is solved (Chai & Hodgins 2005, section 4).

The torso is not rigid: its markers are compared with where the *predicted* pose has them relative to the root. Where a torso
marker is missing, its predicted position stands in with little weight, so that one missing marker only weakens the fit.
"""

from dataclasses import dataclass

import numpy as np

from capture.packets import MarkerFrame
from config.arrays import Bools, Floats
from database.geometry.rigid import fit_rigid_motion_robustly
from database.geometry.rotations import matrix_from_rotvec, skew_from_vector
from reconstruct.observations import Rays

Root = tuple[Floats, Floats]  # rotation (3, 3), position (3,) [m]

STAND_IN_SIGMA_M = 0.15
TORSO_SIGMA_M = 0.015
ROUNDS = 3
ROBUST_SIGMAS = 3.0
RAY_STEPS, RAY_SIGMA_M, MIN_DEPTH_M = 4, 0.02, 0.3


@dataclass(frozen=True, slots=True)
class RootPrior:
    """The root's expected orientation (3, 3) and position (3,) [m], with standard deviations [rad], [m].

    tilt_sigma_rad: of rotations about the horizontal axes, X and Z of the world, if they are known better.
    """

    rotation: Floats
    position_m: Floats
    sigma_rad: float
    sigma_m: float
    tilt_sigma_rad: float | None = None

    @property
    def precision(self) -> Floats:
        """Inverse variances of the rotation vector about the world's axes and of the position, (6,)."""
        precision = np.repeat([self.sigma_rad**-2.0, self.sigma_m**-2.0], 3)
        if self.tilt_sigma_rad is not None:
            precision[0] = precision[2] = self.tilt_sigma_rad**-2.0
        return precision


def fit_root_to_torso(frame: MarkerFrame, local_m: Floats, torso: Bools, predicted: Root | None) -> Root | None:
    """Fit the root to the triangulated torso markers; None where fewer than three points are to be had.

    Args:
        frame: the markers.
        local_m: markers relative to the root in the predicted pose, (M, 3) [m].
        torso: (M,).
        predicted: stands in for what is missing.
    """
    use = frame.valid & torso
    weight = use / (frame.variance_m2 + TORSO_SIGMA_M**2)
    target, missing, chosen = frame.point_m, torso & ~use, use
    if predicted is None and np.count_nonzero(use) < 3:
        return None
    if predicted is not None and np.count_nonzero(missing):
        R, t = predicted
        target = np.where(missing[:, None], local_m @ R.T + t, target)
        weight[missing], chosen = STAND_IN_SIGMA_M**-2.0, torso
    # Robustly: a torso marker that was mislabelled must not tilt the whole body. From the prediction: a plain fit may lie
    # nearer to a wrong marker than to the right ones, and stay there.
    return fit_rigid_motion_robustly(local_m[chosen], target[chosen], weight[chosen], ROBUST_SIGMAS, ROUNDS, predicted)


def fit_root_to_rays(
    rays: Rays, use: Bools, local_m: Floats, root: Root, sigmas: tuple[float, float], marker_sigma_m: float = RAY_SIGMA_M
) -> Root:
    """Fit the root to rays by Gauss-Newton from where it is expected, and near there.

    Minimises over a rotation vector d about the world's axes and a shift s of the root (R, t)

        sum_m rho(|P_m (exp([d]x) R y_m + t + s - o_m)|^2 / sigma_m^2) + |d|^2 / sigma_d^2 + |s|^2 / sigma_s^2

    with P_m = I - r_m r_m', the part across the ray from o_m along r_m, and Cauchy's rho.

    Args:
        rays: origins and directions, (M, 3).
        use: markers to fit to, (M,).
        local_m: markers relative to the root in the predicted pose, (M, 3) [m].
        root: expected.
        sigmas: standard deviations of the expected root [rad], [m].
        marker_sigma_m: standard deviation of a marker across its ray [m].
    Returns the expectation where no marker of `use` has a ray.
    """
    R, t = root
    which = np.flatnonzero(use & rays.monocular)
    if not len(which):
        return R, t
    r, o, y = rays.direction[which], rays.from_m[which], local_m[which]
    P = np.eye(3) - r[:, :, None] * r[:, None, :]
    prior = np.repeat([sigmas[0] ** -2.0, sigmas[1] ** -2.0], 3)
    moved = np.zeros(6)
    for _ in range(RAY_STEPS):
        arm = y @ R.T
        e = np.einsum("mij,mj->mi", P, arm + t - o)
        depth = np.maximum(np.einsum("mi,mi->m", r, arm + t - o), MIN_DEPTH_M)
        variance = marker_sigma_m**2 + (depth * rays.sigma_rad[which]) ** 2
        w = 1.0 / (variance * (1.0 + (e * e).sum(axis=1) / (ROBUST_SIGMAS**2 * variance)))
        J = np.concatenate([-np.einsum("mij,mjk->mik", P, skew_from_vector(arm)), P], axis=2)  # d x arm = -[arm]x d
        A = np.einsum("m,mij,mik->jk", w, J, J) + np.diag(prior)
        g = np.einsum("m,mij,mi->j", w, J, e) + prior * moved
        step = -np.linalg.solve(A, g)
        R, t, moved = matrix_from_rotvec(step[:3]) @ R, t + step[3:], moved + step
    return R, t
