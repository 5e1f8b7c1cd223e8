"""Values of a hand-written TOML, taken key by key: what is unknown, missing or of the wrong kind is an error with its place.

The cameras that image points are in: of a rig file, or a pinhole placed by hand in the file of constraints.
"""

import difflib
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from calibration.camera import FOCAL_RANGE, MAX_SIDE_PX, Camera, Rig
from calibration.formats.rig_file import read_cameras
from calibration.placement import intrinsics_from_fov, make_camera_looking_at
from config.arrays import Floats
from config.errors import DuocapError
from config.joints import JOINT_INDEX, JOINTS
from database.geometry.rotations import matrix_from_quaternion, matrix_from_rotvec

MOST_M = 50.0  # farther from the origin a place is in millimetres or centimetres
MOST_OFFSET_M = 1.5


class PoseFileError(DuocapError):
    """A file of constraints says what cannot be done."""


def check_keys(where: str, table: object, known: Sequence[str]) -> Mapping[str, Any]:
    """Return a table if it has known keys only.

    Args:
        where: the place in the file, for messages.
        table: the table as read.
        known: names of keys.
    Raises: PoseFileError naming the key and what was probably meant.
    """
    if not isinstance(table, dict):
        raise PoseFileError(f"{where} must be a table with keys of: {', '.join(known)}; got {table!r}")
    for key in table:
        if key not in known:
            raise PoseFileError(f"{where}: unknown key {key!r}{_suggest_nearest(key, known)}; known: {', '.join(known)}")
    return table


def read_numbers_key(where: str, table: Mapping[str, Any], key: str, count: int, most: float = math.inf) -> Floats:
    """Return `count` finite numbers, none above `most` in size.

    Args:
        where: the place in the file, for messages.
        table: table of the file as read.
        key: key of the value in the table.
        count: number of values expected.
        most: largest size of a number.
    Raises: PoseFileError.
    """
    if key not in table:
        raise PoseFileError(f"{where} lacks {key}; give {count} numbers")
    return check_numbers(f"{where} {key}", table[key], count, most)


def check_numbers(where: str, value: object, count: int, most: float = math.inf) -> Floats:
    """Return a list of `count` finite numbers as an array.

    Args:
        where: the place in the file, for messages.
        value: the value as read.
        count: number of values expected.
        most: largest size of a number.
    Raises: PoseFileError.
    """
    if not (isinstance(value, list) and len(value) == count and all(_is_number(v) for v in value)):
        raise PoseFileError(f"{where} must be {count} numbers, got {value!r}")
    result = np.array([_convert_to_float(v) for v in value])
    if not np.isfinite(result).all():
        raise PoseFileError(f"{where} holds a number that is not finite: {value!r}")
    if np.abs(result).max() > most:
        raise PoseFileError(
            f"{where} = {value!r}: expected at most {most:g} in size; lengths are in metres, angles in degrees, times in seconds"
        )
    return result


def read_number_key(
    where: str, table: Mapping[str, Any], key: str, default: float, above: float = 0.0, most: float = 1e6
) -> float:
    """Return one number above `above` and up to `most`; `default` where the key is absent.

    Args:
        where: the place in the file, for messages.
        table: table of the file as read.
        key: key of the value in the table.
        default: value for an absent key.
        above: the number must be larger.
        most: largest number.
    Raises: PoseFileError.
    """
    value = table.get(key, default)
    if not _is_number(value) or not above < _convert_to_float(value) <= most:
        raise PoseFileError(f"{where} {key} must be a number above {above:g}, at most {most:g}; got {value!r}")
    return _convert_to_float(value)


def read_word_key(where: str, table: Mapping[str, Any], key: str, known: Sequence[str], default: str | None = None) -> str:
    """Return one of some words.

    Args:
        where: the place in the file, for messages.
        table: the table as read.
        key: key of the value.
        known: the words.
        default: value for an absent key; None if the key must be there.
    Raises: PoseFileError with the one that was probably meant.
    """
    value = table.get(key, default)
    if value is None:
        raise PoseFileError(f"{where} lacks {key}; give one of: {', '.join(known)}")
    if value not in known:
        raise PoseFileError(f"{where}: unknown {key} {value!r}{_suggest_nearest(value, known)}; known: {', '.join(known)}")
    return str(value)


def read_joint_name(where: str, table: Mapping[str, Any]) -> int:
    """Return the joint that a table names. Raises PoseFileError with the nearest name."""
    return JOINT_INDEX[read_word_key(where, table, "joint", JOINTS)]


def read_rotation(where: str, table: Mapping[str, Any]) -> Floats | None:
    """Return the rotation of `rotvec_deg` or `quaternion_xyzw`, (3, 3); None where there is neither. Raises PoseFileError:
    both.
    """
    if "rotvec_deg" in table and "quaternion_xyzw" in table:
        raise PoseFileError(f"{where} has rotvec_deg and quaternion_xyzw; give one of them")
    if "rotvec_deg" in table:
        return np.asarray(matrix_from_rotvec(np.radians(read_numbers_key(where, table, "rotvec_deg", 3, most=720.0))))
    if "quaternion_xyzw" not in table:
        return None
    quaternion = read_numbers_key(where, table, "quaternion_xyzw", 4)
    length = float(np.linalg.norm(quaternion))
    if not 0.9 < length < 1.1:
        raise PoseFileError(f"{where} quaternion_xyzw has the length {length:g}; a rotation's is 1, in the order x, y, z, w")
    return np.asarray(matrix_from_quaternion(quaternion / length))


def _is_number(value: object) -> bool:
    """Return whether a value is a number; true is none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _convert_to_float(value: float) -> float:
    """Return a number of TOML, whose integers have no end, as a float."""
    return float(value) if abs(value) < 1e300 else math.copysign(math.inf, value) if value == value else math.nan


def _suggest_nearest(value: object, known: Sequence[str]) -> str:
    """Return in words what was probably meant."""
    by_lower = {name.lower().replace("_", ""): name for name in known}
    close = difflib.get_close_matches(str(value).lower().replace("_", ""), list(by_lower), 1, 0.5)
    return f" (did you mean {by_lower[close[0]]!r}?)" if close else ""


KEYS = ("size", "fov_deg", "focal_px", "position_m", "look_at_m")
SIDES = ("left", "right")


def read_camera_table(where: str, table: object) -> Camera:
    """Return the pinhole camera of `[camera]`, upright in a world with Y up. Raises PoseFileError."""
    values = check_keys(where, table, KEYS)
    size = read_numbers_key(where, values, "size", 2)
    if not (np.all(size == np.round(size)) and np.all((size >= 16) & (size <= MAX_SIDE_PX))):
        raise PoseFileError(f"{where} size must be width and height in whole pixels, 16 to {MAX_SIDE_PX}, got {values['size']}")
    width, height = int(size[0]), int(size[1])
    place = read_numbers_key(where, values, "position_m", 3, MOST_M)
    target = read_numbers_key(where, values, "look_at_m", 3, MOST_M)
    if np.linalg.norm(target - place) < 1e-3:
        raise PoseFileError(f"{where}: position_m and look_at_m are the same point; say where the camera looks")
    try:
        return make_camera_looking_at("camera", (width, height), _read_intrinsics(where, values, (width, height)), place, target)
    except PoseFileError:
        raise
    except DuocapError as error:
        raise PoseFileError(f"{where}: {error}") from error


def _read_intrinsics(where: str, values: Mapping[str, Any], size: tuple[int, int]) -> Any:
    """Return K by field of view or focal length."""
    if ("fov_deg" in values) == ("focal_px" in values):
        raise PoseFileError(f"{where}: give either fov_deg (horizontal) or focal_px")
    if "fov_deg" in values:
        return intrinsics_from_fov(size, read_number_key(where, values, "fov_deg", 0.0, most=180.0))
    low, high = FOCAL_RANGE[0] * max(size), FOCAL_RANGE[1] * max(size)
    focal = read_number_key(where, values, "focal_px", 0.0, above=low, most=high)
    return np.array([[focal, 0.0, 0.5 * (size[0] - 1)], [0.0, focal, 0.5 * (size[1] - 1)], [0.0, 0.0, 1.0]])


def read_cameras_asked(where: str, table: object, rig_file: Path | None) -> Rig | None:
    """Return the cameras: of `--rig` or of the `[camera]` table, None without either.

    Args:
        where: the place in the file, for messages.
        table: `[camera]` as read.
        rig_file: rig file of `--rig`; None if not given.
    Raises: DuocapError: both, or bad ones.
    """
    if table is not None and rig_file is not None:
        raise PoseFileError(f"{where}: there is a [camera] in the file and --rig {rig_file}; give one of them")
    if rig_file is not None:
        return read_cameras(rig_file)
    if table is None:
        return None
    camera = read_camera_table(f"{where}: [camera]", table)
    return Rig((camera,), floor_known=True)


def find_camera_index(where: str, name: object, rig: Rig) -> int:
    """Return which camera of a rig is meant, by side or by its own name; one alone needs no name.

    Args:
        where: the place in the file, for messages.
        name: the name as read.
        rig: the cameras.
    Raises: PoseFileError.
    """
    own = [camera.name for camera in rig.cameras]
    if rig.is_monocular and name in (None, own[0], "camera", "left"):
        return 0
    names = dict(zip(own, (0, 1), strict=True)) if not rig.is_monocular else {}
    names |= {} if rig.is_monocular else {side: index for index, side in enumerate(SIDES)}
    if isinstance(name, str) and name in names:
        return names[name]
    fault = "names no camera" if name is None else f"unknown camera {name!r}"
    raise PoseFileError(f"{where}: {fault}; give camera = one of: {', '.join(names or own[:1])}")
