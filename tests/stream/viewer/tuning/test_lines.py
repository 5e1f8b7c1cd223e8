"""Epipolar lines as the lens bends them."""

import cv2
import numpy as np
import pytest

from calibration.camera import Camera
from stream.viewer.tuning.panel import FAR_M, N_POINTS, NEAR_M, compute_epipolar_lines

MATRIX = np.array([[520.0, 0.0, 310.0], [0.0, 515.0, 250.0], [0.0, 0.0, 1.0]])
LENS = np.array([-0.21, 0.05, 0.002, -0.003])


def camera(name: str, place_m: tuple[float, float, float], turned_rad: float) -> Camera:
    rotation, _ = cv2.Rodrigues(np.array([0.03, turned_rad, -0.05]))
    return Camera(name, (640, 480), MATRIX, LENS, rotation, -rotation @ np.array(place_m))


LEFT, RIGHT = camera("cam_0", (-0.9, 0.1, 0.0), -0.22), camera("cam_1", (1.1, -0.2, 0.15), 0.31)
PLACES_M = np.array([[0.0, 0.3, 3.0], [-0.4, -0.5, 3.4], [0.1, 0.1, 2.7], [0.2, 0.7, 6.0]])


def distance_px(point: np.ndarray, line: np.ndarray) -> float:
    """The distance of a point from a polyline."""
    line = line[np.isfinite(line).all(axis=1)]
    begin, along = line[:-1], np.diff(line, axis=0)
    share = np.clip(((point - begin) * along).sum(axis=1) / (along**2).sum(axis=1), 0.0, 1.0)
    return float(np.linalg.norm(begin + share[:, None] * along - point, axis=1).min())


@pytest.mark.parametrize(("one", "other"), [(LEFT, RIGHT), (RIGHT, LEFT)])
def test_a_line_passes_through_what_the_other_camera_sees(one: Camera, other: Camera) -> None:
    lines = compute_epipolar_lines(one, one.project(PLACES_M), other)
    assert lines.shape == (len(PLACES_M), N_POINTS, 2)
    for point, line in zip(other.project(PLACES_M), lines, strict=True):
        assert (point > 0.0).all() and (point < other.size).all()
        assert distance_px(point, line) < 1.0  # chords of a line the lens bends
    crossed = [distance_px(point, lines[0]) for point in other.project(PLACES_M[1:])]
    assert min(crossed) > 5.0  # and not through everything


def test_the_ends_are_the_nearest_and_farthest_a_marker_can_be() -> None:
    pixel = np.array([[333.0, 222.0]])
    line = compute_epipolar_lines(LEFT, pixel, LEFT)[0]
    np.testing.assert_allclose(line, np.tile(pixel, (N_POINTS, 1)), atol=1e-6)  # its own epipolar line is a point
    ideal = LEFT.undistort(pixel)[0]
    for n, depth_m in ((0, NEAR_M), (-1, FAR_M)):
        place = LEFT.center_m + depth_m * LEFT.rotation.T @ np.array([*ideal, 1.0])
        expected, shown = RIGHT.project(place), compute_epipolar_lines(LEFT, pixel, RIGHT)[0, n]
        assert np.isnan(shown).all() or np.allclose(shown, expected, atol=1e-6)


def test_what_is_behind_or_far_outside_is_not_drawn() -> None:
    behind = camera("cam_1", (0.0, 0.0, 40.0), 0.0)
    assert np.isnan(compute_epipolar_lines(LEFT, np.array([[320.0, 240.0]]), behind)).all()
    aside = camera("cam_1", (0.0, 0.0, 1.0), 2.2)
    assert np.isnan(compute_epipolar_lines(LEFT, np.array([[320.0, 240.0]]), aside)).any()
    assert compute_epipolar_lines(LEFT, np.zeros((0, 2)), RIGHT).shape == (0, N_POINTS, 2)
