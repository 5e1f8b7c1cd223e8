"""The solver: the most probable pose and root for the markers of one frame (Chai & Hodgins 2005, eq. 9)."""

from dataclasses import dataclass, field

import numpy as np

from config.arrays import Floats, Ints, make_read_only
from database.geometry.kinematics import _pack_chain
from database.geometry.rotations import matrix_from_rotvec, rotvec_between
from database.geometry.skeleton import Skeleton
from reconstruct.models.local.model import FULL_SPAN, LocalModel, Quadratic, find_direction_span
from reconstruct.observations import Observations
from reconstruct.solve.energy import Energy, run_levenberg_marquardt
from reconstruct.solve.grips import NO_GRIPS, Grips, GripTerm
from reconstruct.solve.limits import NO_LIMITS, Limits
from reconstruct.solve.linearise import MarkerBody, PoseSpace
from reconstruct.solve.markers import MarkerTerm
from reconstruct.solve.root import Root, RootPrior
from reconstruct.solve.views import ViewTerm


@dataclass(frozen=True, slots=True)
class FrameProblem:
    """Observations and priors that the pose of a frame is solved from.

    Attributes:
        markers: joint (M,) and offset_m (M, 3) of every marker.
        root: expected, with its deviations where the model is of the joints alone.
        robust_sigmas: scale of rho.
        limits: limits of the joints.
        grips: props that both hands hold.
        fixed: the body and the terms of the markers, the same for every rotation.
    """

    skeleton: Skeleton
    markers: tuple[Ints, Floats]
    model: LocalModel
    root: RootPrior
    observations: Observations
    robust_sigmas: float = 3.0
    limits: Limits = NO_LIMITS
    grips: Grips = NO_GRIPS
    fixed: tuple[MarkerBody, MarkerTerm, ViewTerm, GripTerm] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        seen, robust2 = self.observations, self.robust_sigmas**2
        in_one = (seen.root_info[:, 0, 0] <= 0.0) * seen.weight_px  # what is triangulated counts once
        scale2 = np.full(len(seen.point_m), robust2) if seen.share is None else robust2 * seen.share
        joint, offset_m = self.markers
        grips = GripTerm(len(joint), len(self.grips.joint) // 2, robust2)
        if grips.n_grips:
            joint, offset_m = np.concatenate([joint, self.grips.joint]), np.concatenate([offset_m, self.grips.offset_m])
        terms = (
            MarkerBody(*_pack_chain(self.skeleton), make_read_only(joint), make_read_only(offset_m)),
            MarkerTerm(make_read_only(seen.point_m), seen.root_info, robust2),
            ViewTerm(seen.ideal, in_one, seen.view_rotation, seen.view_translation, seen.view_focal, make_read_only(scale2)),
            grips,
        )
        object.__setattr__(self, "fixed", terms)

    def energy(self, rotation: Floats) -> Energy:
        """Return the terms of the energy, for rotation vectors of the root that count from a rotation, (3, 3)."""
        model, (body, markers, views, grips) = self.model, self.fixed
        space = PoseSpace(model.mean, model.directions, find_direction_span(model.directions), np.ascontiguousarray(rotation))
        return Energy(space, body, self._prior(rotation), self.limits, markers, views, grips)

    def _prior(self, rotation: Floats) -> Quadratic:
        """Return what is known before of all variables, (B + 6,)."""
        n, precision = len(self.model.center), self.model.precision
        if len(precision) == n:
            precision = np.zeros((n + 6, n + 6))
            precision[:n, :n] = self.model.precision
            precision[range(n, n + 6), range(n, n + 6)] = self.root.precision
        center = np.concatenate([self.model.center, rotvec_between(rotation, self.root.rotation), self.root.position_m])
        return Quadratic(center, precision)


@dataclass(frozen=True, slots=True)
class Solution:
    """The solved pose: joints (J, 3) [rad] with row 0 unset, root, energy after every iteration."""

    joints: Floats
    rotation: Floats
    position_m: Floats
    energies: Floats


def solve_pose(problem: FrameProblem, root: Root, *, start: Floats | None = None, max_iterations: int = 12) -> Solution:
    """Solve for the pose of a frame: minimise its energy from a root.

    Args:
        problem: the frame's terms.
        root: the pose is relative to.
        start: coordinates w, (B,), by default the local model's centre.
        max_iterations: greatest number of iterations of the solver.
    """
    model, n_w = problem.model, len(problem.model.center)
    x = np.concatenate([model.center if start is None else start, np.zeros(3), root[1]])
    history = np.zeros(max_iterations + 1)
    n = run_levenberg_marquardt(x, problem.energy(root[0]), max_iterations, history)
    if find_direction_span(model.directions) is FULL_SPAN:
        joints = model.mean.copy()
        joints[1:] += x[:n_w].reshape(-1, 3)
    else:
        joints = model.mean + model.directions @ x[:n_w]
    return Solution(joints, matrix_from_rotvec(x[n_w : n_w + 3]) @ root[0], x[n_w + 3 :], history[: n + 1])
