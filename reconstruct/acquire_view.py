"""Acquisition in one view: label the blobs of one camera with no previous pose to go by, at the start and after a loss.

The body's size is known, so two blobs taken for two markers of a posed and turned body give its place, depth included. Every such
placement is scored in both directions: markers far from any blob, and blobs far from any marker. The best are refined by
assignment and a fit of root and pose in turn. A body and its image turned by 180 degrees look nearly alike to one camera: the
performer is taken to face it, or the way they last did.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from calibration.camera import Camera
from calibration.subject import Subject
from config.joints import N_JOINTS
from database.kinematics import charted, local_markers
from database.rotations import Floats, matrix_from_rotvec
from reconstruct.examples import Examples
from reconstruct.history import Moment
from reconstruct.sight import Sight, root_in_sight
from reconstruct.view_placement import GATE_M, _nearest_pose, _search, diverse, wide_pairs

N_REPRESENTATIVES, N_TO_CHOOSE_FROM = 160, 3000
POSES_A_FRAME = 8  # representatives tried in one frame; the next frame tries the next ones
YAWS_RAD = np.radians((0.0, 20.0, -20.0, 40.0, -40.0, 65.0, -65.0))
N_PAIRS = 6
N_KEPT = 12
SLACK_M = 0.12  # how far two blobs may be from where a placement by both has them
FIT_SIGMA_M = 0.05  # how far a marker of a representative is from the performer's
GATES_M = (0.30, 0.22, 0.18, 0.18)
DEPTHS_M = np.array((0.8, 12.0))
LOOSE = (0.5, 1.0)  # sigmas of a placement's root: turn [rad], place [m]
SURE_M, LIKELY_M, HARDLY_M = 0.025, 0.055, 0.07
CLEAR_MARGIN, PATIENCE_S = 1.2, 0.7
LEFT_OVER_M = 0.30  # as how far off a marker counts that has no blob while one is left over


@dataclass(frozen=True, slots=True)
class AcquiredView:
    """A labelling found from nothing: blob of each marker, (M,), -1 for none; the root; the pose it resembles, (J, 3).

    cost_m: root mean square distance across the lines of sight, what is missing counted too; margin: cost of the next best
    labelling that says otherwise, as a multiple.
    """

    blob_of_marker: NDArray[np.int64]
    rotation: Floats
    position_m: Floats
    joints: Floats
    cost_m: float
    margin: float

    def trusted(self, waited_s: float) -> bool:
        """Tell whether to go by it: it fits closely and nothing else nearly as well; after a while it need fit less closely."""
        if self.cost_m < SURE_M or (self.cost_m < LIKELY_M and self.margin > CLEAR_MARGIN):
            return True
        return waited_s > PATIENCE_S and self.cost_m < HARDLY_M and self.margin > CLEAR_MARGIN


class ViewAcquirer:
    """Holds the example poses that acquisition compares with, and which of them come next."""

    def __init__(self, subject: Subject, examples: Examples, up: Floats) -> None:
        """Prepare. up: upwards in the world, (3,)."""
        step = max(1, len(examples) // N_TO_CHOOSE_FROM)
        pose = examples.pose[::step][diverse(examples.marker_m[::step].astype(float), N_REPRESENTATIVES)]
        self._joints = np.zeros((len(pose) + 1, N_JOINTS, 3))
        self._joints[1:, 1:] = pose.reshape(-1, N_JOINTS - 1, 3)
        self._joints[0] = charted(np.broadcast_to(np.eye(3), (N_JOINTS, 3, 3)))
        self._subject = subject
        self._markers = self._local(self._joints)
        self._pairs = wide_pairs(self._markers, N_PAIRS)
        self._up = up / np.linalg.norm(up)
        self._enough = max(5, round(0.6 * len(subject.markers)))
        self._turn = 0

    def forget(self) -> None:
        """Start anew."""
        self._turn = 0

    def acquire(self, camera: Camera, points_px: Floats, last: Moment | None = None, misled: bool = False) -> AcquiredView | None:
        """Label blobs, (N, 2) [px]; None where nothing fits.

        last: the pose before the loss, tried too, and where it looked; misled: the pose is rather wrong, go by its turn only.
        """
        if len(points_px) < self._enough:
            return None
        joints, markers = self._joints, self._markers
        if last is not None and not misled:
            joints = np.concatenate([joints, last.joints[None]])
            markers = np.concatenate([markers, self._local(last.joints[None])])
        ideal = np.ascontiguousarray(camera.undistort(points_px))
        pose, turned = self._bodies(camera, ideal, last, len(joints) > len(self._joints))
        bodies = np.ascontiguousarray(np.einsum("hij,hmj->hmi", turned, markers[pose]))
        best, kept = np.full(N_KEPT, np.inf), np.zeros((N_KEPT, 4))
        _search(ideal, bodies, self._pairs, DEPTHS_M, SLACK_M, best, kept)
        found = []
        for row in kept[np.isfinite(best)]:
            h = int(row[0])
            likely = pose[h] == 0 or pose[h] == len(self._joints)
            found.append(_refined(ideal, markers, int(pose[h]), (turned[h], row[1:]), not likely))
        return self._chosen(camera, joints, found)

    def _local(self, joints: Floats) -> Floats:
        """Give the markers of poses relative to the root, (P, M, 3) [m]."""
        return local_markers(self._subject.skeleton, joints, self._subject.joint, self._subject.offset_m)

    def _bodies(self, camera: Camera, ideal: Floats, last: Moment | None, again: bool) -> tuple[NDArray[np.int64], Floats]:
        """Give what to place in this frame: poses, (H,), and rotations of their roots to the camera's frame, (H, 3, 3).

        The T-pose and (`again`) the last pose always, some representatives in turn; after a loss every other frame looks for a
        performer who faces the camera, the others for one who looks to where they last did.
        """
        first = POSES_A_FRAME * self._turn % (len(self._joints) - 1)
        some = 1 + (first + np.arange(min(POSES_A_FRAME, len(self._joints) - 1))) % (len(self._joints) - 1)
        poses = np.concatenate([[0], some])
        ahead = -np.append(ideal.mean(axis=0), 1.0) @ camera.rotation
        if last is not None and self._turn % 2 == 0:
            ahead = last.rotation[:, 2]
        self._turn += 1
        turns = matrix_from_rotvec(YAWS_RAD[:, None] * self._up)
        roots = [np.repeat(turns @ self._facing(ahead), len(poses), axis=0)]
        which = [np.tile(poses, len(turns))]
        if last is not None and again:
            roots.append(turns @ last.rotation)
            which.append(np.full(len(turns), len(self._joints)))
        return np.concatenate(which), camera.rotation @ np.concatenate(roots)

    def _facing(self, ahead: Floats) -> Floats:
        """Give the upright root that faces a direction, (3, 3) world."""
        level = ahead - (ahead @ self._up) * self._up
        if np.linalg.norm(level) < 1e-3:
            level = np.cross(self._up, np.roll(self._up, 1))
        level = level / np.linalg.norm(level)
        return np.stack([np.cross(self._up, level), self._up, level], axis=1)

    def _chosen(self, camera: Camera, joints: Floats, found: list["_Placed"]) -> AcquiredView | None:
        """Give the best placement in the world, and how much worse the next one is that says otherwise."""
        good = [one for one in found if (one.blob_of_marker >= 0).sum() >= self._enough]
        if not good:
            return None
        best = min(good, key=lambda one: one.cost_m)
        a = best.blob_of_marker
        rivals = [one.cost_m for one in good if ((one.blob_of_marker != a) & (one.blob_of_marker >= 0) & (a >= 0)).any()]
        rotation = camera.rotation.T @ best.rotation
        position = camera.rotation.T @ (best.position_m - camera.translation)
        margin = min(rivals, default=np.inf) / max(best.cost_m, 1e-9)
        return AcquiredView(a, rotation, position, joints[best.pose], best.cost_m, margin)


@dataclass(frozen=True, slots=True)
class _Placed:
    """A labelling in the camera's frame: blob of each marker, (M,); pose; root rotation (3, 3), place (3,) [m]; cost [m]."""

    blob_of_marker: NDArray[np.int64]
    pose: int
    rotation: Floats
    position_m: Floats
    cost_m: float


def _refined(ideal: Floats, markers: Floats, pose: int, root: tuple[Floats, Floats], free: bool) -> _Placed:
    """Assign blobs and fit the root in turn; `free`: and choose the pose (P, M, 3) anew."""
    lines = np.column_stack([ideal, np.ones(len(ideal))])
    lines /= np.linalg.norm(lines, axis=1, keepdims=True)
    best = _Placed(np.full(markers.shape[1], -1, np.int64), pose, *root, np.inf)
    for gate in GATES_M:
        if free:
            pose = max(_nearest_pose(ideal, markers, *root, gate**2), 0)
        blob, _ = _assigned(ideal, markers[pose] @ root[0].T + root[1], gate)
        used = blob >= 0
        if used.sum() < 4:
            break
        direction = np.where(used[:, None], lines[blob], 0.0)
        sight = Sight(used, np.zeros_like(direction), direction, np.zeros(len(blob)))
        root = root_in_sight(sight, used, markers[pose], root, LOOSE, FIT_SIGMA_M)
        blob, cost_m = _assigned(ideal, markers[pose] @ root[0].T + root[1], GATE_M)
        if cost_m < best.cost_m:
            best = _Placed(blob, pose, *root, cost_m)
    return best


def _assigned(ideal: Floats, marker_m: Floats, gate_m: float) -> tuple[NDArray[np.int64], float]:
    """Assign blobs to markers in the camera's frame, -1 for none, and give the root mean square distance at their depths [m].

    What has no partner counts GATE_M; a marker without a blob while one is left over counts LEFT_OVER_M.
    """
    z = np.maximum(marker_m[:, 2], 0.2)
    d2 = z[:, None] ** 2 * np.sum((marker_m[:, None, :2] / z[:, None, None] - ideal[None]) ** 2, axis=2)
    nothing = np.full((len(z), len(z)), gate_m**2)
    chosen = linear_sum_assignment(np.hstack([np.minimum(d2, 1e6), nothing]))[1]
    blob = np.where(chosen < len(ideal), chosen, -1)
    used = blob >= 0
    error2 = np.full(len(z), GATE_M**2)
    n_excess = min(int((~used).sum()), len(ideal) - int(used.sum()))
    error2[np.flatnonzero(~used)[:n_excess]] = LEFT_OVER_M**2
    error2[used] = d2[used, blob[used]]
    return blob, float(np.sqrt(error2.mean()))
