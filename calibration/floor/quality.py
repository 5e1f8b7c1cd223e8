"""The quality report on a floor: its accuracy, and whether world, cameras and performer stand on it plausibly."""

import numpy as np

from calibration.camera import Camera, Rig
from calibration.floor.frame import Floor, FloorMethod, place_on_floor
from calibration.quality.report import Finding, Grade, GradeLimits, QualityReport, grade_figure, make_finding
from config.arrays import Floats

TILT_DEG = GradeLimits(0.7, 2.0)  # standard deviation up to which a floor is good, and poor
HEIGHT_MM = GradeLimits(15.0, 60.0)
RESIDUAL_MM = {"board": GradeLimits(3.0, 15.0), "markers": GradeLimits(8.0, 30.0), "walk": GradeLimits(15.0, 40.0)}
ROLL_DEG, LOWEST_CAMERA_M, HIGHEST_CAMERA_M = 45.0, 0.02, 4.0
SIZE_PERCENT = GradeLimits(1.0, 4.0)
MAX_RESCALED_PERCENT = 20.0
REACH_M = (0.3, 15.0)
HIGHEST_POINT_M = ((0.9, 2.4), (0.5, 3.2))  # of a performer who walks: good, and poor
MISSING_PERCENT = GradeLimits(10.0, 30.0)  # of the frames in which the lowest marker is not that of a standing foot
BELOW_PERCENT = GradeLimits(2.0, 10.0)
AGAIN = {
    "board": "lay the board flat on the floor, nearer to the cameras and whole in both pictures",
    "markers": "use more markers, spread over where the performer will be, nearer to the cameras",
    "walk": "walk longer, to and fro and across the view, feet always in view of both cameras",
}
TAKEN_FOR = {
    "board": "is it face up, and on the floor, not on a table or a wall?",
    "markers": "do they lie on the floor, not on a table or a wall?",
    "walk": "something else was taken for it; walk longer, feet in view of both cameras, and only walk",
}
HOW_HIGH = "say how high the markers of a standing foot are: --subject subject.toml, or --height MM of the lowest"


def judge_floor(rig: Rig, floor: Floor) -> QualityReport:
    """Judge a floor found in a rig's frame."""
    world = place_on_floor(rig, floor)
    cameras = world.cameras
    findings = [_judge_accuracy(floor), _judge_residual(floor)]
    for camera in cameras:
        findings += [_judge_height(camera, floor.by), *_judge_upright(camera)]
    findings += [*_judge_one_camera(rig, floor), *_judge_reach(world), *_judge_size(floor), *_judge_walk(floor)]
    findings += floor.findings
    heights = {f"{camera.name}_height_m": float(camera.center_m[1]) for camera in cameras}
    figures = {
        "tilt_sigma_deg": float(np.degrees(floor.tilt_sigma_rad)),
        "height_sigma_mm": 1e3 * floor.height_sigma_m,
        "residual_mm": floor.residual_mm,
        "size_bias_percent": 100.0 * (floor.size_ratio - 1.0),
        **heights,
        **floor.figures,
    }
    return QualityReport(tuple(findings), figures)


def _judge_accuracy(floor: Floor) -> Finding:
    """Judge the standard deviations of height and tilt."""
    tilt, height = float(np.degrees(floor.tilt_sigma_rad)), 1e3 * floor.height_sigma_m
    grade = max(grade_figure(tilt, TILT_DEG), grade_figure(height, HEIGHT_MM))
    text = f"the floor is known to {height:.1f} mm in height and {tilt:.2f} degrees in tilt"
    assumed = floor.figures.get("assumed_mm", 0.0)
    fix = HOW_HIGH if assumed > 0.8 * height and grade_figure(tilt, TILT_DEG) is Grade.PASS else AGAIN[floor.by]
    return make_finding(grade, text, fix)


def _judge_residual(floor: Floor) -> Finding:
    """Judge how flat what lies on the floor is."""
    grade = grade_figure(floor.residual_mm, RESIDUAL_MM[floor.by])
    what = {"board": "the board's corners are", "markers": "the markers are", "walk": "feet at rest are"}[floor.by]
    text = f"{what} {floor.residual_mm:.1f} mm from where the floor would have them (RMS)"
    return make_finding(grade, text, AGAIN[floor.by])


def _judge_height(camera: Camera, by: FloorMethod) -> Finding:
    """Judge the height of a camera."""
    height = float(camera.center_m[1])
    if height < LOWEST_CAMERA_M:
        fix = TAKEN_FOR[by]
        return Finding(Grade.FAIL, f"{camera.title} would be {100 * -height:.0f} cm under the floor", fix)
    if height > HIGHEST_CAMERA_M:
        fix = "is that so? if not, the floor or the rig's scale is wrong"
        return Finding(Grade.POOR, f"{camera.title} would be {height:.2f} m above the floor", fix)
    return Finding(Grade.PASS, f"{camera.title} is {height:.2f} m above the floor")


def compute_roll_and_pitch_deg(camera: Camera) -> tuple[float, float]:
    """Return a camera's rotation about its axis, and how far it looks down, in a world with Y up [degrees]."""
    up: Floats = camera.rotation[:, 1]
    return float(np.degrees(np.arctan2(-up[0], -up[1]))), float(np.degrees(np.arcsin(np.clip(-up[2], -1.0, 1.0))))


def _judge_upright(camera: Camera) -> list[Finding]:
    """Judge whether up in the world is up in a camera's picture."""
    roll, pitch = compute_roll_and_pitch_deg(camera)
    if abs(pitch) > 75.0:
        return [Finding(Grade.POOR, f"{camera.title} would look straight {'down' if pitch > 0 else 'up'}", "is that so?")]
    if abs(roll) <= ROLL_DEG:
        return []
    how = "upside down" if abs(roll) > 135.0 else "on its side"
    fix = "if it does not stand so, the floor is wrong: it may be a wall, a table's side, or its mirror image"
    return [Finding(Grade.POOR, f"{camera.title} would stand {how}, turned by {roll:.0f} degrees", fix)]


def _judge_one_camera(rig: Rig, floor: Floor) -> list[Finding]:
    """Judge a board that one camera saw: nothing checks the size of its squares, on which the camera's height depends."""
    if not floor.one_camera:
        return []
    if rig.is_monocular:
        return [Finding(Grade.PASS, "one camera: all lengths are as true as the board's squares")]
    text = "one camera alone saw the board: nothing checks the size of its squares"
    return [Finding(Grade.POOR, text, "lay it where two cameras see it whole, or nearer to them")]


def _judge_reach(world: Rig) -> list[Finding]:
    """Judge how far from the origin the cameras are."""
    distance = float(np.linalg.norm(world.middle_m))
    if REACH_M[0] <= distance <= REACH_M[1]:
        return []
    text = f"the cameras would be {distance:.2f} m from the origin"
    return [Finding(Grade.POOR, text, "is that so? if not, the rig's scale is wrong")]


def _judge_size(floor: Floor) -> list[Finding]:
    """Judge the scale."""
    if not np.isfinite(floor.size_ratio):
        return []
    bias, sigma = 100.0 * (floor.size_ratio - 1.0), 100.0 * floor.size_sigma
    what = "the board" if floor.by == "board" else "the distance of the markers"
    side = "large" if bias > 0 else "small"
    if floor.scale != 1.0:
        grade = Grade.PASS if abs(bias) <= MAX_RESCALED_PERCENT else Grade.POOR
        text = f"{what} came out {abs(bias):.2f} % too {side}, and the rig was rescaled to it"
        return [make_finding(grade, text, "that is much: is its size what you said?")]
    grade = grade_figure(max(abs(bias) - 2.0 * sigma, 0.0), SIZE_PERCENT)
    text = f"{what} comes out {abs(bias):.2f} % (+-{sigma:.2f}) too {side} in this rig"
    fix = "measure it with a ruler; if it is what you said, the rig's scale is wrong: calibrate it again, or --rescale"
    return [make_finding(grade, text, fix)]


def _judge_walk(floor: Floor) -> list[Finding]:
    """Judge how high a performer's highest markers are, how much is seen below the floor, and how often a foot stands on it."""
    found, absent = list[Finding](), float("nan")
    highest = floor.scale * floor.figures.get("highest_m", absent)
    if np.isfinite(highest):
        (low, high), (lowest, highest_possible) = HIGHEST_POINT_M
        grade = Grade.PASS if low <= highest <= high else Grade.POOR if lowest <= highest <= highest_possible else Grade.FAIL
        fix = "a performer's markers are 1 to 2.4 m high: the floor or the rig's scale is wrong"
        found.append(make_finding(grade, f"the performer's highest markers are {highest:.2f} m above the floor", fix))
    below, standing = (floor.figures.get(name, absent) for name in ("below_percent", "standing_percent"))
    if below > BELOW_PERCENT.passed:
        text = f"{below:.1f} % of all points would lie below the floor"
        fix = "does the floor mirror the markers? if not, it is too high"
        found.append(Finding(grade_figure(below, BELOW_PERCENT), text, fix))
    if 100.0 - standing > MISSING_PERCENT.passed:  # of a walking person a foot stands in all
        text = f"a foot stands on this floor in {standing:.0f} % of the moments only"
        fix = "walk, do not jump or kneel: --from and --to name the seconds of the walk"
        found.append(Finding(grade_figure(100.0 - standing, MISSING_PERCENT), text, fix))
    return found
