"""A take from a file: a recording, a motion of another program, or markers of a usual set, which pose a body frame by frame.

All commands that take a take read it here.
"""

import logging
from collections.abc import Callable
from pathlib import Path

import numpy as np

from calibration.subject.marker_motion import Progress, read_marker_motion
from config.arrays import Bools
from config.errors import DuocapError
from database.clips import Clip
from database.files.read import SUFFIXES, read_clip, read_imported_motion
from database.files.retarget import NO_HINTS, ImportHints
from database.marker_files.points import MARKER_SUFFIXES, is_marker_file
from reconstruct.pose import TrackingState
from stream.recording.file import is_recording
from stream.recording.folders import SUFFIX as RECORDING
from stream.recording.folders import find_free_path, find_take
from stream.recording.recording import open_recording
from stream.take.from_recording import read_longest_motion
from stream.take.recorded import write_recording
from stream.take.take import Take, TakeInfo

logger = logging.getLogger(__name__)
KINDS = f"a motion ({', '.join(SUFFIXES)}), markers ({', '.join(MARKER_SUFFIXES)}) or a recording ({RECORDING})"
Tell = Callable[[str], None]


def is_motion_file(file: Path) -> bool:
    """Return whether a file is of another program, motion or markers, by its name."""
    return file.suffix.lower() in (*SUFFIXES, *MARKER_SUFFIXES) and not file.is_dir()


def read_take(
    file: Path | str, hints: ImportHints = NO_HINTS, tell: Tell | None = None, progress: Progress | None = None
) -> Take:
    """Read a motion, a recording, or the recording in the folder of a session.

    Args:
        file: the file or folder.
        hints: what the user says about a motion of another program.
        tell: receives what was found in such a motion, line by line; None: it is logged.
        progress: called with the frames of markers that are posed, and all.
    Raises: DuocapError.
    """
    file = Path(file)
    if file.is_dir() or file.suffix.lower() == RECORDING:
        return read_longest_motion(open_recording(find_take(file))).take()
    if not file.exists():
        raise DuocapError(f"{file}: no such file; give {KINDS}")
    if not is_motion_file(file):
        raise DuocapError(f"{file}: cannot be read as motion; give {KINDS}")
    clip, held = read_motion_file(file, hints, tell, progress)
    return take_from_clip(clip, file.name, held)


def read_motion_file(
    file: Path, hints: ImportHints = NO_HINTS, tell: Tell | None = None, progress: Progress | None = None
) -> tuple[Clip, Bools | None]:
    """Return a motion of another program, uncleaned, or that of the body that wears markers, and the frames that these hold.

    Args:
        file: the file.
        hints, tell, progress: as `read_take`.
    Raises: DuocapError.
    """
    if is_marker_file(file):
        markers = read_marker_motion(file, hints, progress)
        for line in markers.notes:
            (tell or logger.info)(f"{file.name}: {line}")
        n_lost = int((~markers.held).sum())
        lost = (f"{n_lost} of {len(markers.held)} frames have too few markers for a pose, and are lost",) if n_lost else ()
        for line in (*markers.warnings, *lost):
            logger.warning("%s: %s", file, line)
        return markers.clip, markers.held
    if tell is None:
        return read_clip(file, hints), None
    imported = read_imported_motion(file, hints)
    for line in imported.lines():
        tell(f"{file.name}: {line}")
    return imported.clip, None


def take_from_clip(clip: Clip, source: str, held: Bools | None = None) -> Take:
    """Return a clip as a take.

    Args:
        clip: the motion.
        source: name of its file.
        held: frames that are tracked, the others being lost, (N,); None: all.
    """
    n = clip.n_frames
    info = TakeInfo(subject=clip.skeleton.name, source=source)
    tracked = np.ones(n, bool) if held is None else held
    states = tuple(TrackingState.TRACKING if good else TrackingState.LOST for good in tracked)
    return Take(clip.skeleton, np.arange(n) / clip.fps, states, clip.rotvec.copy(), clip.root_m.copy(), info=info)


def find_own_recording(file: Path) -> Path:
    """Return the recording of a path, itself or in the folder of a session. Raises DuocapError: a file of another kind."""
    if file.is_file() and file.suffix.lower() != RECORDING and not is_recording(file):
        raise DuocapError(f"{file}: cannot be read as motion; give {KINDS}")
    return find_take(file)


def find_recording(file: Path, folder: Path, hints: ImportHints = NO_HINTS, tell: Tell | None = None) -> Path:
    """Return the recording of a path, for what plays recordings: a motion of another program is written as one.

    Args:
        file: a recording, the folder of a session, or a motion.
        folder: where a motion is written as a recording.
        hints, tell: as `read_take`.
    Raises: DuocapError.
    """
    if not is_motion_file(file):
        return find_own_recording(file)
    take = read_take(file, hints, tell)
    written = find_free_path(folder, file.stem, RECORDING)
    write_recording(written, take)
    return written
