"""Poses of a known body from labelled markers over time: each frame by itself, beginning at the one before."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calibration.subject.adjust import MarkerPriors, PoseMarkers, SubjectProblem, SubjectState, adjust_subject
from calibration.subject.fit import find_joint_entry
from calibration.subject.model import make_fixed_space
from calibration.subject.subject import Subject
from config.arrays import Bools, Floats
from config.joints import JOINTS, N_JOINTS
from database.geometry.kinematics import charted_from_local
from database.geometry.rigid import fit_rigid_motion
from database.geometry.rotations import matrix_from_rotvec, rotvec_from_matrix

MARKER_SIGMA_M = 0.008  # of a marker on skin, over the bone
FIXED_M = 1e-5
FIRST_STEPS, STEPS = 60, 15

# A relaxed pose, from the rest pose [rad], and how far a joint may be from it: x forward bend, y twist, z sideways.
RELAXED_RAD = {"LowerLeg": (0.3, 0.0, 0.0), "UpperArm": (0.0, 0.0, -1.3), "LowerArm": (0.0, -0.5, 0.0)}
SPREAD_RAD = {
    "UpperLeg": (0.6, 0.3, 0.3),
    "LowerLeg": (0.7, 0.1, 0.05),
    "Foot": (0.4, 0.3, 0.25),
    "Toes": (0.3, 0.02, 0.02),
    "Shoulder": (0.1, 0.15, 0.15),
    "UpperArm": (0.7, 0.7, 0.7),
    "LowerArm": (0.5, 0.7, 0.6),
    "Hand": (0.05, 0.05, 0.05),
    "spine": (0.1, 0.1, 0.1),
    "chest": (0.1, 0.1, 0.1),
    "upperChest": (0.1, 0.1, 0.1),
    "head": (0.1, 0.1, 0.1),
}
SPREAD = np.array([find_joint_entry(name, SPREAD_RAD) for name in JOINTS])


@dataclass(frozen=True, slots=True)
class MarkerPoses:
    """Poses of markers: rotvec charted (N, J, 3) [rad], root_m (N, 3) [m]; error_mm: RMS distance of its markers, (N,)."""

    rotvec: Floats
    root_m: Floats
    error_mm: Floats


def find_held_frames(valid: Bools) -> Bools:
    """Return the frames with three markers and a third of all that are ever seen, (N,). valid: markers seen, (N, M)."""
    return np.asarray(valid.sum(axis=1) >= max(3, int(valid.any(axis=0).sum()) // 3))


def make_relaxed_rotvec() -> Floats:
    """Return a relaxed pose as rotation vectors from the rest pose, (J, 3) [rad]."""
    out = np.array([find_joint_entry(name, RELAXED_RAD) for name in JOINTS])
    for joint, name in enumerate(JOINTS):
        if name.startswith("right"):
            out[joint, 1:] *= -1.0
    return out


def fit_poses_to_markers(
    subject: Subject,
    point_m: Floats,
    valid: Bools,
    progress: Callable[[int, int | None], None] = lambda done, total: None,
) -> MarkerPoses:
    """Return the poses of a body whose markers were seen.

    A frame with fewer than three markers of the torso begins where the one before is; one without markers stays there.

    Args:
        subject: the body, and where the M markers are on it.
        point_m: (N, M, 3) [m] world.
        valid: (N, M).
        progress: receives the number of frames done, and of all.
    """
    joint, offset_m, torso = subject.joint, subject.offset_m, subject.markers.torso
    space = make_fixed_space(subject.skeleton)
    priors = MarkerPriors(joint, offset_m, np.full(len(joint), FIXED_M))
    n = len(point_m)
    rotvec, root_m, error_mm = np.zeros((n, N_JOINTS, 3)), np.zeros((n, 3)), np.zeros(n)
    rest_m = subject.skeleton.rest_positions_m()[joint] + offset_m
    covariance = np.tile(MARKER_SIGMA_M**2 * np.eye(3), (len(joint), 1, 1))
    relaxed, t, state = make_relaxed_rotvec(), np.zeros(3), None
    for row in range(n):
        seen = torso & valid[row]
        if int(seen.sum()) >= 3:  # lay the rest pose's torso on its markers
            R, t = fit_rigid_motion(rest_m[seen], point_m[row][seen])
            relaxed[0] = rotvec_from_matrix(R)
        take = PoseMarkers(point_m[row], valid[row], covariance, relaxed.copy(), SPREAD, t)
        start = state or SubjectState(np.zeros(0), offset_m, (take.expected,), (t,))
        found = adjust_subject(SubjectProblem(space, priors, (take,)), start, FIRST_STEPS if state is None else STEPS)
        state = SubjectState(np.zeros(0), offset_m, found.state.rotvec, found.state.root_m)
        rotvec[row], root_m[row] = state.rotvec[0], state.root_m[0]
        off = found.placed[0].marker_m[valid[row]] - point_m[row][valid[row]]
        error_mm[row] = 1e3 * float(np.sqrt((off**2).sum(axis=1).mean())) if len(off) else 0.0
        progress(row + 1, n)
    return MarkerPoses(charted_from_local(matrix_from_rotvec(rotvec)), root_m, error_mm)
