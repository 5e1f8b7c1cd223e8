"""Poses a few milliseconds ahead, for consumers that would rather have a guess at now than the truth of when the shutter opened.

Every joint goes on turning and the root goes on moving at the velocity of the last frames: the slope of a line through the last
pose, fitted to the poses before it by least squares with weights exp(-age / MEMORY_S), in the tangent space of the last pose.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from calibration.subject import Subject
from database.kinematics import forward
from database.rotations import Floats, matrix_from_rotvec, rotvec_from_matrix
from reconstruct.pose import Pose, State
from reconstruct.smoother import nearer_twin

MEMORY_S = 0.02
N_REMEMBERED = 6
MAX_GAP_S = 0.1  # a longer silence says nothing of how anything moves
MAX_AHEAD_S = 0.1
FASTEST_M_S, FASTEST_RAD_S = 12.0, 40.0  # what is faster than any body was a correction, not a motion


def predict(history: Sequence[Pose], ahead_s: float, subject: Subject) -> Pose:
    """Give the last pose of a history as it will be `ahead_s` later [s], 0 to MAX_AHEAD_S.

    history: tracked poses, oldest first, at least one. Joints, root and the markers' places are predicted; times and what is said
    of the measurement stay. The very pose where nothing is known of its motion.
    """
    last = history[-1]
    if len(history) < 2 or ahead_s <= 0.0:
        return last
    R = matrix_from_rotvec(last.rotvec)
    turn, velocity = _slopes(R, last, history[:-1])
    ahead_s = min(ahead_s, MAX_AHEAD_S)
    rotvec = nearer_twin(rotvec_from_matrix(R @ matrix_from_rotvec(ahead_s * turn)), last.rotvec)
    root_m = last.root_m + ahead_s * velocity
    G, joint_m = forward(subject.skeleton, rotvec, root_m)
    marker_m = joint_m[subject.joint] + (G[subject.joint] @ subject.offset_m[:, :, None])[:, :, 0]
    return replace(last, rotvec=rotvec, root_m=root_m, marker_m=marker_m)


class Predictor:
    """Predicts the poses of one subject as they come. ahead_s: by how much [s]; at most MAX_AHEAD_S, 0 or less: not at all."""

    def __init__(self, ahead_s: float, subject: Subject) -> None:
        self.ahead_s = min(max(ahead_s, 0.0), MAX_AHEAD_S)
        self._subject = subject
        self._history: deque[Pose] = deque(maxlen=N_REMEMBERED)

    def step(self, pose: Pose) -> tuple[Pose, int]:
        """Give the pose to publish and how far ahead of its capture it is [ns]: 0 where it is the very pose.

        What is not tracked is not predicted, nor is what has just come back, or has jumped.
        """
        if self.ahead_s == 0.0:
            return pose, 0
        if pose.state is not State.TRACKING:
            self._history.clear()
            return pose, 0
        if self._history and not _follows(self._history[-1], pose):
            self._history.clear()
        self._history.append(pose)
        predicted = predict(tuple(self._history), self.ahead_s, self._subject)
        return predicted, 0 if predicted is pose else round(self.ahead_s * 1e9)


def _slopes(R: Floats, last: Pose, before: Sequence[Pose]) -> tuple[Floats, Floats]:
    """Give turn (J, 3) [rad/s], about the joint's own axes, and velocity of the root (3,) [m/s]."""
    tau = np.array([pose.t_capture_ns - last.t_capture_ns for pose in before]) * 1e-9
    share = np.exp((tau - tau[-1]) / MEMORY_S) * tau
    share /= share @ tau
    way = rotvec_from_matrix(np.swapaxes(R, -1, -2) @ matrix_from_rotvec(np.stack([pose.rotvec for pose in before])))
    return np.tensordot(share, way, 1), share @ (np.stack([pose.root_m for pose in before]) - last.root_m)


def _follows(before: Pose, pose: Pose) -> bool:
    """Tell whether a body can have got from one pose to the next."""
    gap_s = (pose.t_capture_ns - before.t_capture_ns) * 1e-9
    if not 0.0 < gap_s <= MAX_GAP_S or not (np.isfinite(pose.rotvec).all() and np.isfinite(pose.root_m).all()):
        return False
    if np.linalg.norm(pose.root_m - before.root_m) > FASTEST_M_S * gap_s:
        return False
    way = np.swapaxes(matrix_from_rotvec(before.rotvec), -1, -2) @ matrix_from_rotvec(pose.rotvec)
    return bool(np.linalg.norm(rotvec_from_matrix(way), axis=1).max() <= FASTEST_RAD_S * gap_s)
