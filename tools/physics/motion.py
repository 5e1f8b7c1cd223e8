"""Motions that physics is done with: motion files, recordings, and markers of a subject, at equal times."""

from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from calibration.subject.labelled import UnknownMarkersError
from calibration.subject.poses import find_held_frames, fit_poses_to_markers
from calibration.subject.subject import read_subject
from calibration.subject.tpose import select_marker_subset
from capture.rate import estimate_frame_period_s
from config.arrays import Bools, Floats
from config.errors import DuocapError, FileFormatError
from database.clips import Clip, find_runs
from database.files.cleaning import FLIP_RAD_PER_S, ROOT_SPIKE_M_PER_S, clean_clip
from database.files.retarget import NO_HINTS, ImportHints
from database.geometry.rotations import compute_geodesic_rad
from database.marker_files.points import is_marker_file
from database.marker_files.trc import read_trc
from reconstruct.models.physics.contacts import MIN_FRAMES
from reconstruct.models.physics.dynamics import configurations_from_poses
from stream.take.read import is_motion_file, read_motion_file, read_take, take_from_clip
from stream.take.resampling import resample_evenly
from stream.take.take import Take
from tools.progress import Progress, ignore_progress

TRC = ".trc"
N_TORSO = 3  # torso markers that place a body


class TrackedRange(NamedTuple):
    """The frames of a motion from `first` on, before `stop`."""

    first: int
    stop: int

    @property
    def n_frames(self) -> int:
        """Number of frames."""
        return self.stop - self.first

    @property
    def slice(self) -> slice:
        """The frames as an index of arrays."""
        return slice(self.first, self.stop)


@dataclass(frozen=True, slots=True)
class PhysicalMotion:
    """A motion.

    Attributes:
        take: take at equal times. fps: its frame rate [Hz].
        ranges: half-open, of frames in which somebody is tracked without a gap.
        notes: notes for the user on what was found or left out.
    """

    name: str
    take: Take
    fps: float
    ranges: tuple[TrackedRange, ...]
    notes: tuple[str, ...] = ()

    def configurations(self, rows: TrackedRange) -> Floats:
        """Return the configurations of a range of frames, (n, 95)."""
        return configurations_from_poses(self.take.rotvec[rows.slice], self.take.root_m[rows.slice])

    def mass_kg(self, given: float | None) -> float | None:
        """Return the mass that is given, else the one that a recording has with its forces, None for neither."""
        return self.take.forces.mass_kg if given is None and self.take.forces is not None else given


def read_motion(
    file: Path, subject: Path | None = None, hints: ImportHints = NO_HINTS, progress: Progress = ignore_progress
) -> PhysicalMotion:
    """Read any take: a motion file, a recording, markers of a usual set in C3D or TRC, or those of a subject in TRC.

    Args:
        file: the motion.
        subject: file of the performer whose own set the markers are; for TRC only.
        hints: what the user says about a motion of another program.
        progress: called with the amount done and the whole amount.
    Raises: DuocapError: it cannot be read, or holds nothing that has accelerations.
    """
    if subject is not None:
        if file.suffix.lower() != TRC:
            raise DuocapError(f"--subject is for markers ({TRC}); {file.name} has a body of its own")
        motion = _motion_from_markers(file, subject, progress)
    elif is_motion_file(file) and file.exists():
        motion = _motion_from_file(file, hints, progress)
    else:
        motion = motion_from_take(read_take(file), file.name)
    if not motion.ranges:
        raise DuocapError(f"{file}: its {len(motion.take)} frames have no accelerations; give at least {MIN_FRAMES} tracked ones")
    return motion


def _motion_from_file(file: Path, hints: ImportHints, progress: Progress) -> PhysicalMotion:
    """Read a motion of another program, cleaned, or markers of a usual set. Raises FileFormatError."""
    notes: list[str] = []
    try:
        clip, held = read_motion_file(file, hints, notes.append, progress)
    except UnknownMarkersError as error:
        raise FileFormatError(f"{error}. A set of your own needs the body that wears it: a TRC and --subject") from error
    return motion_from_clip(clip if is_marker_file(file) else clean_clip(clip)[0], file.name, tuple(notes), held)


def motion_from_clip(clip: Clip, name: str, notes: tuple[str, ...] = (), held: Bools | None = None) -> PhysicalMotion:
    """Return a clip as a motion.

    Args:
        clip: the motion.
        name: name of the clip's file.
        notes: notes for the user.
        held: frames that are tracked, (N,); None: all.
    """
    take = take_from_clip(clip, name, held)
    ranges = _find_tracked_ranges(take, clip.fps)
    return PhysicalMotion(name, take, clip.fps, ranges, (*notes, *_format_left_out(take, ranges)))


def motion_from_take(take: Take, name: str) -> PhysicalMotion:
    """Return a take as a motion, at its own mean rate."""
    even = resample_evenly(take)
    fps = 1.0 / estimate_frame_period_s(even.seconds)
    ranges = _find_tracked_ranges(even, fps)
    return PhysicalMotion(name, even, fps, ranges, _format_left_out(even, ranges))


def _find_tracked_ranges(take: Take, fps: float) -> tuple[TrackedRange, ...]:
    """Return the ranges of frames that have a pose, divided where no body could get in one frame, without the very short ones."""
    usable = ~take.lost & np.isfinite(take.rotvec).all(axis=(1, 2)) & np.isfinite(take.root_m).all(axis=1)
    local = take.local_rotations()
    turned = compute_geodesic_rad(local[:-1], local[1:]).max(axis=1, initial=0.0) * fps
    moved = np.linalg.norm(np.diff(take.root_m, axis=0), axis=1) * fps
    cuts = 1 + np.flatnonzero((turned > FLIP_RAD_PER_S) | (moved > ROOT_SPIKE_M_PER_S))
    ranges = []
    for first, stop in find_runs(usable):
        edges = [first, *cuts[(cuts > first) & (cuts < stop)].tolist(), stop]
        ranges += [TrackedRange(a, b) for a, b in pairwise(edges) if b - a >= MIN_FRAMES]
    return tuple(ranges)


def _format_left_out(take: Take, ranges: tuple[TrackedRange, ...]) -> tuple[str, ...]:
    """Return in words how many frames are in no range, if any."""
    n = len(take) - sum(rows.n_frames for rows in ranges)
    return (f"frames left out, as nobody is tracked in them or the motion jumps there: {n}",) if n else ()


def _motion_from_markers(file: Path, subject_file: Path, progress: Progress) -> PhysicalMotion:
    """Pose a subject by the markers of a TRC. Raises DuocapError: its markers are not in the file."""
    points, subject = read_trc(file), read_subject(subject_file)
    column = {label.removesuffix("_marker"): k for k, label in enumerate(points.labels)}
    known = [m for m, name in enumerate(subject.markers.names) if name in column]
    torso = subject.markers.torso[known]
    if int(torso.sum()) < N_TORSO:
        raise DuocapError(
            f"{file}: of the markers of {subject_file.name} it has {len(known)}, {int(torso.sum())} of the torso; expected at "
            f"least {N_TORSO} of the torso, called {', '.join(subject.markers.names[:3])}, ..."
        )
    columns = [column[subject.markers.names[m]] for m in known]
    seen = points.valid[:, columns]
    markers, offset_m = select_marker_subset(subject.markers, np.array(known)), np.ascontiguousarray(subject.offset_m[known])
    worn = replace(subject, markers=markers, offset_m=offset_m, residual_mm=subject.residual_mm[known])
    found = fit_poses_to_markers(worn, points.point_m[:, columns], seen, progress)
    fps = (len(points.seconds) - 1) / float(points.seconds[-1] - points.seconds[0]) if len(points.seconds) > 1 else 100.0
    clip = Clip(file.stem, subject.skeleton, fps, found.rotvec, found.root_m)
    posed = f"{len(known)} markers posed {subject.name}, {found.error_mm.mean():.1f} mm from where the body has them"
    return motion_from_clip(clip, file.name, (posed,), find_held_frames(seen))
