"""Where the joints of a pose message are, by forward kinematics, and how the bones between them lie."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from database.rotations import Floats, matrix_from_quaternion, quaternion_from_matrix, rotation_between
from stream.messages import PoseMessage, SkeletonMessage

Atomic = Callable[[], AbstractContextManager[None]]  # the server's `atomic`: messages within arrive as one

TIPS_M = {"head": (0.0, 0.17, 0.02), "Hand": (0.17, 0.0, 0.0), "Toes": (0.0, -0.01, 0.07)}  # of a left side, from the joint
SHORTEST_BONE_M = 1e-3


@dataclass(frozen=True, slots=True)
class Joints:
    """The joints of one pose in the world. rotation: (J, 3, 3); place_m: (J, 3)."""

    rotation: Floats
    place_m: Floats

    @property
    def wxyz(self) -> Floats:
        """Give the rotations as quaternions w, x, y, z, (J, 4)."""
        return wxyz_from_matrix(self.rotation)


@dataclass(frozen=True, slots=True)
class Bones:
    """The bones of a skeleton, B of them, each fixed in the frame of one joint and beginning there.

    joint: (B,); turn: from the y axis to the bone in the joint's frame, (B, 3, 3); length_m: (B,).
    """

    joint: NDArray[np.int64]
    turn: Floats
    length_m: Floats

    def wxyz(self, joints: Joints) -> Floats:
        """Give where each bone points, as the rotation of the y axis, (B, 4)."""
        return wxyz_from_matrix(joints.rotation[self.joint] @ self.turn)


def joints_of(skeleton: SkeletonMessage, pose: PoseMessage) -> Joints:
    """Give the joints of a pose: G_j = G_parent L_j, p_j = p_parent + G_parent offset_j (docs/conventions.md)."""
    local = matrix_from_quaternion(pose.rotations_xyzw.astype(np.float64))
    rotation, place_m = np.empty_like(local), np.empty((len(local), 3))
    for joint, parent in enumerate(skeleton.parents):
        if parent < 0:
            rotation[joint], place_m[joint] = local[joint], pose.root_m
        else:
            rotation[joint] = rotation[parent] @ local[joint]
            place_m[joint] = place_m[parent] + rotation[parent] @ skeleton.offsets_m[joint]
    return Joints(rotation, place_m)


def bones_of(skeleton: SkeletonMessage) -> Bones:
    """Give a bone from each joint to each of its children, and from the last joints of a chain to their tips."""
    joints: list[int] = []
    spans: list[Floats] = []
    for joint, parent in enumerate(skeleton.parents):
        if parent >= 0:
            joints.append(parent)
            spans.append(skeleton.offsets_m[joint])
        if joint not in skeleton.parents:
            joints.append(joint)
            spans.append(tip_m(skeleton, joint))
    span = np.asarray(spans, float)
    length_m = np.linalg.norm(span, axis=1)
    keep = length_m > SHORTEST_BONE_M
    turn = np.stack([rotation_between((0.0, 1.0, 0.0), s) for s in span[keep]])
    return Bones(np.asarray(joints)[keep], turn, length_m[keep])


def tip_m(skeleton: SkeletonMessage, joint: int) -> Floats:
    """Give where the last bone of a chain ends, from its joint in the rest pose, (3,): as the stream says, else as usual."""
    if skeleton.tails_m is not None:
        return np.asarray(skeleton.tails_m[joint])
    name = skeleton.names[joint]
    tip = next((tip for key, tip in TIPS_M.items() if name.endswith(key)), (0.0, 0.05, 0.0))
    return np.array(tip) * ([-1.0, 1.0, 1.0] if name.startswith("right") else [1.0, 1.0, 1.0])


def wxyz_from_matrix(matrix: Floats) -> Floats:
    """Give rotations as quaternions in the order of viser, (..., 4)."""
    return np.roll(quaternion_from_matrix(matrix), 1, axis=-1)
