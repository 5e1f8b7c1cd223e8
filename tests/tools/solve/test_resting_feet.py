"""Feet that stand still through a gap are known to; feet that stepped, or moved beside the gap, are not."""

import numpy as np
import pytest

from config.arrays import Floats
from config.joints import JOINT_INDEX
from tools.solve.resting_feet import find_resting_markers

FPS, GAP = 60.0, slice(40, 100)
JOINT = np.array([JOINT_INDEX[name] for name in ("leftFoot", "leftToes", "leftLowerLeg", "rightFoot")])


def stand(n: int = 140) -> Floats:
    """Return four markers at rest, (N, 4, 3) [m]."""
    return np.tile(np.arange(12.0).reshape(4, 3) / 10.0, (n, 1, 1))


def test_a_standing_foot_did_not_move_and_other_joints_may_have() -> None:
    point_m = stand()
    point_m[GAP.stop :, 0] += [0.006, 0.0, 0.0]  # skin, and the weight upon the foot
    valid = np.ones(point_m.shape[:2], bool)
    valid[GAP] = False
    valid[GAP, 3] = True
    filled_m, resting = find_resting_markers(JOINT, np.where(valid[..., None], point_m, 0.0), valid, np.arange(140) / FPS)
    assert resting[GAP, :2].all() and resting.sum() == 2 * (GAP.stop - GAP.start)
    line = np.arange(1, 61)[:, None] / 61.0 * [0.006, 0.0, 0.0]
    assert np.allclose(filled_m[GAP, 0], point_m[0, 0] + line) and np.allclose(filled_m[GAP, 1], point_m[0, 1])


@pytest.mark.parametrize("away_m, m_s, seen", [(0.05, 0.0, False), (0.0, 0.3, False), (0.0, 0.0, True)])
def test_a_foot_that_moved_or_is_seen_in_part_is_left_alone(away_m: float, m_s: float, seen: bool) -> None:
    point_m, n = stand(), np.arange(140)
    point_m[GAP.stop :, :2, 0] += away_m
    point_m[:, :2, 2] += m_s / FPS * np.minimum(n - GAP.start, 0)[:, None]
    valid = np.ones(point_m.shape[:2], bool)
    valid[GAP, :2], valid[GAP, 1] = False, seen
    assert not find_resting_markers(JOINT, point_m, valid, n / FPS)[1].any()
