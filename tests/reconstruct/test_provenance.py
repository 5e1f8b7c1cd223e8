"""Where a pose's joints come from and how sure they are, against a slow computation of the same."""

from statistics import median

import numpy as np
import pytest

from capture.packets import MarkerFrame
from config.arrays import Bools
from config.joints import N_JOINTS
from reconstruct.pose import JointSource, TrackingState, joints_by_marker, provenance
from reconstruct.provenance import BOTH, COASTING, INFERRED, ONE, RESIDUAL_M
from tests.support.people import person

SUBJECT = person("dark_room")
M = len(SUBJECT.markers)


def frame_of(valid: Bools, seen: Bools) -> MarkerFrame:
    """Return a frame of markers at the origin."""
    covariance, px = np.tile(1e-4 * np.eye(3), (M, 1, 1)), np.zeros((2, M, 2))
    return MarkerFrame(0, 0, 0, valid, np.zeros((M, 3)), covariance, seen, px, np.ones((2, M)), np.zeros(M), np.zeros((0, 3)))


@pytest.mark.parametrize("predicted", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_provenance_joint_by_joint(seed: int, predicted: bool) -> None:
    rng = np.random.default_rng(seed)
    seen = rng.random((2, M)) < 0.6
    valid = seen.all(axis=0)
    residual_m, sigma_m = valid * rng.uniform(0.0, 0.3, M), rng.uniform(0.01, 0.2, M)
    frame, carries = frame_of(valid, seen), joints_by_marker(SUBJECT)
    source, confidence = provenance(frame, TrackingState.TRACKING, SUBJECT, residual_m, sigma_m if predicted else None)
    for j in range(N_JOINTS):
        mine = [m for m in range(M) if carries[m, j]]
        measured = any(seen[:, m].any() for m in mine)
        assert source[j] == (JointSource.MEASURED if measured else JointSource.INFERRED)
        sure = BOTH if any(valid[m] for m in mine) else ONE if measured else INFERRED
        if predicted and not measured:
            sure = min([sure, *(INFERRED / (1.0 + (sigma_m[m] / RESIDUAL_M) ** 2) for m in mine)])
        worst_m = max([median(residual_m[valid]), *(residual_m[m] for m in mine)])
        assert confidence[j] == pytest.approx(max(sure / (1.0 + (worst_m / RESIDUAL_M) ** 2), COASTING))


def test_a_pose_that_is_not_tracked_is_held() -> None:
    frame = frame_of(np.ones(M, bool), np.ones((2, M), bool))
    for state, usual in ((TrackingState.COASTING, COASTING), (TrackingState.LOST, 0.0)):
        source, confidence = provenance(frame, state, SUBJECT, np.zeros(M))
        assert (source == JointSource.HELD).all() and (confidence == usual).all()
