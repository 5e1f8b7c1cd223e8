"""Poses a few milliseconds ahead, for consumers that prefer an estimate of now to the pose when the shutter opened.

Every joint keeps rotating and the root keeps moving at the velocity of the last frames: the slope of a line through the last
pose, fitted to the poses before it by least squares with weights exp(-age / MEMORY_S), in the tangent space of the last pose.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from calibration.subject.subject import Subject
from config.arrays import Floats, is_all_finite
from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.rotations import matrix_from_rotvec, rotvec_from_matrix
from reconstruct.finish.body import choose_nearer_rotvec, compute_marker_positions
from reconstruct.pose import Pose, TrackingState

MEMORY_S = 0.02
N_REMEMBERED = 6
MAX_GAP_S = 0.1  # after a longer pause no velocity is known
MAX_AHEAD_S = 0.1
MAX_SPEED_M_S, MAX_SPEED_RAD_S = 12.0, 40.0  # what is faster than any body was a correction, not a motion


def predict(history: Sequence[Pose], ahead_s: float, subject: Subject) -> Pose:
    """Return the last pose of a history as predicted for `ahead_s` later [s], at most MAX_AHEAD_S.

    Joints, root and the markers' positions are predicted; times, residuals and the like stay. The same object where no velocity
    is known.

    Args:
        history: tracked poses, oldest first, at least one.
        ahead_s: time ahead [s].
        subject: the performer.
    """
    last = history[-1]
    if len(history) < 2 or ahead_s <= 0.0:
        return last
    R = matrix_from_rotvec(last.rotvec)
    angular, velocity = _compute_velocities(R, last, history[:-1])
    ahead_s = min(ahead_s, MAX_AHEAD_S)
    rotvec = choose_nearer_rotvec(rotvec_from_matrix(R @ matrix_from_rotvec(ahead_s * angular)), last.rotvec)
    root_m = last.root_m + ahead_s * velocity
    marker_m = compute_marker_positions(subject, *compute_forward_kinematics(subject.skeleton, rotvec, root_m))
    return replace(last, rotvec=rotvec, root_m=root_m, marker_m=marker_m)


class Predictor:
    """Predicts the poses of one subject. ahead_s: [s], at most MAX_AHEAD_S; 0 or less: not at all."""

    def __init__(self, ahead_s: float, subject: Subject) -> None:
        self.ahead_s = min(max(ahead_s, 0.0), MAX_AHEAD_S)
        self._subject = subject
        self._history: deque[Pose] = deque(maxlen=N_REMEMBERED)

    def forget(self) -> None:
        """Start again with the next pose."""
        self._history.clear()

    def step(self, pose: Pose) -> tuple[Pose, int]:
        """Return the pose to publish and how far ahead of its capture it is [ns]: 0 where it is the pose given.

        Poses that are not tracked, or come after a pause or a jump, are not predicted.
        """
        if self.ahead_s == 0.0:
            return pose, 0
        if pose.state is not TrackingState.TRACKING:
            self._history.clear()
            return pose, 0
        if self._history and not _is_continuous(self._history[-1], pose):
            self._history.clear()
        self._history.append(pose)
        predicted = predict(tuple(self._history), self.ahead_s, self._subject)
        return predicted, 0 if predicted is pose else round(self.ahead_s * 1e9)


def _compute_velocities(R: Floats, last: Pose, before: Sequence[Pose]) -> tuple[Floats, Floats]:
    """Return angular velocities (J, 3) [rad/s], about the joint's own axes, and the velocity of the root (3,) [m/s]."""
    tau = np.array([pose.t_capture_ns - last.t_capture_ns for pose in before]) * 1e-9
    share = np.exp((tau - tau[-1]) / MEMORY_S) * tau
    share /= share @ tau
    rotation = rotvec_from_matrix(np.swapaxes(R, -1, -2) @ matrix_from_rotvec(np.stack([pose.rotvec for pose in before])))
    return np.tensordot(share, rotation, 1), share @ (np.stack([pose.root_m for pose in before]) - last.root_m)


def _is_continuous(before: Pose, pose: Pose) -> bool:
    """Return whether a body can have moved from one pose to the next."""
    gap_s = (pose.t_capture_ns - before.t_capture_ns) * 1e-9
    if not 0.0 < gap_s <= MAX_GAP_S or not (is_all_finite(pose.rotvec) and is_all_finite(pose.root_m)):
        return False
    if np.linalg.norm(pose.root_m - before.root_m) > MAX_SPEED_M_S * gap_s:
        return False
    rotation = np.swapaxes(matrix_from_rotvec(before.rotvec), -1, -2) @ matrix_from_rotvec(pose.rotvec)
    return bool(np.linalg.norm(rotvec_from_matrix(rotation), axis=1).max() <= MAX_SPEED_RAD_S * gap_s)
