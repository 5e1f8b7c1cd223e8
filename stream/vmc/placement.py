"""The performer's placement in the receiver's world: as in the rig's if its floor is known, else upright on the origin.

Avatars stand on a floor with Y up; a rig whose floor is unknown has the frame of its left camera, with Y down. Quaternions are
computed on plain numbers, which is faster than arrays of four.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from config.arrays import Floats
from database.geometry.rotations import matrix_from_rotvec, quaternion_from_matrix, rotation_between
from stream.protocol.joints import joints_of
from stream.protocol.messages import PoseMessage, RigMessage, SkeletonMessage

Quaternion = Sequence[float]
Position = Sequence[float]
UP = np.array([0.0, 1.0, 0.0])
MIN_LEVEL_SINE = 0.1  # a camera that looks nearly straight up or down has no heading


@dataclass(frozen=True, slots=True)
class ReceiverPlacement:
    """The transform from the rig's world to the receiver's (both right-handed): rotation, then shift [m]."""

    rotation_xyzw: Quaternion = (0.0, 0.0, 0.0, 1.0)
    shift_m: Position = (0.0, 0.0, 0.0)

    def position(self, position_m: Position) -> Position:
        """Convert a position from the rig's world to the receiver's [m]."""
        x, y, z = rotated(self.rotation_xyzw, position_m)
        return x + self.shift_m[0], y + self.shift_m[1], z + self.shift_m[2]


AT_RIG = ReceiverPlacement()


def placement_of(rig: RigMessage | None, skeleton: SkeletonMessage, first: PoseMessage) -> ReceiverPlacement:
    """Return the placement of a run.

    Where the floor is unknown, somebody who looks at the left camera faces +Z, and the first tracked pose has its lowest joint on
    the floor and its hips above the origin.
    """
    if rig is None or rig.floor_known:
        return AT_RIG
    rotation = _upright_rotation(rig)
    positions = [rotated(rotation, position) for position in joints_of(skeleton, first).position_m.tolist()]
    return ReceiverPlacement(rotation, (-positions[0][0], -min(position[1] for position in positions), -positions[0][2]))


def product(a: Quaternion, b: Quaternion) -> Quaternion:
    """Return the product a b: the rotation b followed by a, x, y, z, w."""
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


def rotated(rotation: Quaternion, position: Position) -> Position:
    """Rotate a position by a unit quaternion q, w: v + w t + q x t with t = 2 q x v."""
    x, y, z, w = rotation
    px, py, pz = position
    tx, ty, tz = 2.0 * (y * pz - z * py), 2.0 * (z * px - x * pz), 2.0 * (x * py - y * px)
    return (px + w * tx + y * tz - z * ty, py + w * ty + z * tx - x * tz, pz + w * tz + x * ty - y * tx)


def _upright_rotation(rig: RigMessage) -> Quaternion:
    """Return the rotation that makes a rig's world upright, with its left camera looking along -Z."""
    world_to_camera = matrix_from_rotvec(rig.cameras[0].rotation)
    up = _unit(-world_to_camera[1] if rig.up_xyz is None else rig.up_xyz)
    back = -world_to_camera[2] + (world_to_camera[2] @ up) * up
    if np.linalg.norm(back) < MIN_LEVEL_SINE:
        matrix = rotation_between(up, UP)
    else:
        back = _unit(back)
        matrix = np.stack([np.cross(up, back), up, back])
    return tuple(quaternion_from_matrix(matrix).tolist())


def _unit(vector: ArrayLike) -> Floats:
    """Return a vector scaled to length 1."""
    v = np.asarray(vector, float)
    return np.asarray(v / np.linalg.norm(v))
