"""Bodies upright and facing one way, their markers in pairs and mirrored: what acquisition asks of a subject and of up."""

import numpy as np
from numpy.typing import NDArray

from calibration.constellation import assign
from calibration.subject import Subject
from config.joints import N_JOINTS
from database.kinematics import charted, local_markers
from database.rotations import Floats, matrix_from_rotvec

Ints = NDArray[np.int64]
MAX_PAIRS = 6


def placement(rotation: Floats, position_m: Floats) -> Floats:
    """Give the placement (5,) of `reconstruct.hypotheses` nearest to a root: the turn of its heading, its place."""
    heading = np.arctan2(rotation[0, 2], rotation[2, 2])
    return np.array([np.cos(heading), np.sin(heading), *position_m])


def without_heading(rotation: Floats) -> Floats:
    """Give rotations (N, 3, 3) turned about Y so that their third axis has no part along X."""
    heading = np.arctan2(rotation[:, 0, 2], rotation[:, 2, 2])
    return np.asarray(matrix_from_rotvec(heading[:, None] * [0.0, -1.0, 0.0]) @ rotation)


def upright_turn(up: Floats) -> Floats:
    """Give the least rotation (3, 3) that takes the direction `up` to Y."""
    up = up / np.linalg.norm(up)
    axis = np.cross(up, [0.0, 1.0, 0.0])
    length = float(np.linalg.norm(axis))
    if length < 1e-9:
        return np.eye(3) if up[1] > 0 else np.diag([1.0, -1.0, -1.0])
    return np.asarray(matrix_from_rotvec(axis / length * np.arctan2(length, up[1])))


def torso_pairs(t_pose: Floats, torso: NDArray[np.bool_]) -> Ints:
    """Choose pairs of torso markers far apart seen from above, (Q, 2)."""
    first, second = np.triu_indices(int(torso.sum()), 1)
    index = np.flatnonzero(torso)
    pairs = np.stack([index[first], index[second]], axis=1)
    across = np.linalg.norm((t_pose[pairs[:, 0]] - t_pose[pairs[:, 1]])[:, [0, 2]], axis=1)
    return pairs[np.argsort(-across, kind="stable")[:MAX_PAIRS]]


def limb_swaps(opposite: NDArray[np.bool_]) -> Ints:
    """Give orders of the markers with one pair of opposite ones exchanged, (S, M)."""
    pairs = np.argwhere(np.triu(opposite))
    orders = np.tile(np.arange(len(opposite)), (len(pairs), 1))
    for order, (a, b) in zip(orders, pairs, strict=True):
        order[[a, b]] = b, a
    return orders


def mirror_order(subject: Subject) -> Ints:
    """Give the order in which every marker is replaced by the one at its mirror image in the T-pose, (M,)."""
    t_pose = charted(np.broadcast_to(np.eye(3), (1, N_JOINTS, 3, 3)))
    local = local_markers(subject.skeleton, t_pose, subject.joint, subject.offset_m)[0]
    return assign(local * [-1.0, 1.0, 1.0], local, 10.0)
