"""Drawn markers: centroid and area against geometry."""

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibration.placement import make_facing_rig
from calibration.triangulate import pack_camera
from capture.sources.simulated.marker import DrawnMarkers, draw_marker, draw_markers
from config.arrays import Floats

WHITE = np.full(3, 250.0)


def drawn(path: Floats, covariance: Floats, blur_px: float = 0.0) -> tuple[Floats, float]:
    """Draw on black; give the intensity-weighted centroid (2,) and the covered area [px^2]."""
    image = np.zeros((48, 64, 3), np.uint8)
    draw_marker(image, path, covariance, WHITE, blur_px)
    weight = image[..., 1] / 250.0
    y, x = np.mgrid[0:48, 0:64]
    return np.array([(weight * x).sum(), (weight * y).sum()]) / weight.sum(), float(weight.sum())


def turned(a: float, b: float, angle: float) -> Floats:
    """Return the covariance of an ellipse with half axes a and b, turned."""
    R = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return np.asarray(R @ np.diag([a**2, b**2]) @ R.T)


@given(st.floats(20.0, 40.0), st.floats(15.0, 30.0), st.floats(1.4, 6.0), st.floats(1.4, 6.0), st.floats(0.0, 3.1))
def test_centroid_and_area_of_a_still_marker(x: float, y: float, a: float, b: float, angle: float) -> None:
    centroid, area = drawn(np.repeat([[x, y]], 3, axis=0), turned(a, b, angle))
    # Square pixels alone move the centroid of a sharp disc: |2 J1(2 pi r) / (2 pi r)| / pi, 0.018 px at r = 1.4.
    assert centroid == pytest.approx([x, y], abs=0.025)
    assert area == pytest.approx(np.pi * a * b, rel=0.02)


@given(st.floats(20.0, 40.0), st.floats(15.0, 30.0), st.floats(0.9, 3.0), st.floats(0.0, 3.1))
def test_a_soft_lens_makes_even_tiny_markers_exact(x: float, y: float, a: float, angle: float) -> None:
    centroid, area = drawn(np.repeat([[x, y]], 3, axis=0), turned(a, 1.3 * a, angle), 0.5)
    assert centroid == pytest.approx([x, y], abs=0.012)
    assert area == pytest.approx(np.pi * 1.3 * a * a, rel=0.04)


def test_moving_marker_is_a_streak_about_the_middle_of_the_exposure() -> None:
    path = np.array([[20.2, 18.1], [26.4, 20.7], [32.6, 23.3]])
    centroid, area = drawn(path, np.eye(2) * 2.0**2)
    assert centroid == pytest.approx(path[1], abs=0.02)
    assert area == pytest.approx(np.pi * 4.0, rel=0.02)
    image = np.zeros((48, 64, 3), np.uint8)
    draw_marker(image, path, np.eye(2) * 4.0, WHITE)
    seen = np.flatnonzero(image[..., 0].max(axis=0))
    assert 12 + 4 - 2 <= seen[-1] - seen[0] <= 12 + 4 + 1
    assert image.max() < 100  # the same light spread over a longer way


def test_saturated_marker_stays_white_and_centred() -> None:
    image = np.full((48, 64, 3), 3, np.uint8)
    draw_marker(image, np.repeat([[30.3, 20.8]], 3, axis=0), np.eye(2) * 9.0, np.full(3, 700.0), 0.5)
    assert image.max() == 255
    weight = image[..., 0].astype(float) - 3.0
    y, x = np.mgrid[0:48, 0:64]
    assert (weight * x).sum() / weight.sum() == pytest.approx(30.3, abs=0.03)
    assert (weight * y).sum() / weight.sum() == pytest.approx(20.8, abs=0.03)


@pytest.mark.parametrize("place", [(-20.0, 10.0), (200.0, 10.0), (10.0, -9.0), (np.nan, 3.0)])
def test_marker_outside_the_image_changes_nothing(place: tuple[float, float]) -> None:
    image = np.full((48, 64, 3), 7, np.uint8)
    draw_marker(image, np.repeat([place], 3, axis=0), np.eye(2) * 4.0, WHITE, 0.5)
    assert np.all(image == 7)


def test_marker_at_the_edge_is_cut_off_there() -> None:
    image = np.zeros((48, 64, 3), np.uint8)
    draw_marker(image, np.repeat([[-0.5, 20.0]], 3, axis=0), np.eye(2) * 16.0, WHITE)
    assert image[..., 0].sum() / 250.0 == pytest.approx(np.pi * 16.0 / 2.0, rel=0.03)


def test_outline_is_that_of_a_sphere_seen_through_the_lens() -> None:
    camera = make_facing_rig((640, 480), 70.0, 2.5, 1.0, 1.2).cameras[0]
    center, radius = np.array([0.7, 1.7, 0.4]), 0.1
    image, at = np.zeros((480, 640, 3), np.uint8), center[None].copy()
    seen = DrawnMarkers(np.repeat(at[None], 3, axis=0), np.ones(1), at, np.zeros((1, 2)), radius, WHITE[None].copy())
    draw_markers(image, pack_camera(camera), seen)
    away = center - camera.center_m
    away /= np.linalg.norm(away)
    u = np.cross(away, [0.0, 1.0, 0.0])
    u /= np.linalg.norm(u)
    angle = np.linspace(0.0, 2.0 * np.pi, 40)[:, None]
    rim = camera.project(center + radius * (np.cos(angle) * u + np.sin(angle) * np.cross(away, u)))
    y, x = np.nonzero(image[..., 1] > 125)
    assert len(x) == pytest.approx(cv2.contourArea(rim.astype(np.float32)), rel=0.03)
    low, high = rim.min(axis=0), rim.max(axis=0)
    assert [x.min(), y.min(), x.max(), y.max()] == pytest.approx([*low, *high], abs=1.5)
