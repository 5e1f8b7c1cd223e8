"""Observations of a frame: covariances, ideal image points, rays by hand for a plain camera."""

from dataclasses import replace

import numpy as np
import pytest

from calibration.camera import Camera, Rig
from capture.packets import MarkerFrame
from capture.stereo.marker_frames import frame_from_view
from config.arrays import Floats
from reconstruct.observations import find_monocular_rays, find_nearest_on_rays, observations_from_markers
from tests.support.people import blobs_of, front_rig, lone_views, marker_frame_of

POINTS_M = np.array([[0.3, 1.2, 0.1], [-0.2, 0.9, 0.2], [0.1, 0.4, -0.1]])


def test_information_is_the_inverse_of_both_covariances() -> None:
    S = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, -0.2], [0.5, -0.2, 9.0]]) * 1e-6
    frame = marker_frame_of(POINTS_M, np.array([True, False, True]))
    covariance = frame.covariance_m2.copy()
    covariance[0] = S
    found = observations_from_markers(replace(frame, covariance_m2=covariance), front_rig(), np.array([0.01, 0.02, 0.03]))
    L = found.root_info
    np.testing.assert_allclose(L[0].T @ L[0], np.linalg.inv(S + 1e-4 * np.eye(3)), rtol=1e-9)
    np.testing.assert_allclose(L[2].T @ L[2], np.eye(3) / (0.003**2 + 0.03**2), rtol=1e-9, atol=1e-9)
    assert not L[1].any() and not found.weight_px.any()


def test_a_monocular_marker_is_weighed_in_pixels() -> None:
    rig = front_rig()
    valid = np.array([True, False, True])
    seen = np.array([[True, True, True], [True, False, True]])
    image = np.stack([camera.project(POINTS_M) for camera in rig.cameras])
    frame = replace(marker_frame_of(POINTS_M, valid), seen=seen, image_px=image)
    found = observations_from_markers(frame, rig, np.full(3, 0.02))
    assert (found.weight_px > 0).tolist() == [[False, True, False], [False, False, False]]
    depth = np.median([rig.cameras[0].to_camera(POINTS_M[m])[2] for m in (0, 2)])
    expected = 1.0 / (0.3**2 + (rig.cameras[0].focal_px * 0.02 / depth) ** 2)
    assert np.isclose(found.weight_px[0, 1], expected, rtol=1e-9)
    inside = found.view_rotation[0] @ POINTS_M[1] + found.view_translation[0]
    np.testing.assert_allclose(found.ideal[0, 1], inside[:2] / inside[2], atol=1e-6)


def test_nothing_seen_is_nothing_told() -> None:
    found = observations_from_markers(marker_frame_of(POINTS_M, np.zeros(3, bool)), front_rig(), np.full(3, 0.02))
    assert not found.root_info.any() and not found.weight_px.any()


BODY_M = np.array(
    [[0.2, 0.5, 0.0], [-0.2, 0.5, 0.02], [0.0, 0.35, 0.15], [0.18, 0.0, 0.05], [-0.17, 0.02, 0.0], [0.1, -0.4, 0.1]]
)


def plain_rig() -> Rig:
    """Look along +z from x = 1, 500 px, centre at (320, 240)."""
    matrix = np.array([[500.0, 0.0, 320.0], [0.0, 500.0, 240.0], [0.0, 0.0, 1.0]])
    camera = Camera("one", (640, 480), matrix, np.zeros(5), np.eye(3), np.array([-1.0, 0.0, 0.0]))
    return Rig((camera,))


def seen_by_left(rig: Rig, points_m: Floats) -> MarkerFrame:
    """Return the frame in which the left camera alone sees points, in order."""
    pair = lone_views(blobs_of(0, 3, rig.cameras[0].project(points_m), 0.5), len(rig))
    return frame_from_view(pair, 0, np.arange(len(points_m)))


def test_a_ray_by_hand() -> None:
    """A point 3 to the right of, 4 below and 5 ahead of the camera is 300 and 400 px off the centre."""
    rays = find_monocular_rays(seen_by_left(plain_rig(), np.array([[4.0, 4.0, 5.0], [1.0, 0.0, 2.0]])), plain_rig())
    assert rays.monocular.all()
    assert rays.from_m[0] == pytest.approx([1.0, 0.0, 0.0])
    assert rays.direction[0] == pytest.approx(np.array([3.0, 4.0, 5.0]) / 50**0.5)
    assert rays.direction[1] == pytest.approx([0.0, 0.0, 1.0])
    assert rays.sigma_rad == pytest.approx(0.5 / 500.0)
    # (1, 3, 2) is 2 ahead of the camera along the second line, and 3 off it.
    assert find_nearest_on_rays(rays, np.array([[4.0, 4.0, 5.0], [1.0, 3.0, 2.0]]))[1] == pytest.approx([1.0, 0.0, 2.0])


def test_triangulated_markers_are_not_alone_and_the_right_camera_counts() -> None:
    rig, n = front_rig(), len(BODY_M)
    frame = marker_frame_of(BODY_M)
    assert not find_monocular_rays(frame, rig).monocular.any()
    seen = np.zeros((2, n), bool)
    seen[1, 2] = True
    image = np.zeros((2, n, 2))
    image[1, 2] = rig.cameras[1].project(BODY_M[2])
    rays = find_monocular_rays(replace(frame, valid=np.zeros(n, bool), seen=seen, image_px=image), rig)
    assert np.flatnonzero(rays.monocular).tolist() == [2]
    assert rays.from_m[2] == pytest.approx(rig.cameras[1].center_m)
    assert find_nearest_on_rays(rays, BODY_M)[2] == pytest.approx(BODY_M[2], abs=1e-6)
    assert not rays.direction[[0, 1, 3, 4, 5]].any()
