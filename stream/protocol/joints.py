"""The joints of a pose message in the world, by forward kinematics from the messages alone."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from config.arrays import Floats
from database.geometry.rotations import matrix_from_quaternion, quaternion_from_matrix
from stream.protocol.messages import PoseMessage, SkeletonMessage


@dataclass(frozen=True, slots=True)
class Joints:
    """The joints of one pose in the world.

    Attributes:
        rotation: (J, 3, 3).
        position_m: (J, 3).
    """

    rotation: Floats
    position_m: Floats

    @property
    def wxyz(self) -> Floats:
        """Return the rotations as quaternions w, x, y, z, (J, 4)."""
        return wxyz_from_matrix(self.rotation)


def compute_pose_joints(skeleton: SkeletonMessage, pose: PoseMessage) -> Joints:
    """Return the joints of a pose."""
    many = compute_joints(skeleton, pose.rotations_xyzw[None], np.array([pose.root_m]))
    return Joints(many.rotation[0], many.position_m[0])


def compute_joints(skeleton: SkeletonMessage, rotations_xyzw: NDArray[np.float32], root_m: Floats) -> Joints:
    """Return the joints of N poses: G_j = G_parent L_j, p_j = p_parent + G_parent offset_j (docs/conventions.md).

    Args:
        skeleton: skeleton of the poses.
        rotations_xyzw: local, (N, J, 4).
        root_m: (N, 3) [m].
    """
    local = matrix_from_quaternion(rotations_xyzw.astype(np.float64))
    rotation, position_m = np.empty_like(local), np.empty((*local.shape[:2], 3))
    for joint, parent in enumerate(skeleton.parents):
        if parent < 0:
            rotation[:, joint], position_m[:, joint] = local[:, joint], root_m
        else:
            rotation[:, joint] = rotation[:, parent] @ local[:, joint]
            position_m[:, joint] = position_m[:, parent] + rotation[:, parent] @ skeleton.offsets_m[joint]
    return Joints(rotation, position_m)


def wxyz_from_matrix(matrix: Floats) -> Floats:
    """Return rotations as quaternions w, x, y, z, (..., 4): the order of viser."""
    return np.roll(quaternion_from_matrix(matrix), 1, axis=-1)
