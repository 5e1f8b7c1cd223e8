"""Curves through keys, and motion at other rates."""

import numpy as np
import pytest

from config.joints import N_JOINTS
from database.geometry.rotations import compute_geodesic_rad, matrix_from_rotvec, rotvec_from_matrix
from reconstruct.models.style.synthesis.curves import KeyedCurve, find_span_s, resample_motion
from tests.support.style_posers import T_POSE

ARC = np.array([[0.0, 0.0, 0.0], [1.0, 2.0, 0.0], [1.0, 2.0, 4.0], [3.0, 0.0, 0.0]])


@pytest.mark.parametrize("way", ["monotone", "smooth", "linear"])
def test_a_curve_goes_through_its_keys_and_asks_for_nothing_beyond(way: str) -> None:
    curve = KeyedCurve(np.array([1.0, 2.0, 2.5, 4.0]), ARC, way)
    np.testing.assert_allclose(curve.at(curve.time_s), ARC, atol=1e-12)
    assert np.isnan(curve.at(np.array([0.99, 4.01]))).all()
    assert find_span_s([curve, KeyedCurve(np.array([0.5, 3.0]), ARC[:2])]) == (0.5, 4.0)


def test_a_foot_stands_between_two_equal_keys_unless_the_curve_may_swing() -> None:
    time_s, t = np.array([0.0, 1.0, 2.0, 3.0]), np.linspace(1.0, 2.0, 21)
    place = np.array([[0.0, 0.3, 0.0], [0.5, 0.0, 0.0], [0.5, 0.0, 0.0], [1.0, 0.3, 0.0]])
    np.testing.assert_allclose(KeyedCurve(time_s, place).at(t), np.tile(place[1], (21, 1)), atol=1e-12)
    assert KeyedCurve(time_s, place, "smooth").at(t)[:, 1].min() < -0.01


def test_two_keys_are_joined_by_a_line() -> None:
    for way in ("monotone", "smooth"):
        middle = KeyedCurve(np.array([0.0, 2.0]), ARC[:2], way).at(np.array([0.5]))
        np.testing.assert_allclose(middle, [[0.25, 0.5, 0.0]])


def test_a_motion_at_other_rates_goes_through_its_poses_and_has_their_length() -> None:
    rng = np.random.default_rng(2)
    turn = np.array([[0.0, angle, 0.0] for angle in np.linspace(2.0, 4.5, 31)])  # through half a turn
    rotvec = np.tile(T_POSE, (31, 1, 1)) + np.cumsum(rng.normal(0.0, 0.01, (31, N_JOINTS, 3)), axis=0)
    rotvec[:, 0] = rotvec_from_matrix(matrix_from_rotvec(turn))
    root_m = np.cumsum(rng.normal(0.0, 0.01, (31, 3)), axis=0)
    for fps in (60.0, 120.0, 30.0, 15.0, 24.0):
        r, p = resample_motion(rotvec, root_m, fps)
        assert len(r) == len(p) == int(fps) + 1
        np.testing.assert_allclose(p[-1], root_m[-1], atol=1e-9)
        assert compute_geodesic_rad(matrix_from_rotvec(r[1:, 0]), matrix_from_rotvec(r[:-1, 0])).max() < 1.1 * 2.5 / fps
    np.testing.assert_allclose(resample_motion(rotvec, root_m, 60.0)[0][::2, 1:], rotvec[:, 1:], atol=1e-9)
    assert len(resample_motion(rotvec[:1], root_m[:1], 60.0)[0]) == 1
