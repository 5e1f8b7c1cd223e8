"""A floor's world: where its axes are, and that nothing changes in the pictures."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from calibration.floor.frame import Floor, find_direction_to_cameras, place_on_floor
from calibration.world import compute_up_of_images, project_to_floor
from database.geometry.rotations import matrix_from_rotvec
from tests.calibration.floor.scenes import in_left_frame, world_rig


def floor_of(up: tuple[float, ...], origin: tuple[float, ...], ahead: tuple[float, ...], scale: float = 1.0) -> Floor:
    return Floor(np.array(up), np.array(origin), np.array(ahead), "board", 0.001, 0.001, 0.1, np.zeros((1, 3)), scale=scale)


def test_a_rig_in_the_left_cameras_frame_gets_its_world_back() -> None:
    world = world_rig()
    rig = in_left_frame(world)
    R, t = world.cameras[0].rotation, world.cameras[0].translation
    floor = floor_of(tuple(R[:, 1]), tuple(R @ [0.2, 0.0, 0.3] + t), tuple(R[:, 2]))
    got = place_on_floor(rig, floor)
    assert got.floor_known and not rig.floor_known
    for camera, true in zip(got.cameras, world.cameras, strict=True):
        np.testing.assert_allclose(camera.center_m, true.center_m - [0.2, 0.0, 0.3], atol=1e-12)
        np.testing.assert_allclose(camera.rotation, true.rotation, atol=1e-12)


@given(st.lists(st.floats(-3.0, 3.0), min_size=6, max_size=6), st.floats(0.5, 2.0))
def test_pictures_stay_as_they_are(numbers: list[float], scale: float) -> None:
    """Every point is where it was in both pictures, whatever floor, origin and scale are."""
    rig = in_left_frame(world_rig())
    M = matrix_from_rotvec(np.array(numbers[:3]))
    floor = floor_of(tuple(M[0]), tuple(numbers[3:]), tuple(M[1]), scale)
    points = np.array([[0.3, 0.2, 2.5], [-0.4, 0.6, 3.1], [0.1, -0.3, 2.0]])
    got = place_on_floor(rig, floor)
    for before, after in zip(rig.cameras, got.cameras, strict=True):
        np.testing.assert_allclose(after.project(floor.to_world(points)), before.project(points), atol=1e-6)
    np.testing.assert_allclose(got.baseline_m, scale * rig.baseline_m, rtol=1e-9)


def test_directions() -> None:
    rig = world_rig()
    assert compute_up_of_images(rig)[1] > 0.9
    np.testing.assert_allclose(
        find_direction_to_cameras(rig, np.array([-0.025, 0.0, 0.0]), np.array([0.0, 1.0, 0.0])), [0, 0, 1], atol=1e-9
    )
    # Straight up there is no way along the floor: any, but one of length 1 within it.
    some = project_to_floor(np.array([0.0, 2.0, 0.0]), np.array([0.0, 1.0, 0.0]))
    assert abs(some[1]) < 1e-12 and abs(np.linalg.norm(some) - 1.0) < 1e-12
