"""What can be done to a recorded take, as data, and the functions that do it: recording in, recording out.

Times are seconds since the first pose, as the viewer shows them. A recording is made of what was published, so rig, events and
what was measured stay; the journal, by which a run is replayed, stays with the original alone.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import numpy as np

from config.errors import DuocapError
from config.files import write_atomically
from database.store import PoseDatabase
from stream.edit.motion import EditedPoses, exchange_markers, interpolate_span, read_poses, smooth_span, solve_span
from stream.recording.recorder import FLOOR_KNOWN, RecordingError, build_recording
from stream.recording.recording import Recording, open_recording_bytes, read_pose_outline

EDITED = "edited"  # key of the metadata: what was done, in order
JUST_S = 1e-6  # times of a slider are rounded
OpenDatabase = Callable[[], PoseDatabase]
Written = tuple[bytes, int, int]  # a payload, the time of publishing [ns] and the number of its message


class EditError(DuocapError):
    """An edit that cannot be made of this take."""


class SpanFill(StrEnum):
    """How poses are found where they are missing or wrong."""

    MOTION = "motion"
    DATABASE = "database"


@dataclass(frozen=True, slots=True)
class Trim:
    """Keep the poses from begin_s to end_s [s]."""

    begin_s: float
    end_s: float


@dataclass(frozen=True, slots=True)
class Cut:
    """Take the poses from begin_s to end_s [s] out; the others keep their times."""

    begin_s: float
    end_s: float


@dataclass(frozen=True, slots=True)
class Smooth:
    """Smooth the poses from begin_s to end_s [s] over a window of a width, which is also how long it takes to set in."""

    window_s: float
    begin_s: float = 0.0
    end_s: float = np.inf


@dataclass(frozen=True, slots=True)
class Fill:
    """Replace the poses from begin_s to end_s [s]: by the motion on both sides, or by markers and the nearest known motion."""

    begin_s: float
    end_s: float
    method: SpanFill = SpanFill.MOTION


@dataclass(frozen=True, slots=True)
class Relabel:
    """Exchange the labels of two markers from begin_s to end_s [s] and solve these poses again; without another: drop it."""

    begin_s: float
    end_s: float
    marker: str
    other: str = ""


Edit = Trim | Cut | Smooth | Fill | Relabel


def describe_edit(edit: Edit) -> str:
    """Return an edit in words."""
    span = f"{edit.begin_s:.2f} to {edit.end_s:.2f} s" if np.isfinite(edit.end_s) else f"{edit.begin_s:.2f} s to the end"
    match edit:
        case Trim():
            return f"trimmed to {span}"
        case Cut():
            return f"{span} cut out"
        case Smooth(window_s):
            return f"smoothed over {window_s:g} s, {span}"
        case Fill(method=method):
            return f"filled by {method.value}, {span}"
        case Relabel(marker=marker, other=other):
            return f"{marker} and {other} exchanged, {span}" if other else f"{marker} dropped, {span}"


def apply_edit(recording: Recording, edit: Edit, open_database: OpenDatabase | None = None) -> Recording:
    """Return a recording after an edit.

    Args:
        recording: recording to begin with; it stays as it is.
        edit: the edit.
        open_database: opens the motion that poses are solved with; None: edits that need it are refused.
    Raises: DuocapError: the times hold no pose, or the edit cannot be made.
    """
    _check_span(edit)
    match edit:
        case Trim(begin_s, end_s):
            return _rebuild(recording, edit, _keep_poses(recording, lambda t_s: begin_s - JUST_S <= t_s <= end_s + JUST_S))
        case Cut(begin_s, end_s):
            within = _keep_poses(recording, lambda t_s: not begin_s - JUST_S <= t_s <= end_s + JUST_S)
            return _rebuild(recording, edit, within)
        case _:
            found = read_poses(recording)
            changed = found.encode(_edit_poses(found, edit, open_database))
            poses = ((changed.get(n, payload), t_ns, seq) for n, (payload, t_ns, seq) in _list(recording))
            return _rebuild(recording, edit, poses)


def split_recording(recording: Recording, at_s: float) -> tuple[Recording, Recording]:
    """Return the parts before and from a time on. Raises DuocapError: a part is empty."""
    before_s = at_s - 2.0 * JUST_S
    return apply_edit(recording, Trim(0.0, before_s)), apply_edit(recording, Trim(at_s, np.inf))


def write_edited(file: Path, recording: Recording) -> Path:
    """Write a recording to a new file and return it. Raises RecordingError: it exists, or cannot be written."""
    if file.exists():
        raise RecordingError(f"{file}: exists already, and a recording never replaces anything; choose another name")
    write_atomically(file, recording.data)
    return file


def _edit_poses(found: EditedPoses, edit: Edit, open_database: OpenDatabase | None) -> EditedPoses:
    """Return poses after an edit that changes them."""
    rows = found.rows(edit.begin_s, edit.end_s)
    if not len(rows):
        raise EditError(f"there is no pose from {edit.begin_s:.2f} to {edit.end_s:.2f} s; choose other times")
    match edit:
        case Smooth(window_s):
            return smooth_span(found, rows, window_s)
        case Fill(method=SpanFill.MOTION):
            return interpolate_span(found, rows)
        case Relabel(marker=marker, other=other):
            found = exchange_markers(found, rows, marker, other)
    if open_database is None:
        raise EditError("poses are solved again with a motion database, and none is open here")
    return solve_span(found, rows, open_database(), anew=isinstance(edit, Relabel))


def _check_span(edit: Edit) -> None:
    """Raise EditError for times that hold nothing, or a window that is none."""
    if not 0.0 <= edit.begin_s <= edit.end_s:
        raise EditError(
            f"from {edit.begin_s:g} to {edit.end_s:g} s: the second time must not be before the first, which is 0 or more"
        )
    if isinstance(edit, Smooth) and not edit.window_s > 0.0:
        raise EditError(f"a window of {edit.window_s:g} s smooths nothing; 0.2 is usual")


def _list(recording: Recording) -> Iterator[tuple[int, Written]]:
    """Return all poses with their numbers."""
    for n, t_ns in enumerate(recording.t_publish_ns.tolist()):
        payload = recording.poses.payload(n)
        outline = read_pose_outline(payload)
        yield n, (payload, t_ns, 0 if outline is None else outline.seq)


def _keep_poses(recording: Recording, kept: Callable[[float], bool]) -> Iterator[Written]:
    """Return the poses of times that are kept; those that cannot be read are left out."""
    first_ns: int | None = None
    for _, written in _list(recording):
        outline = read_pose_outline(written[0])
        if outline is None:
            continue
        first_ns = outline.t_capture_ns if first_ns is None else first_ns
        if kept((outline.t_capture_ns - first_ns) * 1e-9):
            yield written


def _rebuild(recording: Recording, edit: Edit, poses: Iterator[Written]) -> Recording:
    """Return a recording with other poses; events and states of the run stay where there are poses before and after."""
    own = list(poses)
    if not own:
        raise EditError(f"nothing is left ({describe_edit(edit)}); the take is {recording.duration_s:.2f} s long")
    begin_ns, end_ns = own[0][1], own[-1][1]
    others = [
        (payload, t_ns, 0)
        for t_ns, payload in recording.payloads()
        if payload.startswith((b"skeleton ", b"rig ")) or (not payload.startswith(b"pose ") and begin_ns <= t_ns <= end_ns)
    ]
    done = [text for text in (recording.metadata.get(EDITED, ""), describe_edit(edit)) if text]
    metadata = recording.metadata | {FLOOR_KNOWN: "yes", EDITED: "; ".join(done)}
    metadata.pop("format_version", None)
    ordered = sorted([*others, *own], key=lambda written: written[1])
    data = build_recording(metadata, ordered)
    return open_recording_bytes(data, recording.file)
