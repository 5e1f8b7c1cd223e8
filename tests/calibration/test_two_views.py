"""Two views of a point: epipolar geometry by hand and against projection, triangulation against a brute-force minimum."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import least_squares

from calibration.camera import Camera, Rig
from calibration.epipolar import (
    compute_epipolar_distances,
    compute_essential_matrix,
    compute_fundamental_matrix,
    undistort_to_pixels,
)
from calibration.triangulate import pack_camera, project_point, triangulate
from config.arrays import Floats
from config.errors import CalibrationError
from tests.support.rigs import synthetic_camera

DISTORTIONS = (-0.12, 0.08, 0.001, -0.002, 0.03)


def askew_rig() -> Rig:
    """A rig in which no two things are equal by chance."""
    left = synthetic_camera("left", (-0.9, 1.4, 3.1), (0.1, 1.0, 0.0), (640, 480), 0.9, DISTORTIONS)
    right = synthetic_camera("right", (0.7, 1.9, 3.3), (-0.05, 0.9, 0.1), (800, 600), 1.1, (0.05, -0.03, 0.0, 0.001))
    return Rig((left, right))


def simple_rig() -> Rig:
    """Two parallel cameras 0.5 m apart with a focal length of 500 px: epipolar lines are rows."""
    matrix = np.array([[500.0, 0.0, 320.0], [0.0, 500.0, 240.0], [0.0, 0.0, 1.0]])
    left = Camera("left", (640, 480), matrix, np.zeros(5), np.eye(3), np.zeros(3))
    right = Camera("right", (640, 480), matrix.copy(), np.zeros(5), np.eye(3), np.array([-0.5, 0.0, 0.0]))
    return Rig((left, right))


def test_parallel_cameras_by_hand() -> None:
    np.testing.assert_allclose(
        compute_essential_matrix(*simple_rig().cameras), [[0, 0, 0], [0, 0, 0.5], [0, -0.5, 0]], atol=1e-15
    )
    left, right = np.array([[100.0, 50.0], [300.0, 200.0]]), np.array([[80.0, 53.0], [10.0, 200.0], [250.0, 190.0]])
    expected = [[3.0, 150.0, 140.0], [147.0, 0.0, 10.0]]
    np.testing.assert_allclose(compute_epipolar_distances(simple_rig().cameras, left, right), expected, atol=1e-9)


@given(st.lists(st.tuples(st.floats(-0.8, 0.8), st.floats(0.1, 1.9), st.floats(-0.9, 0.9)), min_size=1, max_size=8))
def test_projections_of_one_point_lie_on_each_others_lines(points: list[tuple[float, float, float]]) -> None:
    rig = askew_rig()
    F = compute_fundamental_matrix(*rig.cameras)
    left, right = rig.cameras[0].project(points), rig.cameras[1].project(points)
    algebraic = np.einsum("ni,ij,nj->n", undistort_to_pixels(rig.cameras[1], right), F, undistort_to_pixels(rig.cameras[0], left))
    np.testing.assert_allclose(algebraic, 0.0, atol=1e-5)
    assert compute_epipolar_distances(rig.cameras, left, right).diagonal().max() < 1e-4


def test_distances_against_one_pair_at_a_time() -> None:
    rig, random = askew_rig(), np.random.default_rng(3)
    left, right = random.uniform(50, 430, (4, 2)), random.uniform(50, 550, (3, 2))
    F = compute_fundamental_matrix(*rig.cameras)
    for a, x in enumerate(undistort_to_pixels(rig.cameras[0], left)):
        for b, y in enumerate(undistort_to_pixels(rig.cameras[1], right)):
            in_right, in_left = F @ x, F.T @ y
            expected = 0.5 * (abs(in_right @ y) / np.hypot(*in_right[:2]) + abs(in_left @ x) / np.hypot(*in_left[:2]))
            assert compute_epipolar_distances(rig.cameras, left, right)[a, b] == pytest.approx(expected, rel=1e-9)


def test_no_points() -> None:
    assert compute_epipolar_distances(simple_rig().cameras, np.zeros((0, 2)), np.zeros((3, 2))).shape == (0, 3)


def residuals(point: Floats, rig: Rig, left: Floats, right: Floats, sigmas: tuple[float, float]) -> Floats:
    """Weighted reprojection error through OpenCV's own projection."""
    return np.concatenate(
        [(rig.cameras[0].project(point) - left) / sigmas[0], (rig.cameras[1].project(point) - right) / sigmas[1]]
    )


@given(st.lists(st.tuples(st.floats(-0.9, 0.9), st.floats(0.0, 2.0), st.floats(-1.0, 1.0)), min_size=0, max_size=6))
def test_exact_images_give_the_point_back(points: list[tuple[float, float, float]]) -> None:
    rig, world = askew_rig(), np.array(points).reshape(-1, 3)
    point, covariance = triangulate(rig, rig.cameras[0].project(world), rig.cameras[1].project(world), 0.3, 0.5)
    np.testing.assert_allclose(point, world, atol=1e-8)
    assert covariance.shape == (len(world), 3, 3)


def test_against_brute_force() -> None:
    rig, random = askew_rig(), np.random.default_rng(5)
    world = random.uniform((-0.8, 0.0, -1.0), (0.8, 2.0, 1.0), (12, 3))
    left = rig.cameras[0].project(world) + random.normal(0.0, 2.0, (12, 2))
    right = rig.cameras[1].project(world) + random.normal(0.0, 4.0, (12, 2))
    sigma_left, sigma_right = random.uniform(0.1, 3.0, 12), random.uniform(0.1, 3.0, 12)
    point, covariance = triangulate(rig, left, right, sigma_left, sigma_right)
    for n in range(12):
        sigmas = (float(sigma_left[n]), float(sigma_right[n]))
        best = least_squares(residuals, world[n], args=(rig, left[n], right[n], sigmas), xtol=1e-14, ftol=1e-14, gtol=1e-14)
        np.testing.assert_allclose(point[n], best.x, atol=2e-6)
        np.testing.assert_allclose(covariance[n], np.linalg.inv(best.jac.T @ best.jac), rtol=2e-3, atol=1e-9)


def test_rays_that_meet_behind_or_nowhere_stay_finite() -> None:
    rig = askew_rig()
    swapped = Rig((dataclasses.replace(rig.cameras[1], size=rig.cameras[0].size), rig.cameras[0]))
    world = np.array([[0.2, 1.1, 0.3], [-0.5, 0.4, 0.1]])
    point, covariance = triangulate(swapped, rig.cameras[0].project(world), rig.cameras[1].project(world))
    assert np.isfinite(point).all()
    assert np.isfinite(covariance).all()
    parallel = Rig(
        (rig.cameras[0], dataclasses.replace(rig.cameras[0], translation=rig.cameras[0].translation - [0.5, 0.0, 0.0]))
    )
    point, covariance = triangulate(parallel, np.array([[300.0, 200.0]]), np.array([[300.0, 200.0]]))
    assert np.isfinite(point).all()
    assert np.isfinite(covariance).all()
    assert np.sqrt(covariance[0].diagonal().max()) > 1.0, "nothing near is known of a point at infinity"


def test_bad_arguments() -> None:
    rig = askew_rig()
    with pytest.raises(CalibrationError, match="2 left and 1 right"):
        triangulate(rig, np.zeros((2, 2)), np.zeros((1, 2)))
    for sigma in (0.0, -1.0, float("nan")):
        with pytest.raises(CalibrationError, match="sigma is not positive"):
            triangulate(rig, np.zeros((1, 2)), np.zeros((1, 2)), sigma, 1.0)


@pytest.mark.kernels
def test_projections_are_the_cameras_own() -> None:
    rig, rng = askew_rig(), np.random.default_rng(3)
    points = rng.normal([0.0, 1.0, 0.0], 0.5, (20, 3))
    px, J = np.empty(2), np.empty((2, 3))
    for camera in rig.cameras:
        for point in points:
            assert project_point(pack_camera(camera), point, px, J)
            np.testing.assert_allclose(px, camera.project(point), atol=1e-9)
        assert not project_point(pack_camera(camera), np.array([0.0, 1.5, 30.0]), px, J), "behind both"
