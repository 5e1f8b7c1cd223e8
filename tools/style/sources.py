"""What a style is learned from: motion files, recordings of our own, clips of a database, built-in motions."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from config.errors import DuocapError
from config.words import format_count
from database.builtin.catalog import make_builtin_clip
from database.clips import Clip, find_runs, slice_clip
from database.files.cleaning import clean_clip
from database.files.read import SUFFIXES, read_clip
from database.geometry.skeleton import Skeleton
from database.store import PoseDatabase, open_database
from reconstruct.models.style.features import RATE_HZ, STEP_S
from reconstruct.pose import TrackingState
from stream.recording.folders import find_take
from stream.recording.recording import open_recording
from stream.take.from_recording import read_longest_motion
from stream.take.resampling import resample_evenly
from stream.take.take import Take, cut_take

LONGEST_GAP_S = 0.1  # of a recording that is bridged
RECORDING = ".mcap"


@dataclass(frozen=True, slots=True)
class StyleSources:
    """Motion to learn from: files, a database with patterns of its clips' names, built-in motions; which seconds of each."""

    motions: Sequence[Path] = ()
    database: Path | None = None
    clips: Sequence[str] = ()
    builtin: Sequence[str] = ()
    from_s: float = 0.0
    to_s: float = np.inf


@dataclass(frozen=True, slots=True)
class MotionSource:
    """One motion: its name for people, and its clips, split at gaps of the recording."""

    name: str
    clips: tuple[Clip, ...]

    @property
    def seconds(self) -> float:
        """Time the clips last."""
        return sum(clip.seconds for clip in self.clips)


def read_motion_sources(wanted: StyleSources) -> list[MotionSource]:
    """Read all that is wanted. Raises DuocapError: nothing is, a file or clip cannot be had, or has nothing in these seconds."""
    sources = [MotionSource(f"{name} (built in)", (_cut_clip(make_builtin_clip(name), wanted),)) for name in wanted.builtin]
    sources += [_read_source_file(file, wanted) for file in wanted.motions]
    if wanted.database is not None:
        database = open_database(wanted.database)
        found = _find_clips(database, wanted.database, wanted.clips)
        sources += [MotionSource(database.clip_names[k], (_cut_clip(database.clip(k), wanted),)) for k in found]
    if not sources:
        raise DuocapError("no motion to learn from; give a BVH, AMC or recording, --database with --clip, or --builtin walk")
    return sources


def find_main_skeleton(sources: Sequence[MotionSource]) -> tuple[Skeleton, int]:
    """Return the skeleton that most seconds are of, and how many different ones there are."""
    seconds: list[tuple[float, Skeleton]] = []
    for clip in (clip for source in sources for clip in source.clips):
        for k, (total, skeleton) in enumerate(seconds):
            if _has_same_lengths(skeleton, clip.skeleton):
                seconds[k] = (total + clip.seconds, skeleton)
                break
        else:
            seconds.append((clip.seconds, clip.skeleton))
    return max(seconds, key=lambda pair: pair[0])[1], len(seconds)


def _has_same_lengths(first: Skeleton, second: Skeleton) -> bool:
    """Return whether skeletons have the same lengths, up to rounding."""
    pairs = ((first.offsets_m, second.offsets_m), (first.tails_m, second.tails_m))
    return all(bool(np.allclose(a, b, atol=1e-5)) for a, b in pairs)


def _read_source_file(file: Path, wanted: StyleSources) -> MotionSource:
    """Read a motion file, or a recording."""
    if file.is_dir() or file.suffix.lower() == RECORDING:
        return MotionSource(file.name, _read_recorded_clips(file, wanted))
    if not file.exists():
        raise DuocapError(
            f"{file}: no such file; give a BVH, an AMC with its ASF, or a recording; a built-in motion by --builtin"
        )
    if file.suffix.lower() not in SUFFIXES:
        raise DuocapError(
            f"{file}: cannot be learned from; give joint angles: {', '.join(SUFFIXES)}, a recording ({RECORDING}), "
            "or a database by --database"
        )
    return MotionSource(file.stem, (_cut_clip(clean_clip(read_clip(file))[0], wanted),))


def _find_clips(database: PoseDatabase, file: Path, patterns: Sequence[str]) -> list[int]:
    """Find clips by name; every pattern must find one."""
    found: list[int] = []
    for pattern in patterns:
        hits = [k for k, name in enumerate(database.clip_names) if fnmatchcase(name, pattern)]
        if not hits:
            names = ", ".join(database.clip_names[:4])
            raise DuocapError(
                f"{file}: no clip {pattern!r} in it; it has {format_count(database.n_clips, 'clip')}: "
                f"{names}{', ...' if database.n_clips > 4 else ''}"
            )
        found += hits
    return sorted(set(found))


def _cut_clip(clip: Clip, wanted: StyleSources) -> Clip:
    """Return the wanted seconds of a clip."""
    first, stop = round(wanted.from_s * clip.fps), clip.n_frames
    if np.isfinite(wanted.to_s):
        stop = min(stop, round(wanted.to_s * clip.fps))
    if first >= stop:
        raise DuocapError(f"{clip.name}: nothing is left of its {clip.seconds:.2f} s by --from and --to; choose other times")
    return slice_clip(clip, first, stop)


def _read_recorded_clips(file: Path, wanted: StyleSources) -> tuple[Clip, ...]:
    """Return the tracked stretches of a recording as clips."""
    recording = open_recording(find_take(file))
    motion = read_longest_motion(recording)
    take = cut_take(motion.take(), wanted.from_s, wanted.to_s)
    clips = tuple(_clip_from_take(f"{file.stem}+{first}", take, first, stop) for first, stop in find_unbroken_ranges(take))
    if not clips:
        raise DuocapError(f"{file}: nobody was tracked for longer than a moment in it; record anew, or choose other times")
    return clips


def find_unbroken_ranges(take: Take) -> list[tuple[int, int]]:
    """Return the half-open ranges of frames that were tracked without a gap, those too short for accelerations left out."""
    tracked = np.array([state is TrackingState.TRACKING for state in take.states], bool)
    ranges = []
    for first, stop in find_runs(tracked):
        breaks: NDArray[np.int64] = first + 1 + np.flatnonzero(np.diff(take.seconds[first:stop]) > LONGEST_GAP_S)
        edges = [first, *breaks.tolist(), stop]
        ranges += [(a, b) for a, b in pairwise(edges) if take.seconds[b - 1] - take.seconds[a] > 2.0 * STEP_S]
    return ranges


def _clip_from_take(name: str, take: Take, first: int, stop: int) -> Clip:
    """Return frames of a take, at the rate of the features."""
    part = replace(
        take,
        seconds=take.seconds[first:stop] - take.seconds[first],
        states=take.states[first:stop],
        rotvec=take.rotvec[first:stop],
        root_m=take.root_m[first:stop],
        markers=None,
    )
    even = resample_evenly(part, RATE_HZ)
    n = int(np.searchsorted(even.seconds, part.seconds[-1] + 1e-6))  # past the end the pose is held, which nobody did
    return Clip(name, take.skeleton, RATE_HZ, np.ascontiguousarray(even.rotvec[:n]), np.ascontiguousarray(even.root_m[:n]))
