"""The skeleton: 23 joints, a T-pose as rest pose, and the bone lengths of one person.

Rest pose: arms level to the sides, legs straight down, facing +Z, +X to the person's left, +Y up; every joint frame is then
parallel to the world. A joint's local rotation L_j (relative to its parent) is stored as the rotation vector r_j of
`reference_j^T L_j`. The reference of a joint lies in the middle of its natural range, so that natural poses stay away from the
singularity at pi (Grochow et al. 2004, section 3).
"""

from dataclasses import dataclass

import numpy as np

from config.arrays import Floats, ReadOnlyArrays
from config.joints import JOINT_INDEX, N_JOINTS, PARENTS
from database.geometry.rotations import matrix_from_rotvec

MIDDLE_OF_RANGE_RAD = {
    "UpperLeg": (-0.55, 0.05, 0.1),
    "LowerLeg": (0.9, 0.0, 0.0),
    "Foot": (-0.2, 0.0, 0.0),
    "UpperArm": (0.0, -0.65, -0.8),
    "LowerArm": (0.0, -1.0, 0.6),
}


def _compute_reference_rotations() -> Floats:
    """Return the middle of each joint's natural range as a rotation from the T-pose, (J, 3, 3).

    Rounded means over 306,000 frames of the CMU motion database, left and right averaged.
    """
    rotvec = np.zeros((N_JOINTS, 3))
    for part, middle in MIDDLE_OF_RANGE_RAD.items():
        rotvec[JOINT_INDEX["left" + part]] = middle
        # A mirrored rotation keeps its component about x and reverses those about y and z.
        rotvec[JOINT_INDEX["right" + part]] = np.array(middle) * (1.0, -1.0, -1.0)
    return matrix_from_rotvec(rotvec)


PARENT_ARRAY = np.array(PARENTS, np.int64)
REFERENCE = _compute_reference_rotations()
PARENT_ARRAY.setflags(write=False)
REFERENCE.setflags(write=False)


@dataclass(frozen=True, slots=True)
class Skeleton(ReadOnlyArrays):
    """The bone lengths of one person in the rest pose.

    name: of the person; offsets_m: joint from its parent, (J, 3) [m], row 0 zero; tails_m: end of each joint's own bone from the
    joint, (J, 3) [m] (tip of the hand or toes and top of the head for the leaves).
    """

    name: str
    offsets_m: Floats
    tails_m: Floats

    def __post_init__(self) -> None:
        for array in (self.offsets_m, self.tails_m):
            assert array.shape == (N_JOINTS, 3) and array.flags.c_contiguous
            array.setflags(write=False)

    @property
    def height_m(self) -> float:
        """Height from the soles to the top of the head in the rest pose."""
        rest = self.rest_positions_m()
        return float((rest + self.tails_m)[JOINT_INDEX["head"], 1] - (rest + self.tails_m)[:, 1].min())

    def rest_positions_m(self) -> Floats:
        """Return joint positions in the rest pose with the hips at the origin, (J, 3) [m]."""
        positions = np.zeros((N_JOINTS, 3))
        for joint in range(1, N_JOINTS):
            positions[joint] = positions[PARENTS[joint]] + self.offsets_m[joint]
        return positions
