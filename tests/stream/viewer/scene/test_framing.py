"""Viewpoints: the whole performer is in the picture, no camera covers it, and a camera's view is its own."""

from dataclasses import replace

import numpy as np
import pytest

from database.geometry.rotations import matrix_from_rotvec
from stream.viewer.scene.framing import (
    View,
    camera_from_reading,
    compute_facing_direction,
    compute_first_viewpoint,
    compute_viewpoint,
    is_view_covered,
    viewpoint_from_camera,
)
from tests.support.viewer.walking_stream import rig


def test_the_first_look_has_all_of_the_performer_in_the_picture() -> None:
    """Project the corners of a performer with arms spread into pictures wide and narrow."""
    root = np.array([0.4, 0.95, -0.3])
    for aspect in (2.0, 1.3, 0.45):
        look = compute_first_viewpoint(root, rig("s"), aspect)
        forward = look.look_at - look.position
        forward /= np.linalg.norm(forward)
        right = np.cross(forward, look.up)
        right /= np.linalg.norm(right)
        up = np.cross(right, forward)
        for corner in ([-0.85, 1.4, 0], [0.85, 1.4, 0], [0, 1.8, 0], [0.15, 0.0, 0]):
            ray = np.array(corner) + [root[0], 0, root[2]] - look.position
            depth, half = ray @ forward, np.tan(look.fov_rad / 2)
            assert depth > 1.0 and abs(ray @ up) < depth * half and abs(ray @ right) < depth * half * aspect
        assert look.position[2] > root[2], "from where the cameras are"


def test_no_camera_stands_before_the_eye_at_first() -> None:
    """Four metres before the performer, as most rigs are: the eye itself would be just behind the cameras."""
    root, places = np.array([0.0, 0.95, 0.0]), [np.array([-1.0, 1.2, 4.5]), np.array([1.0, 1.2, 4.5])]
    look = compute_first_viewpoint(root, rig("s"), 1.33)
    assert not any(is_view_covered(look, place, 1.33) for place in places)
    assert is_view_covered(look, look.position + 0.2 * (look.look_at - look.position), 1.33)
    assert not is_view_covered(look, look.look_at, 1.33) and not is_view_covered(look, 2 * look.position - look.look_at, 1.33)


def test_a_camera_s_view_is_where_the_camera_is() -> None:
    left = rig("s").cameras[0]
    look = compute_viewpoint(0, np.zeros(3), rig("s"))
    assert np.allclose(look.position, [-1.0, 1.2, 4.5]) or np.allclose(look.position, [1.0, 1.2, 4.5])
    world_to_camera = matrix_from_rotvec(left.rotation)
    assert np.allclose(world_to_camera @ look.position + left.translation, 0.0), "the centre of the camera"
    assert np.allclose(world_to_camera @ (look.look_at - look.position), [0, 0, 3.0]) and np.allclose(look.up, [0, 1, 0])
    assert look.fov_rad == pytest.approx(2 * np.arctan(360 / 900))
    assert np.allclose(viewpoint_from_camera(camera_from_reading(left)).position, look.position)
    assert np.allclose(compute_viewpoint(2, np.zeros(3), rig("s")).position[0], 0.0), "the front: there is no third one"
    assert compute_viewpoint(View.TOP, np.zeros(3), None).position[1] > 4.0


def test_with_cameras_all_around_the_front_is_where_the_world_s_is() -> None:
    """Two at the front and two behind: their middle is near the performer, and tells no direction."""
    two = rig("s")
    root = np.array([0.1, 0.95, 0.0])
    turned = [
        replace(c, rotation=np.array([0.0, 0.0, np.pi]), translation=np.array([x, 1.2, 4.5]))
        for c, x in zip(two.cameras, (-1, 1), strict=True)
    ]
    around = replace(two, cameras=(*two.cameras, *turned))
    assert compute_facing_direction(two, root)[2] > 0.9
    assert np.array_equal(compute_facing_direction(around, root), [0.0, 0.0, 1.0])
