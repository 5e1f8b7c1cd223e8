"""Findings on the views of a calibration: number, error, sizes in millimetres, tilts, coverage of the pictures, and views left
out.
"""

import numpy as np

from calibration.board.pattern import Board
from calibration.board.views import measure_coverage, measure_outside_share
from calibration.depth import is_in_view
from calibration.quality.measures import (
    collect_corners_px,
    compute_depth_ratio,
    compute_tilts_rad,
    compute_view_rms_px,
    find_shared_corners,
    list_camera_keys,
    measure_square_sides,
)
from calibration.quality.report import Finding, Grade, GradeLimits, QualityReport, grade_figure, make_finding
from calibration.solve.solution import BoardForm, RigSolution, describe_dropped
from config.arrays import Floats
from config.words import format_count

MANY = 0.4  # of all views
MIN_DROPPED, AT_END = 3, 0.8  # dropped views, and the share of them at one end of the calibration, that show a moved camera
MOVED_SHARE = 0.1  # of all views: fewer at an end may have other reasons
MIN_VIEWS, FEW_VIEWS = 3, 8
MIN_CORNERS, FEW_CORNERS = 60, 200  # seen by both cameras
RMS_PX = GradeLimits(1.0, 3.0)  # poor and fail, in pictures up to 640 px wide; in proportion above
HELD_OUT = 1.5  # times the error in the views that were fitted
ODD_VIEW = 3.0  # times the usual error
BIAS = GradeLimits(0.005, 0.03)  # of the square
TILT_RAD, FAR_NEAR = np.radians(12.0), 2.0  # less than both: focal length and distance cannot be told apart
MANY_MISSING = 7
SIGNIFICANT_SIGMAS, MIN_STRETCH, MIN_BEND_M = 4.0, 0.002, 5e-4  # from which a board's form is reported
OUTSIDE = 0.5
WIDER = 1.1  # times as much may the world be wrong, for each rule of thumb that is not kept


def judge_dropped_views(solution: RigSolution) -> list[Finding]:
    """Judge the views that were left out: the first or the last ones, as if a camera was moved, or many."""
    n_out, n_all = len(solution.dropped), len(solution.moments) + len(solution.dropped)
    first, last = _measure_dropped_at_ends(solution)
    if last >= AT_END:
        text = f"the last {n_out} of {n_all} views contradict all before: was a camera moved? The rig is that of before"
        return [Finding(Grade.POOR, text, "calibrate again, with cameras that hold still from then on")]
    if first >= AT_END:
        text = f"the first {n_out} of {n_all} views contradict all later ones: was a camera moved?"
        return [Finding(Grade.POOR, text, "fix the cameras firmly and calibrate again")]
    if n_out > MANY * n_all:
        text = f"{n_out} of {n_all} views were left out, such as {describe_dropped(solution.dropped[0])}"
        return [Finding(Grade.POOR, text, "hold the board still and wholly in view")]
    return []


def _measure_dropped_at_ends(solution: RigSolution) -> tuple[float, float]:
    """Return the shares of dropped views among as many first and last ones; 0 if few were dropped or times are unknown."""
    n_out, n_all = len(solution.dropped), len(solution.moments) + len(solution.dropped)
    times = [(dropped.moment.t_ns, True) for dropped in solution.dropped] + [(pair.t_ns, False) for pair in solution.moments]
    if n_out < max(MIN_DROPPED, MOVED_SHARE * n_all) or len({t_ns for t_ns, _ in times}) < n_all:
        return 0.0, 0.0
    dropped = [is_out for _, is_out in sorted(times)]
    return sum(dropped[:n_out]) / n_out, sum(dropped[-n_out:]) / n_out


def judge_views(solution: RigSolution) -> QualityReport:
    """Count views and corners."""
    monocular = solution.rig.is_monocular
    shared = solution.used[0] if monocular else find_shared_corners(solution)
    views, corners = int(shared.any(axis=1).sum()), int(shared.sum())
    by = "both cameras" if len(solution.rig) == 2 else "two cameras or more"
    text = f"{format_count(views, 'view')}{'' if monocular else f' shared by {by}'}, {format_count(corners, 'corner')}"
    few = views < FEW_VIEWS or corners < FEW_CORNERS
    grade = Grade.FAIL if views < MIN_VIEWS or corners < MIN_CORNERS else Grade.PASS
    fix = "take about 20, the board tilted otherwise in each" if few else ""
    findings = [Finding(grade, text, fix, WIDER if few else 1.0)]
    findings += judge_dropped_views(solution)
    return QualityReport(tuple(findings), {"views": float(views), "corners": float(corners)})


def judge_pixels(solution: RigSolution) -> QualityReport:
    """Judge the reprojection error, against the noise of corners and against held-out views."""
    rms, sigma = solution.rms_px, float(np.mean(solution.sigma_px))
    scale = max(max(camera.size[0] for camera in solution.rig.cameras) / 640.0, 1.0)
    text = f"corners are {rms:.2f} px from where they should be (RMS reprojection error); they were found to {sigma:.2f} px"
    grade = grade_figure(rms / scale, RMS_PX)
    fix = "are rows, columns and the board right, the pictures sharp and the board held still?"
    findings = [make_finding(grade, text, fix)]
    figures = {"reprojection_px": rms, "corner_noise_px": sigma}
    held_out = [value for value in solution.held_out_px.values() if np.isfinite(value)]
    if held_out:
        figures["held_out_px"] = best = min(held_out)
        if best > HELD_OUT * rms + 0.05:
            text = f"views that were not fitted are {best:.2f} px off, those that were {rms:.2f} px"
            fix = "add views: there are too few for what was fitted, or they are too alike"
            findings.append(Finding(Grade.PASS, text, fix, best / rms))  # what noise does not explain there is in the rig, too
    findings += _find_odd_views(solution)
    return QualityReport(tuple(findings), figures)


def _find_odd_views(solution: RigSolution) -> list[Finding]:
    """Find the views that fit much worse than the others; return their names."""
    rms = compute_view_rms_px(solution)
    usual = float(np.nanmedian(rms)) if np.isfinite(rms).any() else 0.0
    odd = [
        (float(rms[side, v]), view.name or f"view {v + 1} of the {solution.rig.cameras[side].name} camera")
        for v, pair in enumerate(solution.moments)
        for side, view in enumerate(pair.views)
        if view is not None and rms[side, v] > ODD_VIEW * usual
    ]
    if not odd:
        return []
    worst, name = max(odd)
    return [Finding(Grade.PASS, f"{len(odd)} odd views, the worst {name} with {worst:.2f} px, usual {usual:.2f} px")]


def _name_board_point(board: Board) -> str:
    """Return what the distances of a board are measured between."""
    return {"circles": "circle", "chessboard": "inner corner", "charuco": "inner corner"}.get(board.kind, "corner")


def judge_size(solution: RigSolution) -> QualityReport:
    """Judge the sides of the squares as the rig measures them, and report what the scale rests on."""
    board = solution.board
    length_mm = 1e3 * float(np.ptp(board.points_m[:, 0]))
    scale = Finding(
        Grade.PASS,
        f"the size of the world rests on {board.sides_words}, which a print {length_mm:.4g} mm long has from the first "
        f"{_name_board_point(board)} of a row to its last",
    )
    if solution.rig.is_monocular:
        return QualityReport(())  # a lens has no size
    edges = measure_square_sides(solution)
    if not edges.n:
        return QualityReport((scale,))
    mean, sigma = 1e3 * edges.mean_m, 1e3 * edges.sigma_m
    bias = edges.true_m / solution.board.square_m - 1.0
    by = "both" if len(solution.rig) == 2 else "the"
    off = f"{abs(100.0 * bias):.2f} % {'long' if bias > 0 else 'short'}" if abs(bias) >= 5e-5 else "as long as they should be"
    text = f"{board.sides_words} measure {1e3 * edges.true_m:.2f} mm by {by} cameras, {off}; one side is sure to {sigma:.2f} mm"
    margin = 3.0 * edges.true_sigma_m / solution.board.square_m / np.sqrt(edges.n)
    grade = grade_figure(max(abs(bias) - margin, 0.0), BIAS)
    fix = "lens or pose of a camera is wrong: add views, near and far, the board tilted"
    figures = {"edge_mean_mm": mean, "edge_sigma_mm": sigma, "edge_bias_percent": 100.0 * bias}
    return QualityReport((make_finding(grade, text, fix), scale), figures)


def judge_form(solution: RigSolution) -> QualityReport:
    """Report the board's form; it is a remark, since the adjustment allowed for it."""
    form = solution.form
    if form is None:
        return QualityReport(())
    figures = {
        "board_stretch_percent": 100.0 * form.stretch,
        "board_stretch_sigma_percent": 100.0 * form.stretch_sigma,
        "board_bend_mm": 1e3 * form.bend_m,
        "board_bend_sigma_mm": 1e3 * form.bend_sigma_m,
    }
    return QualityReport(tuple(describe_form(form)) if solution.form_was_free else (), figures)


def describe_form(form: BoardForm) -> list[Finding]:
    """Return findings on a board's form as far as it is significant and large enough to matter."""
    findings = []
    if abs(form.stretch) > max(SIGNIFICANT_SIGMAS * form.stretch_sigma, MIN_STRETCH):
        longer, shorter = ("wider", "high") if form.stretch > 0 else ("higher", "wide")
        percent, sigma = 100 * abs(form.stretch), 100 * form.stretch_sigma
        text = f"the board's squares are {percent:.2f} % {longer} than {shorter} (+- {sigma:.2f} %)"
        fix = "allowed for, but measure some of them along both sides, and print at 100 %, without fitting to the page"
        findings.append(Finding(Grade.PASS, text, fix))
    if form.bend_m > max(SIGNIFICANT_SIGMAS * form.bend_sigma_m, MIN_BEND_M):
        text = f"the board is bent by {1e3 * form.bend_m:.1f} mm (+- {1e3 * form.bend_sigma_m:.1f} mm)"
        findings.append(Finding(Grade.PASS, text, "allowed for, but fix it to a stiff flat plate"))
    return findings


def judge_tilt(solution: RigSolution) -> QualityReport:
    """Judge whether the board was tilted and moved enough to separate focal lengths from distances."""
    findings: list[Finding] = []
    figures: dict[str, float] = {}
    for side, camera in enumerate(solution.rig.cameras):
        tilts = compute_tilts_rad(solution, side)
        if not len(tilts):
            continue
        tilt, ratio = float(np.percentile(tilts, 80)), compute_depth_ratio(solution, side)
        name = list_camera_keys(solution.rig)[side]
        figures |= {f"tilt_{name}_deg": float(np.degrees(tilt)), f"far_near_{name}": ratio}
        weak = tilt < TILT_RAD and ratio < FAR_NEAR and not solution.fixed_intrinsics
        focal = solution.rig.cameras[side].focal_px
        sigma = float(solution.intrinsic_sigma[side, :2].max())
        figures[f"focal_sigma_{name}_px"] = sigma
        text = f"{camera.title} saw boards tilted up to {np.degrees(tilt):.0f} degrees, the farthest {ratio:.1f} times"
        text += " as far as the nearest"
        text += f"; its focal length is {focal:.0f} +- {sigma:.1f} px" if sigma > 0 else ""
        fix = "tilt the board by 30 to 45 degrees to all sides, and hold it near and far" if weak else ""
        findings.append(Finding(Grade.PASS, text, fix, WIDER if weak else 1.0))
    return QualityReport(tuple(findings), figures)


def judge_coverage(solution: RigSolution, points_m: Floats) -> QualityReport:
    """Judge where in each picture the board was. points_m: of the performer's volume, (M, 3) world."""
    findings: list[Finding] = []
    figures: dict[str, float] = {}
    for side, camera in enumerate(solution.rig.cameras):
        name = list_camera_keys(solution.rig)[side]
        corners = collect_corners_px(solution, side)[solution.used[side]]
        coverage = measure_coverage(corners, camera.size)
        seen_m = points_m[is_in_view(camera, points_m)] if len(solution.rig) > 2 else points_m
        outside = measure_outside_share(corners, camera.size, camera.project(seen_m)) if len(seen_m) else 0.0
        figures |= {f"covered_{name}_percent": 100.0 * coverage.share, f"outside_{name}_percent": 100.0 * outside}
        if solution.fixed_intrinsics:
            continue
        picture = "the picture" if solution.rig.is_monocular else f"the {camera.name} picture"
        text = f"the board has been in {100.0 * coverage.share:.0f} % of {picture}"
        missing = coverage.describe_missing(picture)
        text += f", {missing}" if missing else ""
        bad = len(coverage.missing) >= MANY_MISSING or outside > OUTSIDE
        if outside > OUTSIDE:
            text += f"; {100.0 * outside:.0f} % of the performer's room lies where no corner was"
        fix = "hold the board there too" if bad and missing else ""
        findings.append(Finding(Grade.PASS, text, fix, WIDER if bad else 1.0))
    return QualityReport(tuple(findings), figures)
