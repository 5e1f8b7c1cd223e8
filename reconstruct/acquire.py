"""Acquisition: label points with no previous pose to go by, at the start and after a loss.

The torso is nearly rigid, so its markers are sought first, as triples with the right distances, among all points. Each root
so found is scored against the markers of many example poses; the best few are refined by assignment.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calibration.constellation import assign, place_constellation
from calibration.subject import Subject
from config.jit import kernel
from config.joints import N_JOINTS
from database.kinematics import charted, local_markers
from database.rotations import Floats, rigid_fit
from reconstruct.examples import Examples

N_REPRESENTATIVES = 1500
N_ROOTS = 24
GATE_M = 0.20
GATES_M = (0.45, 0.30, 0.25, 0.20)  # of the rounds of refinement
LEFT_OVER_M = 0.35  # as how far off a marker counts that has no point while one is left over
SLACK_M = 0.08
SURE_M, LIKELY_M, HARDLY_M = 0.07, 0.10, 0.13
CLEAR_MARGIN, PATIENCE_S = 1.4, 0.7
AVERTED = 1.4  # times the cost for a performer seen from behind


@dataclass(frozen=True, slots=True)
class Acquired:
    """A labelling found from nothing: point of each marker, (M,), -1 for none; the root; the pose it resembles, (J, 3).

    cost_m: root mean square distance, what is missing counted too; margin: cost of the next best labelling, as a multiple.
    """

    point_of_marker: NDArray[np.int64]
    rotation: Floats
    position_m: Floats
    joints: Floats
    cost_m: float
    margin: float = 1.0

    def trusted(self, waited_s: float) -> bool:
        """Tell whether to go by it, the less surely the longer nothing better was found.

        Of acquisitions amid rendered walks, runs and punches that cost less than 7 cm 99 % were right, of those below 10 cm
        with a clear margin 89 %, of the others half.
        """
        clear = self.margin > CLEAR_MARGIN
        if self.cost_m < SURE_M or (self.cost_m < LIKELY_M and clear):
            return True
        return waited_s > PATIENCE_S and (self.cost_m < LIKELY_M or (self.cost_m < HARDLY_M and clear))


@kernel
def _best_pose(points: Floats, markers: Floats, gate2: float) -> tuple[int, float]:
    """Give the pose (P, M, 3) whose markers lie nearest to the points (N, 3), and its summed squared distance."""
    best, best_pose = 1e300, -1
    for k in range(markers.shape[0]):
        total = 0.0
        for m in range(markers.shape[1]):
            near = gate2
            for p in range(points.shape[0]):
                d = (
                    (markers[k, m, 0] - points[p, 0]) ** 2
                    + (markers[k, m, 1] - points[p, 1]) ** 2
                    + (markers[k, m, 2] - points[p, 2]) ** 2
                )
                if d < near:
                    near = d
            total += near
            if total >= best:
                break
        if total < best:
            best, best_pose = total, k
    return best_pose, best


class Acquirer:
    """Holds the example poses that acquisition compares with."""

    def __init__(self, subject: Subject, examples: Examples, viewpoint_m: Floats | None = None) -> None:
        """Prepare. viewpoint_m: middle of the cameras, (3,) [m] world: performers mostly face them; None if unknown."""
        self._viewpoint_m = viewpoint_m
        step = max(1, len(examples) // N_REPRESENTATIVES)
        joints = np.zeros((len(examples.pose[::step]) + 1, N_JOINTS, 3))
        joints[1:, 1:] = examples.pose[::step].reshape(-1, N_JOINTS - 1, 3)
        joints[0] = charted(np.broadcast_to(np.eye(3), (N_JOINTS, 3, 3)))
        self._joints = joints
        self._markers = local_markers(subject.skeleton, joints, subject.joint, subject.offset_m)
        self._torso = subject.markers.torso
        self._enough = max(5, round(0.6 * len(subject.markers)))

    def acquire(self, points: Floats, last_joints: Floats | None = None, last_markers: Floats | None = None) -> Acquired | None:
        """Label points (P, 3) [m] world; None where nothing fits.

        last_joints (J, 3), last_markers (M, 3) [m] relative to the root: the last pose before the loss, a candidate too.
        """
        if len(points) < self._enough:
            return None
        joints, markers = self._joints, self._markers
        if last_joints is not None and last_markers is not None:
            joints, markers = np.concatenate([joints, last_joints[None]]), np.concatenate([markers, last_markers[None]])
        torso_shape = np.ascontiguousarray(self._markers[0][self._torso])
        # The T-pose every session starts in and the pose before a loss are likelier than any one of the others.
        likely = [0] if last_joints is None else [0, len(joints) - 1]
        candidates: list[Acquired] = []
        for placed in place_constellation(points, torso_shape, slack_m=SLACK_M, gate_m=GATE_M)[:N_ROOTS]:
            root = (placed.rotation, placed.translation)
            candidates.append(_refined(points, markers, joints, root))
            candidates += [_refined(points, markers[[k]], joints[[k]], root) for k in likely]
        good = [c for c in candidates if (c.point_of_marker >= 0).sum() >= self._enough]
        if not good:
            return None
        best = min(good, key=self._doubtful_cost)
        others = [c for c in candidates if not np.array_equal(c.point_of_marker, best.point_of_marker)]
        next_best = min((self._doubtful_cost(c) for c in others), default=np.inf)
        return replace(best, margin=next_best / max(self._doubtful_cost(best), 1e-9))

    def _doubtful_cost(self, candidate: Acquired) -> float:
        """Give the cost, more for a back turned to the cameras: a body is nearly its own image turned by 180 degrees."""
        if self._viewpoint_m is None:
            return candidate.cost_m
        facing = candidate.rotation[:, 2] @ (self._viewpoint_m - candidate.position_m)
        return candidate.cost_m * (1.0 if facing > 0 else AVERTED)


def _refined(points: Floats, markers: Floats, joints: Floats, root: tuple[Floats, Floats]) -> Acquired:
    """Choose the pose, assign and fit the root in turn: a root from the torso alone turns the hands far off."""
    R, t = root
    best = Acquired(np.full(markers.shape[1], -1, np.int64), R, t, joints[0], LEFT_OVER_M)
    for gate in GATES_M:
        pose, _ = _best_pose(np.ascontiguousarray((points - t) @ R), markers, gate**2)
        choice = assign(points, markers[pose] @ R.T + t, gate)
        used = choice >= 0
        if used.sum() < 3:
            break
        R, t = rigid_fit(markers[pose][used], points[choice[used]])
        found = _assigned(points, markers[pose], joints[pose], (R, t))
        best = min(best, found, key=lambda candidate: candidate.cost_m)
    return best


def _assigned(points: Floats, local: Floats, joints: Floats, root: tuple[Floats, Floats]) -> Acquired:
    """Assign points to the markers of a placed pose; a marker without a point costs more where points are left over."""
    R, t = root
    choice = assign(points, local @ R.T + t, GATE_M)
    used = choice >= 0
    n_excess = min(int((~used).sum()), len(points) - int(used.sum()))
    error2 = np.full(len(local), GATE_M**2)
    error2[np.flatnonzero(~used)[:n_excess]] = LEFT_OVER_M**2
    error2[used] = np.sum((local[used] @ R.T + t - points[choice[used]]) ** 2, axis=1)
    return Acquired(choice, R, t, joints, float(np.sqrt(error2.mean())))
