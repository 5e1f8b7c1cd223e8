"""Lengths and marker offsets refined over a range of motion: a joint that bends tells where it is, which a T-pose cannot.

In one pose a bone that is longer by a centimetre and a marker that sits a centimetre further back look alike; when the joint
between them turns they do not. Frames of free movement, spread over its poses, join the T-poses as takes of their own
(`adjust`), each with its own root and pose, the pose expected where the estimator had it. The estimator held it with
lengths that are now better, so whoever has the recording tracks it anew and refines once more: poses and offsets in turn.

Whether movement that a subject was refined over bears the refinement out: if not it is told, and the T-pose's fit is kept.

The movement must not contradict the T-pose. Lengths and marker places after it lie within what was known of them before; the
T-pose's own markers still fit; no length ends at the bounds of what people are; and markers of frames that were not used for
the refinement lie nearer to the refined body than to the one before, each body posed as well as it can be.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calibration.quality.report import Finding, Grade
from calibration.subject.adjust import (
    AdjustedSubject,
    MarkerPriors,
    PoseMarkers,
    SubjectProblem,
    SubjectState,
    adjust_subject,
    adjust_without_outliers,
    measure_distances_m,
    measure_squared_sigmas,
)
from calibration.subject.fit import MOST_OFF_M, SubjectFit, compute_length_sigmas, find_joint_entry
from calibration.subject.model import PosedBody, make_fixed_space, skeleton_from_vectors
from calibration.subject.quality import find_lengths_at_bounds
from calibration.subject.subject import Subject
from config.arrays import Bools, Floats
from config.errors import CalibrationError
from config.joints import JOINTS, N_JOINTS
from config.words import format_count
from database.geometry.rotations import matrix_from_rotvec, rotvec_from_matrix
from database.geometry.skeleton import REFERENCE

N_CHOSEN = 60
N_HELD_OUT = 20
HELD_OUT = 0.25  # at least this share of the frames is left aside, to judge by
LEAST_FRAMES = 20
LEAST_MARKERS = 5
LEAST_BEND_RAD = 0.35  # over the movement, for a joint to tell anything
SKIN_M = 0.006  # how far markers move on skin and cloth
WORTH = 20.0  # independent frames that a movement is worth: skin, cloth and the estimator err alike for long
OUTLIER_SIGMAS = 4.0
STEPS = (15, 15, 15)  # of each adjustment: once with all markers, then without those that are too far off
FIXED_M = 1e-5  # how far markers may be from places that are held

# How far a joint may be from where the estimator had it, standard deviation by axis [rad]: x forward bend, y twist, z sideways.
# Wide: what the estimator errs in, it errs in all the time, and a narrow expectation would write that into the lengths.
ESTIMATE_RAD = {
    "UpperLeg": (0.45, 0.35, 0.35),
    "LowerLeg": (0.60, 0.15, 0.15),
    "Foot": (0.35, 0.45, 0.25),
    "Shoulder": (0.20, 0.25, 0.30),
    "UpperArm": (0.75, 0.75, 0.75),
    "LowerArm": (0.45, 0.75, 0.60),
    "Hand": (0.45, 0.30, 0.35),
    "spine": (0.18, 0.18, 0.18),
    "chest": (0.18, 0.18, 0.18),
    "upperChest": (0.18, 0.18, 0.18),
    "neck": (0.25, 0.25, 0.25),
    "head": (0.30, 0.30, 0.30),
}
SIGMA_RAD = np.array([find_joint_entry(name, ESTIMATE_RAD) for name in JOINTS])


@dataclass(frozen=True, slots=True)
class MotionFrame:
    """One frame of free movement: markers as in `TPose`, and the pose the estimator gave it.

    point_m: (M, 3) world; valid: (M,); covariance_m2: (M, 3, 3); rotvec: charted, (J, 3) [rad]; root_m: (3,); seconds: its time.
    """

    point_m: Floats
    valid: NDArray[np.bool_]
    covariance_m2: Floats
    rotvec: Floats
    root_m: Floats
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class RefinedSubject:
    """A subject refined over movement.

    far_mm: median distance of every marker from where the body has it, (M,); held_out: that of all in frames left aside, as
    `measure_body_misfit` has it, before and after; bent: joints that bent enough to tell lengths.
    """

    subject: Subject
    fit: SubjectFit
    n_frames: int
    far_mm: Floats
    held_out: tuple[float, float]
    bent: tuple[str, ...]


def refine_subject_fit(fit: SubjectFit, frames: Sequence[MotionFrame]) -> RefinedSubject:
    """Refine a fitted subject over frames of movement.

    Raises CalibrationError: too few frames that show enough markers, or none in which anything bends.
    """
    usable = [frame for frame in frames if int(frame.valid.sum()) >= LEAST_MARKERS]
    if len(usable) < LEAST_FRAMES:
        raise CalibrationError(
            f"{LEAST_MARKERS} markers or more are seen in only {format_count(len(usable), 'frame')} of the movement, at "
            f"least {LEAST_FRAMES} are "
            "needed; move for some seconds in view of both cameras"
        )
    poses = np.stack([rest_rotvec_from_charted(frame.rotvec) for frame in usable])
    bent = find_bending_joints(poses)
    if not bent:
        raise CalibrationError(
            "nothing bends in the movement, which tells no lengths; bend elbows, knees, hips and shoulders for some seconds"
        )
    chosen = choose_spread_rows(poses, min(N_CHOSEN, int((1.0 - HELD_OUT) * len(poses))))
    aside = np.setdiff1d(np.arange(len(poses)), chosen)[:: max(1, (len(poses) - len(chosen)) // N_HELD_OUT)]
    takes = tuple(_make_take(usable[row], poses[row], len(chosen)) for row in chosen)
    problem = replace(fit.problem, takes=fit.problem.takes + takes)
    start = SubjectState(
        fit.adjusted.state.y,
        fit.adjusted.state.offset_m,
        fit.adjusted.state.rotvec + tuple(take.expected.copy() for take in takes),
        fit.adjusted.state.root_m + tuple(take.root_m.copy() for take in takes),
    )
    n_still = len(fit.problem.takes)
    problem, adjusted = adjust_without_outliers(problem, start, _is_near, STEPS)
    refined = _build_refined_fit(fit, problem, adjusted)
    after = 1e3 * measure_distances_m(problem.takes[n_still:], adjusted.placed[n_still:])
    far_mm, moved = np.zeros(after.shape[1]), np.isfinite(after).any(axis=0)
    far_mm[moved] = np.nanmedian(after[:, moved], axis=0)
    held_out = tuple(_make_take(usable[row], poses[row], 1) for row in aside[:N_HELD_OUT])
    misfits = (measure_body_misfit(fit.subject, held_out), measure_body_misfit(refined.subject, held_out))
    return RefinedSubject(refined.subject, refined, len(takes), far_mm, misfits, bent)


def measure_body_misfit(subject: Subject, takes: Sequence[PoseMarkers]) -> float:
    """Return how far markers lie from a given body, posed as well as it can be, median in standard deviations of cameras and
    skin.

    Not in millimetres: along the line of sight the cameras' own errors would drown everything.
    """
    worn = MarkerPriors(subject.joint, subject.offset_m, np.full(len(subject.joint), FIXED_M))
    problem = SubjectProblem(make_fixed_space(subject.skeleton), worn, tuple(takes))
    placed = adjust_subject(problem, max_steps=10).placed
    far = [measure_squared_sigmas(take, body)[take.valid] for take, body in zip(problem.takes, placed, strict=True)]
    return float(np.sqrt(np.median(np.concatenate(far)) / 3.0))


def rest_rotvec_from_charted(rotvec: Floats) -> Floats:
    """Return a charted pose as rotation vectors from the rest pose, (J, 3) [rad]; the root's is as it is."""
    return rotvec_from_matrix(REFERENCE @ matrix_from_rotvec(rotvec))


def find_bending_joints(poses: Floats) -> tuple[str, ...]:
    """Find the joints that turn enough over the movement to determine lengths, by geodesic spread from their middle pose."""
    names = []
    for joint in range(1, N_JOINTS):
        R = matrix_from_rotvec(poses[:, joint])
        away = np.linalg.norm(rotvec_from_matrix(R[len(R) // 2].T @ R), axis=1)
        if np.percentile(away, 95) > LEAST_BEND_RAD:
            names.append(JOINTS[joint])
    return tuple(names)


def choose_spread_rows(poses: Floats, count: int) -> NDArray[np.int64]:
    """Choose rows whose poses are far from each other, the farthest from those chosen first: (N, J, 3) -> (count,) in order."""
    flat = poses[:, 1:].reshape(len(poses), -1)
    rows = [0]
    distance = np.linalg.norm(flat - flat[0], axis=1)
    while len(rows) < min(count, len(flat)):
        rows.append(int(np.argmax(distance)))
        distance = np.minimum(distance, np.linalg.norm(flat - flat[rows[-1]], axis=1))
    return np.array(sorted(rows), np.int64)


def _make_take(frame: MotionFrame, pose: Floats, n_frames: int) -> PoseMarkers:
    """Return a take in which the estimator's pose is expected, one of so many frames."""
    fewer = max(1.0, n_frames / WORTH)
    covariance = fewer * (frame.covariance_m2 + SKIN_M**2 * np.eye(3))
    return PoseMarkers(frame.point_m, frame.valid, covariance, pose, np.sqrt(fewer) * SIGMA_RAD, frame.root_m)


def _is_near(take: PoseMarkers, body: PosedBody) -> Bools:
    """Return which markers of a take are so near that their labels may be right, (M,)."""
    return measure_squared_sigmas(take, body) < OUTLIER_SIGMAS**2


def _build_refined_fit(fit: SubjectFit, problem: SubjectProblem, adjusted: AdjustedSubject) -> SubjectFit:
    """Return the refined subject; what is said of the T-pose stays, and what is known of lengths that were kept."""
    old = fit.subject
    seen = np.any([take.valid for take in problem.takes], axis=0)
    offset = np.where(seen[:, None], adjusted.state.offset_m, old.offset_m)
    subject = replace(old, offset_m=offset)
    if not problem.space.n_parameters:
        return SubjectFit(subject, adjusted, problem, fit.measured, seen)
    skeleton = skeleton_from_vectors(problem.space.vectors(adjusted.state.y)[0], old.skeleton.name)
    sigma_m, measured = compute_length_sigmas(problem.space, adjusted)
    return SubjectFit(replace(subject, skeleton=skeleton, length_sigma_m=sigma_m), adjusted, problem, measured, seen)


WORSE = 1.1  # times as far as before, in frames not used for the refinement
FAR_MM = 15.0  # poor: in poses that are free, skin and cloth leave less
LENGTH_SIGMAS = 3.5
MOVED_SIGMAS, MOVED_M = 4.0, 0.07  # by how much the place of a marker may change: of where they are worn, and at most
ODD = 6.0  # standard deviations of chi-square; up to 4.3 in good movement
FIX = "did a marker slip between the T-pose and the movement? record both anew, or leave --motion out"


def judge_refinement(still: SubjectFit, refined: RefinedSubject) -> tuple[list[Finding], bool]:
    """Judge a refinement; return the findings, and whether it is kept instead of the T-pose's fit.

    still: the fit to the T-poses alone.
    """
    against = describe_objections(still, refined)
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
    return [Finding(Grade.POOR if far else Grade.PASS, text, fix), *_find_swinging_markers(still.subject, refined.far_mm)], True


def _find_swinging_markers(subject: Subject, far_mm: Floats) -> list[Finding]:
    """Find markers of the torso that swing while the performer moves: the root follows them."""
    swinging = [
        f"{name} ({far:.0f} mm)"
        for name, torso, far in zip(subject.markers.names, subject.markers.torso, far_mm, strict=True)
        if torso and far > FAR_MM
    ]
    if not swinging:
        return []
    text = f"the torso rests on markers that swing: {', '.join(swinging)}"
    return [Finding(Grade.POOR, text, "fix them to the body, or set torso = false for these and wear others on waist and chest")]


def describe_objections(still: SubjectFit, refined: RefinedSubject) -> list[str]:
    """Return in words what speaks against a refinement, nothing if it may be kept."""
    found = [*_judge_held_out(refined), *_judge_lengths(still, refined.fit), *_judge_bounds(still, refined.fit)]
    return [*found, *_judge_places(still, refined.fit), *_judge_tposes(still, refined.fit)]


def _judge_held_out(refined: RefinedSubject) -> list[str]:
    """Return objections from the frames that were not used."""
    before, after = refined.held_out
    if after <= WORSE * before:
        return []
    return [f"in frames left aside markers lie {before:.2f} -> {after:.2f} times as far off as cameras and skin explain"]


def _judge_lengths(still: SubjectFit, fit: SubjectFit) -> list[str]:
    """Return objections from bones that changed more than the T-pose leaves open."""
    sigma = still.subject.length_sigma_m
    if sigma is None or not still.problem.space.n_parameters:
        return []
    was, now = (np.linalg.norm(f.subject.skeleton.offsets_m, axis=1) for f in (still, fit))
    off = np.abs(now - was) / np.maximum(sigma[0], 1e-3)
    joint = int(np.argmax(off))
    if off[joint] < LENGTH_SIGMAS:
        return []
    return [f"the bone that ends at {JOINTS[joint]} would go from {1e3 * was[joint]:.0f} to {1e3 * now[joint]:.0f} mm"]


def _judge_bounds(still: SubjectFit, fit: SubjectFit) -> list[str]:
    """Return objections from lengths that only the movement moved to the bounds of what people are."""
    new = [joint for joint in find_lengths_at_bounds(fit) if joint not in find_lengths_at_bounds(still)]
    return [f"the bone that ends at {JOINTS[joint]} would be as long or short as nobody's in the database" for joint in new[:1]]


def _judge_places(still: SubjectFit, fit: SubjectFit) -> list[str]:
    """Return objections from markers that moved far on the body, or off it."""
    moved = np.linalg.norm(fit.subject.offset_m - still.subject.offset_m, axis=1)
    nominal = np.linalg.norm(fit.subject.offset_m - fit.subject.markers.offset_m, axis=1)
    may = np.minimum(MOVED_SIGMAS * still.problem.markers.sigma_m, MOVED_M)
    bad = np.flatnonzero(still.seen & ((moved > may) | (nominal > MOST_OFF_M)))
    return [f"{still.subject.markers.names[m]} would sit {1e3 * moved[m]:.0f} mm from where the T-pose has it" for m in bad[:1]]


def _judge_tposes(still: SubjectFit, fit: SubjectFit) -> list[str]:
    """Return objections from T-poses that the refined body no longer explains."""
    n = len(still.problem.takes)
    freedom = np.array([max(3 * int(take.valid.sum()) - 6, 1) for take in still.problem.takes])
    rise = (fit.adjusted.cost_of_take[:n] - still.adjusted.cost_of_take) / np.sqrt(2.0 * freedom)
    return ["the T-pose's own markers would fit far worse"] if float(rise.max()) > ODD else []
