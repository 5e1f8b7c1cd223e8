"""Time stamps of a recording from CSV: one a pair (`frame,seconds`) or one a camera (`frame,left_seconds,right_seconds`)."""

import csv
import math
from pathlib import Path

import numpy as np

from capture.packets import Floats
from config.errors import SourceError, reason

ONE, TWO = ["frame", "seconds"], ["frame", "left_seconds", "right_seconds"]


def read_timestamps(path: str | Path, n_frames: int | None = None) -> Floats:
    """Read stamps [s]: (N,) for one a pair, (N, 2) for left and right.

    n_frames: how many the videos hold, where that is to be checked. Raises SourceError: no such file, other columns, a value that
    is no finite number, frames out of order, time that does not increase, another length than the videos.
    """
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
