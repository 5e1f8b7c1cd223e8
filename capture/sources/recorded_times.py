"""Timestamps of recordings: in the video itself, or as CSV.

Of a video that has times of its own, as those of phones, whose rate varies: these. Of a recorded session: one line an image
(HEADER) in left.csv, right.csv and so on; any may be named, the others are found beside it. A file that was cut off is good up to
its last line. Of other videos: one for all (`frame,seconds`) or a column for each camera in their order, each named
`<camera>_seconds`, such as `frame,left_seconds,right_seconds`.
"""

import contextlib
import csv
import logging
import math
from dataclasses import dataclass
from functools import lru_cache
from io import FileIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from config.arrays import Floats
from config.errors import FileFormatError, SourceError, describe_reason
from config.settings import CAMERA_NAMES
from config.text import read_lines

log = logging.getLogger(__name__)

HEADER = "index,t_capture_ns,t_read_ns,stamp"
MAX_DIGITS = 18  # fewer than 64 bits hold
FRAME, SECONDS = "frame", "seconds"
TIMED_SUFFIXES = frozenset({".mp4", ".mov", ".m4v", ".mkv", ".webm", ".3gp", ".ts", ".mts"})
MAX_UNEVEN = 0.25  # periods by which a frame may be off the rate of its video
MAX_REPEATS = 3  # of one stamp by a coarse clock
COARSE = 0.05  # of all stamps are repeated: the clock is coarser than the frames
MAX_TICKS = 2.5  # of a coarse clock, from one stamp to the next: more is a gap
WINDOW = 31  # stamps
UNITS_S = {1.0: ("seconds", 1.0), 1e3: ("milliseconds", 1e-3), 1e6: ("microseconds", 1e-6), 1e9: ("nanoseconds", 1e-9)}
MAX_MORE_FRAMES = 2  # of one camera than of another


class StampWriter:
    """Writes the timestamps of a video. Raises OSError: the file exists, or the disk is full or gone."""

    def __init__(self, file: Path) -> None:
        self._raw: FileIO = file.open("xb", buffering=0)
        self._lines = [HEADER]
        self._whole = 0

    def write(self, index: int, t_capture_ns: int, t_read_ns: int, stamp: str) -> None:
        """Add the line of one image.

        Args:
            index: of the image.
            t_capture_ns: when it was captured.
            t_read_ns: when it was in memory.
            stamp: kind of the timestamp.
        """
        self._lines.append(f"{index},{t_capture_ns},{t_read_ns},{stamp}")

    def flush(self) -> None:
        """Write all lines to the file. Raises OSError."""
        left = memoryview("".join(line + "\n" for line in self._lines).encode("ascii"))
        self._lines.clear()
        n = len(left)
        while left:
            left = left[self._raw.write(left) or 0 :]
        self._whole += n

    def abandon(self) -> None:
        """Close a file that can no longer be written, without half a line at its end."""
        with contextlib.suppress(OSError):
            self._raw.truncate(self._whole)
        self.close()

    def close(self) -> None:
        """Close the file."""
        with contextlib.suppress(OSError):
            self._raw.close()


@dataclass(frozen=True, slots=True)
class ContainerTimes:
    """Presentation times of the frames of a video file.

    Attributes:
        seconds: time of every frame, (N,) [s], increasing from 0.
        n_announced: number of frames shown according to the file's header, or N if the header gives none.
    """

    seconds: Floats
    n_announced: int


def read_presentation_times(file: Path) -> ContainerTimes | None:
    """Return the times that a video itself holds; None where it holds none. Its packets are read, nothing is decoded."""
    if file.suffix.lower() not in TIMED_SUFFIXES:
        return None
    with contextlib.suppress(OSError):
        status = file.stat()
        return _read_packet_times(file, status.st_mtime_ns, status.st_size)
    return None


@lru_cache(maxsize=8)
def _read_packet_times(file: Path, changed_ns: int, size: int) -> ContainerTimes | None:
    """Read the times; changed_ns, size: of the file, so that another of the same name is read anew."""
    import av

    try:
        with av.open(str(file.absolute())) as container:  # a colon in a mere name would be of a protocol
            stream = container.streams.video[0]
            found = [(packet.pts, packet.is_discard) for packet in container.demux(stream) if packet.size]
            unit_s, n_frames = float(stream.time_base or 0.0), stream.frames
    except (av.FFmpegError, OSError, IndexError, ValueError):
        return None
    # What an edit list leaves out, as of a film that was trimmed on a phone, is decoded but not shown.
    shown = [tick for tick, is_left_out in found if not is_left_out]
    ticks = sorted(tick for tick in shown if tick is not None)
    if len(ticks) < 2 or len(ticks) < len(shown) or unit_s <= 0.0:
        return None
    times_s = _spread_repeats(unit_s * (np.array(ticks, np.float64)[:, None] - ticks[0]))[:, 0]
    if not (np.diff(times_s) > 0.0).all():
        return None
    times_s.setflags(write=False)
    return ContainerTimes(times_s, n_frames - (len(found) - len(shown)) if n_frames else len(times_s))


def is_even(times: ContainerTimes, fps: float) -> bool:
    """Return whether the frames of a video are evenly at a rate [Hz]."""
    return bool(np.abs(times.seconds * fps - np.arange(len(times.seconds))).max() < MAX_UNEVEN)


def is_video_stamps(file: Path) -> bool:
    """Return whether a file holds the timestamps of a session's video."""
    try:
        with file.open("rb") as stream:
            return stream.read(len(HEADER) + 1).rstrip(b"\r\n") == HEADER.encode("ascii")
    except OSError:
        return False


def read_video_stamps(file: Path) -> tuple[NDArray[np.int64], str]:
    """Return index, times of capture and of reading of every image, (N, 3) [-, ns, ns], and the kind of the timestamps.

    Half a line at the end is left out. Raises SourceError: no such file, or not of this kind.
    """
    try:
        text = file.read_text("ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"{file}: cannot read the stamps of the video ({describe_reason(error)}); expected {HEADER}") from error
    lines = text.splitlines() if text.endswith("\n") else text.splitlines()[:-1]
    if not lines or lines[0] != HEADER:
        raise SourceError(f"{file}: begins with {(lines or [text])[0][:40]!r}, expected {HEADER!r}; is it of a session?")
    rows, kinds = [], set()
    for n, line in enumerate(lines[1:], 2):
        cells = line.split(",")
        if len(cells) != 4 or not all(cell.isdecimal() and len(cell) <= MAX_DIGITS for cell in cells[:3]):
            raise SourceError(f"{file}:{n}: expected three whole numbers and a word, got {line[:60]!r}")
        rows.append([int(cell) for cell in cells[:3]])
        kinds.add(cells[3])
    return np.array(rows, np.int64).reshape(-1, 3), ", ".join(sorted(kinds))


def read_timestamps(path: str | Path) -> Floats:
    """Return timestamps from the first on [s]: (N,) for one for all cameras, (N, V) for a column each.

    Raises SourceError: no such file, other columns, a value that is no finite number, frames out of order, time that does not
    increase.
    """
    if is_video_stamps(Path(path)):
        return _read_session_stamps(Path(path))
    expected = "expected a CSV with frame,seconds"
    try:
        lines = read_lines(Path(path), what="the time stamps")
        rows = [(reader.line_num, row) for reader in (csv.reader(lines),) for row in reader if row]
    except (FileFormatError, csv.Error) as error:
        raise SourceError(f"{error if isinstance(error, FileFormatError) else f'{path}: {error}'}; {expected}") from error
    header = [cell.strip().lower() for cell in rows[0][1]] if rows else []
    if not _is_header(header):
        raise SourceError(
            f"{path}: the first line is {','.join(header) or 'empty'!r}; expected frame,seconds or, with a column for each "
            "camera, frame,left_seconds,right_seconds and so on"
        )
    stamps = np.array([_parse_row_seconds(f"{path}:{line}", row, n, len(header)) for n, (line, row) in enumerate(rows[1:])])
    if not len(stamps):
        raise SourceError(f"{path}: no time stamps below the header; expected one line a frame")
    stamps = _spread_repeats(stamps)
    _check_increasing(path, stamps)
    stamps = _convert_to_seconds(path, stamps - stamps[0].min())
    return np.ascontiguousarray(stamps[:, 0] if header == [FRAME, SECONDS] else stamps)


def _is_header(header: list[str]) -> bool:
    """Return whether a first line names the columns of timestamps."""
    columns = header[1:]
    if header[:1] != [FRAME] or not 1 <= len(columns) <= len(CAMERA_NAMES):
        return False
    return columns == [SECONDS] or all(column.endswith("_" + SECONDS) for column in columns)


def _read_session_stamps(path: Path) -> Floats:
    """Return the timestamps of all cameras of a session, (N, V) [s], from 0 on. Raises SourceError."""
    name = next((name for name in CAMERA_NAMES if path.name.startswith(name)), None)
    if name is None:
        raise SourceError(
            f"{path}: is of a session, where it is called left.csv, right.csv and so on; name it so, with the others beside it"
        )
    files = [path.with_name(other + path.name.removeprefix(name)) for other in CAMERA_NAMES]
    files = [file for file in files if file.exists()]
    times_ns = [read_video_stamps(file)[0][:, 1] for file in files]
    counts = [len(times) for times in times_ns]
    if max(counts) - min(counts) > MAX_MORE_FRAMES or min(counts) == 0:
        told = ", ".join(f"{count} of {file.stem}" for count, file in zip(counts, files, strict=True))
        raise SourceError(
            f"{path}: the cameras did not run alike ({told} pictures); replay the session itself: "
            f"duocap replay {path.parent} --video"
        )
    first_ns = min(times[0] for times in times_ns)
    stamps: Floats = 1e-9 * np.stack([times[: min(counts)] - first_ns for times in times_ns], axis=1)
    _check_increasing(path, stamps)
    return stamps


def _parse_row_seconds(where: str, row: list[str], frame: int, n_columns: int) -> list[float]:
    """Return the timestamps of one line. Raises SourceError."""
    try:
        values = [float(cell) for cell in row]
    except ValueError:
        values = []
    if len(values) != n_columns or not all(math.isfinite(value) for value in values):
        raise SourceError(f"{where}: expected {n_columns} numbers, got {','.join(row)!r}")
    if values[0] != frame:
        raise SourceError(f"{where}: frame {values[0]:g} where {frame} was expected; frames count up from 0 without gaps")
    return values[1:]


def _spread_repeats(stamps: Floats) -> Floats:
    """Return stamps, (N, C), with those that a clock repeats moved to when the frames were most likely taken.

    A few that are repeated are set evenly on the way to the next. A clock that repeats many is coarser than the frames: between
    its gaps, each stamp is that of a line through those around it.
    """
    found = stamps.copy()
    for column in found.T:
        first = np.flatnonzero(np.append(True, np.diff(column) != 0.0))
        if len(first) < 2 or np.diff(np.append(first, len(column))).max() > MAX_REPEATS:
            continue
        n_repeated = len(column) - len(first)
        ticks = np.diff(column[first])
        last = column[first[-1]] + ticks[-1] / (first[-1] - first[-2]) * (len(column) - first[-1])
        even = np.interp(np.arange(len(column)), np.append(first, len(column)), np.append(column[first], last))
        if n_repeated > COARSE * len(column):
            begins = first[1:][ticks > MAX_TICKS * np.median(ticks)]
            column[:] = np.concatenate([_smooth_stamps(run) for run in np.split(even, begins)])
        elif n_repeated:
            column[:] = even
    return found


def _smooth_stamps(stamps: Floats) -> Floats:
    """Return stamps, each on a line through the WINDOW around it."""
    window = min(WINDOW, len(stamps) - 1 + len(stamps) % 2)
    if window < 3:
        return stamps
    from scipy.signal import savgol_filter  # half a second, and not for live cameras

    return np.asarray(savgol_filter(stamps, window, 1))


def _convert_to_seconds(path: str | Path, stamps: Floats) -> Floats:
    """Return stamps, (N, C), in seconds: of rates from 1 to 1000 Hz, the step from frame to frame tells the unit.

    Raises SourceError: of no unit is that a rate.
    """
    step = float(np.median(np.diff(stamps, axis=0))) if len(stamps) > 1 else 0.0
    name, unit_s = next((unit for largest, unit in UNITS_S.items() if step <= largest), ("", 0.0))
    if not name:
        raise SourceError(f"{path}: {step:.3g} from frame to frame; expected seconds, or milli-, micro- or nanoseconds")
    if unit_s != 1.0:
        log.warning("%s: %.3g from frame to frame, taken as %s", path, step, name)
    return unit_s * stamps


def _check_increasing(path: str | Path, stamps: Floats) -> None:
    """Raise SourceError unless time increases in every column."""
    steps = np.diff(stamps, axis=0)
    if np.any(steps <= 0.0):
        frame, column = (int(i) for i in np.argwhere(steps <= 0.0)[0])
        raise SourceError(
            f"{path}: time goes from {stamps[frame, column]:.15g} to {stamps[frame + 1, column]:.15g} at frame {frame + 1}; it "
            "must increase: sort the file or leave out --timestamps"
        )
