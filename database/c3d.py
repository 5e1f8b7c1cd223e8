"""Reader of C3D files (c3d.org, the C3D File Format user guide): the points of a marker system over time.

A file is blocks of 512 bytes: a header, parameters in groups (POINT:LABELS, ...), then frame after frame x, y, z and a fourth
word for every point, followed by analog samples, which are passed over. A fourth word below zero marks a point that was not seen.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from config.errors import FileFormatError, reason
from database.rotations import Floats

BLOCK = 512
MAGIC = 0x50
BYTE_ORDERS = {84: "<", 86: ">"}  # 85 is DEC's, of the 1980s
UNITS_M = {"mm": 1e-3, "cm": 1e-2, "dm": 1e-1, "m": 1.0, "in": 0.0254}
Parameters = dict[str, list[str] | list[float]]


@dataclass(frozen=True, slots=True)
class C3dPoints:
    """Points over time, in the file's own axes.

    labels: M; fps; point_m: (N, M, 3) [m], zero where not seen; valid: (N, M); up: the axis that points up on the file's
    screen, such as `+Z`, empty where it does not say.
    """

    labels: tuple[str, ...]
    fps: float
    point_m: Floats
    valid: NDArray[np.bool_]
    up: str


def read_c3d(path: Path) -> C3dPoints:
    """Read the points of a file. Raises FileFormatError: not C3D, cut short, or of a kind that is not read."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FileFormatError(f"{path}: cannot be read ({reason(error)})") from error
    if len(data) < 2 * BLOCK or data[1] != MAGIC:
        raise FileFormatError(f"{path}: no C3D file; expected byte 2 to be 0x50 and at least {2 * BLOCK} bytes, got {len(data)}")
    begin = BLOCK * (data[0] - 1)
    kind = data[begin + 3] if 0 < begin < len(data) - 4 else -1
    if kind not in BYTE_ORDERS:
        raise FileFormatError(f"{path}: processor type {kind} is not read; expected 84 (Intel) or 86 (MIPS), save it as such")
    order = BYTE_ORDERS[kind]
    try:
        parameters = _parameters(data, begin, order)
        return _points(path, data, order, parameters)
    except (struct.error, ValueError, IndexError) as error:
        raise FileFormatError(f"{path}: its header or parameters are damaged ({error}); export it again") from error


def _points(path: Path, data: bytes, order: str, parameters: Parameters) -> C3dPoints:
    """Read the frames."""
    n_points, n_analog, first, last, _ = struct.unpack_from(order + "5H", data, 2)
    scale, start, _, fps = struct.unpack_from(order + "fHHf", data, 12)
    labels = _labels(parameters, n_points)
    units = str(_first(parameters, "POINT:UNITS", "mm")).lower()
    if units not in UNITS_M:
        raise FileFormatError(f"{path}: points are in {units!r}; expected one of {', '.join(UNITS_M)}")
    dtype = np.dtype(f"{order}{'f4' if scale < 0 else 'i2'}")
    n_frames = max(last - first + 1, _n_frames(parameters))
    width = 4 * n_points + n_analog
    begin = min(BLOCK * (start - 1), len(data))
    words = np.frombuffer(data, dtype, max(len(data) - begin, 0) // dtype.itemsize, begin)
    if n_points == 0 or n_frames < 1 or fps <= 0 or len(words) < n_frames * width:
        found = f"{n_points} points at {fps:g} Hz, {len(words) // max(width, 1)} of {n_frames} frames"
        raise FileFormatError(f"{path}: no points, or cut short; expected whole frames of points, got {found}: export it again")
    frames = words[: n_frames * width].reshape(n_frames, width)[:, : 4 * n_points].reshape(n_frames, n_points, 4)
    point = frames[..., :3].astype(np.float64) * (1.0 if scale < 0 else scale) * UNITS_M[units]
    valid = (frames[..., 3] >= 0) & np.isfinite(point).all(axis=2)
    point[~valid] = 0.0
    return C3dPoints(labels, float(fps), np.ascontiguousarray(point), valid, str(_first(parameters, "POINT:Y_SCREEN", "")))


def _n_frames(parameters: Parameters) -> int:
    """Give how many frames the parameters tell of: more than a word can count are in TRIAL, low word and high word."""
    first, last = ([float(v) for v in parameters.get(f"TRIAL:ACTUAL_{end}_FIELD", [])] for end in ("START", "END"))
    words = [int(value) & 0xFFFF for value in (*first, *last)]
    told = words[2] + (words[3] << 16) - words[0] - (words[1] << 16) + 1 if len(first) == len(last) == 2 else 0
    return max(told, int(float(_first(parameters, "POINT:FRAMES", 0))) & 0xFFFF)


def _labels(parameters: Parameters, n_points: int) -> tuple[str, ...]:
    """Give the points' names, without the subject's before them; past 255 they go on in LABELS2."""
    names = [str(name) for key in ("POINT:LABELS", "POINT:LABELS2") for name in parameters.get(key, [])]
    names += [f"point{index}" for index in range(len(names), n_points)]
    return tuple(name.rpartition(":")[2] for name in names[:n_points])


def _first(parameters: Parameters, name: str, default: str | float) -> str | float:
    """Give a parameter's first value."""
    values = parameters.get(name)
    return values[0] if values else default


def _parameters(data: bytes, begin: int, order: str) -> Parameters:
    """Give all parameters as `GROUP:NAME`; those of groups that are never named are left out."""
    groups: dict[int, str] = {}
    found: list[tuple[int, str, list[str] | list[float]]] = []
    for group, name, body in _records(data, begin + 4, order):
        if group < 0:
            groups[-group] = name
        else:
            found.append((group, name, _values(body, order)))
    return {f"{groups[group]}:{name}": values for group, name, values in found if group in groups}


def _records(data: bytes, at: int, order: str) -> Iterator[tuple[int, str, bytes]]:
    """Give group number (below zero: the group itself), name and what follows of every record."""
    while at + 2 <= len(data):
        length, group = struct.unpack_from("bb", data, at)
        length = abs(length)  # below zero: locked
        if length == 0 or group == 0:
            return
        name = data[at + 2 : at + 2 + length].decode("latin-1").upper()
        after = at + 2 + length
        (step,) = struct.unpack_from(order + "H", data, after)
        yield group, name, data[after + 2 : after + step if step else after + 2 + BLOCK * 255]
        if step == 0:
            return
        at = after + step


def _values(body: bytes, order: str) -> list[str] | list[float]:
    """Give the values of a parameter: texts, or numbers."""
    kind, n_dimensions = struct.unpack_from("bB", body, 0)
    shape = list(body[2 : 2 + n_dimensions])
    at, count = 2 + n_dimensions, int(np.prod(shape, dtype=np.int64))
    if kind == -1:
        width = shape[0] if shape else 1
        text = body[at : at + count].decode("latin-1")
        return [text[k : k + width].strip() for k in range(0, len(text), max(width, 1))]
    dtype = {1: "i1", 2: "i2", 4: "f4"}[kind] if kind in (1, 2, 4) else ""
    if not dtype:
        raise ValueError(f"parameter type {kind}, expected -1, 1, 2 or 4")
    return [float(value) for value in np.frombuffer(body, np.dtype(order + dtype), count, at)]
