"""How sure a solved pose is: Laplace's approximation, a Gaussian with the curvature of the energy at the minimum."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from database.kinematics import _chain, markers_and_jacobian
from database.rotations import Floats, rotvec_from_matrix, skew
from database.skeleton import Skeleton
from reconstruct.cholesky import mirrored, whitened
from reconstruct.local_model import FULL, LocalModel
from reconstruct.observations import Observations
from reconstruct.solve import RootPrior, Solution
from reconstruct.solve_kernels import _energy


@dataclass(frozen=True, slots=True)
class Problem:
    """What a frame was solved with; markers: joint (M,) and offset_m (M, 3) of every marker; model: over all coordinates."""

    skeleton: Skeleton
    markers: tuple[NDArray[np.int64], Floats]
    model: LocalModel
    prior: RootPrior
    observations: Observations
    robust_sigmas: float


def information(problem: Problem, solution: Solution) -> Floats:
    """Give the inverse covariance of joints, turn of the root about the world's axes and its place, (D + 6, D + 6)."""
    model, prior = problem.model, problem.prior
    n = len(model.center) + 6
    A, g = np.empty((n, n)), np.empty(n)
    turn = rotvec_from_matrix(prior.rotation @ solution.rotation.T)
    root = (np.concatenate([turn, prior.position_m]), prior.precision())
    w = (solution.joints - model.mean)[1:].ravel()
    x = np.concatenate([w, np.zeros(3), solution.position_m])
    form = (model.mean, model.directions, model.center, model.precision, np.ascontiguousarray(solution.rotation), *root)
    observed = problem.observations.arrays()
    _energy(x, form, _chain(problem.skeleton), problem.markers, observed, problem.robust_sigmas**2, A, g)
    return mirrored(A)  # the kernel writes its lower triangle


def marker_sigma_m(problem: Problem, solution: Solution, factor: Floats) -> Floats:
    """Give how sure every marker's place is, (M,) [m].

    factor: L of the information L L' about joints, turn and place, (D + 6, D + 6).
    """
    pose = np.concatenate([np.zeros((1, 3)), solution.joints[1:]])
    local, by_joints = markers_and_jacobian(problem.skeleton, pose, FULL, *problem.markers)
    R = solution.rotation.T  # in the root's frame, where a marker is as unsure as in the world
    J = np.concatenate([by_joints, -skew(local) @ R, np.broadcast_to(R, (len(local), 3, 3))], axis=2)
    apart = whitened(factor, J.reshape(-1, len(factor)).T)
    return np.asarray(np.sqrt((apart**2).sum(axis=0).reshape(-1, 3).sum(axis=1) / 3.0))
