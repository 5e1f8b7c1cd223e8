"""The verdict on a rig that was measured with a wand: what it rests on, in pixels, millimetres and plain words."""

import numpy as np

from calibration.camera import Rig, compute_relative_pose, format_camera_name
from calibration.depth import compute_depth_sigma_m
from calibration.quality.measures import list_camera_keys
from calibration.quality.report import Finding, Grade, GradeLimits, QualityReport, grade_figure, make_finding
from calibration.solve.single_camera import find_spanning_links
from calibration.wand.tracks import WandSolution
from config.arrays import Floats
from config.words import format_count
from database.geometry.rotations import compute_geodesic_rad

ENOUGH, FEW = 200, 80
RMS_PX = GradeLimits(0.5, 1.0)  # here and below: good, and poor, up to
WORLD_OFF = GradeLimits(0.006, 0.03)  # error of a place as a share of its distance
BIAS = GradeLimits(0.005, 0.02)  # of the wand's length, near against far
COVERED, BARELY = 0.35, 0.15  # share of a picture that the wand went through
CELLS = (6, 4)
NEAR_FAR = 1.5  # farthest by nearest place of the wand
LOST = GradeLimits(0.1, 0.3)  # share of observations left out
DEPTH_MM = 25.0
SAME_RAD, SAME_SCALE = 0.02, 0.01  # an earlier rig is the same one up to scale, and of the same scale
DISTANCE_OFF = 0.02  # share by which the cameras' distance may be off that measured lens to lens
SURELY_RAD = 0.003  # it is the same without doubt


def judge_wand(
    solution: WandSolution,
    *,
    assumed_lens: bool = False,
    focal_asked: bool = False,
    earlier: Rig | None = None,
    distance_m: float | None = None,
) -> QualityReport:
    """Judge a calibration by a wand.

    Args:
        solution: the calibration.
        assumed_lens: the intrinsics come from a field of view, not from a calibration.
        focal_asked: focal lengths were to be solved.
        earlier: a rig that these cameras had before.
        distance_m: between the first two cameras as measured, to compare with.
    """
    checks = [
        _judge_observations(solution),
        _judge_pixels(solution),
        _judge_uncertainty(solution),
        *_judge_lengths(solution),
        *_judge_coverage(solution),
        _judge_depth(solution),
        *_judge_lens(solution, assumed_lens, focal_asked),
        *_judge_unchecked(solution, earlier),
        *_judge_offset(solution),
        *_judge_distance(solution, distance_m),
        *_judge_links(solution),
        *([] if earlier is None else [_judge_earlier(solution, earlier)]),
    ]
    return QualityReport(tuple(checks), _collect_figures(solution))


def _collect_figures(s: WandSolution) -> dict[str, float]:
    """Return the figures by name."""
    median = float(np.median(s.lengths_m)) if len(s.lengths_m) else float("nan")
    spread = _estimate_spread(s.lengths_m) if len(s.lengths_m) else float("nan")
    return {
        "reprojection_px": s.rms_px,
        "noise_px": s.sigma_px,
        "shared_observations": float(s.n_shared),
        "baseline_mm": 1e3 * s.rig.baseline_m,
        "baseline_sigma_mm": 1e3 * _compute_baseline_sigma_m(s),
        "turn_sigma_deg": float(np.degrees(_compute_turn_sigma_rad(s))),
        "length_mm": 1e3 * median,
        "length_spread_mm": 1e3 * spread,
        "world_sigma_percent": 100.0 * s.world_sigma,
        "time_offset_ms": 1e3 * float(s.offset_s[np.abs(s.offset_s).argmax()]),
        "time_offset_sigma_ms": 1e3 * float(s.offset_sigma_s.max()),
    }


def _compute_baseline_sigma_m(s: WandSolution) -> float:
    """Return the standard deviation of the distance from the first camera, of the camera of which it is known worst."""
    sigmas = []
    for c, camera in enumerate(s.rig.cameras[1:]):
        along = camera.translation / np.linalg.norm(camera.translation)
        at = slice(6 * c + 3, 6 * c + 6)
        sigmas.append(np.sqrt(max(float(along @ s.pose_covariance[at, at] @ along), 0.0)))
    return float(max(sigmas))


def _compute_turn_sigma_rad(s: WandSolution) -> float:
    """Return the standard deviation of a camera's turn, of the camera of which it is known worst."""
    blocks = [s.pose_covariance[6 * c : 6 * c + 3, 6 * c : 6 * c + 3] for c in range(len(s.rig) - 1)]
    return float(max(np.sqrt(np.trace(block)) for block in blocks))


def _judge_links(s: WandSolution) -> list[Finding]:
    """Return a finding on the pair of more than two cameras that shares fewest moments of those that hold the rig together."""
    if len(s.rig) == 2:
        return []
    names = [camera.name for camera in s.rig.cameras]
    seen = s.seen & s.used.any(axis=1)
    shared = seen.astype(int) @ seen.T.astype(int)
    a, b = min(find_spanning_links(seen, names), key=lambda pair: int(shared[pair]))
    grade = Grade.POOR if shared[a, b] < FEW else Grade.PASS
    text = f"weakest link: {names[a]} and {names[b]} see the wand together {format_count(shared[a, b], 'time')}"
    return [make_finding(grade, text, "wave it where both see it, for longer")]


def _estimate_spread(values: Floats) -> float:
    """Return the standard deviation of values, robustly."""
    return float(1.4826 * np.median(np.abs(values - np.median(values))))


def _judge_observations(s: WandSolution) -> Finding:
    """Return a finding on how much both cameras saw."""
    grade = Grade.PASS if s.n_shared >= ENOUGH else Grade.POOR if s.n_shared >= FEW else Grade.FAIL
    lost = 1.0 - s.n_shared / max(s.used.size, 1)
    grade = max(grade, grade_figure(lost, LOST))
    cameras = "both cameras" if len(s.rig) == 2 else "two cameras or more"
    text = f"{s.n_shared} positions of a marker seen by {cameras}; {100.0 * lost:.0f} % did not fit and were left out"
    fix = {
        Grade.POOR: f"record a minute of slow waving, {ENOUGH} are wanted; cover reflections, take other markers away",
        Grade.FAIL: f"record again: {ENOUGH} are wanted, in view of {cameras}, with nothing else that shines and moves",
    }
    return Finding(grade, text, fix.get(grade, ""))


def _judge_pixels(s: WandSolution) -> Finding:
    """Judge the reprojection error."""
    grade = grade_figure(s.rms_px, RMS_PX)
    fix = "wave slower, focus the cameras, and give intrinsics of these very cameras"
    return make_finding(grade, f"reprojection error {s.rms_px:.2f} px", fix)


def _judge_uncertainty(s: WandSolution) -> Finding:
    """Judge how sure the cameras' places are."""
    grade = grade_figure(s.world_sigma, WORLD_OFF)
    turn = float(np.degrees(_compute_turn_sigma_rad(s)))
    apart = f"{'up to ' * (len(s.rig) > 2)}{1e3 * s.rig.baseline_m:.0f} mm"
    text = (
        f"cameras {apart} apart (+-{1e3 * _compute_baseline_sigma_m(s):.1f}), turned to +-{turn:.2f} degrees, "
        f"the scale by {s.scale}; places in the volume may be off by {100.0 * s.world_sigma:.2f} % of their distance"
    )
    if grade is Grade.PASS:
        return Finding(grade, text)
    if s.points_m.shape[1] == 1:
        return Finding(grade, text, "use a wand of two markers and lenses calibrated with a board, or move the cameras apart")
    return Finding(grade, text, "wave longer, near and far, high and low; or move the cameras apart")


def _judge_lengths(s: WandSolution) -> list[Finding]:
    """Judge how constant the wand's length is, and whether it changes with the distance, as with a wrong focal length."""
    if len(s.lengths_m) < 10:
        return []
    depth = s.points_m[s.used.all(axis=1), :, 2].mean(axis=1)
    near, far = depth <= np.quantile(depth, 0.4), depth >= np.quantile(depth, 0.6)
    bias = abs(float(np.median(s.lengths_m[far]) / np.median(s.lengths_m[near])) - 1.0)
    error = _estimate_spread(s.lengths_m) / s.length_m * np.sqrt(np.pi / max(near.sum(), 1))  # of the two medians' ratio
    bias = max(bias - 2.0 * float(error), 0.0)
    grade = grade_figure(bias, BIAS)
    median, spread = 1e3 * float(np.median(s.lengths_m)), 1e3 * _estimate_spread(s.lengths_m)
    text = f"the wand measures {median:.1f} mm, +-{spread:.1f} from place to place"
    if grade is Grade.PASS:
        return [Finding(grade, text)]
    return [
        Finding(
            grade, f"{text}, and far away {100.0 * bias:.1f} % otherwise than near", "the focal lengths are wrong: try --focal"
        )
    ]


def measure_wand_coverage(solution: WandSolution) -> list[float]:
    """Return the share of each picture that the wand went through, in cells of a sixth by a quarter."""
    shares = []
    for camera, seen in zip(solution.rig.cameras, solution.seen, strict=True):
        px = camera.project(solution.points_m[solution.used & seen[:, None]])
        cell = np.floor(px / camera.size * CELLS).astype(np.int64)
        inside = np.all((cell >= 0) & (cell < CELLS), axis=1)
        shares.append(len(np.unique(cell[inside], axis=0)) / (CELLS[0] * CELLS[1]))
    return shares


def _judge_coverage(s: WandSolution) -> list[Finding]:
    """Judge the volume that the wand went through."""
    shares = measure_wand_coverage(s)
    least, side = min(shares), list_camera_keys(s.rig)[int(np.argmin(shares))]
    grade = Grade.PASS if least >= COVERED else Grade.POOR if least >= BARELY else Grade.FAIL
    fix = f"wave through more of the {side} picture, into its corners too"
    *first, last = (f"{100 * share:.0f}" for share in shares)
    found = [make_finding(grade, f"the wand went through {', '.join(first)} and {last} % of the pictures", fix)]
    distance = np.linalg.norm(s.points_m[s.used], axis=1)
    near, far = (float(np.quantile(distance, q)) for q in (0.05, 0.95))
    grade = Grade.PASS if far >= NEAR_FAR * near else Grade.POOR
    fix = "wave it nearer to the cameras and farther away, through all of the volume"
    found.append(make_finding(grade, f"it was {near:.1f} to {far:.1f} m away", fix))
    return found


def _judge_depth(s: WandSolution) -> Finding:
    """Return the finding what the pictures' noise is in depth where the wand was."""
    distance_m = float(np.median(np.linalg.norm(s.points_m[s.used], axis=1)))
    depth_mm = 1e3 * compute_depth_sigma_m(s.rig, distance_m, 0.2)
    grade = Grade.PASS if depth_mm <= DEPTH_MM else Grade.POOR
    text = f"at {distance_m:.1f} m a marker found to 0.2 px is known to {depth_mm:.0f} mm in depth"
    return make_finding(grade, text, "move the cameras apart")


def _judge_lens(s: WandSolution, assumed: bool, focal_asked: bool) -> list[Finding]:
    """Judge what is known of the lenses."""
    solved = bool(s.focal_sigma.any())
    if solved:
        *first, last = (f"{camera.focal_px:.0f}" for camera in s.rig.cameras)
        *some, other = (f"{100.0 * sigma:.2f}" for sigma in s.focal_sigma)
        text = f"focal lengths {', '.join(first)} and {last} px, +-{', '.join(some)} and {other} %"
        if assumed:
            fix = "a board (duocap calibrate rig) measures that too, and --intrinsics takes it from there"
            return [Finding(Grade.POOR, f"{text}; the lenses' distortion was taken to be none", fix)]
        return [Finding(Grade.PASS, text)]
    if assumed:
        text = "focal lengths are what --fov says and the distortion none, neither measured: sizes may be wrong by as much"
        return [Finding(Grade.POOR, text, "use a wand of two markers with --focal, or calibrate the lenses with a board")]
    if focal_asked:
        return [
            Finding(
                Grade.POOR, "focal lengths could not be told and were held as given", next(iter(s.notes), "").rpartition(": ")[2]
            )
        ]
    return []


def _judge_offset(s: WandSolution) -> list[Finding]:
    """Return the findings how far the cameras' clocks are apart."""
    found = []
    for name, offset_s, sigma_s in zip(list_camera_keys(s.rig), s.offset_s, s.offset_sigma_s, strict=True):
        if sigma_s > 0.0:
            late = f"{abs(1e3 * offset_s):.1f} ms {'late' if offset_s >= 0.0 else 'early'}"
            found.append(
                Finding(
                    Grade.PASS, f"{format_camera_name(name)}'s stamps are {late} (+-{1e3 * sigma_s:.2f}), which was allowed for"
                )
            )
    return found


def _judge_unchecked(s: WandSolution, earlier: Rig | None) -> list[Finding]:
    """Return the finding that one marker checks neither lenses nor sizes, unless an earlier rig says the same as it."""
    if s.points_m.shape[1] == 2:
        return []
    if earlier is not None:
        turn, aside, scale = _compare_with_earlier(s, earlier)
        if turn < SURELY_RAD and aside < 2.0 * SURELY_RAD and abs(scale - 1.0) < SAME_SCALE:
            return []
    text = "one marker has no length that would betray wrong lenses or a wrong distance: with such, the world is wrong unseen"
    return [Finding(Grade.POOR, text, "a wand of two markers checks itself; or measure in the world something you know")]


def _judge_distance(s: WandSolution, distance_m: float | None) -> list[Finding]:
    """Return a finding on the cameras' distance beside that measured, where the scale is the wand's."""
    if distance_m is None or not len(s.lengths_m):
        return []
    percent = 100.0 * (float(np.linalg.norm(s.rig.cameras[1].translation)) / distance_m - 1.0)
    text = f"the cameras' distance comes out {percent:+.1f} % against the {1e3 * distance_m:.0f} mm measured"
    grade = Grade.PASS if abs(percent) < 100.0 * DISTANCE_OFF else Grade.POOR
    return [make_finding(grade, text, "measure both again, the wand from middle to middle of its markers, and lens to lens")]


def _compare_with_earlier(s: WandSolution, earlier: Rig) -> tuple[float, float, float]:
    """Return how much the second camera is turned and stands aside [rad], and the ratio of the baselines, against an earlier
    rig.
    """
    (first, second), (first_before, second_before) = s.rig.cameras[:2], earlier.cameras[:2]
    turn = compute_geodesic_rad(compute_relative_pose(first, second)[0], compute_relative_pose(first_before, second_before)[0])
    before = first_before.rotation @ (second_before.center_m - first_before.center_m)
    now = first.rotation @ (second.center_m - first.center_m)
    cosine = float(now @ before / (np.linalg.norm(now) * np.linalg.norm(before)))
    aside = float(np.arccos(np.clip(cosine, -1.0, 1.0)))
    return float(turn), aside, float(np.linalg.norm(now) / np.linalg.norm(before))


def _judge_earlier(s: WandSolution, earlier: Rig) -> Finding:
    """Return findings on the difference from a rig that these cameras had before."""
    turn, aside, scale = _compare_with_earlier(s, earlier)
    percent, degrees = 100.0 * (scale - 1.0), np.degrees(turn)
    which = "right" if len(s.rig) == 2 else "second"
    text = f"against the earlier rig: baseline {percent:+.1f} %, {which} camera turned by {degrees:.2f} degrees"
    if turn > SAME_RAD or aside > 2.0 * SAME_RAD:
        return Finding(Grade.PASS, f"{text}: the cameras have been moved since")
    if abs(scale - 1.0) > SAME_SCALE:
        fix = "one scale is wrong: measure the wand from the middle of one marker to that of the other, or the board's squares"
        return Finding(Grade.POOR, f"{text}, everything else alike", fix)
    return Finding(Grade.PASS, text)
