"""The verdict on a rig: is the world it measures right where the performer moves, and what was wrong with the views if not?

A small pixel error proves little: it can come with a world that is 30 % off. What decides is how wrong distances in the
performer's room may be (`calibration.world_error`): three sigma of what the views leave open, widened by how much they disagree
with each other, and what the world would change by if a better explanation of the residuals were taken
(`calibration.rig_evidence`).
"""

import numpy as np

from calibration.depth import depth_sigma_m, performer_distance_m, volume_points_m
from calibration.rig_evidence import clustered_covariance, covariance_of, disagreement, evidence_of
from calibration.rig_findings import coverage_findings, form_findings, pixel_findings, size_findings, tilt_findings, view_findings
from calibration.rig_sanity import sanity_findings
from calibration.rig_solution import RigSolution
from calibration.rig_suspects import Suspect, doubts, suspects_of
from calibration.verdict import Finding, Grade, Verdict, graded
from calibration.world_error import error_derivatives
from database.rotations import Floats

PASS_OFF, FAIL_OFF = 0.02, 0.15  # relative error of distances: what a pass promises, and what is of no use
SIGMAS = 3.0
MARKER_PX = 0.2  # noise of a marker's centre, for words about depth
NARROW = 0.08  # of the performer's distance: cameras nearer to each other than that make any calibration weak
DEEP_M = 0.012  # depth noise of one marker at that, beyond which cameras are better moved apart
TOO_DEEP_M = 0.020  # and beyond which they stand too near: more than markers are off their nominal places on a body
SCATTERED = 1.5  # variances by which views differ, beyond which their own scatter is looked at too
AGREED = 3.0  # variances by which views may differ before it is told
TOLD_OFF = 0.005  # what a suspect would change the world by to be more than a remark


def rig_verdict(solution: RigSolution, distance_m: float | None = None) -> Verdict:
    """Judge a calibration. distance_m: where the performer will stand, default where a body fits into the pictures."""
    findings, figures = sanity_findings(solution), _plain_figures(solution)
    broken = any(finding.grade is Grade.FAIL for finding in findings)
    for own, values in (
        view_findings(solution),
        pixel_findings(solution),
        size_findings(solution),
        form_findings(solution),
        tilt_findings(solution),
    ):
        findings, figures = findings + own, figures | values
    distance = performer_distance_m(solution.rig) if distance_m is None else distance_m
    figures["distance_m"] = distance
    points = volume_points_m(solution.rig, distance)
    own, values = coverage_findings(solution, points)
    findings, figures = findings + own, figures | values
    if not broken:
        own, values = _world(solution, distance, points)
        findings, figures = own + findings, figures | values
    return Verdict(tuple(findings), figures)


def _plain_figures(solution: RigSolution) -> dict[str, float]:
    """Give what is read off the solution."""
    figures = {f"focal_{name}_px": camera.focal_px for name, camera in zip(("left", "right"), solution.rig.cameras, strict=True)}
    if not solution.rig.is_lone:
        figures["baseline_mm"] = 1e3 * solution.rig.baseline_m
    return figures


def _world(solution: RigSolution, distance_m: float, points_m: Floats) -> tuple[list[Finding], dict[str, float]]:
    """Judge how wrong distances in the performer's room may be, what speaks against the solution, and how deep it sees."""
    if len(points_m) < 4:
        text = f"the two cameras hardly see the same at {distance_m:.1f} m"
        return [Finding(Grade.FAIL, text, "turn them towards the performer, or say where one stands with --distance")], {}
    evidence = evidence_of(solution)
    derivatives = error_derivatives(solution.rig, points_m)
    n = derivatives.shape[1]
    spread = max(disagreement(evidence), 1.0)
    covariance = covariance_of(evidence, spread, doubts(solution, evidence))[:n, :n]
    sigmas = _sigmas(derivatives, covariance)
    if spread > SCATTERED:
        sigmas = np.maximum(sigmas, _sigmas(derivatives, clustered_covariance(evidence)[:n, :n]))
    suspects = suspects_of(solution, evidence, derivatives)
    shift = float(np.max([0.0, *(suspect.off for suspect in suspects)]))  # NaN where one of them is
    off = SIGMAS * float(sigmas.max()) + shift
    mean = derivatives.mean(axis=0)
    figures = {
        "world_off_percent": 100.0 * off,
        "world_sigma_percent": 100.0 * float(sigmas.max()),
        "scale_sigma_percent": 100.0 * float(np.sqrt(max(mean @ covariance @ mean, 0.0))),
        "world_shift_percent": 100.0 * shift,
        "disagreement": spread,
    }
    findings = [_world_finding(off, figures, distance_m, suspects, solution), *map(_suspect_finding, suspects)]
    if spread > AGREED and not suspects:
        text = f"the views differ from each other {np.sqrt(spread):.1f} times as much as their noise explains"
        grade = Grade.POOR if off > 0.5 * PASS_OFF else Grade.PASS
        findings.append(Finding(grade, text, "hold the board still for each view, and leave the cameras alone"))
    if not solution.rig.is_lone:
        own, values = _depth(solution, distance_m)
        findings, figures = findings + own, figures | values
    return findings, figures


def _percent(share: float) -> str:
    """Say a share, such as `0.35 %`; beyond the whole it only matters that it is."""
    return f"{100.0 * share:.2g} %" if share < 0.995 else "more than 100 %"


def _sigmas(derivatives: Floats, covariance: Floats) -> Floats:
    """Give the standard deviation of each relative distance error, (P,)."""
    return np.asarray(np.sqrt(np.maximum(np.einsum("pi,ij,pj->p", derivatives, covariance, derivatives), 0.0)))


def _world_finding(
    off: float, figures: dict[str, float], distance_m: float, suspects: list[Suspect], solution: RigSolution
) -> Finding:
    """Say by how much distances may be wrong."""
    what = "the size of things seen" if solution.rig.is_lone else "distances"
    text = f"{what} in the performer's room at {distance_m:.1f} m may be wrong by {_percent(off)}"
    if off <= PASS_OFF:
        return Finding(Grade.PASS, text)
    if suspects and suspects[0].off > 0.3 * off:
        fix = suspects[0].fix
    elif figures["disagreement"] > 2.0 * AGREED:
        fix = "hold the board still for each view, and leave the cameras alone"
    elif not solution.rig.is_lone and solution.rig.baseline_m < NARROW * distance_m:
        fix = "move the cameras apart, and add views: tilted up to 45 degrees, near and far, into the corners of both pictures"
    elif solution.rig.is_lone:
        fix = "add views: tilted up to 45 degrees to all sides, near and far, into the corners of the picture"
    else:
        fix = "add views: tilted up to 45 degrees to all sides, near and far, into the corners of both pictures"
    return Finding(graded(off, (PASS_OFF, FAIL_OFF)), text, fix)


def _suspect_finding(suspect: Suspect) -> Finding:
    """Say what speaks against the solution, and what the world would change by."""
    grade = graded(suspect.off, (TOLD_OFF, FAIL_OFF))
    return Finding(grade, f"{suspect.text}, which would change distances by {_percent(suspect.off)}", suspect.fix)


def _depth(solution: RigSolution, distance_m: float) -> tuple[list[Finding], dict[str, float]]:
    """Say what a fifth of a pixel is in depth."""
    depth_m = depth_sigma_m(solution.rig, distance_m, MARKER_PX)
    text = f"at {distance_m:.1f} m, {MARKER_PX:g} px is {1e3 * depth_m:.3g} mm"
    shallow = depth_m > DEEP_M
    wanted_m = solution.rig.baseline_m * depth_m / DEEP_M
    fix = f"move the cameras apart, to about {wanted_m:.2g} m, or closer to the performer" if shallow else ""
    return [Finding(Grade.POOR if depth_m > TOO_DEEP_M else Grade.PASS, text, fix)], {"depth_mm": 1e3 * depth_m}
