"""Findings on the views of a calibration: how many, how exact, how true in millimetres, how tilted, and where in the pictures."""

import numpy as np

from calibration.bundle_board import BoardForm, form_words
from calibration.coverage import coverage_of, outside_share
from calibration.rig_left_out import left_out_findings
from calibration.rig_measures import corners_px, depth_ratio, edges_of, tilts_rad, view_rms_px
from calibration.rig_solution import RigSolution
from calibration.verdict import Finding, Grade, graded
from database.rotations import Floats

Found = tuple[list[Finding], dict[str, float]]

FEWEST, FEW = 3, 8  # views
LEAST_CORNERS, FEW_CORNERS = 60, 200  # seen by both cameras
RMS_PX = (1.0, 3.0)  # poor and fail, in pictures up to 640 px wide; in proportion above
HELD_OUT = 1.5  # times the error in the views that were fitted
ODD_VIEW = 3.0  # times the usual error
BIAS = (0.005, 0.03)  # of the square
TILT_RAD, FAR_NEAR = np.radians(12.0), 2.0  # less than both: focal length and distance cannot be told apart
MANY_MISSING = 7
OUTSIDE = 0.5


def view_findings(solution: RigSolution) -> Found:
    """Count views and corners."""
    lone = solution.rig.is_lone
    both = solution.used[0] if lone else solution.used[0] & solution.used[1]
    views, corners = int(both.any(axis=1).sum()), int(both.sum())
    text = f"{views} views, {corners} corners" if lone else f"{views} views shared by both cameras, {corners} corners"
    grade = Grade.PASS
    if views < FEW or corners < FEW_CORNERS:
        grade = Grade.FAIL if views < FEWEST or corners < LEAST_CORNERS else Grade.POOR
    findings = [Finding(grade, text, "" if grade is Grade.PASS else "take about 20, the board tilted otherwise in each")]
    findings += left_out_findings(solution)
    return findings, {"views": float(views), "corners": float(corners)}


def pixel_findings(solution: RigSolution) -> Found:
    """Judge the reprojection error, against the noise of corners and against views that were held out."""
    rms, lone = solution.rms_px, solution.rig.is_lone
    sigma = float(np.mean(solution.sigma_px[:1] if lone else solution.sigma_px))
    scale = max(max(camera.size[0] for camera in solution.rig.cameras) / 640.0, 1.0)
    text = f"corners are {rms:.2f} px from where they should be (RMS), {sigma:.2f} px along each axis by their own noise"
    grade = graded(rms / scale, RMS_PX)
    fix = "" if grade is Grade.PASS else "are rows, columns and the board right, the pictures sharp and the board held still?"
    findings = [Finding(grade, text, fix)]
    figures = {"reprojection_px": rms, "corner_noise_px": sigma}
    held = [value for value in solution.held_out_px.values() if np.isfinite(value)]
    if held:
        figures["held_out_px"] = best = min(held)
        if best > HELD_OUT * rms + 0.05:
            text = f"views that were not fitted are {best:.2f} px off, those that were {rms:.2f} px"
            findings.append(Finding(Grade.POOR, text, "add views: there are too few for what was fitted, or they are too alike"))
    findings += _odd_views(solution)
    return findings, figures


def _odd_views(solution: RigSolution) -> list[Finding]:
    """Name views that fit much worse than the others."""
    rms = view_rms_px(solution)
    usual = float(np.nanmedian(rms)) if np.isfinite(rms).any() else 0.0
    odd = [
        (float(rms[side, v]), view.name or f"view {v + 1} of the {solution.rig.cameras[side].name} camera")
        for v, pair in enumerate(solution.pairs)
        for side, view in enumerate(pair.views)
        if view is not None and rms[side, v] > ODD_VIEW * usual
    ]
    if not odd:
        return []
    worst, name = max(odd)
    return [Finding(Grade.PASS, f"{len(odd)} odd views, the worst {name} with {worst:.2f} px, usual {usual:.2f} px")]


def size_findings(solution: RigSolution) -> Found:
    """Judge the sides of the squares as the rig measures them, and say what the scale rests on."""
    square_mm = 1e3 * solution.board.square_m
    length_mm = square_mm * (solution.board.columns - 1)
    scale = Finding(
        Grade.PASS,
        f"the size of the world rests on squares of {square_mm:.4g} mm",
        f"measure the print: {length_mm:.4g} mm from the first inner corner of a row to its last",
    )
    if solution.rig.is_lone:
        return [], {}  # a lens has no size
    edges = edges_of(solution)
    if not edges.n:
        return [scale], {}
    mean, sigma = 1e3 * edges.mean_m, 1e3 * edges.sigma_m
    bias = edges.true_m / solution.board.square_m - 1.0
    text = f"squares of {square_mm:.4g} mm measure {mean:.2f} +- {sigma:.2f} mm, with a bias of {100.0 * bias + 0.0:+.2f} %"
    sure = 3.0 * edges.true_sigma_m / solution.board.square_m / np.sqrt(edges.n)
    real = max(abs(bias) - sure, 0.0)
    grade = graded(real, BIAS)
    fix = "" if grade is Grade.PASS else "lens or pose of a camera is wrong: add views, near and far, the board tilted"
    figures = {"edge_mean_mm": mean, "edge_sigma_mm": sigma, "edge_bias_percent": 100.0 * bias}
    return [Finding(grade, text, fix), scale], figures


def form_findings(solution: RigSolution) -> Found:
    """Tell how the board differs from what it should be, where the adjustment allowed for that: it is a remark then."""
    figures = {name: value for name, value in solution.figures.items() if name.startswith("board_")}
    if not solution.form_was_free or len(figures) < 4:
        return [], figures
    form = BoardForm(
        1e-2 * figures["board_stretch_percent"],
        1e-2 * figures["board_stretch_sigma_percent"],
        1e-3 * figures["board_bend_mm"],
        1e-3 * figures["board_bend_sigma_mm"],
        float("nan"),
    )
    return [Finding(Grade.PASS, *words) for words in form_words(form)], figures


def tilt_findings(solution: RigSolution) -> Found:
    """Judge whether the board was turned and moved enough to tell focal lengths from distances."""
    findings: list[Finding] = []
    figures: dict[str, float] = {}
    for side, camera in enumerate(solution.rig.cameras[: 1 if solution.rig.is_lone else 2]):
        tilts = tilts_rad(solution, side)
        if not len(tilts):
            continue
        tilt, ratio = float(np.percentile(tilts, 80)), depth_ratio(solution, side)
        name = ("left", "right")[side]
        figures |= {f"tilt_{name}_deg": float(np.degrees(tilt)), f"far_near_{name}": ratio}
        weak = tilt < TILT_RAD and ratio < FAR_NEAR and not solution.fixed_intrinsics
        focal = solution.rig.cameras[side].focal_px
        sigma = float(solution.intrinsic_sigma[side, :2].max())
        figures[f"focal_sigma_{name}_px"] = sigma
        text = f"{camera.called} saw boards tilted up to {np.degrees(tilt):.0f} degrees, the farthest {ratio:.1f} times"
        text += " as far as the nearest"
        text += f"; its focal length is {focal:.0f} +- {sigma:.1f} px" if sigma > 0 else ""
        fix = "tilt the board by 30 to 45 degrees to all sides, and hold it near and far" if weak else ""
        grade = Grade.POOR if weak else Grade.PASS
        findings.append(Finding(grade, text, fix))
    return findings, figures


def coverage_findings(solution: RigSolution, points_m: Floats) -> Found:
    """Judge where in each picture the board was. points_m: of the performer's room, (M, 3) world."""
    findings: list[Finding] = []
    figures: dict[str, float] = {}
    for side, camera in enumerate(solution.rig.cameras[: 1 if solution.rig.is_lone else 2]):
        name = ("left", "right")[side]
        corners = corners_px(solution, side)[solution.used[side]]
        coverage = coverage_of(corners, camera.size)
        outside = outside_share(corners, camera.size, camera.project(points_m)) if len(points_m) else 0.0
        figures |= {f"covered_{name}_percent": 100.0 * coverage.share, f"outside_{name}_percent": 100.0 * outside}
        if solution.fixed_intrinsics:
            continue
        picture = "the picture" if solution.rig.is_lone else f"the {camera.name} picture"
        text = f"the board has been in {100.0 * coverage.share:.0f} % of {picture}"
        missing = coverage.words(picture)
        text += f", {missing}" if missing else ""
        bad = len(coverage.missing) >= MANY_MISSING or outside > OUTSIDE
        if outside > OUTSIDE:
            text += f"; {100.0 * outside:.0f} % of the performer's room lies where no corner was"
        findings.append(Finding(Grade.POOR if bad else Grade.PASS, text, "hold the board there too" if bad and missing else ""))
    return findings, figures
