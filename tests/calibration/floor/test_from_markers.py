"""Floors under markers: three, many, an L-frame, a body and a reflection among them."""

import numpy as np
import pytest

from calibration.floor.frame import place_on_floor
from calibration.floor.from_markers import LFrame, find_l_frame, fit_floor_to_markers
from calibration.floor.quality import judge_floor
from calibration.quality.report import Grade
from config.arrays import Floats
from config.errors import CalibrationError
from tests.calibration.floor.scenes import errors, in_left_frame, world_rig

L_FRAME = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.6], [0.4, 0.0, 0.0]])  # corner, long arm to +Z, short one to +X
SPREAD = np.array([[-0.7, 0, 0.2], [0.6, 0, 0.3], [0.1, 0, -0.8], [-0.4, 0, -0.5], [0.5, 0, 0.9], [-0.2, 0, 0.8]])


def seen(points_m: Floats, noise_px: float = 0.1, seed: int = 0) -> tuple[Floats, Floats]:
    """Return what the rig in its left camera's frame measures of points of the world."""
    from calibration.triangulate import triangulate

    world, rng = world_rig(), np.random.default_rng(seed)
    left, right = (camera.project(points_m) + rng.normal(0.0, noise_px, (len(points_m), 2)) for camera in world.cameras)
    return triangulate(in_left_frame(world), left, right, max(noise_px, 0.05), max(noise_px, 0.05))


def test_an_l_frame_is_the_world() -> None:
    world = world_rig()
    rig = in_left_frame(world)
    floor = fit_floor_to_markers(rig, *seen(L_FRAME + [0.1, 0.012, 0.2], 0.0), height_m=0.012)
    got = place_on_floor(rig, floor)
    for camera, true in zip(got.cameras, world.cameras, strict=True):
        np.testing.assert_allclose(camera.center_m, true.center_m - [0.1, 0.0, 0.2], atol=1e-4)
    assert any("L-frame, arms of 600 and 400 mm" in finding.text for finding in floor.findings)
    assert floor.findings[-1].grade is Grade.POOR  # three always lie in a plane


def test_its_mirror_image_is_told() -> None:
    frame = L_FRAME * [-1.0, 1.0, 1.0]
    floor = fit_floor_to_markers(in_left_frame(world_rig()), *seen(frame, 0.0))
    assert any("-X" in finding.text for finding in floor.findings)


def test_corners() -> None:
    assert find_l_frame(L_FRAME) == LFrame(0, 1, 2)
    assert find_l_frame(L_FRAME[[2, 0, 1]]) == LFrame(1, 2, 0)
    along = np.vstack([L_FRAME, [[0.0, 0.0, 0.25]]])  # a fourth marker on the long arm
    assert find_l_frame(along) == LFrame(0, 1, 2)
    assert find_l_frame(np.vstack([L_FRAME, [[0.3, 0.0, 0.3]]])) is None
    assert find_l_frame(L_FRAME * [1.5, 1.0, 1.0]) is None  # arms alike: which is which?
    assert find_l_frame(np.array([[0.0, 0, 0], [1.0, 0, 0.2], [0.2, 0, 0.9]])) is None
    assert find_l_frame(SPREAD) is None


def test_many_markers_are_averaged() -> None:
    world = world_rig()
    rig = in_left_frame(world)
    floor = fit_floor_to_markers(rig, *seen(SPREAD, 0.3, 4))
    tilt, height = errors(world, rig, floor, np.zeros(3))
    assert tilt < 3.0 * np.degrees(floor.tilt_sigma_rad) < 1.0
    assert abs(height) < 3.0 * floor.height_sigma_m < 0.02
    assert floor.figures["markers"] == 6.0 and all(finding.grade is Grade.PASS for finding in floor.findings)
    # Nothing says where ahead is: to the cameras.
    middle = place_on_floor(rig, floor).cameras[0].center_m + place_on_floor(rig, floor).cameras[1].center_m
    assert abs(middle[0]) < 1e-6 < middle[2]


def test_a_shoe_and_a_reflection_are_left_out() -> None:
    """A marker on a chair, one on a shoe, and one mirrored by the floor."""
    world = world_rig()
    rig = in_left_frame(world)
    others = np.array([[0.2, 0.45, -0.3], [0.3, 0.09, 0.1], [-0.3, -0.5, 0.1]])
    floor = fit_floor_to_markers(rig, *seen(np.vstack([others[:1], SPREAD, others[1:]]), 0.1))
    assert errors(world, rig, floor, np.zeros(3))[0] < 0.3
    assert floor.figures["left_out"] == 3.0 and any("(-50" in finding.text for finding in floor.findings)


def test_a_known_distance_tells_the_scale() -> None:
    rig = in_left_frame(world_rig())
    true_m = float(max(np.linalg.norm(a - b) for a in SPREAD for b in SPREAD))
    floor = fit_floor_to_markers(rig, *seen(SPREAD), distance_m=true_m / 1.03)
    assert abs(floor.size_ratio - 1.03) < 3.0 * floor.size_sigma < 0.03
    assert np.isnan(fit_floor_to_markers(rig, *seen(SPREAD)).size_ratio)


@pytest.mark.parametrize(
    ("points", "words"),
    [
        (SPREAD[:2], "2 markers that lie still"),
        (np.array([[0.0, 0, 0], [0.3, 0, 0], [0.6, 0, 0], [0.9, 0, 0]]), "on a line"),
        (np.array([[0.0, 0, 0], [0.5, 0.2, 0], [0.1, 0.5, 0.6], [-0.4, 0.3, 0.3], [0.3, 0.6, -0.5]]), "in one plane"),
    ],
)
def test_what_is_no_floor(points: Floats, words: str) -> None:
    with pytest.raises(CalibrationError, match=words):
        fit_floor_to_markers(in_left_frame(world_rig()), *seen(points, 0.02))


def test_a_table_is_told_by_the_height_of_the_cameras_alone() -> None:
    """Markers on a table 0.7 m high: a good plane; the cameras' heights over it are all that can be told."""
    rig = in_left_frame(world_rig())
    report = judge_floor(rig, fit_floor_to_markers(rig, *seen(SPREAD + [0.0, 0.7, 0.0])))
    assert report.grade is Grade.PASS
    assert abs(report.figures["left_height_m"] - 0.6) < 0.02
