"""The points of a C3D file over time, read with the package `c3d` after its counts were compared with the file's size.

The package trusts all counts it reads, so that a damaged file could make it allocate or loop without end.
"""

import itertools
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import c3d
import numpy as np

from config.arrays import Bools, Floats
from config.errors import FileFormatError, describe_reason

BLOCK = 512
MAGIC = 0x50
PROCESSORS = (84, 86)  # Intel and MIPS; 85 is DEC's, whose numbers the package converts approximately
UNITS_M = {"mm": 1e-3, "cm": 1e-2, "dm": 1e-1, "m": 1.0, "in": 0.0254}


@dataclass(frozen=True, slots=True)
class C3dPoints:
    """Points over time, in the file's own axes.

    labels: M, without the subject's name before a colon; fps: frames a second; point_m: (N, M, 3) [m], zero where not valid;
    valid: (N, M); up: the axis that points up on the file's screen, such as `+Z`, empty where the file does not say.
    """

    labels: tuple[str, ...]
    fps: float
    point_m: Floats
    valid: Bools
    up: str


def read_c3d(path: Path) -> C3dPoints:
    """Read the points of a file. Raises FileFormatError: not C3D, damaged, cut short, or of a kind that is not read."""
    try:
        with path.open("rb") as file, warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # about parameters that are missing, and analog data, which is not used
            _check_start(path, file.read(2 * BLOCK), file)
            return _read_points(path, c3d.Reader(file))
    except FileFormatError:
        raise
    except OSError as error:
        raise FileFormatError(f"{path}: cannot be read ({describe_reason(error)})") from error
    except Exception as error:  # of many types: whatever the package meets in a damaged file
        detail = " ".join(str(error).split())[:100]
        raise FileFormatError(f"{path}: its header or parameters are damaged ({detail}); export it again") from error


def _check_start(path: Path, start: bytes, file: Any) -> None:
    """Raise FileFormatError unless the file is C3D of a kind that is read."""
    if len(start) < 2 * BLOCK or start[1] != MAGIC:
        raise FileFormatError(f"{path}: no C3D file; expected byte 2 to be 0x50 and at least {2 * BLOCK} bytes, got {len(start)}")
    file.seek(BLOCK * max(start[0] - 1, 0) + 3)
    processor = int.from_bytes(file.read(1), "little")
    if processor not in PROCESSORS:
        expected = "expected 84 (Intel) or 86 (MIPS), save it as such"
        raise FileFormatError(f"{path}: processor type {processor} is not read; {expected}")


def _read_points(path: Path, reader: c3d.Reader) -> C3dPoints:
    """Return the points of an opened file after its counts were compared with its size."""
    header = reader.header
    n_points, fps = int(header.point_count), float(header.frame_rate)
    labels, units, up = (
        _read_labels(reader, n_points),
        (_read_texts(reader, "UNITS") or ["mm"])[0].lower(),
        _read_texts(reader, "Y_SCREEN"),
    )
    if units not in UNITS_M:
        raise FileFormatError(f"{path}: points are in {units[:20]!r}; expected one of {', '.join(UNITS_M)}")
    n_frames = reader.last_frame - _read_first_frame(reader) + 1
    word = 4 if header.scale_factor < 0 else 2
    frame = word * (4 * n_points + int(header.analog_count))
    n_stored = max(path.stat().st_size - BLOCK * (int(header.data_block) - 1), 0) // max(frame, 1)
    if n_points == 0 or n_frames < 1 or not fps > 0 or n_stored < n_frames:
        found = f"{n_points} points at {fps:g} Hz, {n_stored} of {n_frames} frames"
        raise FileFormatError(f"{path}: no points, or cut short; expected whole frames of points, got {found}: export it again")
    points, residual = np.empty((n_frames, n_points, 3)), np.empty((n_frames, n_points))
    frames = itertools.islice(reader.read_frames(copy=False, analog_transform=False), n_frames)
    for n, (_, values, _) in enumerate(frames):
        points[n], residual[n] = values[:, :3], values[:, 3]
    valid = residual >= 0.0
    points[~valid] = 0.0
    return C3dPoints(labels, fps, points * UNITS_M[units], valid, up[0] if up else "")


def _read_first_frame(reader: c3d.Reader) -> int:
    """Return the number of the first frame; the package takes TRIAL:ACTUAL_START_FIELD's second word 65535 times, not 65536."""
    start = reader.get("TRIAL:ACTUAL_START_FIELD")
    return int(reader.first_frame) if start is None else int(reader.first_frame) + int(start.uint16_array[1])


def _read_labels(reader: c3d.Reader, n_points: int) -> tuple[str, ...]:
    """Return the points' names; past 255 they go on in LABELS2."""
    names = _read_texts(reader, "LABELS") + _read_texts(reader, "LABELS2")
    names += [f"point{index}" for index in range(len(names), n_points)]
    return tuple(name.rpartition(":")[2] for name in names[:n_points])


def _read_texts(reader: c3d.Reader, name: str) -> list[str]:
    """Return the texts of a parameter of the group POINT, none if it is missing."""
    parameter = reader.get(f"POINT:{name}")
    if parameter is None:
        return []
    if parameter.total_bytes > len(parameter.bytes):
        raise ValueError(f"POINT:{name} is cut short")
    return [str(text).strip() for text in parameter.string_array.ravel()]
