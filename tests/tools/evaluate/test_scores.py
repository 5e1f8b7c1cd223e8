"""Scores of poses and labels, by values worked out by hand."""

import numpy as np
import pytest

from calibration.placement import make_facing_rig
from capture.packets import MarkerFrame
from config.joints import JOINT_INDEX, JOINTS, N_JOINTS
from tools.evaluate.scores import (
    ScoredMotion,
    angle_errors_deg,
    check_labels,
    geodesic_errors_deg,
    moving_angles,
    position_errors_mm,
    score,
)

KNEE = JOINT_INDEX["leftLowerLeg"]
RIG = make_facing_rig((640, 480), 60.0, 4.0, 1.0, 1.2)


def test_a_joint_moved_by_3_4_12_cm_is_130_mm_off() -> None:
    true = np.random.default_rng(1).normal(size=(2, N_JOINTS, 3))
    estimated = true.copy()
    estimated[1, KNEE] += (0.03, -0.04, 0.12)
    error = position_errors_mm(estimated, true)
    assert error[1, KNEE] == pytest.approx(130.0)
    assert np.count_nonzero(error > 1e-9) == 1


def test_angles_leave_the_root_out_and_know_the_two_forms_of_a_rotation() -> None:
    true, estimated = np.zeros((1, N_JOINTS, 3)), np.zeros((1, N_JOINTS, 3))
    estimated[0, 0] = (1.0, 2.0, 3.0)  # the root's
    estimated[0, KNEE] = np.radians((3.0, -4.0, 12.0))
    error = angle_errors_deg(estimated, true)
    assert error.shape == (1, N_JOINTS - 1, 3)
    assert error[0, KNEE - 1] == pytest.approx((3.0, 4.0, 12.0))
    assert error.sum() == pytest.approx(19.0)
    assert geodesic_errors_deg(estimated, true)[0, KNEE - 1] == pytest.approx(13.0)
    # 170 degrees about y and 190 about y are 20 degrees apart; the second is stored as 170 about -y.
    true[0, KNEE], estimated[0, KNEE] = np.radians((0.0, 170.0, 0.0)), np.radians((0.0, -170.0, 0.0))
    assert angle_errors_deg(estimated, true)[0, KNEE - 1] == pytest.approx((0.0, 20.0, 0.0))
    assert geodesic_errors_deg(estimated, true)[0, KNEE - 1] == pytest.approx(20.0)


def test_angles_that_stand_still_are_not_counted() -> None:
    rotvec = np.zeros((4, N_JOINTS, 3))
    rotvec[:, KNEE, 0] = np.radians((0.0, 2.0, 0.0, 2.0))  # standard deviation 1 degree
    rotvec[:, KNEE, 1] = np.radians((0.0, 0.4, 0.0, 0.4))  # 0.2
    rotvec[:, 0, 2] = (0.0, 1.0, 0.0, 1.0)  # the root's
    assert np.argwhere(moving_angles(rotvec)).tolist() == [[KNEE - 1, 0]]


def labelled(point_m: np.ndarray, seen: np.ndarray) -> MarkerFrame:
    """Return a frame whose markers lie exactly where their points project."""
    n = len(point_m)
    image_px = np.stack([camera.project(point_m) for camera in RIG.cameras])
    zero = np.zeros((2, n))
    return MarkerFrame(0, 0, 0, seen[0] & seen[1], point_m, np.zeros((n, 3, 3)), seen, image_px, zero, zero[0], np.zeros((0, 3)))


def test_labels_are_judged_across_the_line_of_sight() -> None:
    true_m = np.array([[0.3, 1.5, 0.2], [-0.3, 0.4, 0.0], [0.0, 1.0, -0.5], [0.5, 0.1, 0.1]])
    placed = true_m + ((0.07, 0, 0), (0, 0.10, 0), (0, 0, 0.12), (0, 0.10, 0))
    seen = np.array([[True, True, True, False], [True, False, True, False]])
    shown = np.array([True, False, True, True])
    check = check_labels(labelled(placed, seen), RIG, true_m, shown)
    # 7 cm is near; 10 cm in one view is wrong; 12 cm of depth are little across; what no camera saw has no label.
    assert check.wrong.tolist() == [False, True, False, False]
    assert check.seen.tolist() == [True, False, True, False]
    assert check.shown is shown


def test_score_counts_errors_of_tracked_frames_only() -> None:
    true_r, true_m = np.zeros((4, N_JOINTS, 3)), np.zeros((4, N_JOINTS, 3))
    true_r[:, KNEE, 0] = np.radians((0.0, 8.0, 0.0, 8.0))
    estimated_r, estimated_m = true_r.copy(), true_m.copy()
    estimated_r[1, KNEE, 0] += np.radians(6.0)
    estimated_m[1, KNEE, 2] = 0.069  # 69 mm in one of 3 x 23 distances
    estimated_m[3] += (0.0, 2.0, 0.0)  # not tracked
    tracked = np.array([True, True, True, False])
    point_m = np.array([[0.3, 1.5, 0.2], [-0.3, 0.4, 0.0]])
    seen = np.ones((2, 2), bool)
    good = check_labels(labelled(point_m, seen), RIG, point_m, np.array([True, True]))
    swapped = check_labels(labelled(point_m[::-1].copy(), seen), RIG, point_m, np.array([True, False]))
    result = score(
        ScoredMotion(estimated_r, estimated_m), ScoredMotion(true_r, true_m), tracked, [good, swapped, good, good], ("a", "b")
    )
    assert (result.frames, result.tracked) == (4, 0.75)
    assert result.position_mm[0] == pytest.approx(1.0)
    assert result.all_position_mm == pytest.approx((69.0 + 23 * 2000.0) / 92.0)
    assert result.angle_deg[0] == pytest.approx(2.0)  # the one angle that moves, off by 6 in one frame of three
    assert result.geodesic_deg[0] == pytest.approx(2.0 / 22.0)
    assert result.by_joint_mm["leftLowerLeg"] == pytest.approx(23.0)
    assert list(result.by_joint_deg) == list(JOINTS[1:])
    assert (result.in_view, result.labelled, result.wrong_frames) == (0.875, 1.0, 0.25)
    assert result.by_marker_wrong == {"a": 0.25, "b": 0.25}


def test_nothing_tracked_gives_no_error() -> None:
    still = ScoredMotion(np.zeros((1, N_JOINTS, 3)), np.zeros((1, N_JOINTS, 3)))
    point_m = np.array([[0.3, 1.5, 0.2]])
    check = check_labels(labelled(point_m, np.ones((2, 1), bool)), RIG, point_m, np.array([True]))
    result = score(still, still, np.array([False]), [check], ("a",))
    assert result.tracked == 0.0
    assert np.isnan(result.position_mm).all()
    assert result.by_joint_mm == {}
