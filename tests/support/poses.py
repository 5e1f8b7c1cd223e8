"""Poses as the pipeline solves them, for what comes after it, and the joints of poses."""

from collections.abc import Sequence

import numpy as np

from calibration.subject.subject import Subject
from config.arrays import Bools, Floats
from config.joints import N_JOINTS
from database.geometry.kinematics import compute_forward_kinematics
from reconstruct.pose import JointSource, Pose, TrackingState
from tests.support.people import worn_markers


def solved_pose(subject: Subject, t_ns: int, rotvec: Floats, root_m: Floats, seen: Bools | None = None) -> Pose:
    """Return a tracked pose with its markers, where none are given all seen by both cameras."""
    n = len(subject.markers)
    seen = np.ones(n, bool) if seen is None else seen
    marker_m = worn_markers(subject, rotvec[None], root_m[None])[0][0]
    joints, sure, both = np.full(N_JOINTS, JointSource.MEASURED, np.uint8), np.full(N_JOINTS, 0.9), np.stack([seen, seen])
    tracking = TrackingState.TRACKING
    return Pose(0, t_ns, 0, tracking, rotvec, root_m, joints, sure, marker_m, seen, np.zeros(n), both, np.zeros((2, n)), {})


def joints_of(subject: Subject, poses: Sequence[Pose]) -> tuple[Floats, Floats]:
    """Return orientations (N, J, 3, 3) and places (N, J, 3) [m] of the joints of poses."""
    rotvec, root_m = np.stack([pose.rotvec for pose in poses]), np.stack([pose.root_m for pose in poses])
    return compute_forward_kinematics(subject.skeleton, rotvec, root_m)
