"""Where the performer stands in the receiver's world: as in the rig's if its floor is known, else set upright on the origin.

Avatars live on a floor with Y up; a rig whose floor is unknown has the frame of its left camera, with Y down.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from database.rotations import Floats, matrix_from_rotvec, quaternion_from_matrix, rotation_between
from stream.joints import joints_of
from stream.messages import PoseMessage, RigMessage, SkeletonMessage
from stream.vmc.bones import Place, Quaternion, turned

UP = np.array([0.0, 1.0, 0.0])
MIN_LEVEL_SINE = 0.1  # a camera that looks nearly straight up or down tells no heading


@dataclass(frozen=True, slots=True)
class Placement:
    """From the rig's world to the receiver's (both right-handed): turn, then shift [m]."""

    turn_xyzw: Quaternion = (0.0, 0.0, 0.0, 1.0)
    shift_m: Place = (0.0, 0.0, 0.0)

    def place(self, place_m: Place) -> Place:
        """Give a place of the rig's world in the receiver's."""
        x, y, z = turned(self.turn_xyzw, place_m)
        return x + self.shift_m[0], y + self.shift_m[1], z + self.shift_m[2]


LEVEL = Placement()


def placement_of(rig: RigMessage | None, skeleton: SkeletonMessage, first: PoseMessage) -> Placement:
    """Give the placement of a run.

    Where the floor is unknown, somebody who looks at the left camera faces +Z, and the first pose that was tracked stands with
    its lowest joint on the floor and its hips over the origin.
    """
    if rig is None or rig.floor_known:
        return LEVEL
    turn = upright_turn(rig)
    places = [turned(turn, place) for place in joints_of(skeleton, first).place_m.tolist()]
    return Placement(turn, (-places[0][0], -min(place[1] for place in places), -places[0][2]))


def upright_turn(rig: RigMessage) -> Quaternion:
    """Give the rotation x, y, z, w that makes a rig's world stand upright with its left camera looking along -Z."""
    world_to_camera = matrix_from_rotvec(rig.cameras[0].rotation)
    up = _unit(-world_to_camera[1] if rig.up_xyz is None else rig.up_xyz)
    back = -world_to_camera[2] + (world_to_camera[2] @ up) * up
    if np.linalg.norm(back) < MIN_LEVEL_SINE:
        turn = rotation_between(up, UP)
    else:
        back = _unit(back)
        turn = np.stack([np.cross(up, back), up, back])
    return tuple(quaternion_from_matrix(turn).tolist())


def _unit(vector: ArrayLike) -> Floats:
    """Give a vector of length 1."""
    v = np.asarray(vector, float)
    return np.asarray(v / np.linalg.norm(v))
