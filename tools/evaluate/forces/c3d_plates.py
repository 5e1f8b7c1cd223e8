"""Force plates in the analog channels of a C3D file: types 2 (six channels), 3 (eight) and 4 (six, calibrated).

The centre of pressure is on the plate's surface. The sign of forces is the file's: laboratories differ.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from config.arrays import Floats
from config.errors import FileFormatError
from database.marker_files.c3d import C3dContent, open_c3d, read_analog
from tools.evaluate.forces.plates import TOUCH_N, PlateReadings

UNITS_M = {"m": 1.0, "cm": 1e-2, "mm": 1e-3}
KISTLER_TYPE, CALIBRATED_TYPE = 3, 4
READ_TYPES = (2, KISTLER_TYPE, CALIBRATED_TYPE)


def read_plate_c3d(file: Path) -> PlateReadings:
    """Read the plates of a C3D file, in the file's axes. Raises FileFormatError: it has none."""
    content = open_c3d(file)
    used, kinds = (content.numbers(f"FORCE_PLATFORM:{name}") for name in ("USED", "TYPE"))
    n = int(used[0]) if len(used) else 0
    if not n:
        raise FileFormatError(f"{file}: no force plates in it; give their forces in a .mot file beside it")
    unread = [int(kind) for kind in kinds[:n] if int(kind) not in READ_TYPES]
    if unread:
        raise FileFormatError(f"{file}: a force plate of type {unread[0]} is not read; types 2, 3 and 4 are")
    analog, rate_hz = read_analog(file, content)
    try:
        found = [_read_plate(content, analog, k, int(kinds[k]), len(kinds)) for k in range(n)]
    except (IndexError, ValueError) as error:
        raise FileFormatError(f"{file}: its force plates are not as its parameters say ({error})") from error
    force_n, center_m = (np.stack([plate[part] for plate in found], axis=1) for part in range(2))
    names = tuple(f"plate {k + 1}" for k in range(n))
    return PlateReadings(names, np.arange(analog.shape[1]) / rate_hz, force_n, center_m)


def _read_plate(content: C3dContent, analog: Floats, k: int, kind: int, n_plates: int) -> tuple[Floats, Floats]:
    """Return force (N, 3) [N] and centre of pressure (N, 3) [m] of one plate. Raises IndexError, ValueError.

    Args:
        content: parameters of the file.
        analog: its channels, (channels, N).
        k: number of the plate.
        kind: its type.
        n_plates: number of plates that the parameters are of.
    """
    units = content.texts("POINT:UNITS")
    unit_m = UNITS_M.get(units[0].lower() if units else "mm", UNITS_M["mm"])
    corners_m = unit_m * content.numbers("FORCE_PLATFORM:CORNERS").reshape(-1, 4, 3)[k]
    origin_m = unit_m * content.numbers("FORCE_PLATFORM:ORIGIN").reshape(-1, 3)[k]
    channels = content.numbers("FORCE_PLATFORM:CHANNEL").astype(int).reshape(n_plates, -1)[k]
    raw = analog[channels[channels > 0] - 1].T
    if kind == KISTLER_TYPE:
        return _place_force(_combine_channels(raw, origin_m), corners_m, origin_m * (0.0, 0.0, 1.0))
    local = raw[:, :6].copy()
    if kind == CALIBRATED_TYPE:  # whose columns are stored one after the other
        local = local @ content.numbers("FORCE_PLATFORM:CAL_MATRIX").reshape(-1, 6, 6)[k]
    local[:, 3:] *= _find_moment_unit(content.texts("ANALOG:UNITS"), int(channels[3]), unit_m)
    return _place_force(local, corners_m, origin_m)


def _find_moment_unit(texts: Sequence[str], channel: int, unit_m: float) -> float:
    """Return what moments are times to be Nm, by the unit of the fourth channel; those of points where it does not say.

    Args:
        texts: units of the channels.
        channel: number of the channel, from 1.
        unit_m: unit of points [m].
    """
    text = texts[channel - 1].lower() if 0 < channel <= len(texts) else ""
    return UNITS_M.get(text.removeprefix("n").strip(".* ·"), unit_m)


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
