"""The times of frames as caliscope and MultiWebCam write them beside their videos: one row a frame and camera, in one file.

| file | columns |
|---|---|
| timestamps.csv | cam_id, frame_time |
| frame_timestamps.csv, frame_time_history.csv (earlier) | sync_index, cam_id or port, frame_index, frame_time |
"""

import csv
from pathlib import Path

import numpy as np

from config.arrays import Floats
from config.errors import FileFormatError, describe_reason
from config.text import read_lines

NAMES = ("timestamps.csv", "frame_timestamps.csv", "frame_time_history.csv")
CAMERA_COLUMNS = ("cam_id", "port")
TIME_COLUMN = "frame_time"


def find_frame_times_file(folder: Path) -> Path | None:
    """Return the file with the times of a folder's videos, None where there is none."""
    for name in NAMES:
        if (folder / name).is_file() and _find_columns(folder / name) is not None:
            return folder / name
    return None


def read_frame_times(file: Path) -> dict[int, Floats]:
    """Return the times of each camera's frames by its number, (N,) [s], from the first of all on.

    Rows may be in any order; the numbers of frames are not used, since some programs count two ways in one file. Raises
    FileFormatError: unreadable, a value that is no number, or a camera with one time twice.
    """
    columns = _find_columns(file)
    if columns is None:
        raise FileFormatError(f"{file}: expected the columns {CAMERA_COLUMNS[0]} and {TIME_COLUMN}")
    times: dict[int, list[float]] = {}
    for number, row in enumerate(_read_rows(file)[1:], 2):
        try:
            camera, seconds = int(row[columns[0]]), float(row[columns[1]])
        except (ValueError, IndexError) as error:
            raise FileFormatError(f"{file}:{number}: expected a camera's number and a time, got {','.join(row)!r}") from error
        if not np.isfinite(seconds):
            raise FileFormatError(f"{file}:{number}: the time {row[columns[1]]!r} is not finite")
        times.setdefault(camera, []).append(seconds)
    begin = min((min(found) for found in times.values()), default=0.0)
    sorted_times = {camera: np.sort(np.array(found)) - begin for camera, found in times.items()}
    for camera, found in sorted_times.items():
        if not (np.diff(found) > 0.0).all():
            raise FileFormatError(
                f"{file}: camera {camera} has one time twice; each row is one frame: remove the file or the row"
            )
    return sorted_times


def _find_columns(file: Path) -> tuple[int, int] | None:
    """Return the columns of camera and time, None where a file has no such."""
    rows = _read_rows(file)
    header = [cell.strip().lower() for cell in rows[0]] if rows else []
    camera = next((header.index(name) for name in CAMERA_COLUMNS if name in header), None)
    return None if camera is None or TIME_COLUMN not in header else (camera, header.index(TIME_COLUMN))


def _read_rows(file: Path) -> list[list[str]]:
    """Return the lines that are not blank."""
    try:
        return [row for row in csv.reader(read_lines(file, what="the frames' times")) if row]
    except csv.Error as error:
        raise FileFormatError(f"{file}: cannot read the frames' times ({describe_reason(error)})") from error
