"""The quality report on a rig: is the world that it measures right where the performer moves, and if not, why?

A small pixel error proves little: it can come with a world that is 30 % off. What decides is how wrong distances in the
performer's volume may be (`calibration.quality.world_error`): two sigma of what the views leave open, widened by how much they
disagree with each other and by rules of thumb that were not kept, and the change of the world if a better explanation of the
residuals were true (`calibration.quality.evidence`).
"""

from itertools import combinations

import numpy as np

from calibration.depth import choose_performer_distance_m, compute_depth_sigma_m, compute_volume_points_m
from calibration.pairs import MARKER_PX
from calibration.quality.evidence import (
    collect_evidence,
    compute_clustered_covariance,
    compute_parameter_covariance,
    measure_disagreement,
)
from calibration.quality.findings import (
    FEW_VIEWS,
    WIDER,
    judge_coverage,
    judge_form,
    judge_pixels,
    judge_size,
    judge_tilt,
    judge_views,
)
from calibration.quality.links import find_weakest_link
from calibration.quality.measures import is_within_reach, judge_sanity, list_camera_keys
from calibration.quality.report import Finding, Grade, GradeLimits, QualityReport, grade_figure, join_reports
from calibration.quality.suspects import Suspect, find_suspects, list_unmodelled_directions
from calibration.quality.world_error import compute_error_derivatives
from calibration.solve.solution import RigSolution
from config.arrays import Floats
from config.words import format_count
from database.geometry.rotations import compute_geodesic_rad

PASS_ERROR, FAIL_ERROR = 0.02, 0.10  # relative error of distances: what a pass promises, and what is of no use
SIGMAS = 2.0
BODY_M = 1.8  # over which an error is said in millimetres
NARROW = 0.08  # baseline over the performer's distance, below which any calibration is weak
DEEP_M = 0.012  # depth noise of one marker at that, beyond which cameras are better moved apart
TOO_DEEP_M = 0.060  # and beyond which they are too near: poses are no better than a guess in depth
MAX_LOST = 0.1  # of the performer's room that may lie beyond where a lens model holds
SCATTERED = 1.5  # variances by which views differ, beyond which their own scatter is looked at too
AGREED = 3.0  # variances by which views may differ without a finding
REMARK_ERROR = 0.005  # change of distances up to which a suspect is a remark
HOLD_STILL = "hold the board still for each view, and leave the cameras alone"


def judge_rig_solution(solution: RigSolution, distance_m: float | None = None) -> QualityReport:
    """Judge a calibration. distance_m: of the performer, by default where a body fits into the pictures."""
    distance = choose_performer_distance_m(solution.rig) if distance_m is None else distance_m
    points = compute_volume_points_m(solution.rig, distance)
    known = points[is_within_reach(solution, points)]
    sanity = QualityReport(tuple(judge_sanity(solution)), _collect_plain_figures(solution) | {"distance_m": distance})
    views = [judge(solution) for judge in (judge_views, judge_pixels, judge_size, judge_form, judge_tilt)]
    parts = [sanity, *_judge_placement(solution), *views, judge_coverage(solution, points)]
    if len(known) < (1.0 - MAX_LOST) * len(points):
        text = f"{100.0 - 100.0 * len(known) / len(points):.0f} % of the performer's room are seen where a lens model folds back"
        parts.append(QualityReport((Finding(Grade.POOR, text, "add views with the board in the corners of the pictures"),)))
    wider = float(np.prod([finding.widens for part in parts for finding in part.findings]))
    return join_reports(parts if sanity.grade is Grade.FAIL else [_judge_world(solution, distance, known, wider), *parts])


def _judge_placement(solution: RigSolution) -> list[QualityReport]:
    """Return findings on how the cameras stand to each other, and of more than two which of them are linked worst."""
    rig = solution.rig
    if rig.is_monocular:
        return []
    if len(rig) == 2:
        angle_deg = float(np.degrees(compute_geodesic_rad(rig.cameras[0].rotation, rig.cameras[1].rotation)))
        text = f"the cameras are {1e3 * rig.baseline_m:.0f} mm apart and turned by {angle_deg:.0f} degrees to each other"
        return [QualityReport((Finding(Grade.PASS, text),), {"angle_deg": angle_deg})]
    apart_m = [float(np.linalg.norm(a.center_m - b.center_m)) for a, b in combinations(rig.cameras, 2)]
    text = f"the {len(rig)} cameras are {min(apart_m):.2f} to {max(apart_m):.2f} m apart"
    link = find_weakest_link(solution)
    few = link.n_shared < FEW_VIEWS
    words = (
        f"weakest link: {link.words(rig)} share {format_count(link.n_shared, 'view')}; their distance is known to "
        f"{1e3 * link.sigma_m:.1f} mm, "
        f"the angle between them to {np.degrees(link.sigma_rad):.2f} degrees"
    )
    fix = "hold the board where both see it, in more places" if few else ""
    figures = {"link_views": float(link.n_shared), "link_sigma_mm": 1e3 * link.sigma_m}
    figures["link_sigma_deg"] = float(np.degrees(link.sigma_rad))
    return [QualityReport((Finding(Grade.PASS, text), Finding(Grade.PASS, words, fix, WIDER if few else 1.0)), figures)]


def _collect_plain_figures(solution: RigSolution) -> dict[str, float]:
    """Return the figures that need no computation."""
    figures = {
        f"focal_{name}_px": camera.focal_px
        for name, camera in zip(list_camera_keys(solution.rig), solution.rig.cameras, strict=False)
    }
    if not solution.rig.is_monocular:
        figures["baseline_mm"] = 1e3 * solution.rig.baseline_m
    return figures


def _judge_world(solution: RigSolution, distance_m: float, points_m: Floats, wider: float) -> QualityReport:
    """Judge how wrong distances in the performer's volume may be, what speaks against the solution, and its depth noise.

    wider: by which rules of thumb widen the error.
    """
    if len(points_m) < 4:
        text = f"the {'two ' * (len(solution.rig) == 2)}cameras hardly see the same at {distance_m:.1f} m"
        fix = "turn them towards the performer, or say where one stands with --distance"
        return QualityReport((Finding(Grade.FAIL, text, fix),))
    evidence = collect_evidence(solution)
    derivatives = compute_error_derivatives(solution.rig, points_m)
    n = derivatives.shape[1]
    spread = max(measure_disagreement(evidence), 1.0)
    covariance = compute_parameter_covariance(evidence, spread, list_unmodelled_directions(solution, evidence))[:n, :n]
    sigmas = _compute_sigmas(derivatives, covariance)
    if spread > SCATTERED:
        sigmas = np.maximum(sigmas, _compute_sigmas(derivatives, compute_clustered_covariance(evidence)[:n, :n]))
    suspects = find_suspects(solution, evidence, derivatives)
    shift = float(np.max([0.0, *(suspect.error for suspect in suspects)]))  # NaN where one of them is
    error = wider * SIGMAS * float(sigmas.max()) + shift
    mean = derivatives.mean(axis=0)
    figures = {
        "world_off_percent": 100.0 * error,
        "world_sigma_percent": 100.0 * float(sigmas.max()),
        "scale_sigma_percent": 100.0 * float(np.sqrt(max(mean @ covariance @ mean, 0.0))),
        "world_shift_percent": 100.0 * shift,
        "disagreement": spread,
    }
    findings = [_judge_world_error(error, spread, distance_m, suspects, solution), *map(_judge_suspect, suspects)]
    if spread > AGREED and not suspects:
        text = f"the views differ from each other {np.sqrt(spread):.1f} times as much as their noise explains"
        findings.append(Finding(Grade.PASS, text, HOLD_STILL))  # the error is wider by it already
    world = QualityReport(tuple(findings), figures)
    return world if solution.rig.is_monocular else join_reports([world, _judge_depth(solution, distance_m)])


def _format_percent(share: float) -> str:
    """Return a share as text, such as `0.35 %`."""
    return f"{100.0 * share:.2g} %" if share < 0.995 else "more than 100 %"


def _compute_sigmas(derivatives: Floats, covariance: Floats) -> Floats:
    """Return the standard deviation of each relative distance error, (P,)."""
    return np.asarray(np.sqrt(np.maximum(np.einsum("pi,ij,pj->p", derivatives, covariance, derivatives), 0.0)))


def _judge_world_error(error: float, spread: float, distance_m: float, suspects: list[Suspect], solution: RigSolution) -> Finding:
    """Judge the largest error of a distance."""
    monocular = solution.rig.is_monocular
    what = "the size of things seen" if monocular else "distances"
    text = f"{what} in the performer's room at {distance_m:.1f} m may be wrong by {_format_percent(error)}"
    text += f", {max(1e3 * BODY_M * error, 1.0):.0f} mm over {BODY_M:g} m (two standard deviations)" if error < 0.995 else ""
    if error <= PASS_ERROR:
        return Finding(Grade.PASS, text)
    if suspects and suspects[0].error > 0.3 * error:
        fix = suspects[0].fix
    elif spread > 2.0 * AGREED:
        fix = HOLD_STILL
    elif monocular:
        fix = "add views: tilted up to 45 degrees to all sides, near and far, into the corners of the picture"
    elif solution.rig.baseline_m < NARROW * distance_m:
        fix = "move the cameras apart, and add views: tilted up to 45 degrees, near and far, into the corners of the pictures"
    else:
        fix = "add views: tilted up to 45 degrees to all sides, near and far, into the corners of the pictures"
    return Finding(grade_figure(error, GradeLimits(PASS_ERROR, FAIL_ERROR)), text, fix)


def _judge_suspect(suspect: Suspect) -> Finding:
    """Judge an explanation that speaks against the solution."""
    grade = grade_figure(suspect.error, GradeLimits(REMARK_ERROR, FAIL_ERROR))
    return Finding(grade, f"{suspect.text}, which would change distances by {_format_percent(suspect.error)}", suspect.fix)


def _judge_depth(solution: RigSolution, distance_m: float) -> QualityReport:
    """Report the depth noise of a marker."""
    depth_m = compute_depth_sigma_m(solution.rig, distance_m, MARKER_PX)
    text = f"at {distance_m:.1f} m a marker found to {MARKER_PX:g} px is known to {1e3 * depth_m:.3g} mm in depth"
    wanted_m = solution.rig.baseline_m * depth_m / DEEP_M
    fix = f"move the cameras apart, to about {wanted_m:.2g} m, or closer to the performer" if depth_m > DEEP_M else ""
    grade = Grade.POOR if depth_m > TOO_DEEP_M else Grade.PASS
    return QualityReport((Finding(grade, text, fix),), {"depth_mm": 1e3 * depth_m})
