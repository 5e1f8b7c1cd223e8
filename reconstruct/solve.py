"""Synthesis: the most probable pose and root for the markers of one frame, by Levenberg-Marquardt.

Variables x = (w, d, s): coordinates w of the local model (q = p + U w), a turn d of the root about the world's axes
(R = exp([d]x) R_0) and its place s. The energy is that of Chai & Hodgins 2005, eq. 9, in units of standard deviations:

    E = 1/2 (w - a)' P (w - a)                    prior and smoothness, both quadratic in w
      + 1/2 (z - z_0)' W_z (z - z_0)              the root stays near its prediction
      + sum_m rho(e_m' S_m^-1 e_m)                markers in both cameras, e_m in metres
      + sum_m rho(|u_m - pi(x_m)|^2 / s_m^2)      markers in one camera, in pixels

with rho(s) = c^2 (sqrt(1 + s / c^2) - 1) (pseudo-Huber), so that one wrong marker cannot throw the pose off. A redescending
rho would: started far away, it takes true markers for outliers and stays there.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from database.kinematics import _chain
from database.rotations import Floats, matrix_from_rotvec, rotvec_from_matrix
from database.skeleton import Skeleton
from reconstruct.local_model import LocalModel
from reconstruct.observations import Observations
from reconstruct.solve_kernels import _levenberg_marquardt


@dataclass(frozen=True, slots=True)
class RootPrior:
    """Where the root is expected: orientation (3, 3), place (3,) [m], and how surely: sigmas [rad], [m].

    tilt_sigma_rad: of turns about the horizontal axes, X and Z of the world, if they are known better.
    """

    rotation: Floats
    position_m: Floats
    sigma_rad: float
    sigma_m: float
    tilt_sigma_rad: float | None = None

    def precision(self) -> Floats:
        """Give the inverse variances of a turn about the world's axes and of a shift, (6,)."""
        precision = np.repeat([self.sigma_rad**-2.0, self.sigma_m**-2.0], 3)
        if self.tilt_sigma_rad is not None:
            precision[[0, 2]] = self.tilt_sigma_rad**-2.0
        return precision


@dataclass(frozen=True, slots=True)
class Solution:
    """The solved pose: joints (J, 3) [rad] with row 0 unset, root, energy after every iteration."""

    joints: Floats
    rotation: Floats
    position_m: Floats
    energies: Floats


def solve(
    skeleton: Skeleton,
    markers: tuple[NDArray[np.int64], Floats],
    model: LocalModel,
    root: tuple[Floats, Floats],
    root_prior: RootPrior,
    observations: Observations,
    *,
    start: Floats | None = None,
    robust_sigmas: float = 3.0,
    max_iterations: int = 12,
) -> Solution:
    """Minimise the energy of this module from the model's start (Chai & Hodgins 2005, eq. 9).

    markers: joint (M,) and offset_m (M, 3) of every marker; root: where to start, rotation (3, 3) and place (3,) [m];
    start: coordinates w to start from, (B,), default the model's centre.
    """
    R0, t0 = root
    n_w = model.precision.shape[0]
    turn = _small_turn(R0, root_prior.rotation)
    x = np.concatenate([model.center if start is None else start, np.zeros(3), t0])
    center = np.concatenate([turn, root_prior.position_m])
    quadratic = (model.mean, model.directions, model.center, model.precision)
    problem = (*quadratic, np.ascontiguousarray(R0), center, root_prior.precision())
    history = np.zeros(max_iterations + 1)
    n = _levenberg_marquardt(
        x, problem, _chain(skeleton), markers, observations.arrays(), robust_sigmas**2, max_iterations, history
    )
    joints = model.mean + model.directions @ x[:n_w]
    return Solution(joints, matrix_from_rotvec(x[n_w : n_w + 3]) @ R0, x[n_w + 3 :], history[: n + 1])


def _small_turn(R0: Floats, R1: Floats) -> Floats:
    """Give d with exp([d]x) R0 = R1."""
    return rotvec_from_matrix(R1 @ R0.T)
