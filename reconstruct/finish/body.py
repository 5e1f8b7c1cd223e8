"""The body as the stages of the finish see it: four parts, markers on joints, rotation vectors near others."""

import numpy as np

from calibration.subject.subject import Subject
from config.arrays import Floats
from config.joints import JOINTS

LEGS, TRUNK, LEFT_ARM, RIGHT_ARM = range(4)  # the root counts as legs


def find_body_part(joint: str) -> int:
    """Return the part of the body a joint belongs to."""
    if any(name in joint for name in ("Shoulder", "Arm", "Hand")):
        return LEFT_ARM if joint.startswith("left") else RIGHT_ARM
    return LEGS if joint == "hips" or any(name in joint for name in ("Leg", "Foot", "Toes")) else TRUNK


PART = np.array([find_body_part(joint) for joint in JOINTS], np.int64)
# A fast arm moves trunk and legs too: their slow rotation is not jitter but would be lag at the hand. By this share of its speed:
MOVES_WITH = np.array([0.5, 0.7, 0.0, 0.0])


def compute_marker_positions(subject: Subject, G: Floats, joint_m: Floats) -> Floats:
    """Return the positions of the markers, (..., M, 3) [m], world.

    Args:
        subject: the performer.
        G: orientations of the joints, (..., J, 3, 3), world.
        joint_m: positions of the joints, (..., J, 3) [m], world.
    """
    offset_m = (G[..., subject.joint, :, :] @ subject.offset_m[:, :, None])[..., 0]
    return np.asarray(joint_m[..., subject.joint, :] + offset_m)


def choose_nearer_rotvec(rotvec: Floats, wanted: Floats) -> Floats:
    """Return rotation vectors or, where nearer to `wanted`, those of the same rotation one full turn shorter, (..., 3) [rad]."""
    angle = np.sqrt((rotvec * rotvec).sum(axis=-1, keepdims=True))
    other = rotvec * (1.0 - 2.0 * np.pi / np.where(angle < 1e-9, np.inf, angle))
    nearer = ((other - wanted) ** 2).sum(axis=-1, keepdims=True) < ((rotvec - wanted) ** 2).sum(axis=-1, keepdims=True)
    return np.where(nearer, other, rotvec)
