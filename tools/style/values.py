"""Values of a hand-written TOML, taken key by key: what is unknown, missing or of the wrong kind is an error with its place.

The cameras that image points are in: of a rig file, or a pinhole placed by hand in the file of constraints.
"""

import difflib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
    """A file of constraints asks for something impossible."""


@dataclass(frozen=True, slots=True)
class AskedTable:
    """A table of the file with known keys only; where: its place there, for messages. Every method raises PoseFileError."""

    where: str
    values: Mapping[str, Any]

    def __contains__(self, key: str) -> bool:
        """Return whether the table has a key."""
        return key in self.values

    def list_tables(self, key: str, known: Sequence[str]) -> Iterator["AskedTable"]:
        """Yield the tables of `[[key]]`, each with its place; known: their keys."""
        entries = self.values.get(key, [])
        if not isinstance(entries, list):
            raise PoseFileError(f"{self.where}: write [[{key}]] with two brackets: there may be several")
        for number, entry in enumerate(entries, 1):
            yield check_table(f"{self.where}: {key} {number}", entry, known)

    def read_table(self, key: str, known: Sequence[str]) -> "AskedTable":
        """Return the table of `[key]`, an empty one where it is absent; known: its keys."""
        return check_table(f"{self.where}: [{key}]", self.values.get(key, {}), known)

    def read_numbers(self, key: str, count: int, most: float = math.inf, default: list[float] | None = None) -> Floats:
        """Return `count` finite numbers.

        Args:
            key: key of the value.
            count: number of values expected.
            most: largest size of a number.
            default: value for an absent key; None if the key must be there.
        """
        value = self.values.get(key, default)
        if value is None:
            raise PoseFileError(f"{self.where} lacks {key}; give {count} numbers")
        return check_numbers(f"{self.where} {key}", value, count, most)

    def read_number(self, key: str, default: float, above: float = 0.0, most: float = 1e6) -> float:
        """Return one number above `above` and up to `most`.

        Args:
            key: key of the value.
            default: value for an absent key.
            above: the number must be larger.
            most: largest number.
        """
        value = self.values.get(key, default)
        if not _is_number(value) or not above < _convert_to_float(value) <= most:
            raise PoseFileError(f"{self.where} {key} must be a number above {above:g}, at most {most:g}; got {value!r}")
        return _convert_to_float(value)

    def read_flag(self, key: str) -> bool:
        """Return true or false; false where the key is absent."""
        value = self.values.get(key, False)
        if not isinstance(value, bool):
            raise PoseFileError(f"{self.where} {key} must be true or false, got {value!r}")
        return value

    def read_word(self, key: str, known: Sequence[str], default: str | None = None) -> str:
        """Return one of some words.

        Args:
            key: key of the value.
            known: the words; the error names the one that was probably meant.
            default: value for an absent key; None if the key must be there.
        """
        return check_word(self.where, key, self.values.get(key, default), known)

    def read_joint(self) -> int:
        """Return the joint that the table names."""
        return JOINT_INDEX[self.read_word("joint", JOINTS)]

    def read_rotation(self) -> Floats | None:
        """Return the rotation of `rotvec_deg` or `quaternion_xyzw`, (3, 3); None where there is neither."""
        if "rotvec_deg" in self and "quaternion_xyzw" in self:
            raise PoseFileError(f"{self.where} has rotvec_deg and quaternion_xyzw; give one of them")
        if "rotvec_deg" in self:
            return np.asarray(matrix_from_rotvec(np.radians(self.read_numbers("rotvec_deg", 3, most=720.0))))
        if "quaternion_xyzw" not in self:
            return None
        quaternion = self.read_numbers("quaternion_xyzw", 4)
        length = float(np.linalg.norm(quaternion))
        if not 0.9 < length < 1.1:
            fault = f"quaternion_xyzw has the length {length:g}; a rotation's is 1, in the order x, y, z, w"
            raise PoseFileError(f"{self.where} {fault}")
        return np.asarray(matrix_from_quaternion(quaternion / length))


def check_table(where: str, value: object, known: Sequence[str]) -> AskedTable:
    """Return a value of the file as a table if it has known keys only.

    Args:
        where: the place in the file, for messages.
        value: the value as read.
        known: names of keys.
    Raises: PoseFileError naming the key and the one that was probably meant.
    """
    if not isinstance(value, dict):
        raise PoseFileError(f"{where} must be a table with keys of: {', '.join(known)}; got {value!r}")
    for key in value:
        if key not in known:
            raise PoseFileError(f"{where}: unknown key {key!r}{_suggest_nearest(key, known)}; known: {', '.join(known)}")
    return AskedTable(where, value)


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


def check_word(where: str, key: str, value: object, known: Sequence[str]) -> str:
    """Return a value that is one of some words.

    Args:
        where: the place in the file, for messages.
        key: key of the value.
        value: the value as read, None: there is none.
        known: the words.
    Raises: PoseFileError with the one that was probably meant.
    """
    if value is None:
        raise PoseFileError(f"{where} lacks {key}; give one of: {', '.join(known)}")
    if value not in known:
        raise PoseFileError(f"{where}: unknown {key} {value!r}{_suggest_nearest(value, known)}; known: {', '.join(known)}")
    return str(value)


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


def _build_camera(table: AskedTable) -> Camera:
    """Return the pinhole camera of `[camera]`, upright in a world with Y up. Raises PoseFileError."""
    size = table.read_numbers("size", 2)
    if not (np.all(size == np.round(size)) and np.all((size >= 16) & (size <= MAX_SIDE_PX))):
        fault = f"size must be width and height in whole pixels, 16 to {MAX_SIDE_PX}, got {table.values['size']}"
        raise PoseFileError(f"{table.where} {fault}")
    width, height = int(size[0]), int(size[1])
    place = table.read_numbers("position_m", 3, MOST_M)
    target = table.read_numbers("look_at_m", 3, MOST_M)
    if np.linalg.norm(target - place) < 1e-3:
        raise PoseFileError(f"{table.where}: position_m and look_at_m are the same point; say where the camera looks")
    try:
        return make_camera_looking_at("camera", (width, height), _read_intrinsics(table, (width, height)), place, target)
    except PoseFileError:
        raise
    except DuocapError as error:
        raise PoseFileError(f"{table.where}: {error}") from error


def _read_intrinsics(table: AskedTable, size: tuple[int, int]) -> Any:
    """Return K by field of view or focal length."""
    if ("fov_deg" in table) == ("focal_px" in table):
        raise PoseFileError(f"{table.where}: give either fov_deg (horizontal) or focal_px")
    if "fov_deg" in table:
        return intrinsics_from_fov(size, table.read_number("fov_deg", 0.0, most=180.0))
    low, high = FOCAL_RANGE[0] * max(size), FOCAL_RANGE[1] * max(size)
    focal = table.read_number("focal_px", 0.0, above=low, most=high)
    return np.array([[focal, 0.0, 0.5 * (size[0] - 1)], [0.0, focal, 0.5 * (size[1] - 1)], [0.0, 0.0, 1.0]])


def read_cameras_asked(table: AskedTable, rig_file: Path | None) -> Rig | None:
    """Return the cameras of `--rig` or of the file's `[camera]`, None without either. Raises DuocapError: both, or bad ones."""
    if "camera" in table and rig_file is not None:
        raise PoseFileError(f"{table.where}: there is a [camera] in the file and --rig {rig_file}; give one of them")
    if rig_file is not None:
        return read_cameras(rig_file)
    return Rig((_build_camera(table.read_table("camera", KEYS)),), floor_known=True) if "camera" in table else None


def read_camera_index(table: AskedTable, rig: Rig) -> int:
    """Return which camera of a rig `camera` means, by side or by its own name; one alone needs no name. Raises PoseFileError."""
    name, own = table.values.get("camera"), [camera.name for camera in rig.cameras]
    if rig.is_monocular:
        names = dict.fromkeys((own[0], "camera", "left"), 0)
        name = own[0] if name is None else name
    else:
        names = dict(zip((*own, *SIDES), (0, 1, 0, 1), strict=True))
    if isinstance(name, str) and name in names:
        return names[name]
    fault = "names no camera" if name is None else f"unknown camera {name!r}"
    known = own if rig.is_monocular else names
    raise PoseFileError(f"{table.where}: {fault}; give camera = one of: {', '.join(known)}")
