"""Time stamps of a recording from CSV: one a pair (`frame,seconds`) or one a camera (`frame,left_seconds,right_seconds`).

The stamps of a recorded session are two files, left.csv and right.csv: either may be named, the other is found beside it.
"""

import csv
import math
from pathlib import Path

import numpy as np

from capture.packets import Floats
from capture.video_stamps import is_video_stamps, read_video_stamps
from config.cameras import CAMERAS
from config.errors import SourceError, reason

ONE, TWO = ["frame", "seconds"], ["frame", "left_seconds", "right_seconds"]
MAX_MORE_FRAMES = 2  # of one camera than of the other: else they did not run alike


def read_timestamps(path: str | Path, n_frames: int | None = None) -> Floats:
    """Read stamps [s]: (N,) for one a pair, (N, 2) for left and right.

    n_frames: how many the videos hold, where that is to be checked. Raises SourceError: no such file, other columns, a value that
    is no finite number, frames out of order, time that does not increase, another length than the videos.
    """
    if is_video_stamps(Path(path)):
        return _session_stamps(Path(path))
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            rows = [(reader.line_num, row) for reader in (csv.reader(file),) for row in reader if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise SourceError(f"{path}: cannot read the time stamps ({reason(error)}); expected a CSV with frame,seconds") from error
    header = [cell.strip().lower() for cell in rows[0][1]] if rows else []
    if header not in (ONE, TWO):
        raise SourceError(
            f"{path}: the first line is {','.join(header) or 'empty'!r}; expected {','.join(ONE)} or {','.join(TWO)}"
        )
    stamps = np.array([_stamps(f"{path}:{line}", row, n, len(header)) for n, (line, row) in enumerate(rows[1:])])
    if not len(stamps):
        raise SourceError(f"{path}: no time stamps below the header; expected one line a frame")
    _check_increasing(path, stamps)
    if n_frames is not None and len(stamps) != n_frames:
        raise SourceError(f"{path}: {len(stamps)} time stamps for {n_frames} frames; is it the file of these videos?")
    return np.ascontiguousarray(stamps[:, 0] if len(header) == 2 else stamps)


def _session_stamps(path: Path) -> Floats:
    """Give the stamps of both cameras of a session, (N, 2) [s] from the first one. Raises SourceError."""
    side = next((side for side in CAMERAS if path.name.startswith(side)), None)
    if side is None:
        raise SourceError(
            f"{path}: is of a session, where it is called left.csv or right.csv; name it so, with the other beside it"
        )
    files = [path.with_name(other + path.name.removeprefix(side)) for other in CAMERAS]
    left, right = (read_video_stamps(file)[0][:, 1] for file in files)
    if abs(len(left) - len(right)) > MAX_MORE_FRAMES or not len(left) or not len(right):
        raise SourceError(
            f"{files[0]}: {len(left)} pictures, and {len(right)} of the right camera: they did not run alike; "
            f"replay the session itself: duocap replay {path.parent} --video"
        )
    n = min(len(left), len(right))
    stamps: Floats = 1e-9 * (np.stack([left[:n], right[:n]], axis=1) - min(left[0], right[0]))
    _check_increasing(path, stamps)
    return stamps


def _stamps(where: str, row: list[str], frame: int, n_columns: int) -> list[float]:
    """Give the stamps of one line, checked."""
    try:
        values = [float(cell) for cell in row]
    except ValueError:
        values = []
    if len(values) != n_columns or not all(math.isfinite(value) for value in values):
        raise SourceError(f"{where}: expected {n_columns} numbers, got {','.join(row)!r}")
    if values[0] != frame:
        raise SourceError(f"{where}: frame {values[0]:g} where {frame} was expected; frames count up from 0 without gaps")
    return values[1:]


def _check_increasing(path: str | Path, stamps: Floats) -> None:
    """Raise SourceError unless time increases in every column."""
    steps = np.diff(stamps, axis=0)
    if np.any(steps <= 0.0):
        frame, column = (int(i) for i in np.argwhere(steps <= 0.0)[0])
        raise SourceError(
            f"{path}: time goes from {stamps[frame, column]:g} to {stamps[frame + 1, column]:g} s at frame {frame + 1}; it must "
            "increase: sort the file or leave out --timestamps"
        )
