"""A clip in which every joint swings, and how far two clips are apart."""

import numpy as np

from config.joints import JOINT_INDEX, N_JOINTS
from database.clips import Clip, clip_from_local
from database.geometry.kinematics import local_from_charted
from database.geometry.rotations import compute_geodesic_rad, matrix_from_rotvec
from database.geometry.skeleton import Skeleton

TOES = JOINT_INDEX["rightToes"]
OFFSETS, TAILS = np.zeros((N_JOINTS, 3)), np.zeros((N_JOINTS, 3))
OFFSETS[TOES], TAILS[TOES] = (0.01, -0.04, 0.12), (0.0, 0.01, 0.06)
BODY = Skeleton("test", OFFSETS, TAILS)
KNEE, ANKLE, WRIST = JOINT_INDEX["rightUpperLeg"], JOINT_INDEX["rightFoot"], JOINT_INDEX["leftHand"]


def smooth_clip(n_frames: int, fps: float = 120.0, seed: int = 0) -> Clip:
    """Return a clip in which every joint swings about an axis of its own, at most 6 rad/s and 0.8 rad, and the root walks."""
    rng = np.random.default_rng(seed)
    axis = rng.normal(size=(N_JOINTS, 3))
    axis /= np.linalg.norm(axis, axis=1, keepdims=True)
    t = np.arange(n_frames) / fps
    angle = np.sin(2 * np.pi * rng.uniform(0.5, 1.2, N_JOINTS) * t[:, None] + rng.uniform(0, 6, N_JOINTS)) * 0.8
    local = matrix_from_rotvec(angle[..., None] * axis)
    root = np.stack([1.3 * t, 0.9 + 0.02 * np.sin(9 * t), -0.2 * t], axis=1)
    return clip_from_local("walk", BODY, fps, local, root)


def far_rad(first: Clip, second: Clip) -> float:
    """Return the largest geodesic difference of any joint in any frame of two clips."""
    return float(compute_geodesic_rad(local_from_charted(first.rotvec), local_from_charted(second.rotvec)).max())
