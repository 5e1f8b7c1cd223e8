"""Acquisition in one view: label the blobs of one camera without a previous pose, at the start and after a loss.

The body's size is known, so two blobs taken for two markers of a posed and rotated body give its position, depth included. Every
such placement is scored in both directions: markers far from any blob, and blobs far from any marker. The best are refined by
assignment and a fit of root and pose in turn. To one camera a body and the same turned by 180 degrees look almost alike: the
performer is assumed to face it, or the way they last did.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from calibration.camera import Camera
from calibration.subject.subject import Subject
from calibration.world import UP, project_to_floor
from config.arrays import Floats, Ints
from config.jit import inline_kernel, kernel
from config.joints import N_JOINTS
from database.geometry.kinematics import compute_local_markers
from database.geometry.rotations import matrix_from_rotvec
from reconstruct.body_state import BodyState, build_tpose
from reconstruct.observations import Rays
from reconstruct.search.examples import Examples
from reconstruct.solve.root import fit_root_to_rays

GATE_M = 0.18  # the most that a marker or blob counts that is far from all others
N_REPRESENTATIVES, N_CHOSEN_FROM = 160, 3000
POSES_PER_FRAME = 8  # representatives tried in one frame; the next frame tries the next ones
YAWS_RAD = np.radians((0.0, 20.0, -20.0, 40.0, -40.0, 65.0, -65.0))
N_PAIRS = 6
N_KEPT = 12
SLACK_M = 0.12  # how far two blobs may be from where a placement by both has them
FIT_SIGMA_M = 0.05  # how far a marker of a representative is from the performer's
GATES_M = (0.30, 0.22, 0.18, 0.18)  # of the rounds of refinement
DEPTHS_M = np.array((0.8, 12.0))
MIN_DEPTH_M = 0.2
LOOSE = (0.5, 1.0)  # standard deviations of a placement's root: rotation [rad], position [m]
SURE_M, LIKELY_M, MIN_MARGIN = 0.025, 0.07, 1.2  # cost of a labelling that is trusted: alone, and with a margin
LEFT_OVER_M = 0.30  # distance that a marker without a blob counts while one is left over


@kernel
def score_image_placement(blobs: Floats, y: Floats, t: Floats, gate2: float, nearest: Floats) -> float:
    """Return the mean squared distance [m^2] at the markers' depths, markers to blobs and blobs to markers, each at most gate2.

    Args:
        blobs: ideal image points, (N, 2).
        y: rotated markers in the camera's axes, (M, 3).
        t: the root.
        gate2: largest squared distance that counts [m^2].
        nearest: work, (N,).
    """
    nearest[:] = gate2
    total = left_over = 0.0
    for m in range(y.shape[0]):
        z = y[m, 2] + t[2]
        u, v = (y[m, 0] + t[0]) / z, (y[m, 1] + t[1]) / z
        best = gate2
        for p in range(blobs.shape[0]):
            du, dv = z * (u - blobs[p, 0]), z * (v - blobs[p, 1])
            d = du * du + dv * dv
            best = min(best, d)
            nearest[p] = min(nearest[p], d)
        total += best
    for p in range(blobs.shape[0]):
        left_over += nearest[p]
    return float(total / y.shape[0] + left_over / blobs.shape[0])


@kernel
def search_image_placements(
    blobs: Floats, bodies: Floats, pairs: Ints, depths: Floats, slack: float, best: Floats, kept: Floats
) -> None:
    """Keep the best placements of all bodies (H, M, 3): scores in `best` (B,), body and root, camera frame, in `kept` (B, 4).

    Two markers on blobs i, j give the root t with u (z + t_z) = x + t_x for both: the differences give t_z, the means the rest.

    Args:
        blobs: ideal image points, (N, 2).
        bodies: rotated markers of poses, (H, M, 3) [m], in the camera's axes.
        pairs: pairs of markers, (Q, 2).
        depths: least and largest depth of the root [m].
        slack: greatest distance of two blobs from the distance of their markers [m].
        best: scores, (B,), lowest kept; written.
        kept: body and root, camera frame, (B, 4); written.
    """
    n = blobs.shape[0]
    t, nearest = np.empty(3), np.empty(n)
    for h in range(bodies.shape[0]):
        y = bodies[h]
        reach = y[:, 2].min()
        for k in range(pairs.shape[0]):
            a, b = y[pairs[k, 0]], y[pairs[k, 1]]
            for i in range(n):
                for j in range(n):
                    du, dv = blobs[i, 0] - blobs[j, 0], blobs[i, 1] - blobs[j, 1]
                    d2 = du * du + dv * dv
                    if i == j or d2 < 1e-8:
                        continue
                    ex = a[0] - b[0] - blobs[i, 0] * a[2] + blobs[j, 0] * b[2]
                    ey = a[1] - b[1] - blobs[i, 1] * a[2] + blobs[j, 1] * b[2]
                    t[2] = (du * ex + dv * ey) / d2
                    if t[2] < depths[0] or t[2] > depths[1] or t[2] + reach < MIN_DEPTH_M:
                        continue
                    if (ex - t[2] * du) ** 2 + (ey - t[2] * dv) ** 2 > slack * slack:
                        continue
                    t[0] = 0.5 * (blobs[i, 0] * (a[2] + t[2]) - a[0] + blobs[j, 0] * (b[2] + t[2]) - b[0])
                    t[1] = 0.5 * (blobs[i, 1] * (a[2] + t[2]) - a[1] + blobs[j, 1] * (b[2] + t[2]) - b[1])
                    score = score_image_placement(blobs, y, t, GATE_M * GATE_M, nearest)
                    keep_placement(score, h, t, best, kept)


@inline_kernel
def keep_placement(score: float, body: int, t: Floats, best: Floats, kept: Floats) -> None:
    """Put a placement among the best, at most one for each body, in place of the worst.

    Args:
        score: score of the placement.
        body: number of the body.
        t: root of the body, (3,) [m], camera frame.
        best: scores, (B,); written.
        kept: bodies and roots, (B, 4); written.
    """
    worst = 0
    for k in range(best.shape[0]):
        if best[k] > best[worst]:
            worst = k
    for k in range(best.shape[0]):
        if kept[k, 0] == body and best[k] < np.inf:
            worst = k
    if score < best[worst]:
        best[worst] = score
        kept[worst, 0] = body
        kept[worst, 1:] = t


@kernel
def find_nearest_seen_pose(blobs: Floats, bodies: Floats, R: Floats, t: Floats, gate2: float) -> int:
    """Return the number of the pose whose markers are nearest to the blobs, -1 for none.

    Args:
        blobs: ideal image points, (N, 2).
        bodies: markers of poses, (P, M, 3) [m].
        R: rotation of the root, (3, 3), camera frame.
        t: position of the root, (3,) [m], camera frame.
        gate2: largest squared distance that counts [m^2].
    """
    best, found = np.inf, -1
    y, nearest = np.empty((bodies.shape[1], 3)), np.empty(blobs.shape[0])
    for k in range(bodies.shape[0]):
        nearer = np.inf
        for m in range(y.shape[0]):
            for i in range(3):
                y[m, i] = R[i, 0] * bodies[k, m, 0] + R[i, 1] * bodies[k, m, 1] + R[i, 2] * bodies[k, m, 2]
            nearer = min(nearer, y[m, 2] + t[2])
        if nearer < MIN_DEPTH_M:
            continue
        score = score_image_placement(blobs, y, t, gate2, nearest)
        if score < best:
            best, found = score, k
    return found


def choose_farthest_rows(features: Floats, count: int) -> Ints:
    """Choose rows far from each other, each the farthest from those before it, (N, F) -> (count or N,)."""
    chosen = [0]
    far = np.sum((features - features[0]) ** 2, axis=1)
    while len(chosen) < min(count, len(features)):
        chosen.append(int(np.argmax(far)))
        far = np.minimum(far, np.sum((features - features[chosen[-1]]) ** 2, axis=1))
    return np.array(chosen, np.int64)


def choose_wide_pairs(markers: Floats, count: int) -> Ints:
    """Choose pairs of markers that are far apart in most poses (P, M, 3), each marker in two of them at most, (count, 2)."""
    apart = np.median(np.linalg.norm(markers[:, :, None] - markers[:, None], axis=3), axis=0)
    first, second = np.triu_indices(apart.shape[0], 1)
    taken = np.zeros(apart.shape[0], int)
    pairs: list[tuple[int, int]] = []
    for k in np.argsort(-apart[first, second], kind="stable"):
        a, b = int(first[k]), int(second[k])
        if len(pairs) < count and max(taken[a], taken[b]) < 2:
            pairs.append((a, b))
            taken[[a, b]] += 1
    return np.array(pairs, np.int64)


@dataclass(frozen=True, slots=True)
class AcquiredView:
    """A labelling without a previous pose: blob of each marker, (M,), -1 for none; the root; the most similar pose, (J, 3).

    Attributes:
        cost_m: root mean square distance across the rays, missing markers included.
        margin: cost of the next best labelling that differs, as a multiple.
    """

    blob_of_marker: Ints
    rotation: Floats
    position_m: Floats
    joints: Floats
    cost_m: float
    margin: float

    @property
    def trusted(self) -> bool:
        """Whether to use it: it fits closely, or no other nearly as well."""
        return self.cost_m < SURE_M or (self.cost_m < LIKELY_M and self.margin > MIN_MARGIN)


class ViewAcquirer:
    """Labels the blobs of one camera by representative example poses, a few of them in each frame."""

    def __init__(self, subject: Subject, examples: Examples) -> None:
        """Prepare."""
        step = max(1, len(examples) // N_CHOSEN_FROM)
        pose = examples.pose[::step][choose_farthest_rows(examples.marker_m[::step].astype(float), N_REPRESENTATIVES)]
        self._joints = np.zeros((len(pose) + 1, N_JOINTS, 3))
        self._joints[1:, 1:] = pose.reshape(-1, N_JOINTS - 1, 3)
        self._joints[0] = build_tpose()
        self._subject = subject
        self._markers = self._local(self._joints)
        self._pairs = choose_wide_pairs(self._markers, N_PAIRS)
        self._min_labelled = max(5, round(0.6 * len(subject.markers)))
        self._n_frames = 0

    def forget(self) -> None:
        """Begin with the first representatives again."""
        self._n_frames = 0

    def acquire(
        self, camera: Camera, points_px: Floats, last: BodyState | None = None, misled: bool = False
    ) -> AcquiredView | None:
        """Label blobs, (N, 2) [px]; None where nothing fits.

        Args:
            camera: the camera.
            points_px: the blobs, (N, 2) [px].
            last: the pose before the loss, which is tried too, and the direction it faced.
            misled: whether that pose is probably wrong, so that only its direction is used.
        """
        if len(points_px) < self._min_labelled:
            return None
        joints, markers = self._joints, self._markers
        if last is not None and not misled:
            joints = np.concatenate([joints, last.joints[None]])
            markers = np.concatenate([markers, self._local(last.joints[None])])
        ideal = np.ascontiguousarray(camera.undistort(points_px))
        pose, rotation = self._bodies(camera, ideal, last, len(joints) > len(self._joints))
        bodies = np.ascontiguousarray(np.einsum("hij,hmj->hmi", rotation, markers[pose]))
        best, kept = np.full(N_KEPT, np.inf), np.zeros((N_KEPT, 4))
        search_image_placements(ideal, bodies, self._pairs, DEPTHS_M, SLACK_M, best, kept)
        found = []
        for row in kept[np.isfinite(best)]:
            h = int(row[0])
            known = pose[h] == 0 or pose[h] == len(self._joints)  # the T-pose, the last pose
            found.append(_refine_candidate(ideal, markers, int(pose[h]), rotation[h], row[1:], not known))
        return self._best(camera, joints, found)

    def _local(self, joints: Floats) -> Floats:
        """Return the markers of poses relative to the root, (P, M, 3) [m]."""
        return compute_local_markers(self._subject.skeleton, joints, self._subject.joint, self._subject.offset_m)

    def _bodies(self, camera: Camera, ideal: Floats, last: BodyState | None, try_last: bool) -> tuple[Ints, Floats]:
        """Return what to place in this frame: poses, (H,), and rotations of their roots to the camera's frame, (H, 3, 3).

        These are the T-pose and (`try_last`) the last pose always, some representatives in turn; after a loss in alternate frames
        facing the camera and as the performer last faced.
        """
        first = POSES_PER_FRAME * self._n_frames % (len(self._joints) - 1)
        some = 1 + (first + np.arange(min(POSES_PER_FRAME, len(self._joints) - 1))) % (len(self._joints) - 1)
        poses = np.concatenate([[0], some])
        ahead = -np.append(ideal.mean(axis=0), 1.0) @ camera.rotation
        if last is not None and self._n_frames % 2 == 0:
            ahead = last.rotation[:, 2]
        self._n_frames += 1
        yaws = matrix_from_rotvec(YAWS_RAD[:, None] * UP)
        roots = [np.repeat(yaws @ self._facing(ahead), len(poses), axis=0)]
        which = [np.tile(poses, len(yaws))]
        if last is not None and try_last:
            roots.append(yaws @ last.rotation)
            which.append(np.full(len(yaws), len(self._joints)))
        return np.concatenate(which), camera.rotation @ np.concatenate(roots)

    def _facing(self, ahead: Floats) -> Floats:
        """Return the upright root that faces a direction, (3, 3) world."""
        level = project_to_floor(ahead, UP)
        return np.stack([np.cross(UP, level), UP, level], axis=1)

    def _best(self, camera: Camera, joints: Floats, found: list["_ViewCandidate"]) -> AcquiredView | None:
        """Return the best candidate in the world, and how much worse the next one with other labels is."""
        good = [one for one in found if (one.blob_of_marker >= 0).sum() >= self._min_labelled]
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
class _ViewCandidate:
    """A labelling in the camera's frame: blob of each marker, (M,); pose; root rotation (3, 3), position (3,) [m]; cost [m]."""

    blob_of_marker: Ints
    pose: int
    rotation: Floats
    position_m: Floats
    cost_m: float


def _refine_candidate(ideal: Floats, markers: Floats, pose: int, R: Floats, t: Floats, free: bool) -> _ViewCandidate:
    """Assign blobs and fit the root in turn; `free`: and choose the nearest pose (P, M, 3) again."""
    directions = np.column_stack([ideal, np.ones(len(ideal))])
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    best = _ViewCandidate(np.full(markers.shape[1], -1, np.int64), pose, R, t, np.inf)
    for gate in GATES_M:
        if free:
            pose = max(find_nearest_seen_pose(ideal, markers, R, t, gate**2), 0)
        blob, _ = assign_blobs(ideal, markers[pose] @ R.T + t, gate)
        used = blob >= 0
        if used.sum() < 4:
            break
        direction = np.where(used[:, None], directions[blob], 0.0)
        rays = Rays(used, np.zeros_like(direction), direction, np.zeros(len(blob)))
        R, t = fit_root_to_rays(rays, used, markers[pose], (R, t), LOOSE, FIT_SIGMA_M)
        blob, cost_m = assign_blobs(ideal, markers[pose] @ R.T + t, GATE_M)
        if cost_m < best.cost_m:
            best = _ViewCandidate(blob, pose, R, t, cost_m)
    return best


def assign_blobs(ideal: Floats, marker_m: Floats, gate_m: float) -> tuple[Ints, float]:
    """Assign blobs to markers in the camera's frame, (M,), -1 for none, and return the cost: root mean square distances [m].

    A marker without a blob counts GATE_M, or LEFT_OVER_M while a blob is left over.

    Args:
        ideal: ideal image points of the blobs, (N, 2).
        marker_m: markers in the camera's frame, (M, 3) [m].
        gate_m: farthest a blob may be from its marker's ray [m].
    """
    z = np.maximum(marker_m[:, 2], MIN_DEPTH_M)
    d2 = z[:, None] ** 2 * np.sum((marker_m[:, None, :2] / z[:, None, None] - ideal[None]) ** 2, axis=2)
    none = np.full((len(z), len(z)), gate_m**2)
    chosen = linear_sum_assignment(np.hstack([np.minimum(d2, 1e6), none]))[1]
    blob = np.where(chosen < len(ideal), chosen, -1)
    used = blob >= 0
    error2 = np.full(len(z), GATE_M**2)
    n_excess = min(int((~used).sum()), len(ideal) - int(used.sum()))
    error2[np.flatnonzero(~used)[:n_excess]] = LEFT_OVER_M**2
    error2[used] = d2[used, blob[used]]
    return blob, float(np.sqrt(error2.mean()))
