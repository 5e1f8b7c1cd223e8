"""What is published: how likely hypotheses are, and the state by the expected errors alone."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from config.joints import N_JOINTS
from config.settings import LabelSettings
from reconstruct.pose import TrackingState, find_measured_joints
from reconstruct.track.publish import OVERSTATED, compute_weights, judge_tracking_state
from tests.support.people import marker_frame_of, person

SUBJECT, LIMITS = person("dark_room"), LabelSettings()
M = len(SUBJECT.markers)
ALL, NONE = (marker_frame_of(np.zeros((M, 3)), np.full(M, seen)) for seen in (True, False))


def test_hypotheses_weigh_by_their_evidence_as_far_as_it_is_believed() -> None:
    hypotheses: Any = [SimpleNamespace(score=score) for score in (-3.0, -3.0 - OVERSTATED * np.log(4.0))]
    np.testing.assert_allclose(compute_weights(hypotheses), [0.8, 0.2])


@pytest.mark.parametrize(
    ("mean_m", "state"),
    [
        (0.99 * LIMITS.tracking_m, TrackingState.TRACKING),
        (1.01 * LIMITS.tracking_m, TrackingState.COASTING),
        (0.99 * LIMITS.coasting_m, TrackingState.COASTING),
        (1.01 * LIMITS.coasting_m, TrackingState.LOST),
    ],
)
def test_the_state_follows_from_the_mean_expected_error(mean_m: float, state: TrackingState) -> None:
    assert judge_tracking_state(ALL, SUBJECT, np.full(N_JOINTS, mean_m), LIMITS) is state


def test_a_measured_joint_that_may_be_far_off_is_not_tracked_and_neither_is_a_pose_without_markers() -> None:
    error_m = np.full(N_JOINTS, 0.01)
    assert judge_tracking_state(NONE, SUBJECT, error_m, LIMITS) is TrackingState.COASTING
    measured = find_measured_joints(ALL.shown, SUBJECT)
    for joint, state in ((measured.argmax(), TrackingState.COASTING), ((~measured).argmax(), TrackingState.TRACKING)):
        far_m = np.where(np.arange(N_JOINTS) == joint, 1.01 * LIMITS.measured_m, error_m)
        assert judge_tracking_state(ALL, SUBJECT, far_m, LIMITS) is state
