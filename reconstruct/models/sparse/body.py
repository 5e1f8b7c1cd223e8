"""Poses as points of the body in Euclidean space (Lai et al. 2012, section 2), and back to bones of the right length.

The points are the joints but the hips, the ends of the head, hands and toes, and a point beside each of these, which tells how
they are twisted. The root stands at the origin, unrotated. Poses of any skeleton become points of the dictionary's.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from config.arrays import Floats, Ints
from config.joints import JOINT_INDEX, N_JOINTS, PARENTS
from database.geometry.kinematics import compute_local_markers
from database.geometry.skeleton import Skeleton

LEAVES = tuple(JOINT_INDEX[name] for name in ("head", "leftHand", "rightHand", "leftToes", "rightToes"))
BESIDE_M = 0.08
SHORTEST_M = 1e-6


@dataclass(frozen=True, slots=True)
class BodyPoints:
    """P points of a skeleton: joint (P,), offset in its frame (P, 3) [m], point before it on its chain (P,), -1 for the hips."""

    joint: Ints
    offset_m: Floats
    before: Ints

    def vectors(self, skeleton: Skeleton, rotvec: ArrayLike) -> Floats:
        """Return poses, (N, J, 3) [rad], as points relative to the root, (N, 3 P) [m]."""
        return compute_local_markers(skeleton, rotvec, self.joint, self.offset_m).reshape(len(np.asarray(rotvec)), -1)

    def lengths_m(self, skeleton: Skeleton) -> Floats:
        """Return the distance of every point from the one before, (P,) [m]."""
        at_joint = ~np.asarray(self.offset_m.any(axis=1))
        bones = np.where(at_joint[:, None], skeleton.offsets_m[self.joint], self.offset_m)
        return np.asarray(np.linalg.norm(bones, axis=1))


def build_body_points(skeleton: Skeleton) -> BodyPoints:
    """Return the points of a skeleton."""
    joints = np.arange(1, N_JOINTS)
    tails = skeleton.tails_m[list(LEAVES)]
    beside = np.array([_find_side_point(tail) for tail in tails])
    joint = np.concatenate([joints, LEAVES, LEAVES])
    offset_m = np.concatenate([np.zeros((len(joints), 3)), tails, beside])
    before = np.array([PARENTS[j] - 1 for j in joints] + 2 * [leaf - 1 for leaf in LEAVES])
    return BodyPoints(joint.astype(np.int64), np.ascontiguousarray(offset_m), before.astype(np.int64))


def _find_side_point(tail: Floats) -> Floats:
    """Return a point at right angles to a bone, (3,) [m]."""
    ahead = np.array([0.0, 0.0, 1.0]) if abs(tail[2]) < 0.7 * np.linalg.norm(tail) else np.array([0.0, 1.0, 0.0])
    side = np.cross(tail, ahead)
    return np.asarray(BESIDE_M * side / max(float(np.linalg.norm(side)), SHORTEST_M))


def normalise_bone_lengths(points: ArrayLike, body: BodyPoints, lengths_m: Floats) -> Floats:
    """Return points, (N, P, 3), with every bone at its length, chain by chain from the root (algorithm 1).

    A bone of no length keeps the direction of the one before.

    Args:
        points: (N, P, 3) [m].
        body: points at the ends of each bone.
        lengths_m: lengths of the bones [m].
    """
    given = np.asarray(points, np.float64)
    out, direction = np.zeros_like(given), np.tile([0.0, 1.0, 0.0], (*given.shape[:-1], 1))
    for p, before in enumerate(body.before.tolist()):
        from_m = given[..., before, :] if before >= 0 else 0.0
        start = out[..., before, :] if before >= 0 else 0.0
        bone = given[..., p, :] - from_m
        length = np.linalg.norm(bone, axis=-1, keepdims=True)
        fallback = direction[..., before, :] if before >= 0 else direction[..., p, :]
        direction[..., p, :] = np.where(length > SHORTEST_M, bone / np.maximum(length, SHORTEST_M), fallback)
        out[..., p, :] = start + lengths_m[p] * direction[..., p, :]
    return out


@cache
def list_point_names() -> tuple[str, ...]:
    """Return the names of the points."""
    names = list(JOINT_INDEX)
    return (*names[1:], *(f"{names[leaf]}.end" for leaf in LEAVES), *(f"{names[leaf]}.side" for leaf in LEAVES))
