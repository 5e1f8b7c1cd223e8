"""Motions that physics is done with: motion files, recordings, and markers of a subject, each as stretches without gaps."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from calibration.subject.poses import poses_of_markers
from calibration.subject.subject import read_subject
from config.errors import DuocapError
from database.clips import Clip, runs
from database.files.read import SUFFIXES, read_clip
from database.files.trc import read_trc
from reconstruct.models.physics.contacts import MIN_FRAMES
from stream.export.from_recording import motion_from_recording
from stream.export.resampling import evenly_timed
from stream.export.take import Take, frame_period_s
from stream.export.upright import upright
from stream.recording.folders import take_of
from stream.recording.recording import open_recording

RECORDING, TRC = ".mcap", ".trc"
MAX_GAP_S = 0.1  # of a recording, that is bridged
N_TORSO = 3  # torso markers that place a body
Progress = Callable[[int, int | None], None]


@dataclass(frozen=True, slots=True)
class MotionStretch:
    """A part of a motion without gaps, at equal times. start_s: of its first frame since that of the motion; clip: its poses."""

    start_s: float
    clip: Clip


@dataclass(frozen=True, slots=True)
class PhysicalMotion:
    """A motion as stretches; notes: what was left out or found, for the user."""

    name: str
    stretches: tuple[MotionStretch, ...]
    notes: tuple[str, ...] = ()

    @property
    def n_frames(self) -> int:
        """Number of poses."""
        return sum(stretch.clip.n_frames for stretch in self.stretches)


def read_motion(file: Path, subject: Path | None = None, progress: Progress = lambda done, total: None) -> PhysicalMotion:
    """Read BVH, AMC, a recording, or the markers of a subject in TRC.

    Raises DuocapError: it cannot be read, or holds nothing that has accelerations.
    """
    suffix = file.suffix.lower()
    if suffix == TRC:
        motion = _of_markers(file, subject, progress)
    elif subject is not None:
        raise DuocapError(f"--subject is for markers (.trc); {file.name} has a body of its own")
    elif file.is_dir() or suffix == RECORDING:
        recorded = motion_from_recording(open_recording(take_of(file)))
        take = recorded.take()
        motion = PhysicalMotion(file.name, stretches_of(take if take.info.floor_known else upright(take, recorded.up)))
    elif not file.exists() or suffix not in SUFFIXES:
        kinds = ", ".join(SUFFIXES)
        raise DuocapError(f"{file}: cannot be read as motion; give {kinds}, a recording ({RECORDING}), or markers ({TRC})")
    else:
        motion = PhysicalMotion(file.name, (MotionStretch(0.0, read_clip(file)),))
    if not any(stretch.clip.n_frames >= MIN_FRAMES for stretch in motion.stretches):
        raise DuocapError(f"{file}: {motion.n_frames} frames have no accelerations; give a motion of at least {MIN_FRAMES}")
    return motion


def stretches_of(take: Take) -> tuple[MotionStretch, ...]:
    """Return the stretches of a take in which somebody is tracked, at the take's rate; moments too short are left out."""
    fps = 1.0 / frame_period_s(take.seconds)
    out = []
    for first, stop in runs(~take.lost & np.isfinite(take.rotvec).all(axis=(1, 2))):
        breaks = first + 1 + np.flatnonzero(np.diff(take.seconds[first:stop]) > MAX_GAP_S)
        for a, b in pairwise([first, *breaks.tolist(), stop]):
            if b - a < MIN_FRAMES:
                continue
            part = evenly_timed(part_of(take, a, b), fps)
            clip = Clip(
                f"{take.info.source}+{a}", take.skeleton, fps, *(np.ascontiguousarray(x) for x in (part.rotvec, part.root_m))
            )
            out.append(MotionStretch(float(take.seconds[a]), clip))
    return tuple(out)


def part_of(take: Take, first: int, stop: int) -> Take:
    """Return frames first..stop-1 of a take, without markers, its times from 0."""
    return replace(
        take,
        seconds=take.seconds[first:stop] - take.seconds[first],
        states=take.states[first:stop],
        rotvec=take.rotvec[first:stop],
        root_m=take.root_m[first:stop],
        markers=None,
    )


def _of_markers(file: Path, subject_file: Path | None, progress: Progress) -> PhysicalMotion:
    """Pose a subject by the markers of a TRC. Raises DuocapError: no subject, or its markers are not in the file."""
    if subject_file is None:
        raise DuocapError(f"{file}: markers need the body that wears them; give it by --subject subject.toml")
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
    worn = (subject.joint[known], np.ascontiguousarray(subject.offset_m[known]), torso)
    found = poses_of_markers(subject.skeleton, worn, points.point_m[:, columns], seen, progress)
    fps = (len(points.seconds) - 1) / float(points.seconds[-1] - points.seconds[0]) if len(points.seconds) > 1 else 100.0
    clip = Clip(file.stem, subject.skeleton, fps, found.rotvec, found.root_m)
    note = f"{len(known)} markers posed {subject.name}, {found.error_mm.mean():.1f} mm from where the body has them"
    return PhysicalMotion(file.name, (MotionStretch(0.0, clip),), (note,))
