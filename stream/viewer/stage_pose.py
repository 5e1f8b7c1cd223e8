"""How the bones between the joints of a pose message lie."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from database.rotations import Floats, rotation_between
from stream.joints import Joints, wxyz_from_matrix
from stream.messages import SkeletonMessage

Atomic = Callable[[], AbstractContextManager[None]]  # the server's `atomic`: messages within arrive as one

TIPS_M = {"head": (0.0, 0.17, 0.02), "Hand": (0.17, 0.0, 0.0), "Toes": (0.0, -0.01, 0.07)}  # of a left side, from the joint
SHORTEST_BONE_M = 1e-3


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
