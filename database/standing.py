"""The typical standing pose of a database: the joint angles of its straight legs and upright backs.

Rest poses differ between recordings: with knee markers placed on the side a straight leg may read 20 degrees of flexion. So the
legs and trunk of a T-pose are expected to be those of the database's own standing poses.
"""

import numpy as np

from config.arrays import Bools, Floats
from config.joints import JOINT_INDEX, JOINTS, N_JOINTS, mirror_joint_name
from database.geometry.kinematics import compute_forward_kinematics, local_from_charted
from database.geometry.rotations import matrix_from_rotvec, rotvec_from_matrix
from database.store import PoseDatabase

STRIDE = 4
MAX_SPEED_RAD_S = 0.5
MIN_EXTENSION = 0.97  # hip to ankle, as a share of the leg's length
MIN_UPRIGHT = 0.96  # cosine of the hips' tilt
MAX_STEP_M = 0.05  # between the heights of the feet
MIN_POSES = 30
LOWER_BODY_AND_TRUNK = tuple(
    name
    for name in JOINTS
    if name != "hips" and not name.endswith(("Shoulder", "Arm", "Hand")) and name not in ("neck", "upperNeck", "head")
)


def compute_standing_rotvec(database: PoseDatabase) -> Floats:
    """Return the typical standing pose of legs and trunk as rotation vectors from the rest pose, not charted, (J, 3) [rad].

    Arms, neck, head and root are zero, and all joints if nobody stands still. Left and right are averaged.
    """
    captured = (_find_standing_poses(database, int(clip)) for clip in np.flatnonzero(~database.generated))
    found = [poses for poses in captured if len(poses)]
    result = np.zeros((N_JOINTS, 3))
    if sum(len(poses) for poses in found) < MIN_POSES:
        return result
    # One vote a clip: otherwise a person who waits for long would decide.
    median = np.median(np.stack([np.median(poses, axis=0) for poses in found]), axis=0)
    for name in LOWER_BODY_AND_TRUNK:
        result[JOINT_INDEX[name]] = _average_mirrored(median, name)
    return result


def _average_mirrored(rotvec: Floats, name: str) -> Floats:
    """Average a joint with the mirror image of its counterpart."""
    other = rotvec[JOINT_INDEX[mirror_joint_name(name)]] * np.array([1.0, -1.0, -1.0])
    return np.asarray(0.5 * (rotvec[JOINT_INDEX[name]] + other))


def _find_standing_poses(database: PoseDatabase, index: int) -> Floats:
    """Return the rotation vectors from the rest pose of a clip's standing frames, (F, J, 3)."""
    clip = database.clip(index)
    rotvec, root_m = clip.rotvec[::STRIDE], clip.root_m[::STRIDE]
    # Differences of rotation vectors are near enough to the speed to find who stands still.
    speed = np.linalg.norm(np.diff(rotvec[:, 1:], axis=0), axis=2).max(axis=1, initial=0.0) * database.fps / STRIDE
    still = 1 + np.flatnonzero(speed < MAX_SPEED_RAD_S)
    still = still[matrix_from_rotvec(rotvec[still, 0])[:, 1, 1] > MIN_UPRIGHT]
    if not len(still):
        return np.zeros((0, N_JOINTS, 3))
    _, p = compute_forward_kinematics(clip.skeleton, rotvec[still], root_m[still])
    ankles = [JOINT_INDEX["leftFoot"], JOINT_INDEX["rightFoot"]]
    level = np.abs(np.diff(p[:, ankles, 1], axis=1))[:, 0] < MAX_STEP_M
    chosen = still[level & _find_straight_legs(p, clip.skeleton.offsets_m)]
    return rotvec_from_matrix(local_from_charted(rotvec[chosen])) if len(chosen) else np.zeros((0, N_JOINTS, 3))


def _find_straight_legs(p: Floats, offsets_m: Floats) -> Bools:
    """Return in which frames both legs are nearly straight, (F,)."""
    result = np.ones(len(p), bool)
    for side in ("left", "right"):
        hip, knee, ankle = (JOINT_INDEX[side + part] for part in ("UpperLeg", "LowerLeg", "Foot"))
        length = np.linalg.norm(offsets_m[knee]) + np.linalg.norm(offsets_m[ankle])
        result &= np.linalg.norm(p[:, hip] - p[:, ankle], axis=1) > MIN_EXTENSION * length
    return result
