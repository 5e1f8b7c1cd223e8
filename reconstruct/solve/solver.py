"""The solver: the most probable pose and root for the markers of one frame (Chai & Hodgins 2005, eq. 9)."""

from dataclasses import dataclass

import numpy as np

from config.arrays import Floats, Ints, read_only
from database.geometry.kinematics import _chain
from database.geometry.rotations import matrix_from_rotvec
from database.geometry.skeleton import Skeleton
from reconstruct.models.local.model import LocalModel, Quadratic, span_of
from reconstruct.observations import Observations
from reconstruct.solve.energy import Energy, _minimise
from reconstruct.solve.limits import NO_LIMITS, Limits
from reconstruct.solve.linearise import MarkerBody, PoseSpace
from reconstruct.solve.markers import MarkerTerm
from reconstruct.solve.root import Root, RootPrior
from reconstruct.solve.views import ViewTerm


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
        """Return the terms of the energy, for rotation vectors of the root that count from a rotation, (3, 3).

        Minimising changes the prior, the rotation and the root's term, which are copies.
        """
        model, seen, robust2 = self.model, self.observations, self.robust_sigmas**2
        rotation = np.array(rotation, order="C")
        in_one = np.where(seen.root_info[:, 0, 0] > 0.0, 0.0, seen.weight_px)  # what is triangulated counts once
        cameras = (seen.view_rotation, seen.view_translation, seen.view_focal)
        return Energy(
            PoseSpace(model.mean, model.directions, span_of(model.directions), rotation),
            MarkerBody(*_chain(self.skeleton), *map(read_only, self.markers)),
            Quadratic(model.center.copy(), model.precision.copy()),
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
    """Minimise the energy of a frame from a root, within the joints' limits.

    limits: of joints, none by default; start: coordinates w, (B,), by default the local model's centre.
    """
    model, n_w = problem.model, len(problem.model.center)
    x = np.concatenate([model.center if start is None else start, np.zeros(3), root[1]])
    history, terms = np.zeros(max_iterations + 1), problem.energy(root[0])
    n = _minimise(x, terms, NO_LIMITS if limits is None else limits, max_iterations, history)
    joints = model.mean + model.directions @ x[:n_w]
    rotation = matrix_from_rotvec(x[n_w : n_w + 3]) @ terms.space.rotation
    return Solution(joints, rotation, x[n_w + 3 :], history[: n + 1])
