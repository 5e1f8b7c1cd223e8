"""What else would explain the residuals of a calibration: another lens, a board not flat or not true, a camera that moved."""

from dataclasses import dataclass

import numpy as np

from calibration.bundle import form_directions
from calibration.rig_evidence import Alternative, Evidence, alternative, board_form, held_lens, moved_from, tempered
from calibration.rig_solution import RigSolution
from database.rotations import Floats

SIGNIFICANT = 8.0  # F statistic beyond which something is taken to be so; noise alone reaches 4 now and then
SIGNIFICANT_MOVE = 14.0  # the largest of many places where a camera may have been moved
FOCAL_DOUBT, CENTER_DOUBT = 0.002, 0.005  # relative to the focal length
LENS_DOUBT = (0.1, 0.1, 1e-3, 1e-3, 0.1)  # k1, k2, p1, p2, k3
SAG_DOUBT_M, STRETCH_DOUBT = 5e-4, 5e-4
LEAST_VIEWS = 3  # before and after a move


@dataclass(frozen=True, slots=True)
class Suspect:
    """Something that speaks against the solution. off: the largest relative change of a distance if it were so."""

    off: float
    text: str
    fix: str


def suspects_of(solution: RigSolution, evidence: Evidence, derivatives: Floats) -> list[Suspect]:
    """Give what is significant, the worst first. derivatives: of distances by the rig's numbers, (P, n)."""
    evidence = tempered(evidence)
    found = [*_lenses(solution, evidence, derivatives), *_form(solution, evidence, derivatives)]
    found += _moved(solution, evidence, derivatives)
    return sorted(found, key=lambda suspect: -suspect.off)


def doubts(solution: RigSolution, evidence: Evidence) -> Floats:
    """Give what was held fixed, each direction as long as it may well be off, (G, e), whether or not the views speak for it.

    Real pixels are not quite square, real lenses have a little of every coefficient, and paper is never quite flat.
    """
    columns = []
    for side, camera in enumerate(solution.rig.cameras[: 1 if solution.rig.is_lone else 2]):
        f, held = camera.focal_px, held_lens(evidence, side)
        usual = np.array([FOCAL_DOUBT * f, FOCAL_DOUBT * f, CENTER_DOUBT * f, CENTER_DOUBT * f, *LENS_DOUBT])
        own = slice(side * len(usual), (side + 1) * len(usual))
        columns.append(held * np.linalg.norm(held[own] * usual[:, None], axis=0))
    if solution.form_was_free:
        return np.concatenate(columns, axis=1)
    length = float(np.ptp(solution.board.points_m, axis=0).max())
    curvature = 8.0 * SAG_DOUBT_M / length**2
    form = board_form(evidence) * np.array([STRETCH_DOUBT, curvature, curvature, curvature])
    return np.concatenate([*columns, form], axis=1)


def _off(other: Alternative, derivatives: Floats) -> float:
    """Give the largest relative change of a distance."""
    return float(np.abs(derivatives @ other.step[: derivatives.shape[1]]).max())


def _lenses(solution: RigSolution, evidence: Evidence, derivatives: Floats) -> list[Suspect]:
    """Ask whether a camera's lens needs more than was allowed."""
    found = []
    for side, camera in enumerate(solution.rig.cameras[: 1 if solution.rig.is_lone else 2]):
        extra = held_lens(evidence, side)
        if not extra.shape[1]:
            continue
        other = alternative(evidence, extra)
        if other.gain < SIGNIFICANT:
            continue
        if solution.fixed_intrinsics:
            text = f"the earlier calibration of {camera.called} does not fit these views"
            fix = "calibrate its lens anew, with the zoom, focus and resolution of the performance"
        else:
            text = f"the corners of {camera.called} follow another lens than the one that was fitted"
            fix = "add views in the corners of its picture; a very wide lens is beyond this model"
        found.append(Suspect(_off(other, derivatives), text, fix))
    return found


def _form(solution: RigSolution, evidence: Evidence, derivatives: Floats) -> list[Suspect]:
    """Ask whether the board is bent, or its squares longer than wide, unless that was allowed for."""
    if solution.form_was_free:
        return []
    extra, found = board_form(evidence), []
    flat = alternative(evidence, extra[:, 1:])
    if flat.gain >= SIGNIFICANT:
        heights = form_directions(solution.board.points_m)[:, 2, 1:] @ flat.extra
        text = f"the board seems to be bent by {1e3 * float(np.ptp(heights)):.2g} mm"
        found.append(Suspect(_off(flat, derivatives), text, "fix the board to something stiff and flat, such as glass"))
    true = alternative(evidence, extra[:, :1])
    if true.gain >= SIGNIFICANT:
        stretch = 2.0 * float(true.extra[0])
        longer, other = ("along its rows", "down its columns") if stretch > 0 else ("down its columns", "along its rows")
        text = f"the board's squares seem {100.0 * abs(stretch):.2g} % longer {longer} than {other}"
        found.append(Suspect(_off(true, derivatives), text, "measure the print in both directions; print it at 100 %"))
    # Either explains some of what the other does: the better explanation alone is told.
    if len(found) == 2:
        found = found[:1] if flat.gain > true.gain else found[1:]
    return found


def _moved(solution: RigSolution, evidence: Evidence, derivatives: Floats) -> list[Suspect]:
    """Ask whether the cameras stood otherwise from some view on."""
    if solution.rig.is_lone:
        return []
    shared = np.flatnonzero((solution.used[0] & solution.used[1]).any(axis=1))
    if len(shared) < 2 * LEAST_VIEWS:
        return []
    times = [_time_ns(solution, v) for v in range(len(solution.pairs))]
    order = sorted(range(len(times)), key=times.__getitem__)
    ordered = Evidence(evidence.information[order], evidence.score[order], evidence.free, evidence.n_rig)
    both = [k for k, v in enumerate(order) if v in set(shared.tolist())]
    tried = [(k, moved_from(ordered, k)) for k in both[LEAST_VIEWS : len(both) - LEAST_VIEWS + 1]]
    at, other = max(tried, key=lambda each: each[1].gain)
    if other.gain < SIGNIFICANT_MOVE:
        return []
    turn_deg, shift_mm = np.degrees(np.linalg.norm(other.extra[:3])), 1e3 * np.linalg.norm(other.extra[3:])
    name = next((view.name for view in solution.pairs[order[at]].views if view is not None and view.name), f"view {at + 1}")
    text = f"a camera was moved during the calibration, before {name}, by {turn_deg:.2g} degrees and {shift_mm:.2g} mm"
    # Half of the views are wrong then: the rig is that of neither time.
    step = np.zeros(derivatives.shape[1])
    step[-6:] = other.extra
    off = max(_off(other, derivatives), float(np.abs(derivatives @ step).max()))
    return [Suspect(off, text, "fix both cameras firmly and calibrate again")]


def _time_ns(solution: RigSolution, v: int) -> int:
    """Give when a place was seen."""
    return min((view.t_ns for view in solution.pairs[v].views if view is not None), default=0)
