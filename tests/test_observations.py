"""What the solver is told: information of world points, ideal image points of lone markers."""

from dataclasses import replace

import numpy as np

from reconstruct.observations import observations_from_markers
from tests.people import front_rig, marker_frame_of

PLACES = np.array([[0.3, 1.2, 0.1], [-0.2, 0.9, 0.2], [0.1, 0.4, -0.1]])


def test_information_is_the_inverse_of_both_covariances() -> None:
    S = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, -0.2], [0.5, -0.2, 9.0]]) * 1e-6
    frame = marker_frame_of(PLACES, np.array([True, False, True]))
    covariance = frame.covariance_m2.copy()
    covariance[0] = S
    found = observations_from_markers(replace(frame, covariance_m2=covariance), front_rig(), np.array([0.01, 0.02, 0.03]))
    L = found.root_info
    np.testing.assert_allclose(L[0].T @ L[0], np.linalg.inv(S + 1e-4 * np.eye(3)), rtol=1e-9)
    np.testing.assert_allclose(L[2].T @ L[2], np.eye(3) / (0.003**2 + 0.03**2), rtol=1e-9, atol=1e-9)
    assert not L[1].any() and not found.weight_px.any()


def test_a_lone_marker_is_weighed_in_pixels() -> None:
    rig = front_rig()
    valid = np.array([True, False, True])
    seen = np.array([[True, True, True], [True, False, True]])
    image = np.stack([camera.project(PLACES) for camera in rig.cameras])
    frame = replace(marker_frame_of(PLACES, valid), seen=seen, image_px=image)
    found = observations_from_markers(frame, rig, np.full(3, 0.02))
    assert (found.weight_px > 0).tolist() == [[False, True, False], [False, False, False]]
    depth = np.median([rig.left.to_camera(PLACES[m])[2] for m in (0, 2)])
    expected = 1.0 / (0.3**2 + (rig.left.focal_px * 0.02 / depth) ** 2)
    assert np.isclose(found.weight_px[0, 1], expected, rtol=1e-9)
    inside = found.view_rotation[0] @ PLACES[1] + found.view_translation[0]
    np.testing.assert_allclose(found.ideal[0, 1], inside[:2] / inside[2], atol=1e-6)


def test_nothing_seen_is_nothing_told() -> None:
    found = observations_from_markers(marker_frame_of(PLACES, np.zeros(3, bool)), front_rig(), np.full(3, 0.02))
    assert not found.root_info.any() and not found.weight_px.any()
