"""The solver: the most probable pose and root for the markers of one frame (Chai & Hodgins 2005, eq. 9)."""

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from config.arrays import Floats, Ints, read_only
from config.joints import N_JOINTS
from database.geometry.kinematics import _chain
from database.geometry.rotations import matrix_from_rotvec
from database.geometry.skeleton import PARENT_ARRAY, Skeleton
from reconstruct.models.local.model import FULL, FULL_SPAN, LocalModel, Quadratic, span_of
from reconstruct.observations import Observations
from reconstruct.solve.energy import Energy, ObservedCoordinates, _minimise
from reconstruct.solve.limits import NO_LIMITS, Limits
from reconstruct.solve.linearise import MarkerBody, PoseSpace
from reconstruct.solve.markers import MarkerTerm
from reconstruct.solve.root import Root, RootPrior
from reconstruct.solve.views import ViewTerm


@dataclass(frozen=True, slots=True)
class FrameProblem:
    """What the pose of a frame is solved from.

    markers: joint (M,) and offset_m (M, 3) of every marker; robust_sigmas: scale of rho; fixed: the body and the terms of the
    markers, the same for every rotation.
    """

    skeleton: Skeleton
    markers: tuple[Ints, Floats]
    model: LocalModel
    root: RootPrior
    observations: Observations
    robust_sigmas: float = 3.0
    fixed: tuple[MarkerBody, MarkerTerm, ViewTerm] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        seen, robust2 = self.observations, self.robust_sigmas**2
        in_one = (seen.root_info[:, 0, 0] <= 0.0) * seen.weight_px  # what is triangulated counts once
        cameras = (seen.view_rotation, seen.view_translation, seen.view_focal)
        terms = (
            MarkerBody(*_chain(self.skeleton), *map(read_only, self.markers)),
            MarkerTerm(read_only(seen.point_m), seen.root_info, robust2),
            ViewTerm(seen.ideal, in_one, *cameras, robust2),
        )
        object.__setattr__(self, "fixed", terms)

    def energy(self, rotation: Floats) -> Energy:
        """Return the terms of the energy, for rotation vectors of the root that count from a rotation, (3, 3).

        Minimising changes the prior, the rotation and the root's term, which are copies.
        """
        model, (body, markers, views) = self.model, self.fixed
        rotation = np.array(rotation, order="C")
        return Energy(
            PoseSpace(model.mean, model.directions, span_of(model.directions), rotation),
            body,
            Quadratic(model.center.copy(), model.precision.copy()),
            self.root.term(rotation),
            markers,
            views,
        )

    @property
    def told(self) -> ObservedCoordinates:
        """Which coordinates the markers that are observed tell of: all of a model that does not have those of joints."""
        model, seen = self.model, self.observations
        if span_of(model.directions) is not FULL_SPAN:
            return ObservedCoordinates(np.arange(len(model.center)), model.directions, span_of(model.directions))
        observed = (seen.root_info[:, 0, 0] > 0.0) | (seen.weight_px > 0.0).any(axis=0)
        return _told(self.markers[0][observed].tobytes())


@lru_cache(maxsize=64)
def _told(joints: bytes) -> ObservedCoordinates:
    """Return which coordinates of all the markers on some joints, int64, tell of."""
    moves = np.zeros(N_JOINTS, bool)
    for joint in np.frombuffer(joints, np.int64):
        while joint > 0 and not moves[joint]:
            moves[joint] = True
            joint = PARENT_ARRAY[joint]
    of_joint = np.repeat(moves[1:], 3)
    order = np.concatenate([np.flatnonzero(of_joint), np.flatnonzero(~of_joint)])
    last = 3 * np.cumsum(moves)
    span = np.stack([last - 3 * moves, last], axis=1)
    return ObservedCoordinates(order, read_only(FULL[:, :, np.flatnonzero(of_joint)]), read_only(span))


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
    n = _minimise(x, terms, problem.told, NO_LIMITS if limits is None else limits, max_iterations, history)
    if span_of(model.directions) is FULL_SPAN:
        joints = model.mean.copy()
        joints[1:] += x[:n_w].reshape(-1, 3)
    else:
        joints = model.mean + model.directions @ x[:n_w]
    rotation = matrix_from_rotvec(x[n_w : n_w + 3]) @ terms.space.rotation
    return Solution(joints, rotation, x[n_w + 3 :], history[: n + 1])
