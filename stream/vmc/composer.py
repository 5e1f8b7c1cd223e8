"""Poses as VMC: root, bones, state and time, in that order, as OSC bundles.

Unity's axes: left-handed, Y up, facing +Z. Ours are mirrored in x, p = (-x, y, z), which reverses the sense of rotations about y
and z, q = (x, -y, -z, w). The root stays at the origin and the hips carry the motion, as SlimeVR sends it: some receivers ignore
the root. State and time come last, since receivers that collect a frame end it with either.

A joint without a bone (upperNeck) is folded exactly into the bone above: over a chain of joints a, b, c below the last joint with
a bone, L = L_a L_b L_c and t = o_a + L_a (o_b + L_b o_c), so that all other joints keep their positions.
Quaternions are computed on plain numbers, which is faster than arrays of four.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from config.arrays import Floats
from stream.protocol.messages import PoseMessage, SkeletonMessage
from stream.vmc.datagrams import Datagrams, MessageForm

Quaternion = Sequence[float]
Position = Sequence[float]
UPPER_CHEST = "upperChest"
TRANSFORM = "fffffff"
ROOT_FORM = MessageForm("/VMC/Ext/Root/Pos", ("root",), TRANSFORM)
STATE_FORM = MessageForm("/VMC/Ext/OK", (), "iiii")
TIME_FORM = MessageForm("/VMC/Ext/T", (), "f")
LOADED, CALIBRATED, NORMAL_MODE = 1, 3, 0


def convert_to_unity_positions(position_m: ArrayLike) -> Floats:
    """Convert positions or offsets to Unity's axes, (..., 3) [m]."""
    return np.asarray(position_m, float) * [-1.0, 1.0, 1.0] + 0.0  # no negative zeros


def convert_to_unity_quaternions(xyzw: ArrayLike) -> Floats:
    """Convert rotations to Unity's axes, (..., 4), both x, y, z, w."""
    return np.asarray(xyzw, float) * [1.0, -1.0, -1.0, 1.0] + 0.0


@dataclass(frozen=True, slots=True)
class Bone:
    """A bone that is sent.

    Attributes:
        name: name of the bone in Unity's HumanBodyBones.
        chain: joints from below its parent bone to its own.
    """

    name: str
    chain: tuple[int, ...]


def list_sent_bones(skeleton: SkeletonMessage, upper_chest: bool = True) -> tuple[Bone, ...]:
    """Return the bones of a skeleton, parent first; upper_chest: the receiver has that bone."""
    bone_of = [skeleton.humanoid.get(name) for name in skeleton.names]
    sent = [bone is not None and (upper_chest or bone != UPPER_CHEST) for bone in bone_of]
    bones = []
    for joint, bone in enumerate(bone_of):
        if sent[joint] and bone is not None:
            chain = [joint]
            while (parent := skeleton.parents[chain[0]]) >= 0 and not sent[parent]:
                chain.insert(0, parent)
            bones.append(Bone(bone[:1].upper() + bone[1:], tuple(chain)))  # leftUpperArm of VRM 1.0 is LeftUpperArm in Unity
    return tuple(bones)


def multiply_quaternions(a: Quaternion, b: Quaternion) -> Quaternion:
    """Return the product a b: the rotation b followed by a, x, y, z, w."""
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


def rotate_position(rotation: Quaternion, position: Position) -> Position:
    """Rotate a position by a unit quaternion q, w: v + w t + q x t with t = 2 q x v."""
    x, y, z, w = rotation
    px, py, pz = position
    tx, ty, tz = 2.0 * (y * pz - z * py), 2.0 * (z * px - x * pz), 2.0 * (x * py - y * px)
    return (px + w * tx + y * tz - z * ty, py + w * ty + z * tx - x * tz, pz + w * tz + x * ty - y * tx)


def compose_chain_transform(
    chain: Sequence[int], offsets_m: Sequence[Position], rotations_xyzw: Sequence[Quaternion]
) -> tuple[Position, Quaternion]:
    """Return the local transform (position, rotation) of a chain of joints.

    Args:
        chain: joints from the first to the last.
        offsets_m: offsets of the joints from their parents, (J, 3) [m].
        rotations_xyzw: local rotations of the joints, (J, 4).
    """
    position, rotation = offsets_m[chain[0]], rotations_xyzw[chain[0]]
    for joint in chain[1:]:
        step = rotate_position(rotation, offsets_m[joint])
        position = (position[0] + step[0], position[1] + step[1], position[2] + step[2])
        rotation = multiply_quaternions(rotation, rotations_xyzw[joint])
    return position, rotation


class Heartbeat:
    """State and time alone, while there is no pose to send."""

    def __init__(self) -> None:
        self._datagrams = Datagrams((STATE_FORM, TIME_FORM))

    def datagrams(self, tracked: bool, seconds: float) -> tuple[bytearray, ...]:
        """Return what to send, valid until the next call. seconds: since the start."""
        return _set_state(self._datagrams, 0, tracked, seconds)


class Composer:
    """Compose the poses of one skeleton: numbers are written into datagrams that were encoded once.

    upper_chest: the receiver has that bone.
    """

    def __init__(self, skeleton: SkeletonMessage, upper_chest: bool = True) -> None:
        self._bones = list_sent_bones(skeleton, upper_chest)
        forms = [MessageForm("/VMC/Ext/Bone/Pos", (bone.name,), TRANSFORM) for bone in self._bones]
        self._datagrams = Datagrams([ROOT_FORM, *forms, STATE_FORM, TIME_FORM])
        self._datagrams.put(0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
        self._offsets: list[list[float]] = convert_to_unity_positions(skeleton.offsets_m).tolist()

    def put_pose(self, pose: PoseMessage) -> None:
        """Write a pose."""
        rotations: list[list[float]] = convert_to_unity_quaternions(pose.rotations_xyzw).tolist()
        offsets = [convert_to_unity_positions(pose.root_m).tolist(), *self._offsets[1:]]
        for number, bone in enumerate(self._bones):
            position, rotation = compose_chain_transform(bone.chain, offsets, rotations)
            self._datagrams.put(1 + number, *position, *rotation)

    def datagrams(self, tracked: bool, seconds: float) -> tuple[bytearray, ...]:
        """Return the last pose with state and time, valid until the next call. seconds: since the start."""
        return _set_state(self._datagrams, 1 + len(self._bones), tracked, seconds)


def _set_state(datagrams: Datagrams, number: int, tracked: bool, seconds: float) -> tuple[bytearray, ...]:
    """Write state and time, whose messages are `number` and the next; return the datagrams."""
    datagrams.put(number, LOADED, CALIBRATED, NORMAL_MODE, int(tracked))
    datagrams.put(number + 1, seconds)
    return datagrams.buffers
