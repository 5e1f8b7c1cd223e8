"""Synthesis in a straightforward way: the same energy with its gradient in numpy, minimised by scipy's L-BFGS.

Variables: z = (66 joint coordinates, rotation vector of the root, its position, x). The energy is that of
`reconstruct.models.style.synthesis.synthesis` for one style, points in space and no poses before (Grochow et al. 2004, sections
5.2 and 6):

    |W (s - f(x))|^2 / (2 s2(x)) + D/2 ln s2(x) + 1/2 |x|^2 + sum_p |p - target_p|^2 / (2 sigma^2) + fixed

where `fixed` keeps features that are not modelled near their means.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from config.arrays import Floats
from config.joints import N_JOINTS
from database.geometry.kinematics import markers_and_jacobian
from database.geometry.rotations import matrix_from_rotvec, skew
from database.geometry.skeleton import Skeleton
from reconstruct.models.style.features import N_ANGLES, N_STATIC, UP
from reconstruct.models.style.model import Style, StyleEvaluator, covariance

FIXED_RAD = 0.03  # of features that no style models, as in synthesis
DIRECTIONS = np.ascontiguousarray(np.eye(3 * N_JOINTS).reshape(N_JOINTS, 3, -1))


@dataclass(frozen=True, slots=True)
class Targets:
    """Joints, (P,), with targets, (P, 3) [m], and their standard deviation [m]."""

    joint: NDArray[np.int64]
    target_m: Floats
    sigma_m: float


def left_jacobian(r: Floats) -> Floats:
    """Return J_l of the exponential map, (3,) -> (3, 3)."""
    t = float(np.linalg.norm(r))
    if t < 1e-6:
        return np.asarray(np.eye(3) + 0.5 * skew(r))
    K = skew(r / t)
    return np.asarray(np.eye(3) + (1.0 - np.cos(t)) / t * K + (1.0 - np.sin(t) / t) * K @ K)


class PlainEnergy:
    """The energy of one style at one level of annealing."""

    def __init__(self, style: Style, level: StyleEvaluator, skeleton: Skeleton) -> None:
        """Use the modelled static features only."""
        column = np.flatnonzero(style.modelled)
        used = column < N_STATIC
        self.column, self.level, self.skeleton = column[used], level, skeleton
        self.scale, self.mean, self.coefficients = level.scale[used], level.mean[used], level.coefficients[:, used]
        self.weight = np.where(style.modelled[:N_STATIC], 0.0, FIXED_RAD**-2)
        self.centre = style.mean[:N_STATIC]

    def likelihood(self, x: Floats, s: Floats) -> tuple[float, Floats, Floats]:
        """Return L_IK with its gradients by x, (Q,), and by the static features, (S,)."""
        X, p = self.level.latent, self.level.parameters
        k = covariance(x[None], X, p)[0]
        dk = -p.gamma * (x - X) * k[:, None]
        solved = self.level.inverse @ k
        s2 = max(p.alpha + 1.0 / p.beta - float(k @ solved), 1e-9 * p.alpha)
        u = self.scale * (s[self.column] - self.mean - k @ self.coefficients)
        misfit, d = float(u @ u), len(u)
        by_features = self.scale * u / s2
        by_x = -(by_features @ self.coefficients.T) @ dk + (d - misfit / s2) / (2.0 * s2) * (-2.0 * solved @ dk) + x
        by_s = np.zeros(N_STATIC)
        by_s[self.column] = by_features
        return 0.5 * misfit / s2 + 0.5 * d * float(np.log(s2)) + 0.5 * float(x @ x), by_x, by_s

    def value(self, z: Floats, targets: Targets) -> tuple[float, Floats]:
        """Return the energy with its gradient."""
        angles, turn, root_m, x = z[:N_ANGLES], z[N_ANGLES : N_ANGLES + 3], z[N_ANGLES + 3 : N_ANGLES + 6], z[N_ANGLES + 6 :]
        rotvec = np.concatenate([turn, angles]).reshape(N_JOINTS, 3)
        R = matrix_from_rotvec(turn)
        s = np.concatenate([angles, R.T @ UP])
        energy, by_x, by_s = self.likelihood(x, s)
        fixed = self.weight * (s - self.centre)
        energy += 0.5 * float(fixed @ (s - self.centre))
        by_s += fixed
        points, J = markers_and_jacobian(self.skeleton, rotvec, DIRECTIONS, targets.joint, np.zeros((len(targets.joint), 3)))
        off = (points + root_m - targets.target_m) / targets.sigma_m**2
        energy += 0.5 * targets.sigma_m**2 * float(np.vdot(off, off))
        by_rotvec = np.einsum("pi,pib->b", off, J)
        gradient = np.empty(len(z))
        gradient[:N_ANGLES] = by_rotvec[3:] + by_s[:N_ANGLES]
        gradient[N_ANGLES : N_ANGLES + 3] = by_rotvec[:3] + by_s[N_ANGLES:] @ (R.T @ skew(UP) @ left_jacobian(turn))
        gradient[N_ANGLES + 3 : N_ANGLES + 6] = off.sum(axis=0)
        gradient[N_ANGLES + 6 :] = by_x
        return energy, gradient

    def minimum(self, start: Floats, targets: Targets, steps: int = 1000) -> tuple[Floats, float]:
        """Return where the energy is least near a start, and how much it is."""
        found = minimize(self.value, start, args=(targets,), jac=True, method="L-BFGS-B", options={"maxiter": steps})
        return np.asarray(found.x), float(found.fun)


def state(rotvec: Floats, root_m: Floats, x: Floats) -> Floats:
    """Return a pose, (J, 3) [rad] and root (3,) [m], with its x as unknowns."""
    return np.concatenate([rotvec[1:].ravel(), rotvec[0], root_m, x])
