"""Projection and its inverse, through strong lenses, against OpenCV and by hand."""

from dataclasses import replace

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibration.camera import Camera, Rig, compute_relative_pose
from calibration.epipolar import compute_epipolar_distances
from calibration.solve.projection import project_points
from calibration.triangulate import triangulate
from database.geometry.rotations import matrix_from_rotvec
from tests.support.rigs import synthetic_rig

LENSES = [
    (0.0, 0.0, 0.0, 0.0, 0.0),
    (-0.03, 0.5, 0.0009, -0.0026, -2.44),
    (0.003, 0.57, 0.0008, 0.0074, -3.02),
    (-0.25, 0.08, 0.001, -0.002),
]


def camera(distortions: tuple[float, ...]) -> Camera:
    matrix = np.array([[795.0, 0.0, 294.0], [0.0, 790.0, 251.0], [0.0, 0.0, 1.0]])
    rotation = matrix_from_rotvec([0.1, -0.4, 0.2])
    return Camera("c", (640, 480), matrix, np.array(distortions), rotation, np.array([0.1, -0.2, 3.0]))


def test_projection_by_hand() -> None:
    matrix = np.array([[500.0, 0.0, 320.0], [0.0, 400.0, 240.0], [0.0, 0.0, 1.0]])
    plain = Camera("c", (640, 480), matrix, np.array([0.1, 0.0, 0.0, 0.0]), np.eye(3), np.array([0.0, 0.0, 2.0]))
    # (x, y) = (0.5, -0.25), r^2 = 0.3125, radial factor 1.03125.
    np.testing.assert_allclose(plain.project([1.0, -0.5, 0.0]), [320.0 + 500.0 * 0.515625, 240.0 - 400.0 * 0.2578125])
    assert np.isnan(plain.project([0.0, 0.0, -2.5])).all(), "behind the camera"
    np.testing.assert_allclose(plain.center_m, [0.0, 0.0, -2.0])
    assert plain.focal_px == 450.0


@pytest.mark.parametrize("lens", LENSES)
@given(x=st.floats(0.0, 640.0), y=st.floats(0.0, 480.0), depth=st.floats(0.5, 20.0))
def test_undistorting_and_projecting_again(lens: tuple[float, ...], x: float, y: float, depth: float) -> None:
    seen = camera(lens)
    ideal = seen.undistort([x, y])
    world = (np.array([*ideal, 1.0]) * depth - seen.translation) @ seen.rotation
    np.testing.assert_allclose(seen.project(world), [x, y], atol=1e-6)


def test_a_lens_is_nine_numbers_and_its_model() -> None:
    expected = [795.0, 790.0, 294.0, 251.0, -0.25, 0.08, 0.001, -0.002, 0.0, 0.0]
    np.testing.assert_array_equal(camera(LENSES[3]).intrinsics, expected)


FISHEYES = [(0.0, 0.0, 0.0, 0.0), (-0.021, 0.0064, -0.0031, 0.0007), (0.09, -0.05, 0.03, -0.008)]


def fisheye(distortions: tuple[float, ...]) -> Camera:
    """Return a camera that sees 140 degrees across."""
    plain = camera(distortions)
    matrix = np.array([[262.0, 0.0, 311.0], [0.0, 259.0, 246.0], [0.0, 0.0, 1.0]])
    return replace(plain, matrix=matrix, fisheye=True)


def inside(seen: Camera, n: int) -> np.ndarray:
    """Return points of the world up to 75 degrees off the camera's axis, (n, 3)."""
    rng = np.random.default_rng(2)
    angle, turn, away = rng.uniform(0.0, np.radians(75.0), n), rng.uniform(0.0, 2.0 * np.pi, n), rng.uniform(0.5, 8.0, n)
    ray = np.stack([np.sin(angle) * np.cos(turn), np.sin(angle) * np.sin(turn), np.cos(angle)], axis=1)
    return np.asarray((ray * away[:, None] - seen.translation) @ seen.rotation)


@pytest.mark.kernels
@pytest.mark.parametrize("lens", FISHEYES)
def test_fisheyes_are_opencvs(lens: tuple[float, ...]) -> None:
    """Rays, the adjustment's projection and the triangulation's all agree with cv2.fisheye."""
    seen = fisheye(lens)
    points = inside(seen, 300)
    rotvec = cv2.Rodrigues(seen.rotation)[0]
    px = cv2.fisheye.projectPoints(points[:, None], rotvec, seen.translation, seen.matrix, seen.distortions)[0][:, 0]
    np.testing.assert_allclose(project_points(seen.intrinsics, seen.to_camera(points)), px, rtol=0.0, atol=1e-9)
    x = seen.to_camera(points)
    np.testing.assert_allclose(seen.undistort(px), x[:, :2] / x[:, 2:], rtol=1e-10, atol=1e-10)
    beside = replace(seen, name="beside", translation=seen.translation + np.array([-0.4, 0.02, 0.01]))
    rig = Rig((seen, beside))
    found, _ = triangulate(rig, seen.project(points), beside.project(points))
    np.testing.assert_allclose(found, points, atol=1e-8)
    assert compute_epipolar_distances(rig.cameras, seen.project(points), beside.project(points)).diagonal().max() < 1e-7


def test_an_epipolar_distance_of_a_fisheye_is_in_raw_pixels() -> None:
    """A pixel off at the edge of the picture counts about as much as in its middle, where an ideal pixel is as large."""
    seen = fisheye(FISHEYES[1])
    beside = replace(seen, name="beside", translation=seen.translation - [0.4, 0.0, 0.0])
    rays = np.stack([np.tan(np.radians([1.0, 30.0, 60.0])), np.zeros(3), np.ones(3)], axis=1)
    points = (3.0 * rays - seen.translation) @ seen.rotation
    off = compute_epipolar_distances((seen, beside), seen.project(points), beside.project(points) + [0.0, 1.0]).diagonal()
    assert np.all((off > 0.5) & (off < 1.5)), off


def test_a_camera_is_named_in_a_sentence() -> None:
    names = [replace(camera(LENSES[0]), name=name).title for name in ("left", "camera", "cam_1")]
    assert names == ["the left camera", "the camera", "camera cam_1"]


def test_rays_lead_to_what_is_seen() -> None:
    seen = camera(LENSES[3])
    px = np.array([[[100.0, 60.0], [500.0, 400.0], [330.0, 20.0]]])
    rays = seen.rays(px)
    assert rays.shape == (1, 3, 3) and (rays[..., 2] == 1.0).all()
    np.testing.assert_allclose(seen.project((2.5 * rays - seen.translation) @ seen.rotation), px, atol=1e-6)


def test_from_the_left_camera_to_the_right_one() -> None:
    rig = synthetic_rig((-0.3, 1.0, 2.0), (0.5, 1.1, 2.6), (0.1, 0.9, 0.0))
    R, t = compute_relative_pose(rig.cameras[0], rig.cameras[1])
    point = np.array([0.3, 1.2, -0.4])
    np.testing.assert_allclose(R @ rig.cameras[0].to_camera(point) + t, rig.cameras[1].to_camera(point), atol=1e-12)
    assert np.linalg.norm(t) == pytest.approx(rig.baseline_m)


def test_shapes_are_kept() -> None:
    seen = camera(LENSES[1])
    assert seen.undistort(np.zeros((0, 2))).shape == (0, 2)
    assert seen.undistort(np.full((4, 3, 2), 200.0)).shape == (4, 3, 2)
    assert seen.project(np.zeros((0, 3))).shape == (0, 2)
    assert seen.project(np.zeros((4, 5, 3))).shape == (4, 5, 2)


def test_far_outside_the_image_stays_finite() -> None:
    assert np.isfinite(camera(LENSES[2]).undistort([[-5000.0, 9000.0], [3e5, 3e5]])).all()


def test_rig() -> None:
    rig: Rig = synthetic_rig((-0.3, 1.0, 2.0), (0.5, 1.0, 2.6), (0.0, 1.0, 0.0))
    assert rig.baseline_m == pytest.approx(1.0)
    assert rig.cameras == (rig.cameras[0], rig.cameras[1])
    with pytest.raises(ValueError, match="read-only"):
        rig.cameras[0].matrix[0, 0] = 1.0
