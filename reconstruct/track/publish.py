"""What is published of the hypotheses: the likeliest pose, how far its joints may be off, and whether it is to be trusted."""

import math
from collections.abc import Sequence

import numpy as np

from calibration.subject.subject import Subject
from capture.packets import MarkerFrame
from config.arrays import Floats
from config.settings import LabelSettings
from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.rotations import rotvec_from_matrix
from reconstruct.body_state import BodyState
from reconstruct.pose import TrackingState, find_measured_joints
from reconstruct.solve.certainty import MAX_ERROR_M
from reconstruct.track.estimator import Estimator
from reconstruct.track.hypotheses import UNUSUAL, Hypothesis, compute_misfit

# Errors of consecutive frames are alike, so evidence overstates itself: of those 12 to 20 behind, one in six is right.
OVERSTATED = 10.0


def estimate_errors(hypotheses: Sequence[Hypothesis], estimator: Estimator) -> Floats | None:
    """Return how far from the truth the joints of the likeliest pose may be, (J,) [m], None where nobody knows.

    Over all hypotheses: where it is open which of two poses is the right one, the error is as large as they are apart. A pose
    that is unusually far from what is seen is less sure by as much (the ratio of Birge 1932).
    """
    first = hypotheses[0]
    error_m = estimator.error_m(first.estimate)
    if error_m is None:
        return None
    error_m = np.minimum(error_m * math.sqrt(max(1.0, compute_misfit(first) / UNUSUAL)), MAX_ERROR_M)
    if len(hypotheses) == 1:
        return error_m
    joint_m = np.array([compute_joint_positions(each.belief.state, estimator) for each in hypotheses])
    apart2 = ((joint_m - joint_m[0]) ** 2).sum(axis=2)
    return np.asarray(np.minimum(np.sqrt(error_m**2 + compute_weights(hypotheses) @ apart2), MAX_ERROR_M))


def compute_weights(hypotheses: Sequence[Hypothesis]) -> Floats:
    """Return the probability of every hypothesis, (H,)."""
    score = np.array([each.score for each in hypotheses]) / OVERSTATED
    weight = np.exp(score - score.max())
    return np.asarray(weight / weight.sum())


def compute_joint_positions(state: BodyState, estimator: Estimator) -> Floats:
    """Return where the joints of a pose are, (J, 3) [m] world."""
    rotvec = state.joints.copy()
    rotvec[0] = rotvec_from_matrix(state.rotation)
    return np.asarray(compute_forward_kinematics(estimator.subject.skeleton, rotvec, state.position_m)[1])


def judge_tracking_state(frame: MarkerFrame, subject: Subject, error_m: Floats | None, s: LabelSettings) -> TrackingState:
    """Return how far a pose can be trusted, by its expected errors, (J,) [m], alone; some joint must be measured."""
    if error_m is None:
        return TrackingState.TRACKING if frame.shown.any() else TrackingState.COASTING
    mean_m, measured = float(error_m.mean()), find_measured_joints(frame.shown, subject)
    if measured.any() and mean_m < s.tracking_m and float(error_m[measured].max()) < s.measured_m:
        return TrackingState.TRACKING
    return TrackingState.COASTING if mean_m < s.coasting_m else TrackingState.LOST
