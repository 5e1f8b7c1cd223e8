"""Marker files into poses: labels, body, poses with past and future, gaps filled."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from calibration.subject.labelled import SELDOM, LabelledTake, label_take, turn_upright
from calibration.subject.marker_motion import fit_take_subject
from calibration.subject.poses import find_held_frames
from calibration.subject.subject import Subject
from capture.packets import MarkerFrame
from config.arrays import Bools, Floats, Ints
from config.errors import FileFormatError
from config.optical import LEAST_MARKERS
from config.words import format_count
from database.marker_files.points import OpticalPoints, read_points
from database.store import PoseDatabase
from reconstruct.offline.labels import assign_labels, compute_track_costs
from reconstruct.offline.motion import TakeMotion
from reconstruct.offline.points import POINT_SIGMA_M, RIG, make_marker_frame
from reconstruct.offline.take import SolvedTake, TakeSolver
from reconstruct.search.index import load_search_index
from tools.progress import ProgressState, ignore_progress
from tools.solve.doubt import correct_labels
from tools.solve.fill import FilledMarkers, fill_gaps
from tools.solve.motion import make_rows, pose_key_frames, sample_motion
from tools.solve.resting_feet import REST_SIGMA_M, find_resting_markers
from tools.solve.tracks import ColumnTracks, collect_markers, sample_tracks, split_columns
from tools.solve.unlabelled import find_labels

SOLVED_HZ = 60.0  # people move at up to some 10 Hz; frames between are splines
FILE_TRUST = 0.1  # of a label of the file: another must be likelier by 20 in squared sigmas (`reconstruct.offline.labels.LIVE`)
MARKER_SIGMA_M = 0.015  # of a marker's place in solved poses, skin included
BELIEVED_M = 0.15  # a labelled point farther from the first poses is not believed: these are splines between frames posed alone
LOST_S = 2.0  # longer times without three markers of the trunk or a third of all are not solved
LEAST_HZ = 15.0  # people's limbs move at up to some 6 Hz (Winter 2009, 2.4), which slower sampling does not show
LEAST_FRAMES = 8


@dataclass(frozen=True, slots=True)
class SolvedMarkerFile:
    """A solved marker file.

    Attributes:
        take: points and markers, y up.
        subject: the performer.
        tracks: of the file.
        label: marker of each track, (K,), -1 for none.
        rotvec: poses, (N, J, 3) [rad]; root_m: (N, 3) [m]; joint_error_m: expected errors, (N, J) [m].
        solved: frames that are solved, (N,).
        valid: markers measured, (N, M).
        markers: measured and filled.
    """

    take: LabelledTake
    subject: Subject
    tracks: ColumnTracks
    label: Ints
    rotvec: Floats
    root_m: Floats
    joint_error_m: Floats
    solved: Bools
    valid: Bools
    markers: FilledMarkers


def prepare_marker_file(file: Path, markers: str | None = None, person: str = "") -> LabelledTake:
    """Read a marker file, labelled as far as its labels are known, with y up.

    Args:
        file: C3D or TRC.
        markers: a set or file of one, None: by the labels.
        person: whose markers, where several people's are in it.
    Raises: DuocapError: it cannot be read, is not of a person, or nothing says which markers are worn.
    """
    points = read_points(file, person=person)
    check_points(points)
    return turn_upright(label_take(points, markers))


def check_points(points: OpticalPoints) -> None:
    """Raise FileFormatError unless there is enough to solve."""
    if len(points) < LEAST_FRAMES or points.fps < LEAST_HZ:
        raise FileFormatError(
            f"{points.file}: {format_count(len(points), 'frame')} at {points.fps:g} Hz; expected a motion of at least "
            f"{LEAST_FRAMES} frames at "
            f"{LEAST_HZ:g} Hz"
        )
    seen = int((points.valid.mean(axis=0) > SELDOM).sum())
    if seen < LEAST_MARKERS:
        raise FileFormatError(f"{points.file}: shows {seen} markers; a body needs at least {LEAST_MARKERS}, better 20 or more")


def solve_take(take: LabelledTake, database: PoseDatabase, progress: ProgressState = ignore_progress) -> SolvedMarkerFile:
    """Solve labelled or unlabelled points. Raises FileFormatError: they are not of a person."""
    points, n_markers = take.points, len(take.worn.names)
    tracks = split_columns(points)
    label = correct_labels(points, tracks, take.marker[tracks.column], n_markers)
    rows = make_rows(len(points), points.fps, SOLVED_HZ)
    seconds = rows / points.fps
    if not take.has_labels:
        label = find_labels(take, tracks, rows, database, progress)
    point_m, valid = _collect(take, tracks, label, rows)
    subject = fit_take_subject(take, database.skeletons, point_m, valid, lambda done, total: progress(done, total, "body"))
    index = load_search_index(subject, database)
    solver = TakeSolver(subject, index, RIG)
    progress(0, None, "first poses")
    start = pose_key_frames(subject, seconds, point_m, valid, index.examples.fps)
    label = relabel(solver, take, tracks, (rows, seconds), label, start)
    point_m, valid = _collect(take, tracks, label, rows)
    point_m, resting = find_resting_markers(subject.joint, point_m, valid, seconds)
    motion = pose_key_frames(subject, seconds, point_m, valid | resting, index.examples.fps)
    frames = _make_frames(point_m, valid | resting, seconds, np.where(resting, REST_SIGMA_M, POINT_SIGMA_M))
    solved = solver.solve(frames, motion, lambda done, total: progress(done, total, "poses"), errors=True, worn=True)
    return _finish(take, tracks, label, subject, solved, rows)


def _collect(take: LabelledTake, tracks: ColumnTracks, label: Ints, rows: Ints) -> tuple[Floats, Bools]:
    """Return the markers of some frames, (R, M, 3) [m], and which are seen, (R, M)."""
    point_m, valid = collect_markers(take.points, tracks, label, len(take.worn.names))
    return point_m[rows], valid[rows]


def relabel(
    solver: TakeSolver, take: LabelledTake, tracks: ColumnTracks, when: tuple[Ints, Floats], label: Ints, start: TakeMotion
) -> Ints:
    """Return the label of every track in the file, decided by poses solved with the labels that are known.

    Args:
        solver: of the performer.
        take: the points.
        tracks: of the file.
        when: frames that are solved and their times [s].
        label: labels known, (K,).
        start: poses of these frames to begin with.
    """
    rows, seconds = when
    sampled, number = sample_tracks(take.points, tracks, rows)
    point_m, valid = _collect(take, tracks, label, rows)
    off_m = np.linalg.norm(solver.markers(start) - point_m, axis=2)
    believed = valid & (off_m < BELIEVED_M)
    solved = solver.solve(_make_frames(point_m, believed, seconds, np.full(valid.shape, POINT_SIGMA_M)), start, rounds=1)
    costs = compute_track_costs(sampled, solver.markers(solved.motion), seconds, believed, MARKER_SIGMA_M)
    votes = np.zeros((len(number), len(take.worn.names)))
    known = label[number] >= 0
    votes[np.flatnonzero(known), label[number][known]] = FILE_TRUST
    result = label.copy()
    result[number] = assign_labels(sampled, costs, votes)
    return result


def _make_frames(point_m: Floats, valid: Bools, seconds: Floats, sigma_m: Floats) -> Sequence[MarkerFrame]:
    """Return markers as frames.

    Args:
        point_m: (N, M, 3) [m].
        valid: (N, M).
        seconds: (N,) [s].
        sigma_m: standard deviations of the points, (N, M) [m].
    """
    rows = zip(point_m, valid, seconds.tolist(), sigma_m, strict=True)
    return [make_marker_frame(at, seen, n, t, sigma) for n, (at, seen, t, sigma) in enumerate(rows)]


def _finish(
    take: LabelledTake, tracks: ColumnTracks, label: Ints, subject: Subject, solved: SolvedTake, rows: Ints
) -> SolvedMarkerFile:
    """Return the solution at the file's own frames, with gaps filled."""
    points, n = take.points, len(take.points)
    assert solved.error_m is not None and solved.offset_m is not None  # asked for
    subject = replace(subject, offset_m=solved.offset_m.copy())
    every = sample_motion(solved.motion, np.arange(n) / points.fps)
    rotvec, root_m = every.rotvec, every.position_m
    error_m = np.stack([np.interp(np.arange(n), rows, column) for column in solved.error_m.T], axis=1)
    point_m, valid = collect_markers(points, tracks, label, len(take.worn.names))
    markers = fill_gaps(subject, rotvec, root_m, point_m, valid, points.fps, error_m)
    return SolvedMarkerFile(
        take, subject, tracks, label, rotvec, root_m, error_m, _find_solved(valid, points.fps), valid, markers
    )


def _find_solved(valid: Bools, fps: float) -> Bools:
    """Return the frames that markers hold, or that lie in short gaps between such, (N,)."""
    held = find_held_frames(valid)
    solved, at = held.copy(), np.flatnonzero(held)
    for a, b in pairwise(at.tolist()):
        if b - a <= LOST_S * fps:
            solved[a:b] = True
    return solved
