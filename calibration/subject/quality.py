"""The verdict on a subject: were the markers seen and still, was it a T-pose, is it a person's size, how well is each bone
known.

What a fit says of a body, in words: how long each bone is, how well that is known, and from where.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calibration.quality.report import Finding, Grade, GradeLimits, QualityReport, grade_figure, make_finding
from calibration.subject.adjust import compute_height
from calibration.subject.coverage import judge_marker_coverage
from calibration.subject.fit import MEASURED, ODD, SubjectFit, TakesFit, TPose
from calibration.subject.model import LEAST_M, MARGIN, place_body
from config.arrays import Floats
from config.joints import JOINT_INDEX, JOINTS, N_JOINTS

TAIL = N_JOINTS
# What people call the lengths, by the rows of offsets and tails that make them up; of both sides the left one stands for both.
LENGTHS = {
    "trunk": ("chest", "upperChest", "neck"),
    "neck and head": ("upperNeck", "head", "head tail"),
    "shoulders": ("leftUpperArm",),
    "upper arms": ("leftLowerArm",),
    "forearms": ("leftHand",),
    "hands": ("leftHand tail",),
    "hips": ("leftUpperLeg",),
    "thighs": ("leftLowerLeg",),
    "shins": ("leftFoot",),
    "feet": ("leftToes",),
    "toes": ("leftToes tail",),
}


@dataclass(frozen=True, slots=True)
class BoneLength:
    """A length with its standard deviation [m], and whether the markers told it rather than the sizes of other people."""

    name: str
    length_m: float
    sigma_m: float
    measured: bool

    @property
    def words(self) -> str:
        """Return it in words: upper arms 280 mm +- 8."""
        return f"{self.name} {1e3 * self.length_m:.0f} mm +- {1e3 * self.sigma_m:.0f}"


def collect_lengths(fit: SubjectFit) -> list[BoneLength]:
    """Return the lengths of a fit to markers; none where the skeleton was known before."""
    space, y = fit.problem.space, fit.adjusted.state.y
    if not space.n_parameters:
        return []
    length = np.linalg.norm(space.vectors(y)[0], axis=1)
    covariance = fit.adjusted.covariance[: len(y), : len(y)]
    size = space.directions.mean(axis=0)
    found = []
    for name, parts in LENGTHS.items():
        rows = [JOINT_INDEX[part.removesuffix(" tail")] + TAIL * part.endswith(" tail") for part in parts]
        slope = length[rows] @ space.directions[rows]
        uneven = float(length[rows] @ space.asymmetry[rows])
        told = min(float(slope @ covariance @ slope) * fit.adjusted.misfit**2, float(slope @ slope))
        sigma = float(np.sqrt(told + uneven**2))
        alike = float(np.sqrt(slope @ slope - (slope @ size) ** 2 / (size @ size) + uneven**2))
        found.append(BoneLength(name, float(length[rows].sum()), sigma, sigma < MEASURED * alike))
    return found


def compute_height_sigma_m(fit: SubjectFit) -> float:
    """Return the standard deviation of the skeleton's height [m]."""
    _, by_y = compute_height(fit.problem.space, fit.adjusted.state.y)
    n = len(by_y)
    told = float(by_y @ fit.adjusted.covariance[:n, :n] @ by_y) * fit.adjusted.misfit**2
    return float(np.sqrt(min(told, float(by_y @ by_y))))


def describe_lengths(fit: SubjectFit) -> list[str]:
    """Return in words how long the bones are, the measured ones first."""
    found = collect_lengths(fit)
    told = ", ".join(length.words for length in found if length.measured)
    guessed = ", ".join(length.words for length in found if not length.measured)
    lines = [f"bones measured (+- standard deviation): {told}"] if told else []
    return [*lines, f"bones not measured, from people of that size: {guessed}"] if guessed else lines


def describe_markers(fit: SubjectFit) -> list[str]:
    """Return in words where each marker was found."""
    subject = fit.subject
    moved = 1e3 * np.linalg.norm(subject.offset_m - subject.markers.offset_m, axis=1)
    lines = []
    for m, marker in enumerate(subject.markers.names):
        seen = f"{moved[m]:4.0f} mm from its place in the set, held still to {subject.residual_mm[m]:.1f} mm"
        lines.append(f"  {marker:<16} {seen if fit.seen[m] else 'not seen: its place in the set is kept'}")
    return lines


def measure_arm_slopes_deg(fit: SubjectFit, take: int = 0) -> Floats:
    """Return by how much the arms, shoulder to wrist, point above level in a take, left and right, (2,) [degrees]."""
    p, up = fit.adjusted.placed[take].p, fit.adjusted.placed[take].G[0][:, 1]
    found = []
    for side in ("left", "right"):
        along = p[JOINT_INDEX[side + "Hand"]] - p[JOINT_INDEX[side + "UpperArm"]]
        found.append(np.degrees(np.arcsin(np.clip(along @ up / np.linalg.norm(along), -1.0, 1.0))))
    return np.array(found)


SCATTER_MM = GradeLimits(8.0, 30.0)  # poor, fail
LEVER_M = 0.2  # from the joint: markers farther away count by so much less
SLOPE_DEG = GradeLimits(20.0, 40.0)
OFF_SIGMAS, OFF_M = 3.5, 0.07
BEYOND = GradeLimits(0.07, 0.14)  # in logarithms of size, beyond the smallest and the largest of the database
HEIGHT_SIGMAS = GradeLimits(2.0, 3.5)
HEIGHT_RANGE_M = (0.85, 2.3)
DEPTH_MM = 20.0
LIMB_SIGMA_MM = 35.0
LEAN_DEG = GradeLimits(15.0, 35.0)
REST = np.zeros((N_JOINTS, 3))
ARM = ("UpperArm", "LowerArm", "Hand")
LIMBS = ("upper arms", "forearms", "thighs", "shins")
SCALE_FIX = "check the square's side or the distance that gave rig.toml its scale, and that left and right are not exchanged"


@dataclass(frozen=True, slots=True)
class TposeContext:
    """Where the performer stood.

    viewpoint_m: middle of the cameras, (3,) or None; up_known: the world has Y up; free_height_m: what the markers alone say of
    the height, and its standard deviation, where one was told, else None; given_height_m: what was told.
    """

    viewpoint_m: Floats | None = None
    up_known: bool = False
    free_height_m: tuple[float, float] | None = None
    given_height_m: float | None = None


def judge_subject(
    found: TakesFit,
    tposes: Sequence[TPose],
    names: Sequence[str],
    setting: TposeContext | None = None,
    refined: SubjectFit | None = None,
) -> QualityReport:
    """Judge a subject.

    Args:
        found: the fit.
        tposes: all that were taken.
        names: what each is called.
        setting: where the performer stood.
        refined: the fit over movement, by which the body is judged instead, the T-poses being judged by themselves; None: there
            is none.
    """
    setting = TposeContext() if setting is None else setting
    held, used = found.fit, [tposes[k] for k in found.used]
    fit = held if refined is None else refined
    findings = [
        *_judge_markers(fit),
        *_judge_steadiness(held, used),
        *_judge_pose(held),
        *_judge_stand(held, setting),
        *_judge_size(fit, setting),
        *_judge_takes(found, names),
        *_judge_lengths(fit),
        *judge_marker_coverage(fit.subject.markers),
    ]
    return QualityReport(tuple(findings), _collect_figures(fit, used))


def _judge_markers(fit: SubjectFit) -> list[Finding]:
    """Judge which markers were seen and where they came out."""
    names, worn = fit.subject.markers.names, fit.problem.markers
    missing = [name for name, seen in zip(names, fit.seen, strict=True) if not seen]
    findings = [Finding(Grade.PASS, f"all {len(names)} markers seen")]
    if missing:
        text = f"{len(missing)} of {len(names)} markers not seen: {', '.join(missing)}"
        findings = [Finding(Grade.POOR, text, "their places in the set are kept; repeat with every marker in both views")]
    moved_m = np.where(fit.seen, np.linalg.norm(fit.subject.offset_m - worn.offset_m, axis=1), 0.0)
    worst = int(np.argmax(moved_m / worn.sigma_m))
    if moved_m[worst] > max(OFF_SIGMAS * worn.sigma_m[worst], OFF_M):
        text = f"{names[worst]} sits {1e3 * moved_m[worst]:.0f} mm from where the marker set has it"
        joint = JOINTS[worn.joint[worst]]
        fix = f"is it on the {joint}, are left and right exchanged? otherwise write its place to markers.toml and repeat"
        findings.append(Finding(Grade.POOR, text, fix))
    return findings


def _judge_steadiness(fit: SubjectFit, tposes: Sequence[TPose]) -> list[Finding]:
    """Judge how still the performer stood, and how well the cameras tell depth there."""
    scatter = np.where(fit.seen, fit.subject.residual_mm, 0.0)
    # What the cameras let expect: a T-pose's covariance is half of a single frame's.
    noise = np.mean([2e6 * np.trace(t.covariance_m2, axis1=1, axis2=2) * t.valid for t in tposes], axis=0)
    moved = np.sqrt(np.maximum(scatter**2 - 0.8 * noise, 0.0))
    # A marker on a prop swings far when the hand that holds it turns a little.
    swung = moved * LEVER_M / np.maximum(np.linalg.norm(fit.subject.offset_m, axis=1), LEVER_M)
    m = int(np.argmax(swung)) if moved.any() else int(np.argmax(scatter))
    grade = grade_figure(float(swung[m]), SCATTER_MM)
    text = f"markers held still to {np.median(scatter[fit.seen]):.1f} mm, {fit.subject.markers.names[m]} to {scatter[m]:.1f} mm"
    fix = "stand still for the time given, or give less time"
    findings = [make_finding(grade, text, fix)]
    return findings + _judge_depth(fit, tposes)


def _judge_depth(fit: SubjectFit, tposes: Sequence[TPose]) -> list[Finding]:
    """Judge how well places are known along the line of sight: the cameras by the median marker, else the worst one by name."""
    sigma_mm = 1e3 * np.sqrt([np.linalg.eigvalsh(t.covariance_m2)[:, -1] * t.valid for t in tposes]).max(axis=0)
    seen = sigma_mm > 0.0
    if not seen.any() or sigma_mm.max() <= DEPTH_MM:
        return []
    typical = float(np.median(sigma_mm[seen]))
    if typical > DEPTH_MM:
        text = f"the cameras know a marker's place to {typical:.0f} mm along the line of sight"
        return [Finding(Grade.POOR, text, "put them farther apart or stand nearer to them")]
    m = int(np.argmax(sigma_mm))
    name, worst = fit.subject.markers.names[m], sigma_mm[m]
    text = f"{name}'s place is known to {worst:.0f} mm along the line of sight, the others' to {typical:.0f} mm"
    return [Finding(Grade.POOR, text, "it is dim, or runs into its neighbour in a picture: stand nearer")]


def _judge_pose(fit: SubjectFit) -> list[Finding]:
    """Judge whether the arms were level, or as oblique as they were taken for, as far as markers are worn on them."""
    slope, any_seen, level = np.zeros((len(fit.problem.takes), 2)), False, True
    for k, take in enumerate(fit.problem.takes):
        worn = {JOINTS[j] for j in fit.problem.markers.joint[take.valid]}
        seen = [any(side + part in worn for part in ARM) for side in ("left", "right")]
        wanted_deg = float(np.degrees(take.expected[JOINT_INDEX["leftUpperArm"], 2]))
        slope[k] = np.where(seen, measure_arm_slopes_deg(fit, k) - wanted_deg, 0.0)
        level &= wanted_deg == 0.0
        any_seen = any_seen or any(seen)
    if not any_seen:
        return []
    slope = slope[int(np.argmax(np.abs(slope).max(axis=1)))]
    side = int(np.argmax(np.abs(slope)))
    grade = grade_figure(float(np.abs(slope[side])), SLOPE_DEG)
    way = "below" if slope[side] < 0 else "above"
    where = "level" if level else "where the pose has it"
    text = f"the {('left', 'right')[side]} arm pointed {abs(slope[side]):.0f} degrees {way} {where}"
    return [make_finding(grade, text, "hold both arms level")]


def _judge_stand(fit: SubjectFit, setting: TposeContext) -> list[Finding]:
    """Judge which way the performer stood and faced."""
    G, p = fit.pose
    findings = []
    if setting.up_known:
        lean = float(np.degrees(np.arccos(np.clip(G[0][1, 1], -1.0, 1.0))))
        grade = grade_figure(lean, LEAN_DEG)
        if grade:
            fix = "is the floor of rig.toml right (duocap calibrate floor), did the performer stand upright?"
            findings.append(Finding(grade, f"the performer leans {lean:.0f} degrees from upright", fix))
    if setting.viewpoint_m is not None and G[0][:, 2] @ (setting.viewpoint_m - p[0]) < 0:
        fix = "face the cameras, or left and right of the markers may be exchanged"
        findings.append(Finding(Grade.POOR, "the performer seems to stand with the back to the cameras", fix))
    return findings


def _judge_size(fit: SubjectFit, setting: TposeContext) -> list[Finding]:
    """Judge whether that is a person's size, and the one told."""
    space = fit.problem.space
    height = space.stature * fit.subject.skeleton.height_m
    if not space.n_parameters:
        return []
    grade = Grade.PASS if HEIGHT_RANGE_M[0] < height < HEIGHT_RANGE_M[1] else Grade.FAIL
    text = f"about {height:.2f} m tall (+- {100 * space.stature * compute_height_sigma_m(fit):.0f} cm)"
    findings = [make_finding(grade, text, SCALE_FIX)]
    beyond, implied_m = _measure_beyond_people(fit)
    grade = grade_figure(abs(beyond), BEYOND)
    if grade:
        way = "larger than the tallest" if beyond > 0 else "smaller than the smallest"
        text = (
            f"the markers lie as on a body of {implied_m:.2f} m, {100 * abs(np.expm1(beyond)):.0f} % {way} people of the database"
        )
        told = setting.given_height_m is not None and abs(np.log(implied_m / setting.given_height_m)) < 0.1
        findings.append(Finding(Grade.POOR if told else grade, text, SCALE_FIX))
    if setting.free_height_m is not None and setting.given_height_m is not None:
        free, sigma = setting.free_height_m
        off = abs(free - setting.given_height_m) / float(np.hypot(sigma, 0.025 * setting.given_height_m))
        grade = grade_figure(off, HEIGHT_SIGMAS)
        text = f"the markers alone say {free:.2f} m, told were {setting.given_height_m:.2f} m"
        findings.append(make_finding(grade, text, SCALE_FIX))
    for joint in find_lengths_at_bounds(fit):
        text = f"the bone that ends at {JOINTS[joint].removeprefix('left')} is as long or short as nobody's in the database"
        findings.append(Finding(Grade.POOR, text, "check where its markers sit, and the scale of rig.toml"))
    return findings


def find_lengths_at_bounds(fit: SubjectFit) -> list[int]:
    """Return the joints at the ends of bones that are as long or short as people may be, of both sides the left one."""
    space = fit.problem.space
    if not space.n_parameters:
        return []
    log, edge = space.log_lengths(fit.adjusted.state.y), 0.02 * MARGIN
    at_bound = (log > space.high - edge) | (log < space.low + edge)
    long_enough = np.linalg.norm(fit.subject.skeleton.offsets_m, axis=1) > 0.01
    joints = np.flatnonzero(at_bound[: len(JOINTS)] & long_enough)
    return [int(joint) for joint in joints if not JOINTS[joint].startswith("right")]


def _measure_beyond_people(fit: SubjectFit) -> tuple[float, float]:
    """Return by how much the markers are spread beyond those of the smallest or largest body, in logarithms, and their stature
    [m].

    Not told by the lengths found, which are held within bounds.
    """
    problem = fit.problem
    space, take = problem.space, problem.takes[0]
    mean = place_body(
        space.vectors(np.zeros(space.n_parameters))[0], problem.markers.offset_m, problem.markers.joint, REST, REST[0]
    )
    spread = [np.sqrt(((x - x.mean(axis=0)) ** 2).sum()) for x in (take.point_m[take.valid], mean.marker_m[take.valid])]
    size = float(np.log(spread[0] / spread[1]))
    rows = space.mean > np.log(LEAST_M)
    low = float(np.median((space.low + MARGIN - space.mean)[rows]))
    high = float(np.median((space.high - MARGIN - space.mean)[rows]))
    mean_height_m = compute_height(space, np.zeros(space.n_parameters))[0]
    return size - high if size > high else min(size - low, 0.0), space.stature * mean_height_m * float(np.exp(size))


def _judge_takes(found: TakesFit, names: Sequence[str]) -> list[Finding]:
    """Judge whether the takes agree."""
    left_out = [names[k] for k in found.left_out]
    if left_out:
        verbs = ("disagrees", "is") if len(left_out) == 1 else ("disagree", "are")
        text = f"{' and '.join(left_out)} {verbs[0]} with the other takes and {verbs[1]} left out"
        return [Finding(Grade.POOR, text, "did markers move between the takes?")]
    if len(found.used) == 2 and np.nanmax(found.oddity) > ODD:
        text = f"{names[0]} and {names[1]} disagree, and two cannot tell which is wrong"
        return [Finding(Grade.POOR, text, "record a third, or leave one out; did markers move between them?")]
    return [Finding(Grade.PASS, f"{len(found.used)} takes agree")] if len(found.used) > 1 else []


def _judge_lengths(fit: SubjectFit) -> list[Finding]:
    """Judge how well the limbs are known."""
    lengths = {length.name: length for length in collect_lengths(fit)}
    if not lengths:
        return [Finding(Grade.PASS, "skeleton kept, marker places found anew")]
    worst = max((lengths[name] for name in LIMBS), key=lambda length: length.sigma_m)
    grade = Grade.POOR if 1e3 * worst.sigma_m > LIMB_SIGMA_MM else Grade.PASS
    guessed = [name for name in LIMBS if not lengths[name].measured]
    text = f"limbs known to +- {1e3 * worst.sigma_m:.0f} mm or better ({worst.name} worst)"
    if guessed:
        text += f"; {', '.join(guessed)} follow from people of that size"
    return [make_finding(grade, text, "wear markers at elbows and knees, or tell --height")]


def _collect_figures(fit: SubjectFit, tposes: Sequence[TPose]) -> dict[str, float]:
    """Return the numbers behind it."""
    figures = {
        "height_m": fit.subject.skeleton.height_m,
        "markers_seen": float(fit.seen.sum()),
        "scatter_mm": float(np.median(fit.subject.residual_mm[fit.seen])),
        "frames": float(sum(tpose.n_frames for tpose in tposes)),
        "hips_to_head_m": float(fit.subject.skeleton.rest_positions_m()[JOINT_INDEX["head"], 1]),
    }
    return figures | {f"{length.name.replace(' ', '_')}_sigma_mm": 1e3 * length.sigma_m for length in collect_lengths(fit)}
