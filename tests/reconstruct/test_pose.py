"""Where a pose's joints come from and how sure they are."""

import numpy as np
import pytest

from capture.packets import MarkerFrame
from config.arrays import Bools
from config.joints import N_JOINTS
from reconstruct.pose import (
    DOUBTED_M,
    MEASURED_ERROR_M,
    UNKNOWN,
    JointSource,
    TrackingState,
    compute_confidence,
    find_joint_sources,
    find_measured_joints,
)
from tests.support.people import person

SUBJECT = person("dark_room")
M = len(SUBJECT.markers)


def frame_of(valid: Bools, seen: Bools) -> MarkerFrame:
    """Return a frame of markers at the origin."""
    covariance, px = np.tile(1e-4 * np.eye(3), (M, 1, 1)), np.zeros((2, M, 2))
    return MarkerFrame(0, 0, 0, valid, np.zeros((M, 3)), covariance, seen, px, np.ones((2, M)), np.zeros(M), np.zeros((0, 3)))


@pytest.mark.parametrize("seed", range(4))
def test_joints_are_measured_that_a_marker_moves_with_and_that_are_surely_near(seed: int) -> None:
    rng = np.random.default_rng(seed)
    seen = rng.random((2, M)) < 0.4
    frame, error_m = frame_of(seen.all(axis=0), seen), rng.uniform(0.0, 2.0 * MEASURED_ERROR_M, N_JOINTS)
    carried = find_measured_joints(seen.any(axis=0), SUBJECT)
    for given, near in ((None, np.ones(N_JOINTS, bool)), (error_m, error_m <= MEASURED_ERROR_M)):
        source = find_joint_sources(frame, TrackingState.TRACKING, SUBJECT, given)
        assert np.array_equal(source == JointSource.MEASURED, carried & near)
        assert np.array_equal(source == JointSource.INFERRED, ~(carried & near))


def test_a_pose_in_doubt_is_inferred_and_one_without_markers_or_lost_is_held() -> None:
    all_seen, nothing = (frame_of(np.full(M, seen), np.full((2, M), seen)) for seen in (True, False))
    error_m = np.full(N_JOINTS, 0.01)
    assert (find_joint_sources(all_seen, TrackingState.COASTING, SUBJECT, error_m) == JointSource.INFERRED).all()
    assert (find_joint_sources(nothing, TrackingState.COASTING, SUBJECT, error_m) == JointSource.HELD).all()
    assert (find_joint_sources(all_seen, TrackingState.LOST, SUBJECT, error_m) == JointSource.HELD).all()


def test_confidence_follows_from_the_expected_error() -> None:
    error_m = np.array([0.0, 0.25 * DOUBTED_M, DOUBTED_M, 1.0])
    np.testing.assert_allclose(compute_confidence(error_m), [1.0, 0.75, 0.0, 0.0])
    assert (compute_confidence(None) == UNKNOWN).all()
