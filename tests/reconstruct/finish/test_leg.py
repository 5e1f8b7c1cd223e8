"""The leg solver: derivatives, the minimum against a slow solver, reach, and what it must not do."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.arrays import Floats
from config.joints import JOINT_INDEX
from database.builtin import build_person_skeleton
from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.rotations import matrix_from_rotvec
from database.geometry.skeleton import REFERENCE
from reconstruct.finish.leg import (
    ACROSS_M,
    ALONG_M,
    LEGS,
    MAX_SIGMAS,
    REACH,
    SIGMA_RAD,
    LegChain,
    compute_leg_jacobian,
    compute_leg_points,
    solve_leg,
)
from tests.support.people import bent_pose, t_pose

SKELETON = build_person_skeleton(1.74, leg_ratio=1.03)
ROOT = np.array([0.4, 0.95, -1.2])


def feet_of(pose: Floats, side: int) -> Floats:
    """Return ankle and ball, (2, 3)."""
    return np.ascontiguousarray(compute_forward_kinematics(SKELETON, pose, ROOT)[1][LEGS[side][2:]])


def solved(pose: Floats, side: int, target: Floats) -> Floats:
    """Return the pose with one leg solved for."""
    G, p = compute_forward_kinematics(SKELETON, pose, ROOT)
    result = pose.copy()
    result[LEGS[side][:3]] = solve_leg(SKELETON, pose, G[0], p[0], side, target)
    return result


def turned_pose(seed: int, angle_rad: float = 0.3) -> Floats:
    """Return a random pose with a turned root."""
    pose = bent_pose(seed, angle_rad)
    pose[0] = [0.2, -1.1, 0.1]
    return pose


@pytest.mark.parametrize("side", [0, 1])
def test_places_and_derivatives_are_those_of_the_whole_body(side: int) -> None:
    pose, leg = turned_pose(4), LEGS[side]
    G, p = compute_forward_kinematics(SKELETON, pose, ROOT)
    chain = LegChain(np.ascontiguousarray(G[0]), p[0].copy(), SKELETON.offsets_m[leg], REFERENCE[leg[:3]])
    places, H, J = np.empty((4, 3)), np.empty((3, 3, 3)), np.zeros((6, 9))
    compute_leg_points(np.ascontiguousarray(pose[leg[:3]]), chain, places, H)
    compute_leg_jacobian(places, H, J)
    np.testing.assert_allclose(places, p[leg], atol=1e-12)
    step = 1e-6
    for d in range(9):
        ahead, behind = pose.copy(), pose.copy()
        ahead[leg[d // 3], d % 3] += step
        behind[leg[d // 3], d % 3] -= step
        numeric = (feet_of(ahead, side) - feet_of(behind, side)) / (2 * step)
        np.testing.assert_allclose(J[:, d].reshape(2, 3), numeric, atol=1e-8)


@pytest.mark.parametrize("side", [0, 1])
def test_foot_comes_to_its_target_and_nothing_else_moves(side: int) -> None:
    pose = turned_pose(7)
    pose[LEGS[side][1]] = 0.0  # the knee in the middle of its range: well within reach
    before = feet_of(pose, side)
    target = before + [[0.012, 0.004, -0.015], [0.012, 0.004, -0.015]]
    result = solved(pose, side, target)
    assert np.abs(feet_of(result, side) - target).max() < 0.0015
    others = np.setdiff1d(np.arange(len(pose)), LEGS[side][:3])
    np.testing.assert_array_equal(result[others], pose[others])


def test_minimum_is_that_of_a_slow_solver() -> None:
    optimize = pytest.importorskip("scipy.optimize")
    pose, side = turned_pose(11), 1
    pose[LEGS[side][1]] = 0.0
    start, leg = pose[LEGS[side][:3]].copy(), LEGS[side]
    before, hip = feet_of(pose, side), compute_forward_kinematics(SKELETON, pose, ROOT)[1][leg[0]]
    target = before + [[0.02, 0.012, 0.01], [0.015, 0.01, 0.008]]
    u = (before[0] - hip) / np.linalg.norm(before[0] - hip)

    def residual(x: Floats) -> Floats:
        trial = pose.copy()
        trial[leg[:3]] = x.reshape(3, 3)
        p = compute_forward_kinematics(SKELETON, trial, ROOT)[1]
        away = p[leg[2:]] - target
        along = away @ u
        across = away - along[:, None] * u
        return np.concatenate([(across / ACROSS_M).ravel(), along / ALONG_M, (x - start.ravel()) / SIGMA_RAD.ravel()])

    best = optimize.least_squares(residual, start.ravel(), xtol=1e-12, ftol=1e-12)
    ours = solved(pose, side, target)[leg[:3]].ravel()
    np.testing.assert_allclose(ours, best.x, atol=np.radians(0.5))
    assert (residual(ours) ** 2).sum() < 1.05 * 2.0 * best.cost


def test_no_correction_leaves_the_leg_alone() -> None:
    pose = turned_pose(3)
    np.testing.assert_allclose(solved(pose, 0, feet_of(pose, 0)), pose, atol=1e-12)


def test_a_straight_leg_does_not_snap() -> None:
    pose = t_pose()
    pose[LEGS[0][1], 0] += 0.1  # nearly straight
    foot = feet_of(pose, 0)
    hip = compute_forward_kinematics(SKELETON, pose, ROOT)[1][LEGS[0][0]]
    length = np.linalg.norm(SKELETON.offsets_m[LEGS[0][1:3]], axis=1).sum()
    room = length - np.linalg.norm(foot[0] - hip)
    bends = []
    for lower in np.linspace(0.0, 0.05, 26):
        result = solved(pose, 0, foot - [0.0, lower, 0.0])
        reached = np.linalg.norm(feet_of(result, 0)[0] - hip)
        assert reached < length - (1.0 - REACH) * room + 1e-4
        bends.append(result[LEGS[0][1], 0])
    assert np.abs(np.diff(bends)).max() < np.radians(1.0)


@given(
    st.integers(0, 10_000),
    st.lists(st.floats(-2.0, 2.0), min_size=6, max_size=6),
    st.floats(0.0, 1.5),
)
def test_any_target_gives_a_bounded_turn(seed: int, shift: list[float], angle_rad: float) -> None:
    pose = turned_pose(seed, angle_rad)
    result = solved(pose, seed % 2, feet_of(pose, seed % 2) + np.array(shift).reshape(2, 3))
    assert np.isfinite(result).all()
    assert np.isfinite(matrix_from_rotvec(result)).all()
    assert (np.abs(result - pose)[LEGS[seed % 2][:3]] <= MAX_SIGMAS * SIGMA_RAD + 1e-12).all()


def test_legs_are_left_and_right() -> None:
    assert LEGS[0].tolist() == [JOINT_INDEX["left" + n] for n in ("UpperLeg", "LowerLeg", "Foot", "Toes")]
    assert LEGS[1].tolist() == [JOINT_INDEX["right" + n] for n in ("UpperLeg", "LowerLeg", "Foot", "Toes")]
