"""Props that a hand holds, such as a sword: where they are in the hand, known from the one marker on each.

A prop lies in the palm and points from there to its marker, which is its far end. Its own axes are those of the joint in the
T-pose, turned so that z points along it.
"""

from dataclasses import dataclass, field

import numpy as np

from calibration.subject.subject import Subject
from config.arrays import Floats
from config.joints import JOINT_INDEX, JOINTS, mirror_joint_name
from database.geometry.rotations import rotation_between

PALM_SHARE = 0.6  # of a hand's bone, from the wrist: where a handle lies, behind the knuckles
ALONG = np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True, slots=True)
class Prop:
    """A prop in a hand.

    Attributes:
        name: as that of its marker.
        joint: index of the hand.
        grip_m: its origin, the middle of that hand's grip, in the hand's frame, (3,) [m].
        rotation: of its axes in the hand's frame, (3, 3); the third points along it.
        length_m: from the grip to the marker [m].
        behind_m: how far behind the origin the other hand holds it [m], 0: it does not.
        palm_m: where the other hand holds, in its own frame, (3,) [m].
    """

    name: str
    joint: int
    grip_m: Floats
    rotation: Floats
    length_m: float
    behind_m: float = 0.0
    palm_m: Floats = field(default_factory=lambda: np.zeros(3))

    @property
    def other_joint(self) -> int:
        """Index of the other hand."""
        return JOINT_INDEX[mirror_joint_name(JOINTS[self.joint])]

    @property
    def held_m(self) -> Floats:
        """Where the other hand holds the prop, in the frame of the first, (3,) [m]."""
        return np.asarray(self.grip_m - self.behind_m * self.rotation[:, 2])


def find_props(subject: Subject) -> tuple[Prop, ...]:
    """Return the props that a subject holds."""
    found, tails_m = list[Prop](), subject.skeleton.tails_m
    for m in np.flatnonzero(np.isfinite(subject.markers.grip_m)):
        joint, behind_m = int(subject.joint[m]), float(subject.markers.grip_m[m])
        grip_m = PALM_SHARE * tails_m[joint]
        along = subject.offset_m[m] - grip_m
        length_m = float(np.linalg.norm(along))
        other = JOINT_INDEX[mirror_joint_name(JOINTS[joint])]
        rotation = rotation_between(ALONG, along / length_m) if length_m > 0.0 else np.eye(3)
        name = subject.markers.names[m]
        found.append(Prop(name, joint, grip_m, rotation, length_m, behind_m, PALM_SHARE * tails_m[other]))
    return tuple(found)
