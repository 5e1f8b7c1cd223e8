"""The points of a TRC file over time: the marker table of OpenSim and of our own export."""

import logging
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from config.arrays import Bools, Floats
from config.errors import FileFormatError
from config.text import read_lines
from config.words import format_count
from database.marker_files.checks import RATES_HZ, check_rate_hz, find_unit_m, strip_subjects

logger = logging.getLogger(__name__)

AXIS = re.compile(r"[XYZ]\d+", re.IGNORECASE)
DIFFERS = 0.05  # of a rate: more than rounded times leave


@dataclass(frozen=True, slots=True)
class TrcPoints:
    """Points over time, in the file's own axes. labels: M, without the subject's name before a colon where there is one subject,
    `unnamed2` for the second where the file has none; seconds: (N,), rising; point_m: (N, M, 3) [m], zero where not valid; valid:
    (N, M)."""

    labels: tuple[str, ...]
    seconds: Floats
    point_m: Floats
    valid: Bools


@dataclass(frozen=True, slots=True)
class _Table:
    """The rows of a file, still text: fields of its header by name, lower case; labels; lines with their numbers."""

    path: Path
    fields: dict[str, str]
    labels: tuple[str, ...]
    rows: tuple[tuple[int, str], ...]


def read_trc(path: Path, unit: str = "") -> TrcPoints:
    """Read the points of a file. A marker at 0, 0, 0 is a gap, as are blank cells and NaN.

    Args:
        path: the file.
        unit: of its points, if not the one it names.
    Raises: FileFormatError, with file and line: not TRC, of an unknown unit or rate, cut short.
    """
    table = _read_table(path)
    values = _parse_rows(table)
    point = values[:, 1:].reshape(len(values), len(table.labels), 3)
    valid = np.asarray(np.isfinite(point).all(axis=2) & point.any(axis=2))
    point = np.where(valid[..., None], point, 0.0)
    seconds = _find_seconds(table, values[:, 0])
    return TrcPoints(table.labels, seconds, point * find_unit_m(path, table.fields.get("units", ""), point, valid, unit), valid)


def _read_table(path: Path) -> _Table:
    """Return the header and the rows of a file. Raises FileFormatError."""
    lines = list(enumerate(read_lines(path), 1))
    while lines and not lines[0][1].strip():
        lines = lines[1:]
    if len(lines) < 5 or not lines[0][1].lower().startswith("pathfiletype"):
        raise FileFormatError(f"{path}: no TRC file; expected it to begin with PathFileType and 5 lines of header")
    has_axes = any(AXIS.fullmatch(word) for word in lines[4][1].split())
    labels = _read_labels(path, *lines[3], lines[4][1] if has_axes else "")
    rows = tuple((number, line) for number, line in lines[5 if has_axes else 4 :] if line.strip())
    if not labels or not rows:
        raise FileFormatError(f"{path}: no points in it; expected names in line {lines[3][0]} and a row for every frame")
    return _Table(path, _read_fields(lines[1][1], lines[2][1]), labels, rows)


def _read_fields(names: str, values: str) -> dict[str, str]:
    """Return the fields of the header by name, lower case; none where there are not as many values as names."""
    cells = [[cell.strip() for cell in line.split("\t")] for line in (names, values)]
    if len(cells[0]) != len(cells[1]) or "\t" not in names:
        cells = [names.split(), values.split()]
    return dict(zip(map(str.lower, cells[0]), cells[1], strict=True)) if len(cells[0]) == len(cells[1]) else {}


def _read_labels(path: Path, number: int, line: str, axes: str) -> tuple[str, ...]:
    """Return the markers' names, each above the first of its three columns.

    Args:
        path: the file, for messages.
        number: of the line.
        line: the names, after those of the frame and the time.
        axes: the line of X1, Y1, Z1 and so on, empty if there is none.
    Raises: FileFormatError: names above no marker's columns.
    """
    n_markers = sum(AXIS.fullmatch(word) is not None for word in axes.split()) // 3
    cells = [cell.strip() for cell in line.rstrip().split("\t")[2:]] if "\t" in line else line.split()[2:]
    named = [cell for cell in cells if cell]
    off = next((k for k, cell in enumerate(cells) if cell and k % 3), None)
    if off is None and "\t" in line:
        named = cells[::3]
    elif off is not None and len(named) != n_markers:
        raise FileFormatError(
            f"{path}:{number}: the name {cells[off][:40]!r} in column {off + 3} is above no marker's first column; expected "
            "every third column to have one"
        )
    named += [""] * (n_markers - len(named))
    unnamed = [n for n, name in enumerate(named, 1) if not name]
    if unnamed:
        listed = ", ".join(f"{3 * n} to {3 * n + 2}" for n in unnamed[:3]) + (", ..." if len(unnamed) > 3 else "")
        logger.warning("%s:%d: columns %s have no name; called unnamed%d and so on", path, number, listed, unnamed[0])
    return strip_subjects([name or f"unnamed{n}" for n, name in enumerate(named, 1)])


def _parse_rows(table: _Table) -> Floats:
    """Return time and coordinates of all rows, (N, 1 + 3 M), NaN where a cell is blank. Raises FileFormatError."""
    body = [line for _, line in table.rows]
    # A decimal comma is one only where no dot is.
    commas = any("," in line for line in body) and not any("." in line for line in body)
    tabs = any("\t" in line for line in body)
    n_cells = 2 + 3 * len(table.labels)
    values = np.full((len(body), n_cells - 1), np.nan)
    for row, (number, line) in enumerate(table.rows):
        cells = (line.replace(",", ".") if commas else line).rstrip().split("\t" if tabs else None)
        where = f"{table.path}:{number}"
        if len(cells) > n_cells:
            raise FileFormatError(
                f"{where}: a value in column {n_cells + 1}, but the names are of {format_count(len(table.labels), 'marker')}"
            )
        if len(cells) < n_cells and ((len(cells) - 2) % 3 or not tabs):  # cut short; blank cells come in threes
            if row and row == len(body) - 1:
                logger.warning("%s: the last row is cut short and left out; %d rows remain", where, row)
                return values[:row]
            raise FileFormatError(
                f"{where}: {format_count(len(cells), 'column')}; expected {n_cells}, frame, time and three for each marker"
            )
        values[row, : len(cells) - 1] = _parse_cells(table, where, cells[1:])
    n_frames = table.fields.get("numframes", "")
    if n_frames.isdigit() and int(n_frames) > len(body):
        logger.warning("%s: %d rows, but its header says %s: is it cut short?", table.path, len(body), n_frames)
    return values


def _parse_cells(table: _Table, where: str, cells: list[str]) -> list[float]:
    """Return a row's time and coordinates. Raises FileFormatError, with line and column."""
    try:
        return list(map(float, cells))
    except ValueError:
        pass
    values = []
    for k, cell in enumerate(cells):
        try:
            values.append(float(cell) if cell.strip() else np.nan)
        except ValueError as error:
            what = f"{'XYZ'[(k - 1) % 3]} of {table.labels[(k - 1) // 3]}" if k else "the time"
            raise FileFormatError(f"{where}: {cell.strip()[:40]!r} in column {k + 2} is no number; expected {what}") from error
    return values


def _find_seconds(table: _Table, times: Floats) -> Floats:
    """Return the rows' times [s]: those of the second column, or by the header's rate where they do not rise or are not seconds.

    Raises FileFormatError: neither tells them.
    """
    path = table.path
    try:
        said_hz = float(table.fields.get("datarate", "nan").replace(",", "."))
    except ValueError:
        said_hz = np.nan
    usable = said_hz > 0.0
    if len(times) == 1:
        return np.nan_to_num(times)
    steps = np.diff(times)
    wrong = np.flatnonzero(~(steps > 0.0))
    if len(wrong):
        number = table.rows[wrong[0] + 1][0]
        if not usable:
            raise FileFormatError(f"{path}:{number}: its time does not rise, and the header says no rate; export it again")
        rate_hz = check_rate_hz(path, said_hz, "DataRate")
        logger.warning("%s:%d: its time does not rise; times are taken from the header's %g Hz", path, number, rate_hz)
        return np.arange(len(times)) / rate_hz
    rate_hz = 1.0 / float(np.median(steps))
    if usable and abs(1e3 * rate_hz / said_hz - 1.0) < DIFFERS and not RATES_HZ[0] <= rate_hz:
        logger.warning("%s: its times are in milliseconds, as the header's %g Hz tell", path, said_hz)
        return times * 1e-3
    if not RATES_HZ[0] <= rate_hz <= RATES_HZ[1] and usable:
        checked_hz = check_rate_hz(path, said_hz, "DataRate")
        logger.warning("%s: its times are %g Hz; taken from the header's %g Hz", path, rate_hz, checked_hz)
        return np.arange(len(times)) / checked_hz
    if usable and abs(rate_hz / said_hz - 1.0) > DIFFERS:
        logger.warning("%s: its times are %g Hz, which is taken, but the header says %g Hz", path, rate_hz, said_hz)
    check_rate_hz(path, rate_hz, "the rate of its times")
    return times
