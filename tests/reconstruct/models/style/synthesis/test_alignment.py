"""Poses are aligned with targets by the best rotation about the vertical and the best shift."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from config.arrays import Floats
from database.geometry.rotations import matrix_from_rotvec
from reconstruct.models.style.synthesis.alignment import align_poses, prepare_turned_handles
from reconstruct.models.style.synthesis.arrays import HandleTargets, RootTarget, ViewArrays

UP = np.array([0.0, 1.0, 0.0])
FREE = RootTarget(np.eye(3), np.zeros(3), 0.0, 0.0)
YAW, SHIFT = 2.2, np.array([0.3, 1.1, 4.0])
POINTS = np.array([[0.1, 0.4, 0.2], [-0.3, 0.5, 0.1], [0.2, -0.8, 0.0], [-0.1, -0.7, 0.35], [0.0, 0.6, -0.2]])


def targets(world: Floats, lines: bool) -> HandleTargets:
    n = len(world)
    info = np.zeros((n, 3, 3)) if lines else np.tile(np.eye(3) / 0.01, (n, 1, 1))
    ideal = np.zeros((2, n, 2))
    if lines:
        ideal[0] = world[:, :2] / world[:, 2:]
    weight = np.stack([np.ones(n), np.zeros(n)]) if lines else np.zeros((2, n))
    views = ViewArrays(np.tile(np.eye(3), (2, 1, 1)), np.zeros((2, 3)), np.full(2, 600.0))
    return HandleTargets(np.zeros(n, np.int64), np.zeros((n, 3)), world, info, ideal, weight, views)


def aligned(points: Floats, to: HandleTargets, yaw: float | None = None, root: RootTarget = FREE) -> tuple[float, float, Floats]:
    yaws = None if yaw is None else np.array([yaw])
    cost, angle, shift = align_poses(prepare_turned_handles(points[None], UP), yaws, to, root)
    return float(cost[0]), float(angle[0]), shift[0]


@pytest.mark.parametrize(("lines", "yaw_rad", "shift_m"), [(False, 1e-9, 1e-6), (True, 0.05, 0.1)])
def test_turn_and_shift_are_found(lines: bool, yaw_rad: float, shift_m: float) -> None:
    world = POINTS @ matrix_from_rotvec(YAW * UP).T + SHIFT
    _, yaw, shift = aligned(POINTS, targets(world, lines))
    assert abs(np.angle(np.exp(1j * (yaw - YAW)))) < yaw_rad
    assert_allclose(shift, SHIFT, atol=shift_m)


def test_a_known_turn_is_kept_and_the_place_is_drawn_to_the_roots_prior() -> None:
    cost, yaw, shift = aligned(POINTS, targets(POINTS + SHIFT, False), 0.0)
    assert yaw == 0.0 and cost < 1e-3
    assert_allclose(shift, SHIFT, atol=1e-6)
    nothing = targets(POINTS, False)
    nothing.root_info[:] = 0.0
    assert_allclose(aligned(POINTS, nothing, 0.0, RootTarget(np.eye(3), SHIFT, 0.0, 100.0))[2], SHIFT, atol=1e-6)


def test_a_pose_that_does_not_fit_costs_what_is_left() -> None:
    world = POINTS.copy()
    world[0, 1] += 0.1
    cost = aligned(POINTS, targets(world, False))[0]
    assert 0.5 * 100.0 < cost < 100.0  # (0.1 m / 0.01 m)^2, part of it taken up by the shift


def test_a_pose_behind_the_camera_is_no_start() -> None:
    world = POINTS + SHIFT
    to = targets(world, True)
    far = RootTarget(np.eye(3), np.array([0.0, 0.0, -50.0]), 0.0, 1e6)
    assert aligned(POINTS, to, 0.0, far)[0] > 1e6


def test_a_pose_stays_where_its_points_and_its_image_points_agree() -> None:
    world = POINTS @ matrix_from_rotvec(YAW * UP).T + SHIFT
    to, lines = targets(world, False), targets(world, True)
    to.root_info[2:] = 0.0
    to.ideal[:], to.weight_px[0, 2:] = lines.ideal, 1.0
    cost, yaw, shift = aligned(POINTS, to)
    assert abs(np.angle(np.exp(1j * (yaw - YAW)))) < 0.05 and cost < 1e3
    assert_allclose(shift, SHIFT, atol=0.1)
