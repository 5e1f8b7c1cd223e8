"""Other explanations of a calibration's residuals: another lens, a board not flat or not true to scale, a camera that moved."""

from dataclasses import dataclass

import numpy as np

from calibration.quality.evidence import (
    Alternative,
    Evidence,
    compute_move_directions,
    downweight_misfits,
    evaluate_alternative,
    evaluate_camera_moves,
    list_fixed_lens_directions,
    list_form_directions,
)
from calibration.quality.measures import find_shared_corners
from calibration.solve.equations import compute_form_directions
from calibration.solve.lens_choice import CORNERS_FOR_FORM
from calibration.solve.solution import RigSolution
from config.arrays import Floats

SIGNIFICANT = 8.0  # F statistic; noise alone sometimes reaches 4
SIGNIFICANT_MOVE = 14.0  # the largest of many views at which a camera may have been moved
# Standard deviations of what is not modelled.
FOCAL_SIGMA, CENTER_SIGMA = 0.002, 0.005  # relative to the focal length
LENS_SIGMA = (0.1, 0.1, 1e-3, 1e-3, 0.1)  # k1, k2, p1, p2, k3
FISHEYE_SIGMA = (0.02, 0.02, 0.02, 0.02, 0.0)  # k1, k2, k3, k4
SAG_SIGMA_M, STRETCH_SIGMA = 5e-4, 5e-4
MIN_VIEWS = 3  # before and after a move


@dataclass(frozen=True, slots=True)
class Suspect:
    """An explanation of the views other than the solution. error: the largest relative change of a distance if it were true."""

    error: float
    text: str
    fix: str


def find_suspects(solution: RigSolution, evidence: Evidence, derivatives: Floats) -> list[Suspect]:
    """Return the significant explanations that speak against a solution, the worst first.

    Args:
        solution: the calibration.
        evidence: information and scores of the views.
        derivatives: of distances by the rig's parameters, (P, n).
    """
    evidence = downweight_misfits(evidence)
    found = [*_test_lenses(solution, evidence, derivatives), *_test_board_form(solution, evidence, derivatives)]
    found += _test_camera_moves(solution, evidence, derivatives)
    return sorted(found, key=lambda suspect: -suspect.error)


def list_unmodelled_directions(solution: RigSolution, evidence: Evidence) -> Floats:
    """Return what was fixed, each direction as long as its standard deviation, (G, e), whatever the views say of it.

    Real pixels are not quite square, real lenses have a little of every coefficient, and paper is never quite flat.
    """
    columns = []
    for side, camera in enumerate(solution.rig.cameras):
        f, fixed = camera.focal_px, list_fixed_lens_directions(evidence, side)
        lens = FISHEYE_SIGMA if camera.fisheye else LENS_SIGMA
        usual = np.array([FOCAL_SIGMA * f, FOCAL_SIGMA * f, CENTER_SIGMA * f, CENTER_SIGMA * f, *lens])
        own = slice(side * len(usual), (side + 1) * len(usual))
        columns.append(fixed * np.linalg.norm(fixed[own] * usual[:, None], axis=0))
    if solution.form_was_free or len(solution.board) < CORNERS_FOR_FORM:
        return np.concatenate(columns, axis=1)
    length = float(np.ptp(solution.board.points_m, axis=0).max())
    curvature = 8.0 * SAG_SIGMA_M / length**2
    form = list_form_directions(evidence) * np.array([STRETCH_SIGMA, curvature, curvature, curvature])
    return np.concatenate([*columns, form], axis=1)


def _compute_distance_change(other: Alternative, derivatives: Floats) -> float:
    """Return the largest relative change of a distance."""
    return float(np.abs(derivatives @ other.step[: derivatives.shape[1]]).max())


def _test_lenses(solution: RigSolution, evidence: Evidence, derivatives: Floats) -> list[Suspect]:
    """Test whether a camera's lens needs more coefficients than were free."""
    found = []
    for side, camera in enumerate(solution.rig.cameras):
        extra = list_fixed_lens_directions(evidence, side)
        if not extra.shape[1]:
            continue
        other = evaluate_alternative(evidence, extra)
        if other.f_statistic < SIGNIFICANT:
            continue
        if solution.fixed_intrinsics:
            text = f"the earlier calibration of {camera.title} does not fit these views"
            fix = "calibrate its lens anew, with the zoom, focus and resolution of the performance"
        else:
            text = f"the corners of {camera.title} follow another lens than the one that was fitted"
            fix = "add views in the corners of its picture"
            fix += "" if camera.fisheye else "; for a very wide lens --lens fisheye"
        found.append(Suspect(_compute_distance_change(other, derivatives), text, fix))
    return found


def _test_board_form(solution: RigSolution, evidence: Evidence, derivatives: Floats) -> list[Suspect]:
    """Test whether the board is bent, or its squares are longer than wide, unless that was allowed for."""
    if solution.form_was_free or len(solution.board) < CORNERS_FOR_FORM:
        return []
    extra, found = list_form_directions(evidence), []
    flat = evaluate_alternative(evidence, extra[:, 1:])
    if flat.f_statistic >= SIGNIFICANT:
        heights = compute_form_directions(solution.board.points_m)[:, 2, 1:] @ flat.extra
        text = f"the board seems to be bent by {1e3 * float(np.ptp(heights)):.2g} mm"
        found.append(
            Suspect(_compute_distance_change(flat, derivatives), text, "fix the board to something stiff and flat, such as glass")
        )
    true = evaluate_alternative(evidence, extra[:, :1])
    if true.f_statistic >= SIGNIFICANT:
        stretch = 2.0 * float(true.extra[0])
        longer, other = ("along its rows", "down its columns") if stretch > 0 else ("down its columns", "along its rows")
        text = f"the board's squares seem {100.0 * abs(stretch):.2g} % longer {longer} than {other}"
        found.append(
            Suspect(_compute_distance_change(true, derivatives), text, "measure the print in both directions; print it at 100 %")
        )
    # Either explains some of what the other does: only the better explanation is reported.
    if len(found) == 2:
        found = found[:1] if flat.f_statistic > true.f_statistic else found[1:]
    return found


def _test_camera_moves(solution: RigSolution, evidence: Evidence, derivatives: Floats) -> list[Suspect]:
    """Test whether the cameras stood otherwise from some view on."""
    if solution.rig.is_monocular:
        return []
    order = sorted(range(len(solution.moments)), key=lambda v: solution.moments[v].t_ns)
    ordered = Evidence(evidence.information[order], evidence.score[order], evidence.free, evidence.n_rig)
    shared = np.asarray((solution.used & find_shared_corners(solution)).any(axis=2))[:, order]  # by camera, with another one
    rig, moves = solution.rig, []
    for camera in [1] if len(rig) == 2 else range(len(rig)):  # of two, one moves against the other
        directions, both = compute_move_directions(evidence, rig, camera), np.flatnonzero(shared[camera]).tolist()
        views = both[MIN_VIEWS : len(both) - MIN_VIEWS + 1]
        moves += [(at, camera, other) for at, other in zip(views, evaluate_camera_moves(ordered, views, directions), strict=True)]
    if not moves:
        return []
    at, camera, other = max(moves, key=lambda move: move[2].f_statistic)
    if other.f_statistic < SIGNIFICANT_MOVE:
        return []
    rotation_deg, shift_mm = np.degrees(np.linalg.norm(other.extra[:3])), 1e3 * np.linalg.norm(other.extra[3:])
    name = next((view.name for view in solution.moments[order[at]].views if view is not None and view.name), f"view {at + 1}")
    which = "a camera" if len(rig) == 2 else rig.cameras[camera].title
    text = f"{which} was moved during the calibration, before {name}, by {rotation_deg:.2g} degrees and {shift_mm:.2g} mm"
    # Half of the views are wrong then: the rig is that of neither time.
    step = (compute_move_directions(evidence, rig, camera) @ other.extra)[: derivatives.shape[1]]
    error = max(_compute_distance_change(other, derivatives), float(np.abs(derivatives @ step).max()))
    return [Suspect(error, text, "fix the cameras firmly and calibrate again")]
