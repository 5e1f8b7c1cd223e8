"""Whether movement that a subject was refined over bears the refinement out: if not it is told, and the T-pose's fit is kept.

The movement must not contradict the T-pose. Lengths and marker places after it lie within what was known of them before; the
T-pose's own markers still fit; no length ends at the bounds of what people are; and markers of frames that were not used for
the refinement lie nearer to the refined body than to the one before, each body posed as well as it can be.
"""

import numpy as np

from calibration.subject_fit import MOST_OFF_M, SubjectFit
from calibration.subject_motion import Refined
from calibration.subject_verdict import at_bounds
from calibration.verdict import Finding, Grade
from config.joints import JOINTS

WORSE = 1.1  # times as far as before, in frames not used for the refinement
FAR_MM = 15.0  # poor: in poses that are free, skin and cloth leave less
LENGTH_SIGMAS = 3.5
MOVED_SIGMAS, MOVED_M = 4.0, 0.07  # by how much the place of a marker may change: of where they are worn, and at most
ODD = 6.0  # standard deviations of chi-square; up to 4.3 in good movement
FIX = "did a marker slip between the T-pose and the movement? record both anew, or leave --motion out"


def movement_findings(still: SubjectFit, refined: Refined) -> tuple[list[Finding], bool]:
    """Judge a refinement; give what was found, and whether it is kept instead of the T-pose's fit.

    still: the fit to the T-poses alone.
    """
    against = objections(still, refined)
    if against:
        text = f"the movement does not bear out the T-pose, whose fit is kept: {'; '.join(against)}"
        return [Finding(Grade.POOR, text, FIX)], False
    worst = int(np.argmax(refined.far_mm))
    name = still.subject.markers.names[worst]
    text = (
        f"{refined.n_frames} frames of movement fit: in others markers lie {refined.held_out[0]:.2f} -> "
        f"{refined.held_out[1]:.2f} times as far from the body as cameras and skin explain"
    )
    far = refined.far_mm[worst] > FAR_MM
    text += f"; {name} {refined.far_mm[worst]:.0f} mm" if far else ""
    fix = f"does {name} sit firmly, is it told from its neighbours?" if far else ""
    return [Finding(Grade.POOR if far else Grade.PASS, text, fix)], True


def objections(still: SubjectFit, refined: Refined) -> list[str]:
    """Say what speaks against a refinement, nothing if it may be kept."""
    found = [*_held_out(refined), *_lengths(still, refined.fit), *_bounds(still, refined.fit)]
    return [*found, *_places(still, refined.fit), *_tposes(still, refined.fit)]


def _held_out(refined: Refined) -> list[str]:
    """Look at the frames that were not used."""
    before, after = refined.held_out
    if after <= WORSE * before:
        return []
    return [f"in frames left aside markers lie {before:.2f} -> {after:.2f} times as far off as cameras and skin explain"]


def _lengths(still: SubjectFit, fit: SubjectFit) -> list[str]:
    """Find bones that changed more than the T-pose leaves open."""
    sigma = still.subject.length_sigma_m
    if sigma is None or not still.problem.space.n_parameters:
        return []
    was, now = (np.linalg.norm(f.subject.skeleton.offsets_m, axis=1) for f in (still, fit))
    off = np.abs(now - was) / np.maximum(sigma[0], 1e-3)
    joint = int(np.argmax(off))
    if off[joint] < LENGTH_SIGMAS:
        return []
    return [f"the bone that ends at {JOINTS[joint]} would go from {1e3 * was[joint]:.0f} to {1e3 * now[joint]:.0f} mm"]


def _bounds(still: SubjectFit, fit: SubjectFit) -> list[str]:
    """Find lengths that only the movement drove to the bounds of what people are."""
    new = [joint for joint in at_bounds(fit) if joint not in at_bounds(still)]
    return [f"the bone that ends at {JOINTS[joint]} would be as long or short as nobody's in the database" for joint in new[:1]]


def _places(still: SubjectFit, fit: SubjectFit) -> list[str]:
    """Find markers that went far on the body, or off it."""
    moved = np.linalg.norm(fit.subject.offset_m - still.subject.offset_m, axis=1)
    nominal = np.linalg.norm(fit.subject.offset_m - fit.subject.markers.offset_m, axis=1)
    may = np.minimum(MOVED_SIGMAS * still.problem.worn.sigma_m, MOVED_M)
    bad = np.flatnonzero(still.seen & ((moved > may) | (nominal > MOST_OFF_M)))
    return [f"{still.subject.markers.names[m]} would sit {1e3 * moved[m]:.0f} mm from where the T-pose has it" for m in bad[:1]]


def _tposes(still: SubjectFit, fit: SubjectFit) -> list[str]:
    """Look at whether the refined body still explains the T-poses."""
    n = len(still.problem.takes)
    freedom = np.array([max(3 * int(take.valid.sum()) - 6, 1) for take in still.problem.takes])
    rise = (fit.adjusted.cost_of_take[:n] - still.adjusted.cost_of_take) / np.sqrt(2.0 * freedom)
    return ["the T-pose's own markers would fit far worse"] if float(rise.max()) > ODD else []
