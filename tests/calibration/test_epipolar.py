"""Epipolar geometry against projection and against distances worked out by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibration.camera import Camera, Rig
from calibration.epipolar import epipolar_distances, essential_matrix, fundamental_matrix, ideal_pixels
from config.errors import CalibrationError
from tests.support.rigs import synthetic_camera, synthetic_rig

DISTORTIONS = (-0.12, 0.08, 0.001, -0.002, 0.03)


def askew_rig() -> Rig:
    """A rig in which no two things are equal by chance."""
    left = synthetic_camera("left", (-0.9, 1.4, 3.1), (0.1, 1.0, 0.0), (640, 480), 0.9, DISTORTIONS)
    right = synthetic_camera("right", (0.7, 1.9, 3.3), (-0.05, 0.9, 0.1), (800, 600), 1.1, (0.05, -0.03, 0.0, 0.001))
    return Rig(left, right)


def simple_rig() -> Rig:
    """Two parallel cameras 0.5 m apart with a focal length of 500 px: epipolar lines are rows."""
    matrix = np.array([[500.0, 0.0, 320.0], [0.0, 500.0, 240.0], [0.0, 0.0, 1.0]])
    left = Camera("left", (640, 480), matrix, np.zeros(5), np.eye(3), np.zeros(3))
    right = Camera("right", (640, 480), matrix.copy(), np.zeros(5), np.eye(3), np.array([-0.5, 0.0, 0.0]))
    return Rig(left, right)


def test_parallel_cameras_by_hand() -> None:
    np.testing.assert_allclose(essential_matrix(simple_rig()), [[0, 0, 0], [0, 0, 0.5], [0, -0.5, 0]], atol=1e-15)
    left, right = np.array([[100.0, 50.0], [300.0, 200.0]]), np.array([[80.0, 53.0], [10.0, 200.0], [250.0, 190.0]])
    expected = [[3.0, 150.0, 140.0], [147.0, 0.0, 10.0]]
    np.testing.assert_allclose(epipolar_distances(simple_rig(), left, right), expected, atol=1e-9)


@given(st.lists(st.tuples(st.floats(-0.8, 0.8), st.floats(0.1, 1.9), st.floats(-0.9, 0.9)), min_size=1, max_size=8))
def test_projections_of_one_point_lie_on_each_others_lines(points: list[tuple[float, float, float]]) -> None:
    rig = askew_rig()
    F = fundamental_matrix(rig)
    left, right = rig.left.project(points), rig.right.project(points)
    algebraic = np.einsum("ni,ij,nj->n", ideal_pixels(rig.right, right), F, ideal_pixels(rig.left, left))
    np.testing.assert_allclose(algebraic, 0.0, atol=1e-5)
    assert epipolar_distances(rig, left, right).diagonal().max() < 1e-4


def test_distances_against_one_pair_at_a_time() -> None:
    rig, random = askew_rig(), np.random.default_rng(3)
    left, right = random.uniform(50, 430, (4, 2)), random.uniform(50, 550, (3, 2))
    F = fundamental_matrix(rig)
    for a, x in enumerate(ideal_pixels(rig.left, left)):
        for b, y in enumerate(ideal_pixels(rig.right, right)):
            in_right, in_left = F @ x, F.T @ y
            expected = 0.5 * (abs(in_right @ y) / np.hypot(*in_right[:2]) + abs(in_left @ x) / np.hypot(*in_left[:2]))
            assert epipolar_distances(rig, left, right)[a, b] == pytest.approx(expected, rel=1e-9)


def test_no_points() -> None:
    assert epipolar_distances(simple_rig(), np.zeros((0, 2)), np.zeros((3, 2))).shape == (0, 3)


def test_camera_looks_where_it_is_told() -> None:
    rig = synthetic_rig((-1.0, 1.5, 3.0), (1.0, 1.5, 3.0), (0.2, 1.0, 0.3))
    for camera in rig.cameras:
        np.testing.assert_allclose(camera.project([0.2, 1.0, 0.3]), [319.5, 239.5], atol=1e-9)
    np.testing.assert_allclose(rig.left.center_m, [-1.0, 1.5, 3.0], atol=1e-12)
    assert rig.left.project([0.2, 1.2, 0.3])[1] < 239.5, "up in the world is up in the image"
    assert rig.left.project([0.4, 1.0, 0.3])[0] > 319.5, "seen from +z, world x points to the right"
    assert rig.baseline_m == pytest.approx(2.0)
    R = synthetic_camera("c", (0.0, 1.0, 2.0), (0.5, 0.0, 0.0)).rotation
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(R) == pytest.approx(1.0)


def test_view_across_is_as_asked() -> None:
    camera = synthetic_camera("c", (0, 0, 0), (0, 0, -1), (640, 480), np.radians(60.0))
    edge = camera.project([np.tan(np.radians(30.0)), 0.0, -1.0])
    assert edge[0] == pytest.approx(319.5 + 320.0)


def test_camera_cannot_look_straight_up() -> None:
    with pytest.raises(CalibrationError, match="straight up or down"):
        synthetic_camera("c", (0.0, 1.0, 0.0), (0.0, 3.0, 0.0))
