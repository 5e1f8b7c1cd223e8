"""Places of a flat board: homographies, both poses that look alike, and what a place alone can be adjust to."""

import numpy as np
import pytest

from calibration.solve.board_pose import (
    compute_homography,
    compute_unique_homography,
    compute_view_costs,
    find_pose_candidates,
    mirror_board_pose,
    pose_from_homography,
    refine_board_poses,
)
from calibration.solve.equations import CornerObservations, state_from_rig
from calibration.solve.single_camera import pack_observations
from database.geometry.rotations import compute_geodesic_rad, matrix_from_rotvec
from tests.calibration.solve.bundle_scenes import BOARD, pairs_of, true_places, true_rig


def test_a_pose_comes_back_from_its_homography() -> None:
    R, t = matrix_from_rotvec([0.4, -0.3, 0.9]), np.array([-0.1, 0.05, 0.8])
    H = -3.0 * np.column_stack([R[:, 0], R[:, 1], t])  # its sign and scale mean nothing
    found_R, found_t = pose_from_homography(H, BOARD.points_m.mean(axis=0))
    np.testing.assert_allclose(found_R, R, atol=1e-12)
    np.testing.assert_allclose(found_t, t, atol=1e-12)


def test_the_mirrored_board_looks_alike_from_afar_only() -> None:
    """Its middle stays, its normal is mirrored across the line of sight; projected in parallel it is the same."""
    centre = BOARD.points_m.mean(axis=0)
    R, t = matrix_from_rotvec([0.5, -0.2, 0.3]), np.array([0.02, 0.01, 1.1])
    Rm, tm = mirror_board_pose(R, t, centre)
    assert np.linalg.det(Rm) == pytest.approx(1.0)
    np.testing.assert_allclose(Rm @ centre + tm, R @ centre + t, atol=1e-12)
    d = (R @ centre + t) / np.linalg.norm(R @ centre + t)
    here, there = BOARD.points_m @ R.T + t, BOARD.points_m @ Rm.T + tm
    across = np.eye(3) - np.outer(d, d)
    np.testing.assert_allclose(here @ across, there @ across, atol=1e-12)
    assert np.abs((here - there) @ d).max() > 0.05
    again = mirror_board_pose(Rm, tm, centre)
    np.testing.assert_allclose(again[0], R, atol=1e-12)


def test_both_poses_of_every_place_the_better_first() -> None:
    rig, places = true_rig(), true_places(6)
    seen = pack_observations(BOARD, pairs_of(rig, places, 0.05), False).of_camera(0)
    weight = seen.weight.copy()
    weight[0, 3, 4:] = 0.0  # too few corners to tell
    seen, k = CornerObservations(seen.points_m, seen.px, weight), state_from_rig(rig, places).intrinsics[0]
    found = find_pose_candidates(k, seen)
    state, costs = found.state, found.costs
    seen_well = np.array([0, 1, 2, 4, 5])
    turned = compute_geodesic_rad(state.board_rotation[:6], matrix_from_rotvec(places[:, :3]))[seen_well]
    assert np.degrees(turned).max() < 1.0
    assert (costs[:6][seen_well] < costs[6:][seen_well]).all() and np.isinf(costs[[3, 9]]).all()


def test_places_go_to_their_least_cost_each_on_its_own() -> None:
    rig, places = true_rig(), true_places(5)
    seen = pack_observations(BOARD, pairs_of(rig, places, 0.0), False)
    off = places + np.random.default_rng(3).normal(0.0, 0.02, places.shape)
    state, costs = refine_board_poses(state_from_rig(rig, off), seen)
    assert (costs <= compute_view_costs(state_from_rig(rig, off), seen)).all() and costs.max() < 1e-9
    np.testing.assert_allclose(state.board_translation, places[:, 3:], atol=1e-6)
    alone = refine_board_poses(state_from_rig(rig, off[2:3]), seen.at(np.array([2])))[0]
    np.testing.assert_allclose(alone.board_translation[0], state.board_translation[2], atol=1e-7)


def test_a_homography_takes_the_plane_to_the_picture() -> None:
    H = np.array([[1.2, 0.1, 30.0], [-0.2, 0.9, 50.0], [3e-4, -2e-4, 1.0]])
    points = np.random.default_rng(1).uniform(0.0, 400.0, (12, 2))
    image = np.column_stack([points, np.ones(12)]) @ H.T
    px = image[:, :2] / image[:, 2:]
    weight = np.ones(12)
    px[4] += 90.0
    weight[4] = 0.0
    found = compute_homography(points, px, weight)
    np.testing.assert_allclose(found / found[2, 2], H, rtol=1e-6, atol=1e-9)


def test_five_points_tell_a_map_and_a_line_does_not() -> None:
    plane = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [0.0, 1.0], [1.0, 0.5]])
    H = np.array([[1.1, 0.2, 3.0], [-0.1, 0.9, 1.0], [0.05, -0.02, 1.0]])
    image = np.column_stack([plane, np.ones(5)]) @ H.T
    found = compute_unique_homography(plane, image[:, :2] / image[:, 2:])
    assert found is not None
    assert found / found[2, 2] == pytest.approx(H, abs=1e-9)
    line = np.column_stack([np.arange(6.0), np.zeros(6)])
    assert compute_unique_homography(line, line + [0.0, 1.0]) is None
    aside = np.vstack([line, [2.0, 3.0]])  # one point beside a line leaves two numbers open
    assert compute_unique_homography(aside, aside @ [[1.0, 0.2], [0.0, 1.1]]) is None
