"""The points of a TRC file over time: the marker table of OpenSim and of our own export."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from config.arrays import Bools, Floats
from config.errors import FileFormatError, describe_reason

UNITS_M = {"mm": 1e-3, "cm": 1e-2, "m": 1.0}
N_HEADER = 5  # lines before the first frame; a blank one may follow them


@dataclass(frozen=True, slots=True)
class TrcPoints:
    """Points over time, in the file's own axes. labels: M; seconds: (N,), rising; point_m: (N, M, 3) [m], zero where not valid;
    valid: (N, M)."""

    labels: tuple[str, ...]
    seconds: Floats
    point_m: Floats
    valid: Bools


def read_trc(path: Path) -> TrcPoints:
    """Read the points of a file. Raises FileFormatError, with file and line: not TRC, of other units, cut short."""
    try:
        lines = path.read_text("utf-8-sig", errors="replace").splitlines()
    except OSError as error:
        raise FileFormatError(f"{path}: cannot be read ({describe_reason(error)})") from error
    if len(lines) < N_HEADER or not lines[0].startswith("PathFileType"):
        raise FileFormatError(f"{path}: no TRC file; expected it to begin with PathFileType and {N_HEADER} lines of header")
    fields = dict(zip(lines[1].split(), lines[2].split(), strict=False))
    units = fields.get("Units", "mm").strip().lower()
    if units not in UNITS_M:
        raise FileFormatError(f"{path}: points are in {units[:20]!r}; expected one of {', '.join(UNITS_M)}")
    labels = tuple(name.strip() for name in lines[3].split("\t")[2:] if name.strip())
    rows = [(number, line) for number, line in enumerate(lines[N_HEADER:], N_HEADER + 1) if line.strip()]
    if not labels or not rows:
        raise FileFormatError(f"{path}: no points in it; expected names in line 4 and a row for every frame")
    values = np.array([_parse_row(path, number, line, len(labels)) for number, line in rows])
    seconds, point = values[:, 0], values[:, 1:].reshape(len(rows), len(labels), 3)
    if not (np.isfinite(seconds).all() and (np.diff(seconds) > 0.0).all()):
        raise FileFormatError(f"{path}: the times of its second column do not rise; export it again")
    valid = np.asarray(np.isfinite(point).all(axis=2))
    return TrcPoints(labels, seconds, np.where(valid[..., None], point, 0.0) * UNITS_M[units], valid)


def _parse_row(path: Path, number: int, line: str, n_labels: int) -> Floats:
    """Return time and coordinates of a line, NaN where a cell is blank. Raises FileFormatError."""
    cells = line.split("\t")[1 : 2 + 3 * n_labels]
    try:
        values = [float(cell) if cell.strip() else np.nan for cell in cells]
    except ValueError as error:
        raise FileFormatError(f"{path}:{number}: {error}; expected numbers between tabs") from error
    return np.array(values + [np.nan] * (1 + 3 * n_labels - len(values)))
