"""Verdicts on floors: what is wrong is said, with what to do."""

from dataclasses import replace

import numpy as np
import pytest

from calibration.camera import Camera, Rig
from calibration.floor.frame import Floor
from calibration.floor.quality import compute_roll_and_pitch_deg, judge_floor
from calibration.placement import make_camera_looking_at
from calibration.quality.report import Finding, Grade
from database.geometry.rotations import matrix_from_rotvec
from tests.calibration.floor.scenes import world_rig

GOOD = Floor(
    np.array([0.0, 1.0, 0.0]),
    np.zeros(3),
    np.array([0.0, 0.0, 1.0]),
    "board",
    0.002,
    0.002,
    0.5,
    np.zeros((4, 3)),
    size_ratio=1.003,
    size_sigma=0.001,
)


def worst(rig: Rig, floor: Floor) -> tuple[Grade, str]:
    """Return the grade and the line of the worst finding."""
    report = judge_floor(rig, floor)
    return report.grade, report.lines[1]


def test_a_good_floor_passes() -> None:
    report = judge_floor(world_rig(), GOOD)
    assert report.grade is Grade.PASS
    assert abs(report.figures["left_height_m"] - 1.3) < 1e-9 and abs(report.figures["size_bias_percent"] - 0.3) < 1e-9
    assert any("the left camera is 1.30 m above the floor" in line for line in report.lines)
    assert any("the board comes out 0.30 % (+-0.10) too large" in line for line in report.lines)


@pytest.mark.parametrize(
    ("changes", "grade", "words"),
    [
        ({"tilt_sigma_rad": np.radians(1.9)}, Grade.POOR, "1.90 degrees"),
        ({"tilt_sigma_rad": np.radians(4.0)}, Grade.FAIL, "4.00 degrees"),
        ({"height_sigma_m": 0.03}, Grade.POOR, "30.0 mm in height"),
        ({"height_sigma_m": 0.08}, Grade.FAIL, "lay the board flat"),
        ({"residual_mm": 5.0}, Grade.POOR, "5.0 mm from where the floor"),
        ({"size_ratio": 1.025}, Grade.POOR, "2.50 %"),
        ({"size_ratio": 0.9}, Grade.FAIL, "10.00 % (+-0.10) too small"),
        ({"origin_m": np.array([0.0, 1.25, 0.0])}, Grade.FAIL, "10 cm under the floor"),
        ({"origin_m": np.array([0.0, -4.0, 0.0])}, Grade.POOR, "5.30 m above the floor"),
        ({"origin_m": np.array([0.0, 0.0, -18.0])}, Grade.POOR, "m from the origin"),
        (
            {"up": np.array([1.0, 0.0, 0.0]), "ahead": np.array([0.0, 0.0, 1.0]), "origin_m": np.array([-1.0, 0, 0])},
            Grade.POOR,
            "on its side",
        ),
        ({"up": np.array([0.0, -1.0, 0.0]), "origin_m": np.array([0.0, 3.0, 0.0])}, Grade.POOR, "upside down"),
        ({"one_camera": True, "size_ratio": np.nan}, Grade.POOR, "one camera alone"),
        ({"findings": (Finding(Grade.POOR, "three markers always lie in a plane", "add a fourth"),)}, Grade.POOR, "add a fourth"),
        ({"by": "walk", "figures": {"highest_m": 2.9}}, Grade.POOR, "2.90 m above"),
        ({"by": "walk", "figures": {"highest_m": 0.3}}, Grade.FAIL, "0.30 m above"),
        ({"by": "walk", "figures": {"below_percent": 12.0}}, Grade.FAIL, "12.0 % of all points"),
        ({"by": "walk", "figures": {"standing_percent": 56.0}}, Grade.FAIL, "in 56 % of the moments only"),
        ({"by": "walk", "figures": {"standing_percent": 85.0}}, Grade.POOR, "in 85 % of the moments only"),
        ({"by": "walk", "height_sigma_m": 0.025, "figures": {"assumed_mm": 25.0}}, Grade.POOR, "--height MM"),
    ],
)
def test_what_is_wrong_is_said(changes: dict[str, object], grade: Grade, words: str) -> None:
    found, line = worst(world_rig(), replace(GOOD, **changes))  # type: ignore[arg-type]
    assert found is grade and words in line, line


def test_a_bias_within_its_own_error_is_none() -> None:
    assert worst(world_rig(), replace(GOOD, size_ratio=1.02, size_sigma=0.008))[0] is Grade.PASS


def test_a_rescaled_rig_is_good_unless_much_was_changed() -> None:
    assert worst(world_rig(), replace(GOOD, size_ratio=1.1, scale=1 / 1.1))[0] is Grade.PASS
    assert worst(world_rig(), replace(GOOD, size_ratio=1.5, scale=1 / 1.5))[0] is Grade.POOR


def camera_rolled(roll_deg: float) -> Camera:
    camera = make_camera_looking_at("one", (640, 480), world_rig().cameras[0].matrix, (0.3, 1.5, 3.0), (0.0, 0.5, 0.0))
    R = matrix_from_rotvec(np.array([0.0, 0.0, np.radians(roll_deg)])) @ camera.rotation
    return replace(camera, rotation=np.ascontiguousarray(R))


@pytest.mark.parametrize("roll_deg", [-170.0, -90.0, -30.0, 0.0, 40.0, 100.0])
def test_roll_and_pitch(roll_deg: float) -> None:
    """It looks down by atan(1 / 3.015): 1 m lower at a point 3.015 m away along the floor."""
    roll, pitch = compute_roll_and_pitch_deg(camera_rolled(roll_deg))
    assert abs(abs(roll) - abs(roll_deg)) < 1e-6
    assert abs(pitch - np.degrees(np.arctan2(1.0, np.hypot(0.3, 3.0)))) < 1e-6


def test_a_lone_camera_is_told_what_its_lengths_rest_on() -> None:
    camera = camera_rolled(0.0)
    report = judge_floor(Rig((camera,)), replace(GOOD, one_camera=True, size_ratio=float("nan")))
    assert report.grade is Grade.PASS and any("as true as the board's squares" in line for line in report.lines)
