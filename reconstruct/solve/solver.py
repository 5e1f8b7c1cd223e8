"""The solver: the most probable pose and root for the markers of one frame (Chai & Hodgins 2005, eq. 9)."""

from dataclasses import dataclass, replace

import numpy as np

from config.arrays import Floats, Ints, read_only
from database.geometry.kinematics import _chain
from database.geometry.rotations import matrix_from_rotvec
from database.geometry.skeleton import Skeleton
from reconstruct.models.local.model import LocalModel
from reconstruct.observations import Observations
from reconstruct.solve.energy import Energy, _levenberg_marquardt
from reconstruct.solve.limits import Limits, clamped
from reconstruct.solve.linearise import MarkerBody, PoseSpace
from reconstruct.solve.markers import MarkerTerm
from reconstruct.solve.root import Root, RootPrior
from reconstruct.solve.views import ViewTerm

LIMIT_ROUNDS = 3  # solutions of a frame at most, each with the joints clamped that overstepped a limit in the one before


@dataclass(frozen=True, slots=True)
class FrameProblem:
    """What the pose of a frame is solved from.

    markers: joint (M,) and offset_m (M, 3) of every marker; robust_sigmas: scale of rho.
    """

    skeleton: Skeleton
    markers: tuple[Ints, Floats]
    model: LocalModel
    root: RootPrior
    observations: Observations
    robust_sigmas: float = 3.0

    def energy(self, rotation: Floats) -> Energy:
        """Return the terms of the energy, for rotation vectors of the root that count from a rotation, (3, 3)."""
        model, seen, robust2 = self.model, self.observations, self.robust_sigmas**2
        rotation = np.ascontiguousarray(rotation)
        in_one = np.where(seen.root_info[:, 0, 0] > 0.0, 0.0, seen.weight_px)  # what is triangulated counts once
        cameras = (seen.view_rotation, seen.view_translation, seen.view_focal)
        return Energy(
            PoseSpace(model.mean, model.directions, rotation),
            MarkerBody(*_chain(self.skeleton), *map(read_only, self.markers)),
            model.quadratic,
            self.root.term(rotation),
            MarkerTerm(read_only(seen.point_m), seen.root_info, robust2),
            ViewTerm(seen.ideal, in_one, *cameras, robust2),
        )


@dataclass(frozen=True, slots=True)
class Solution:
    """The solved pose: joints (J, 3) [rad] with row 0 unset, root, energy after every iteration."""

    joints: Floats
    rotation: Floats
    position_m: Floats
    energies: Floats


def solve(
    problem: FrameProblem,
    root: Root,
    *,
    limits: Limits | None = None,
    start: Floats | None = None,
    max_iterations: int = 12,
) -> Solution:
    """Minimise the energy of a frame from a root, and again with those joints clamped that overstep a limit.

    limits: of joints, for local models over all coordinates; start: coordinates w, (B,), by default the local model's centre.
    """
    model = problem.model
    for _ in range(LIMIT_ROUNDS):
        R0, t0 = root
        n_w = len(model.center)
        x = np.concatenate([model.center if start is None else start, np.zeros(3), t0])
        history = np.zeros(max_iterations + 1)
        n = _levenberg_marquardt(x, replace(problem, model=model).energy(R0), max_iterations, history)
        joints = model.mean + model.directions @ x[:n_w]
        rotation, position_m = matrix_from_rotvec(x[n_w : n_w + 3]) @ R0, x[n_w + 3 :]
        narrower = None if limits is None else clamped(model, joints, limits)
        if narrower is None:
            break
        # The minimum with some joints clamped is near the one without.
        model, root, start = narrower, (rotation, position_m), (joints - model.mean)[1:].ravel()
    return Solution(joints, rotation, position_m, history[: n + 1])
