"""Force plates in the analog channels of a C3D file: types 2 (six channels), 3 (eight) and 4 (six, calibrated).

The centre of pressure is on the plate's surface. The sign of forces is the file's: laboratories differ.
"""

import warnings
from pathlib import Path
from typing import Any

import c3d
import numpy as np

from config.arrays import Floats
from config.errors import FileFormatError, describe_reason
from tools.evaluate.forces.plates import TOUCH_N, PlateReadings

UNITS_M = {"m": 1.0, "cm": 1e-2, "mm": 1e-3}
KISTLER_TYPE, CALIBRATED_TYPE = 3, 4
READ_TYPES = (2, KISTLER_TYPE, CALIBRATED_TYPE)


def read_plate_c3d(file: Path) -> PlateReadings:
    """Read the plates of a C3D file whose points were read, in the file's axes. Raises FileFormatError: it has none."""
    try:
        with file.open("rb") as stream, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _read_plates(file, c3d.Reader(stream))
    except FileFormatError:
        raise
    except OSError as error:
        raise FileFormatError(f"{file}: cannot be read ({describe_reason(error)})") from error
    except Exception as error:  # of many types: whatever the package meets in a damaged file
        raise FileFormatError(f"{file}: its plates cannot be read ({' '.join(str(error).split())[:100]})") from error


def _read_plates(file: Path, reader: c3d.Reader) -> PlateReadings:
    """Return the plates of an opened file."""
    used, kinds = _read_numbers(reader, "USED"), _read_numbers(reader, "TYPE")
    n = int(used[0]) if len(used) else 0
    if not n:
        raise FileFormatError(f"{file}: no force plates in it; give their forces in a .mot file beside it")
    unread = [int(kind) for kind in kinds[:n] if int(kind) not in READ_TYPES]
    if unread:
        raise FileFormatError(f"{file}: a force plate of type {unread[0]} is not read; types 2, 3 and 4 are")
    unit = UNITS_M.get((reader.get("POINT:UNITS").string_value.strip().lower() if reader.get("POINT:UNITS") else "mm"), 1e-3)
    corners = unit * _read_numbers(reader, "CORNERS").reshape(-1, 4, 3)
    origins = unit * _read_numbers(reader, "ORIGIN").reshape(-1, 3)
    channels = _read_numbers(reader, "CHANNEL").astype(int).reshape(len(kinds), -1)
    matrices = _read_numbers(reader, "CAL_MATRIX")
    analog = np.concatenate([values for _, _, values in reader.read_frames(copy=True)], axis=1)
    found = []
    for k in range(n):
        raw = analog[channels[k][channels[k] > 0] - 1].T
        if int(kinds[k]) == KISTLER_TYPE:
            local, offset_m = _combine_channels(raw, origins[k]), origins[k] * (0.0, 0.0, 1.0)
        else:
            # Of a calibration, columns are stored one after the other.
            local = raw[:, :6] @ matrices.reshape(-1, 6, 6)[k] if int(kinds[k]) == CALIBRATED_TYPE else raw[:, :6].copy()
            local[:, 3:] *= _find_moment_unit(reader, channels[k], unit)
            offset_m = origins[k]
        found.append(_place_force(local, corners[k], offset_m))
    seconds = np.arange(analog.shape[1]) / float(reader.analog_rate)
    force_n, center_m = (np.stack([plate[part] for plate in found], axis=1) for part in range(2))
    return PlateReadings(tuple(f"plate {k + 1}" for k in range(n)), seconds, force_n, center_m)


def _read_numbers(reader: Any, name: str) -> Floats:
    """Return the numbers of a parameter of the group FORCE_PLATFORM in the order in which they are stored."""
    parameter = reader.get(f"FORCE_PLATFORM:{name}")
    if parameter is None or not len(parameter.bytes):
        return np.zeros(0)
    dtype = "<f4" if parameter.bytes_per_element == 4 else "<i2"
    return np.frombuffer(bytes(parameter.bytes), dtype).astype(float)


def _find_moment_unit(reader: Any, channels: np.ndarray, unit_m: float) -> float:
    """Return what moments are times to be Nm, by the unit of the fourth channel; those of points where it does not say."""
    parameter = reader.get("ANALOG:UNITS")
    texts = [] if parameter is None else [str(text).strip().lower() for text in parameter.string_array.ravel()]
    text = texts[channels[3] - 1] if 0 < channels[3] <= len(texts) else ""
    length = text.removeprefix("n").strip(".* ·")
    return UNITS_M.get(length, unit_m)


def _combine_channels(raw: Floats, origin_m: Floats) -> Floats:
    """Return force and moment [N, Nm] of a plate with eight channels; origin_m: half distances and depth of its sensors."""
    x12, x34, y14, y23, z1, z2, z3, z4 = raw.T[:8]
    a, b = np.abs(origin_m[:2])
    moment = (b * (z1 + z2 - z3 - z4), a * (-z1 + z2 + z3 - z4), b * (x34 - x12) + a * (y14 - y23))
    return np.stack([x12 + x34, y14 + y23, z1 + z2 + z3 + z4, *moment], axis=1)


def _place_force(local: Floats, corners_m: Floats, origin_m: Floats) -> tuple[Floats, Floats]:
    """Return force (N, 3) [N] and centre of pressure (N, 3) [m] in the file's axes.

    Args:
        local: force, and moment about the sensors, in the plate's axes, (N, 6) [N, Nm].
        corners_m: at +x +y, -x +y, -x -y, +x -y, (4, 3).
        origin_m: from its sensors to the middle of its surface, (3,).
    """
    x, y = corners_m[0] - corners_m[1], corners_m[0] - corners_m[3]
    x = x / np.linalg.norm(x)
    z = np.cross(x, y)
    z /= np.linalg.norm(z)
    R = np.stack([x, np.cross(z, x), z], axis=1)
    force = local[:, :3]
    about = local[:, 3:] - np.cross(origin_m, force)
    load = np.where(np.abs(force[:, 2]) > TOUCH_N, force[:, 2], np.inf)
    center = np.stack([-about[:, 1] / load, about[:, 0] / load, np.zeros(len(force))], axis=1)
    return force @ R.T, corners_m.mean(axis=0) + center @ R.T
