"""Peers of posing: placing poses, the nearest neighbour, damped least squares and its derivatives."""

import numpy as np
import pytest

from config.arrays import Floats
from config.joints import JOINT_INDEX
from database.builtin import build_person_skeleton
from database.geometry.kinematics import compute_forward_kinematics
from tests.support.people import walk
from tools.evaluate.posing.cases import CAMERA, KINDS, pose_query, rotated_about_vertical
from tools.evaluate.posing.peers import N_UNKNOWN, damped_least_squares, mean_pose, nearest, place, residuals
from tools.evaluate.scores import geodesic_errors_deg

SKELETON = build_person_skeleton(1.74)
POSES = walk(SKELETON).rotvec[:60:6]


def shown(rotvec: Floats, turn_rad: float = 2.0) -> tuple[Floats, Floats]:
    """Return a pose turned, and its joints as it stands at the origin."""
    turned = rotated_about_vertical(rotvec[None], np.array([turn_rad]))[0]
    return turned, compute_forward_kinematics(SKELETON, turned, np.array([0.0, 0.95, 0.0]))[1]


@pytest.mark.parametrize("kind", KINDS)
def test_nearest_neighbour_picks_the_very_pose_wherever_it_stands(kind: str) -> None:
    true, joint_m = shown(POSES[4])
    found, root_m = nearest(SKELETON, POSES, pose_query(kind, joint_m))
    assert float(geodesic_errors_deg(found[None], true[None]).max()) < 1e-3
    # A turn is tried in steps of one degree where an image is all there is.
    tolerance_m = 0.05 if "image" in kind else 1e-6
    assert np.abs(compute_forward_kinematics(SKELETON, found, root_m)[1] - joint_m).max() < tolerance_m


@pytest.mark.parametrize("kind", KINDS)
def test_damped_least_squares_reaches_what_can_be_reached(kind: str) -> None:
    _, joint_m = shown(POSES[4])
    told = pose_query(kind, joint_m)
    at = place(SKELETON, mean_pose(POSES)[None], told)
    pose = damped_least_squares(SKELETON, (at.rotvec[0], at.root_m[0]), told)
    before, after = (np.abs(residuals(SKELETON, *p, told)[0]).max() for p in ((at.rotvec[0], at.root_m[0]), pose))
    assert after < 1e-3 < before


def test_damped_least_squares_comes_near_to_what_is_out_of_reach() -> None:
    _, joint_m = shown(POSES[4])
    far = joint_m.copy()
    far[JOINT_INDEX["leftHand"], 1] += 5.0
    told = pose_query("3 points", far)
    at = place(SKELETON, POSES[4][None], told)
    rotvec, root_m = damped_least_squares(SKELETON, (at.rotvec[0], at.root_m[0]), told)
    assert np.isfinite(rotvec).all() and np.isfinite(root_m).all()


@pytest.mark.parametrize("kind", ["3 points", "4 image points"])
def test_derivatives_of_what_is_told_are_right(kind: str) -> None:
    rotvec, joint_m = shown(POSES[2], 0.7)
    told, root_m = pose_query(kind, joint_m + 0.1), np.array([0.1, 0.9, -0.2])
    J, step = residuals(SKELETON, rotvec, root_m, told)[1], 1e-6
    for column in range(0, N_UNKNOWN, 7):
        by = np.zeros(N_UNKNOWN)
        by[column] = step
        ends = [residuals(SKELETON, rotvec + s * by[:-3].reshape(-1, 3), root_m + s * by[-3:], told)[0] for s in (1.0, -1.0)]
        np.testing.assert_allclose(J[:, column], (ends[1] - ends[0]) / (2.0 * step), atol=1e-6)  # missing is asked less found


def test_a_pose_is_put_in_front_of_the_camera_not_behind_it() -> None:
    _, joint_m = shown(POSES[0], 1.0)
    at = place(SKELETON, POSES, pose_query("4 image points", joint_m))
    assert (CAMERA.to_camera(at.root_m[np.isfinite(at.error_m)])[:, 2] > 0.3).all()


def test_the_mean_of_turned_poses_is_the_mean_pose() -> None:
    spun = rotated_about_vertical(POSES, np.linspace(0.0, 6.0, len(POSES)))
    np.testing.assert_allclose(mean_pose(spun), mean_pose(POSES), atol=1e-9)
