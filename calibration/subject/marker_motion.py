"""The motion of a labelled marker file: a body fitted to the movement, then posed frame by frame."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from calibration.subject.functional import fit_subject_to_motion
from calibration.subject.labelled import LabelledTake, describe_mirrored, label_take, turn_upright
from calibration.subject.poses import find_held_frames, fit_poses_to_markers
from calibration.subject.subject import Subject
from config.arrays import Bools, Floats, Ints
from config.errors import CalibrationError, FileFormatError
from config.joints import JOINTS
from database.builtin.bodies import build_person_skeleton
from database.clips import Clip, find_runs, slice_clip
from database.files.retarget import NO_HINTS, ImportHints
from database.geometry.skeleton import Skeleton
from database.marker_files.points import OpticalPoints, read_points

Progress = Callable[[int, int | None], None]
HEIGHTS_M = (1.65, 1.75, 1.85)
NOT_A_PERSON_MM = 60.0  # median distance of markers from the fitted body; of people it is 5 to 15
# Parts of the body that somebody may have left without markers, and the joints of theirs.
PARTS = {
    "the trunk": ("spine", "chest", "upperChest", "leftShoulder", "rightShoulder"),
    "the head": ("neck", "upperNeck", "head"),
    "the left arm": ("leftUpperArm", "leftLowerArm", "leftHand"),
    "the right arm": ("rightUpperArm", "rightLowerArm", "rightHand"),
    "the left thigh": ("leftUpperLeg",),
    "the right thigh": ("rightUpperLeg",),
    "the left shank": ("leftLowerLeg",),
    "the right shank": ("rightLowerLeg",),
    "the left foot": ("leftFoot", "leftToes"),
    "the right foot": ("rightFoot", "rightToes"),
}
# Ends of parts, and the part each belongs to.
ENDS = {
    "the left hand": ("leftHand", "the left arm"),
    "the right hand": ("rightHand", "the right arm"),
    "the left toes": ("leftToes", "the left foot"),
    "the right toes": ("rightToes", "the right foot"),
}


@dataclass(frozen=True, slots=True)
class MarkerMotion:
    """The motion of a marker file.

    Attributes:
        clip: poses and the skeleton they are of, with y up.
        take: the labelled markers, with y up.
        held: frames of the clip with enough markers to hold a pose, (N,).
        notes: for the user: how many markers posed the body, when the file begins, which hands and toes no marker moves.
        warnings: likewise: that the markers are mirrored, what else no marker moves.
    """

    clip: Clip
    take: LabelledTake
    held: Bools
    notes: tuple[str, ...]
    warnings: tuple[str, ...]


def read_marker_motion(file: Path, hints: ImportHints = NO_HINTS, progress: Progress | None = None) -> MarkerMotion:
    """Return skeleton and motion of the markers of a C3D or TRC with labels of the usual sets.

    Args:
        file: the markers.
        hints: what the user says about it.
        progress: called with the frames posed and all.
    Raises: FileFormatError.
    """
    if hints.names:
        raise FileFormatError(f"{file}: --names is of joints; markers of your own are named by `duocap solve --markers FILE`")
    points = read_points(file, hints.unit, hints.person)
    return pose_marker_file(replace(points, fps=hints.rate_hz or points.fps), hints.up, progress)


def pose_marker_file(points: OpticalPoints, up: str = "", progress: Progress | None = None) -> MarkerMotion:
    """Return skeleton and motion of labelled points.

    Args:
        points: of the file.
        up: the axis that points up, such as `-z`; empty: the one that is found.
        progress: called with the frames posed and all.
    Raises: FileFormatError.
    """
    take = turn_upright(label_take(points), up)
    worn, (point_m, valid) = take.worn, take.markers()
    people = [build_person_skeleton(height) for height in HEIGHTS_M]
    subject = fit_take_subject(take, people, point_m, valid)
    found = fit_poses_to_markers(subject, point_m, valid, progress or (lambda done, total: None))
    clip = Clip(points.file.stem, subject.skeleton, points.fps, found.rotvec, found.root_m)
    n_known, height_m = len(worn.names), clip.skeleton.height_m
    posed = f"{n_known} of {n_known + len(take.unused)} markers have known names and posed a body of {height_m:.2f} m"
    ends = list_unmoved_ends(worn.joint)
    notes = (posed, *describe_start(points), *((f"no marker moves {', '.join(ends)}: in line with the limb",) if ends else ()))
    warnings = (*describe_mirrored(take), *describe_unmoved(worn.joint))
    return MarkerMotion(clip, take, find_held_frames(valid), notes, warnings)


def cut_to_held(motion: MarkerMotion) -> MarkerMotion:
    """Return the longest part of a motion in which every frame has enough markers, and a warning where that is not all of it.

    Raises FileFormatError: no two frames on end have.
    """
    first, stop = max(find_runs(motion.held), key=lambda run: run[1] - run[0], default=(0, 0))
    points, n = motion.take.points, len(motion.held)
    if stop - first < 2:
        raise FileFormatError(f"{points.file}: no two frames on end have enough markers for a pose")
    if stop - first == n:
        return motion
    words = f"{int((~motion.held).sum())} of {n} frames have too few markers for a pose; used is from {first / points.fps:.2f} to"
    part = replace(
        points,
        point_m=points.point_m[first:stop],
        valid=points.valid[first:stop],
        start_s=points.start_s + first / points.fps,
    )
    return replace(
        motion,
        clip=slice_clip(motion.clip, first, stop),
        take=replace(motion.take, points=part),
        held=motion.held[first:stop],
        warnings=(*motion.warnings, f"{words} {stop / points.fps:.2f} s, the longest part without such frames"),
    )


def fit_take_subject(
    take: LabelledTake, skeletons: Sequence[Skeleton], point_m: Floats, valid: Bools, progress: Progress | None = None
) -> Subject:
    """Return the performer of a take.

    Args:
        take: the file and the markers worn.
        skeletons: of other people.
        point_m: the markers, (N, M, 3) [m].
        valid: which were seen, (N, M).
        progress: called with the frames posed and all.
    Raises: FileFormatError: the markers are not those of a person.
    """
    file = take.points.file
    try:
        fit = fit_subject_to_motion(file.stem, take.worn, skeletons, point_m, valid, progress or (lambda done, total: None))
    except CalibrationError as error:
        raise FileFormatError(f"{file}: {error}") from error
    off_mm = float(np.median(fit.poses.error_mm))
    if off_mm > NOT_A_PERSON_MM:
        raise FileFormatError(
            f"{file}: no person's body fits the markers, which are {off_mm:.0f} mm off (of people 5 to 15); "
            "are the labels right, and is it one person?"
        )
    return fit.subject


def describe_start(points: OpticalPoints) -> tuple[str, ...]:
    """Return in words when a file begins, if not at 0."""
    if abs(points.start_s) < 0.5 / points.fps:
        return ()
    return (f"its first frame is at {points.start_s:.3f} s; the take's times begin there with 0",)


def list_unmoved(joint: Ints) -> tuple[str, ...]:
    """Return the parts of the body without markers; joint: of each marker, (M,)."""
    worn = {JOINTS[k] for k in joint.tolist()}
    return tuple(part for part, joints in PARTS.items() if not worn & set(joints))


def list_unmoved_ends(joint: Ints) -> tuple[str, ...]:
    """Return the hands and toes without markers at parts that have some; joint: of each marker, (M,)."""
    worn, still = {JOINTS[k] for k in joint.tolist()}, list_unmoved(joint)
    return tuple(end for end, (name, part) in ENDS.items() if name not in worn and part not in still)


def describe_unmoved(joint: Ints) -> tuple[str, ...]:
    """Return in words which parts of the body no marker moves, if any; joint: of each marker, (M,)."""
    still = list_unmoved(joint)
    if not still:
        return ()
    return (f"no marker moves {', '.join(still)}: carried along as they are in a relaxed pose, their forces are not measured",)
