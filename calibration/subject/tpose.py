"""Label the markers of a T-pose with no hint but the marker set, in any world frame, and average them over time.

The arms may also be held obliquely (an A-pose) or hang, as somebody stands; which it is, the markers tell where it is not told.

Why no T-pose was found: what the points show instead, tried one by one against bodies that stand or are sized otherwise.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from calibration.subject.constellation import ConstellationPlacement, assign_points, place_constellation
from calibration.subject.fit import TPose
from calibration.subject.model import learn_skeleton_space, place_body
from config.arrays import Floats
from config.errors import CalibrationError
from config.joints import JOINT_INDEX, JOINTS, N_JOINTS
from config.markers import MarkerSet
from config.words import format_count
from database.geometry.rigid import fit_rigid_motion
from database.geometry.skeleton import Skeleton

SLOPES_DEG = (-75.0, -50.0, -30.0, 30.0, 60.0)  # of both arms; T-poses are found up to about 15 degrees off level


@dataclass(frozen=True, slots=True)
class StartingPosture:
    """How somebody stands whose markers are labelled. slope_deg: of both arms; name, arms: in a sentence."""

    slope_deg: float
    name: str
    arms: str


POSTURES = {
    "t": StartingPosture(0.0, "T-pose", " with level arms"),
    "a": StartingPosture(-40.0, "A-pose", " with both arms obliquely down"),
    "stand": StartingPosture(-75.0, "standing pose", " with hanging arms"),
}
ANY_POSTURE = StartingPosture(0.0, "T-pose, A-pose or standing pose", " still")
NO_ARMS = StartingPosture(0.0, "standing performer", " still")
CLEARLY = 0.8  # of the cost of level arms, for others to be taken
StartPose = Literal["t", "a", "stand"]
ARM = ("UpperArm", "LowerArm", "Hand")
EXPLAINED_M = 0.10
BETTER = 0.75  # of the cost of the T-pose, or it explains nothing
SCALES = (0.75, 1.3)
SLACK_M, GATE_M = 0.12, 0.28


@dataclass(frozen=True, slots=True)
class _Guess:
    """Something else that points may be: its markers, (M, 3) [m], what to multiply points with first, words, what to do."""

    model: Floats
    shrink: float
    words: str
    fix: str


def build_tpose_model(markers: MarkerSet, skeletons: Sequence[Skeleton], slope_deg: tuple[float, float] = (0.0, 0.0)) -> Floats:
    """Return the marker set on the mean skeleton, (M, 3) [m], hips at the origin, facing +Z.

    Args:
        markers: the marker set that is worn.
        skeletons: of other people, whose mean size is taken.
        slope_deg: of the left and the right arm, above level.
    """
    space = learn_skeleton_space(skeletons)
    rotvec = np.zeros((N_JOINTS, 3))
    rotvec[JOINT_INDEX["leftUpperArm"], 2] = np.radians(slope_deg[0])
    rotvec[JOINT_INDEX["rightUpperArm"], 2] = -np.radians(slope_deg[1])
    vectors = space.vectors(np.zeros(space.n_parameters))[0]
    return place_body(vectors, markers.offset_m, markers.joint, rotvec, np.zeros(3)).marker_m


def explain_missing_tpose(points: Floats, markers: MarkerSet, skeletons: Sequence[Skeleton], cost_m: float) -> str:
    """Return in words what points that are no T-pose look like, and what to do; empty if they look like nothing known.

    Args:
        points: the points, (P, 3) [m].
        markers: the marker set that is worn.
        skeletons: of other people, whose mean size is taken.
        cost_m: how badly the best T-pose fits them [m].
    """
    if len(points) < max(4, len(markers) - 3):
        return ""
    best, words = min(cost_m * BETTER, EXPLAINED_M), ""
    for guess in _list_guesses(points, markers, skeletons):
        found = place_constellation(
            points * guess.shrink, guess.model, preferred=markers.torso, scale_range=SCALES, slack_m=SLACK_M, gate_m=GATE_M
        )
        if found and found[0].cost_m < best:
            best, words = found[0].cost_m, f"{guess.words}: {guess.fix}"
    return words


def _list_guesses(points: Floats, markers: MarkerSet, skeletons: Sequence[Skeleton]) -> Iterator[_Guess]:
    """List what is tried: arms that slope, one arm that hangs, a world of the wrong size."""
    lift = "hold both arms level, and give only the time in which they are"
    for slope in SLOPES_DEG if has_arms(markers) else ():
        way = "below" if slope < 0 else "above"
        fix = f"{lift}; or say --pose {'stand' if slope < -60.0 else 'a'}" if slope < 0 else lift
        words = f"the arms point {abs(slope):.0f} degrees {way} level"
        yield _Guess(build_tpose_model(markers, skeletons, (slope, slope)), 1.0, words, fix)
    for side, slopes in (("left", (-75.0, 0.0)), ("right", (0.0, -75.0))) if has_arms(markers) else ():
        yield _Guess(build_tpose_model(markers, skeletons, slopes), 1.0, f"the {side} arm hangs down", lift)
    level = build_tpose_model(markers, skeletons)
    by_spread = _measure_spread(points) / _measure_spread(level)
    if not SCALES[0] < by_spread < SCALES[1]:
        words = f"a T-pose {by_spread:.3g} times the size of a person fits"
        fix = "the scale of rig.toml is wrong; check the square's side or the distance it was calibrated with"
        yield _Guess(level, 1.0 / by_spread, words, fix)


def _measure_spread(points: Floats) -> float:
    """Return the root mean square distance from the middle."""
    return float(np.sqrt(((points - points.mean(axis=0)) ** 2).sum(axis=1).mean()))


MAX_COST_M = 0.13
LEFT_OVER_M = 0.03  # less is allowed for every point that found no marker though one is missing
HOLD_GATE_M = 0.06
AVERTED = 1.4  # times the cost for a performer seen from behind
MIN_FRAMES = 5
Frames = Sequence[tuple[Floats, Floats]]  # points (P, 3) [m] and covariances (P, 3, 3) of each frame
Worn = Literal["all", "left", "right"]  # which limbs' markers are worn in a take; those of the torso always are
PARTS: tuple[Worn, Worn] = ("left", "right")


def find_worn_markers(markers: MarkerSet, worn: Worn) -> NDArray[np.int64]:
    """Return which markers of a set are worn while those of one side's limbs are off, (K,)."""
    off = {"all": "neither", "left": "right", "right": "left"}[worn]
    return np.array([m for m, j in enumerate(markers.joint) if markers.torso[m] or not JOINTS[j].startswith(off)], np.int64)


def select_marker_subset(markers: MarkerSet, chosen: NDArray[np.int64]) -> MarkerSet:
    """Return some of the markers as a set."""
    parts = {each.name: getattr(markers, each.name)[chosen] for each in fields(MarkerSet)[1:]}
    return MarkerSet(tuple(markers.names[m] for m in chosen), **parts)


def label_tpose(
    points: Floats,
    markers: MarkerSet,
    skeletons: Sequence[Skeleton],
    viewpoint_m: Floats | None = None,
    posture: StartingPosture = POSTURES["t"],
) -> ConstellationPlacement:
    """Return which point each marker of a standing performer is.

    Args:
        points: of one frame, (P, 3) [m].
        markers: the marker set that is worn.
        skeletons: of other people, whose mean size is taken.
        viewpoint_m: middle of the cameras, (3,): of placements that fit alike the one facing them is taken; None if unknown.
        posture: in which somebody stands.
    Raises: CalibrationError: no placement fits; the message says what was expected and what seen.
    """
    model = build_tpose_model(markers, skeletons, (posture.slope_deg, posture.slope_deg))
    found = place_constellation(points, model, preferred=markers.torso, scale_range=SCALES, slack_m=SLACK_M, gate_m=GATE_M)
    needed = max(3, len(markers) - 3)
    good = [p for p in found if (p.point_of_marker >= 0).sum() >= min(needed, len(points))]
    best = min(good, key=lambda p: p.cost_m * _compute_facing_factor(p, viewpoint_m), default=None)
    if len(points) < needed or best is None or best.cost_m > MAX_COST_M - LEFT_OVER_M * _count_left_over(best, len(points)):
        fit = f"the best fit is {best.cost_m * 100:.0f} cm off" if best is not None else "none fits"
        cost_m = best.cost_m if best is not None else GATE_M
        why = "" if posture.slope_deg else explain_missing_tpose(points, markers, skeletons, cost_m)
        advice = why or f"choose seconds in which the performer stands{posture.arms}, every marker in both views"
        raise CalibrationError(
            f"no {posture.name} found: {format_count(len(points), 'point')} seen for {format_count(len(markers), 'marker')} "
            f"and {fit}; {advice}"
        )
    return best


def has_arms(markers: MarkerSet) -> bool:
    """Return whether any marker of a set tells how the arms are held."""
    return any(part in JOINTS[joint] for joint in markers.joint for part in ARM)


def _compute_facing_factor(placement: ConstellationPlacement, viewpoint_m: Floats | None) -> float:
    """Return the factor on a placement's cost: turned by 180 degrees a body is nearly the same, and performers face the
    cameras.
    """
    if viewpoint_m is None or placement.rotation[:, 2] @ (viewpoint_m - placement.translation) > 0:
        return 1.0
    return AVERTED


def _count_left_over(placement: ConstellationPlacement, n_points: int) -> int:
    """Count markers without a point for which one is left, as for arms that hang down; a hidden marker leaves none."""
    taken = int((placement.point_of_marker >= 0).sum())
    return min(len(placement.point_of_marker) - taken, n_points - taken)


def average_tpose(
    frames: Frames,
    markers: MarkerSet,
    skeletons: Sequence[Skeleton],
    viewpoint_m: Floats | None = None,
    worn: Worn | None = "all",
    pose: StartPose | None = "t",
) -> TPose:
    """Label and average a T-pose held over several frames.

    Args:
        frames: points (P, 3) [m] and covariances (P, 3, 3) of each frame; the fullest is labelled first, the others by it.
        markers: the marker set that is worn.
        skeletons: of other people, whose mean size is taken.
        viewpoint_m: as in `label_tpose`.
        worn: which limbs' markers are worn; None: all, or those of one side if no T-pose of all fits and no more points are
            seen.
        pose: how the arms are held; None: level, or as they fit best.
    Raises: CalibrationError: too few frames, or no such pose in them.
    """

    def average(posture: StartingPosture) -> tuple[TPose, float]:
        return _average_pose(frames, markers, _Standing(skeletons, viewpoint_m, posture), worn)

    if not has_arms(markers):
        return average(NO_ARMS)[0]
    if pose is not None:
        return average(POSTURES[pose])[0]
    others = []
    for posture in (POSTURES["a"], POSTURES["stand"]):
        with suppress(CalibrationError):
            others.append(average(posture))
    try:
        level, cost_m = average(ANY_POSTURE)
    except CalibrationError:
        if not others:
            raise
        return min(others, key=lambda result: result[1])[0]
    best, least_m = min(others, key=lambda result: result[1], default=(level, cost_m))
    return best if least_m < CLEARLY * cost_m else level


@dataclass(frozen=True, slots=True)
class _Standing:
    """Somebody who stands: skeletons of other people, middle of the cameras, (3,) or None, and how the arms are held."""

    skeletons: Sequence[Skeleton]
    viewpoint_m: Floats | None
    posture: StartingPosture


def _average_pose(frames: Frames, markers: MarkerSet, who: _Standing, worn: Worn | None) -> tuple[TPose, float]:
    """Label and average in one posture; return the T-pose of the whole set and how badly it fits [m].

    worn: None: all, or those of one side if no pose of all fits and no more points are seen.
    """
    if worn is None:
        try:
            return _average_pose(frames, markers, who, "all")
        except CalibrationError:
            typical = float(np.median([len(points) for points, _ in frames])) if frames else 0.0
            found = []
            for part in PARTS:
                if typical <= len(find_worn_markers(markers, part)) + 1 <= len(markers):
                    with suppress(CalibrationError):
                        found.append(_average_pose(frames, markers, who, part))
            if not found:
                raise
            return min(found, key=lambda result: result[1])
    chosen = find_worn_markers(markers, worn)
    tpose, cost_m = _average_worn(frames, select_marker_subset(markers, chosen), who)
    n = len(markers)
    point, covariance, scatter, valid = np.zeros((n, 3)), np.zeros((n, 3, 3)), np.zeros(n), np.zeros(n, bool)
    point[chosen], covariance[chosen] = tpose.point_m, tpose.covariance_m2
    scatter[chosen], valid[chosen] = tpose.scatter_m, tpose.valid
    return TPose(point, valid, covariance, scatter, tpose.n_frames, who.posture.slope_deg), cost_m


def _average_worn(frames: Frames, markers: MarkerSet, who: _Standing) -> tuple[TPose, float]:
    """Label and average the markers of a set that is worn completely; return the T-pose and how badly it fits [m]."""
    posture, usable = who.posture, [frame for frame in frames if len(frame[0]) >= 3]
    if len(usable) < MIN_FRAMES:
        raise CalibrationError(
            f"no {posture.name} found: only {format_count(len(usable), 'frame')} with markers in both views in the given time, "
            f"at least {MIN_FRAMES} are needed"
        )
    counts = np.array([len(points) for points, _ in usable])
    typical = int(np.median(counts))
    points = usable[int(np.argmin(np.abs(counts - max(typical, min(len(markers), counts.max())))))][0]
    placement = label_tpose(points, markers, who.skeletons, who.viewpoint_m, posture)
    model = build_tpose_model(markers, who.skeletons, (posture.slope_deg, posture.slope_deg))
    place = _take_points(points, placement, placement.apply(model))
    stack, variance = _follow_markers(usable, place)
    # The frame labelled first is as noisy as any: once more, labels and all, from the median of all frames.
    place = np.where(np.isfinite(stack).any(axis=0), _compute_median(stack), place)
    place = _take_points(place, label_tpose(place, markers, who.skeletons, who.viewpoint_m, posture), place)
    stack, variance = _follow_markers(usable, place)
    held = int((np.isfinite(stack[..., 0]).mean(axis=0) >= 0.2).sum())
    if held < max(3, len(markers) - 3):
        raise CalibrationError(
            f"no {posture.name} found: only {held} of {len(markers)} markers hold still in the given time; "
            "choose seconds in which the performer stands"
        )
    cost_m = placement.cost_m * _compute_facing_factor(placement, who.viewpoint_m)
    return _average_stack(_remove_sway(stack), variance, markers), cost_m


def _take_points(points: Floats, placement: ConstellationPlacement, otherwise: Floats) -> Floats:
    """Return the point that each marker takes, (M, 3).

    Args:
        points: the points, (P, 3).
        placement: which of them each marker takes.
        otherwise: what stands in its place where it takes none, (M, 3).
    """
    taken = placement.point_of_marker
    return np.where((taken >= 0)[:, None], points[np.maximum(taken, 0)], otherwise)


def _follow_markers(frames: Frames, place: Floats) -> tuple[Floats, Floats]:
    """Return each marker's point and covariance near its place in every frame, (F, M, 3) and (F, M, 3, 3), NaN where none is."""
    stack = np.full((len(frames), len(place), 3), np.nan)
    variance = np.full((len(frames), len(place), 3, 3), np.nan)
    for f, (points, covariance) in enumerate(frames):
        noise = float(np.sqrt(np.median(np.trace(covariance, axis1=1, axis2=2))))
        choice = assign_points(points, place, HOLD_GATE_M + 3.0 * noise)
        seen = choice >= 0
        stack[f, seen], variance[f, seen] = points[choice[seen]], covariance[choice[seen]]
    return stack, variance


def _compute_median(stack: Floats) -> Floats:
    """Return the median over the frames, (M, 3), NaN for markers never seen."""
    ever = np.isfinite(stack[..., 0]).any(axis=0)
    middle = np.full(stack.shape[1:], np.nan)
    middle[ever] = np.nanmedian(stack[:, ever], axis=0)
    return middle


def _remove_sway(stack: Floats) -> Floats:
    """Remove the sway of the body as a whole: every frame is laid on the median of all, (F, M, 3)."""
    for _ in range(2):
        middle = _compute_median(stack)
        laid = stack.copy()
        for f, frame in enumerate(stack):
            seen = np.isfinite(frame[:, 0]) & np.isfinite(middle[:, 0])
            if seen.sum() >= 4:
                R, t = fit_rigid_motion(frame[seen], middle[seen])
                laid[f] = frame @ R.T + t
        stack = laid
    return stack


def _average_stack(stack: Floats, variance: Floats, markers: MarkerSet) -> TPose:
    """Take medians over the frames, (F, M, 3), NaN where a marker was not seen."""
    n = np.isfinite(stack[..., 0]).sum(axis=0)
    valid = n >= max(MIN_FRAMES, 0.2 * len(stack))
    point, covariance, scatter = np.zeros((len(markers), 3)), np.zeros((len(markers), 3, 3)), np.zeros(len(markers))
    for m in np.flatnonzero(valid):
        seen = np.isfinite(stack[:, m, 0])
        point[m] = np.median(stack[seen, m], axis=0)
        # Calibration errors do not average out: only half of the single-frame variance is taken to.
        covariance[m] = 0.5 * np.median(variance[seen, m], axis=0)
        scatter[m] = float(np.median(np.linalg.norm(stack[seen, m] - point[m], axis=1)))
    return TPose(point, valid, covariance, scatter, len(stack))
