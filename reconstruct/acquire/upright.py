"""Upright bodies: example poses standing at the origin, their index, and the placements of them that acquisition tries.

A placement is (cos, sin, x, y, z): x -> R x + t with R a rotation about Y. Upright poses have gravity along -Y and face +Z.
"""

from typing import NamedTuple

import numpy as np

from calibration.subject.constellation import assign_points
from calibration.subject.subject import Subject
from config.arrays import Bools, Floats, Ints, Singles
from config.jit import kernel
from config.joints import JOINT_INDEX, JOINTS, PARENTS, mirror_joint_name
from database.geometry.kinematics import compute_local_markers
from database.geometry.rotations import matrix_from_rotvec
from reconstruct.body_state import build_tpose

MAX_PAIRS = 6


class PoseIndex(NamedTuple):
    """Upright poses in lists: those of centre c are `member[start[c]:start[c + 1]]`.

    Attributes:
        poses: markers of the poses, (N, M, 3) [m].
        centers: centres, (C, M, 3) [m].
        start: (C + 1,).
        member: (N,).
    """

    poses: Floats
    centers: Floats
    start: Ints
    member: Ints


def build_pose_index(poses: Floats, n_centers: int) -> PoseIndex:
    """Build the index of poses (N, M, 3): centres that cover them, and the poses nearest to each.

    Half of the centres are each the pose farthest from those before it (Gonzalez 1985), so that no pose is far from all; the
    others are drawn at random, so that lists are short where poses are dense.
    """
    flat = poses.reshape(len(poses), -1).astype(np.float32)
    drawn = np.random.default_rng(0).permutation(len(flat))[: n_centers // 2]
    distance = np.full(len(flat), np.inf, np.float32)
    owner = np.zeros(len(flat), np.int64)
    chosen: list[int] = []
    for c in range(min(n_centers, len(flat))):
        following = int(np.argmax(distance)) if c >= len(drawn) else int(drawn[c])
        if distance[following] <= 1e-6:
            continue
        d = np.einsum("ij,ij->i", flat - flat[following], flat - flat[following])
        nearer = d < distance
        owner[nearer], distance[nearer] = len(chosen), d[nearer]
        chosen.append(following)
    member = np.argsort(owner, kind="stable")
    start = np.searchsorted(owner[member], np.arange(len(chosen) + 1))
    return PoseIndex(np.ascontiguousarray(poses), np.ascontiguousarray(poses[chosen]), start.astype(np.int64), member)


@kernel
def _compute_weighted_squares(poses: Singles, local: Singles, weight: Singles, out: Singles) -> None:
    """Write the weighted squared distances of rows (N, F) to one, (F,)."""
    for n in range(poses.shape[0]):
        total = np.float32(0.0)
        for i in range(poses.shape[1]):
            e = poses[n, i] - local[i]
            total += weight[i] * e * e
        out[n] = total


def compute_squared_distances(poses: Singles, local: Floats, choice: Ints) -> Singles:
    """Return the squared distances of labelled markers (M, 3), at the origin, to poses (N, M, 3), (N,) [m^2].

    Args:
        poses: markers of upright poses, (N, M, 3) [m].
        local: labelled markers at the origin, (M, 3) [m].
        choice: point of each marker, (M,), -1 for none.
    """
    weight = np.repeat(choice >= 0, 3).astype(np.float32)
    out = np.empty(len(poses), np.float32)
    _compute_weighted_squares(poses.reshape(len(poses), -1), local.ravel().astype(np.float32), weight, out)
    return out


def placement_from_root(rotation: Floats, position_m: Floats) -> Floats:
    """Return the placement (5,) nearest to a root: the rotation of its heading, its position."""
    heading = np.arctan2(rotation[0, 2], rotation[2, 2])
    return np.array([np.cos(heading), np.sin(heading), *position_m])


def remove_heading(rotation: Floats) -> Floats:
    """Return rotations (N, 3, 3) turned about Y so that their third axis has no component along X."""
    heading = np.arctan2(rotation[:, 0, 2], rotation[:, 2, 2])
    return np.asarray(matrix_from_rotvec(heading[:, None] * [0.0, -1.0, 0.0]) @ rotation)


def choose_torso_pairs(t_pose: Floats, torso: Bools) -> Ints:
    """Choose the pairs of torso markers that are farthest apart seen from above, (Q, 2)."""
    first, second = np.triu_indices(int(torso.sum()), 1)
    index = np.flatnonzero(torso)
    pairs = np.stack([index[first], index[second]], axis=1)
    across = np.linalg.norm((t_pose[pairs[:, 0]] - t_pose[pairs[:, 1]])[:, [0, 2]], axis=1)
    return pairs[np.argsort(-across, kind="stable")[:MAX_PAIRS]]


def list_limb_swaps(opposite: Bools) -> Ints:
    """Return orders of the markers with one pair of opposite ones exchanged, (S, M)."""
    pairs = np.argwhere(np.triu(opposite))
    orders = np.tile(np.arange(len(opposite)), (len(pairs), 1))
    for order, (a, b) in zip(orders, pairs, strict=True):
        order[[a, b]] = b, a
    return orders


def compute_mirror_order(subject: Subject) -> Ints:
    """Return the order in which every marker is replaced by the one at its mirror image in the T-pose, (M,)."""
    local = compute_local_markers(subject.skeleton, build_tpose()[None], subject.joint, subject.offset_m)[0]
    return assign_points(local * [-1.0, 1.0, 1.0], local, 10.0)


def find_opposite_markers(subject: Subject) -> Bools:
    """Return which markers are on a left and a right joint of one kind, off the torso, (M, M)."""
    kind = np.array([min(joint, JOINT_INDEX[mirror_joint_name(JOINTS[joint])]) for joint in subject.joint])
    limb = ~subject.markers.torso
    different = subject.joint[:, None] != subject.joint[None]
    return np.asarray((kind[:, None] == kind[None]) & different & limb[:, None] & limb[None])


def list_limb_exchanges(subject: Subject) -> Ints:
    """Return orders of the markers that are mistaken for each other, (S, M).

    A left limb from some joint on and the right one, two markers of one foot or hand, those of both feet.
    """
    n, other = len(subject.markers), find_mirror_markers(subject)
    limbs = [np.flatnonzero([_is_descendant(int(joint), start) for joint in subject.joint]) for start in _LEFT_STARTS]
    pairs = [[(int(a), int(other[a])) for a in limb if other[a] >= 0] for limb in limbs]
    single = [[(m, int(other[m]))] for m in range(n) if m < other[m]]
    feet = [
        np.flatnonzero([_is_descendant(int(j), JOINT_INDEX[f"{side}Foot"]) for j in subject.joint]) for side in ("left", "right")
    ]
    ends = [[(int(foot[0]), int(foot[1]))] for foot in feet if len(foot) == 2]
    orders = {tuple(_exchange_pairs(n, some)) for some in (*pairs, *single, *ends, [pair for end in ends for pair in end])}
    return np.array(sorted(orders - {tuple(range(n))}), np.int64).reshape(-1, n)


def find_mirror_markers(subject: Subject) -> Ints:
    """Return the marker of the same kind on the other side of every one on a limb, (M,), -1 for none."""
    found = np.full(len(subject.markers), -1, np.int64)
    for m, joint in enumerate(subject.joint):
        opposite = JOINT_INDEX[mirror_joint_name(JOINTS[joint])]
        if opposite == joint or subject.markers.torso[m]:
            continue
        candidates = np.flatnonzero(subject.joint == opposite)
        if len(candidates):
            off_m = np.linalg.norm(subject.offset_m[candidates] - subject.offset_m[m] * [-1.0, 1.0, 1.0], axis=1)
            found[m] = candidates[np.argmin(off_m)]
    return found


_LEFT_STARTS = [JOINT_INDEX[f"left{name}"] for name in ("UpperLeg", "LowerLeg", "Foot", "UpperArm", "LowerArm")]


def _is_descendant(joint: int, start: int) -> bool:
    """Return whether a joint is another one or moves with it."""
    while joint >= 0 and joint != start:
        joint = int(PARENTS[joint])
    return joint == start


def _exchange_pairs(n: int, pairs: list[tuple[int, int]]) -> Ints:
    """Return the order of n markers with some pairs exchanged."""
    order = np.arange(n)
    for a, b in pairs:
        order[[a, b]] = b, a
    return order
