"""Placed cameras: lens, pose and distance against values worked out by hand."""

import numpy as np
import pytest

from calibration.placement import (
    find_distance_in_view,
    intrinsics_from_fov,
    is_all_in_view,
    make_camera_looking_at,
    make_facing_rig,
    place_rig,
)
from config.errors import CalibrationError

SIZE = (640, 480)


def test_field_of_view_of_90_degrees_has_half_the_width_as_focal_length() -> None:
    K = intrinsics_from_fov(SIZE, 90.0)
    assert K[0, 0] == pytest.approx(320.0)
    assert K[1, 1] == pytest.approx(320.0)
    assert K[:2, 2] == pytest.approx([319.5, 239.5])


def test_camera_looks_at_its_target_with_the_image_upright() -> None:
    camera = make_camera_looking_at("left", SIZE, intrinsics_from_fov(SIZE, 60.0), (0.4, 1.5, 3.0), (0.1, 0.9, -0.2))
    assert camera.center_m == pytest.approx([0.4, 1.5, 3.0])
    assert np.linalg.det(camera.rotation) == pytest.approx(1.0)
    target, above, to_plus_x = camera.project([(0.1, 0.9, -0.2), (0.1, 1.2, -0.2), (0.4, 0.9, -0.2)])
    assert target == pytest.approx([319.5, 239.5])
    assert above[1] < target[1] - 20.0
    assert abs(above[0] - target[0]) < 1e-9
    assert to_plus_x[0] > target[0] + 20.0


def test_left_camera_stands_at_minus_x_of_a_performer_who_faces_plus_z() -> None:
    rig = make_facing_rig(SIZE, 60.0, 4.0, 0.8, 1.3, (0.2, 0.9, -0.5))
    assert rig.cameras[0].center_m == pytest.approx([-0.2, 1.3, 3.5])
    assert rig.cameras[1].center_m == pytest.approx([0.6, 1.3, 3.5])
    assert rig.baseline_m == pytest.approx(0.8)
    assert rig.floor_known
    near = np.array([0.2, 0.9, 0.5])
    assert rig.cameras[0].project(near)[0] > rig.cameras[1].project(near)[0]


def test_distance_in_view_is_the_smallest_that_shows_all() -> None:
    points = np.array([[-0.9, 0.0, 0.3], [0.8, 1.9, -0.4], [0.1, 1.0, 0.5]])
    distance = find_distance_in_view(SIZE, 60.0, 1.0, 1.2, points, margin=0.05)
    assert is_all_in_view(make_facing_rig(SIZE, 60.0, distance, 1.0, 1.2), points, 32.0)
    assert not is_all_in_view(make_facing_rig(SIZE, 60.0, distance - 0.02, 1.0, 1.2), points, 32.0)
    # The lower edge binds: floor point 0.95 m under the axis, 208 px of half the height left, f = 554 px.
    assert distance == pytest.approx(2.9, abs=0.5)


def test_points_behind_a_camera_or_far_aside_are_not_in_view() -> None:
    rig = make_facing_rig(SIZE, 60.0, 3.0, 1.0, 1.2)
    assert is_all_in_view(rig, np.array([[0.0, 1.0, 0.0]]))
    assert not is_all_in_view(rig, np.array([[0.0, 1.0, 9.0]]))
    assert not is_all_in_view(rig, np.array([[40.0, 1.0, 2.0]]))


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: intrinsics_from_fov(SIZE, 5.0), "field of view"),
        (lambda: intrinsics_from_fov((8, 480), 60.0), "too small"),
        (lambda: place_rig(SIZE, 60.0, (0, 1, 3), (0, 1, 3), (0, 1, 0)), "one place"),
        (lambda: make_camera_looking_at("left", SIZE, np.eye(3), (0, 3, 0), (0, 0, 0)), "straight"),
        (lambda: find_distance_in_view(SIZE, 60.0, 1.0, 1.2, [(50.0, 1.0, 0.0)]), "30 m"),
    ],
)
def test_impossible_placements_are_refused(call, word) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(CalibrationError, match=word):
        call()
