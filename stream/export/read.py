"""A take from a file: a recording of the stream, or a motion of another program."""

from pathlib import Path

import numpy as np

from config.errors import DuocapError
from database.files.read import SUFFIXES, read_clip
from reconstruct.pose import TrackingState
from stream.export.from_recording import read_longest_motion
from stream.export.take import Take, TakeInfo
from stream.recording.folders import find_take
from stream.recording.recording import open_recording

RECORDING = ".mcap"


def read_take(file: Path | str) -> Take:
    """Read a motion, a recording, or the recording in the folder of a session. Raises DuocapError."""
    file = Path(file)
    if file.is_dir() or file.suffix.lower() == RECORDING:
        return read_longest_motion(open_recording(find_take(file))).take()
    if not file.exists():
        raise DuocapError(f"{file}: no such file; give a motion ({', '.join(SUFFIXES)}) or a recording ({RECORDING})")
    if file.suffix.lower() not in SUFFIXES:
        raise DuocapError(f"{file}: cannot be read as motion; give {', '.join(SUFFIXES)}, or a recording ({RECORDING})")
    clip = read_clip(file)
    n = clip.n_frames
    info = TakeInfo(subject=clip.skeleton.name, source=file.name)
    states = (TrackingState.TRACKING,) * n
    return Take(clip.skeleton, np.arange(n) / clip.fps, states, clip.rotvec.copy(), clip.root_m.copy(), info=info)
