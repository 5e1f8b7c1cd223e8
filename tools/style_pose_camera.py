"""The cameras that image points are in: of a rig file, or a pinhole placed by hand in the file of constraints."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from calibration.camera import Camera, Rig
from calibration.placement import intrinsics_from_fov, looking_at
from calibration.rig_checks import FOCAL_RANGE, MAX_SIDE_PX
from calibration.rig_file import read_cameras
from config.errors import DuocapError
from tools.style_pose_values import MOST_M, PoseFileError, check_keys, number, numbers

KEYS = ("size", "fov_deg", "focal_px", "position_m", "look_at_m")
SIDES = ("left", "right")


def camera_from_table(where: str, table: object) -> Camera:
    """Give the pinhole camera of `[camera]`, upright in a world with Y up. Raises PoseFileError."""
    values = check_keys(where, table, KEYS)
    size = numbers(where, values, "size", 2)
    if not (np.all(size == np.round(size)) and np.all((size >= 16) & (size <= MAX_SIDE_PX))):
        raise PoseFileError(f"{where} size must be width and height in whole pixels, 16 to {MAX_SIDE_PX}, got {values['size']}")
    width, height = int(size[0]), int(size[1])
    place = numbers(where, values, "position_m", 3, MOST_M)
    target = numbers(where, values, "look_at_m", 3, MOST_M)
    if np.linalg.norm(target - place) < 1e-3:
        raise PoseFileError(f"{where}: position_m and look_at_m are the same point; say where the camera looks")
    try:
        return looking_at("camera", (width, height), _intrinsics(where, values, (width, height)), place, target)
    except PoseFileError:
        raise
    except DuocapError as error:
        raise PoseFileError(f"{where}: {error}") from error


def _intrinsics(where: str, values: Mapping[str, Any], size: tuple[int, int]) -> Any:
    """Give K by field of view or focal length."""
    if ("fov_deg" in values) == ("focal_px" in values):
        raise PoseFileError(f"{where}: give either fov_deg (horizontal) or focal_px")
    if "fov_deg" in values:
        return intrinsics_from_fov(size, number(where, values, "fov_deg", 0.0, most=180.0))
    low, high = FOCAL_RANGE[0] * max(size), FOCAL_RANGE[1] * max(size)
    focal = number(where, values, "focal_px", 0.0, above=low, most=high)
    return np.array([[focal, 0.0, 0.5 * (size[0] - 1)], [0.0, focal, 0.5 * (size[1] - 1)], [0.0, 0.0, 1.0]])


def rig_of(where: str, table: object, rig_file: Path | None) -> Rig | None:
    """Give the cameras: of `--rig` or of the `[camera]` table, None without either. Raises DuocapError: both, or bad ones."""
    if table is not None and rig_file is not None:
        raise PoseFileError(f"{where}: there is a [camera] in the file and --rig {rig_file}; give one of them")
    if rig_file is not None:
        return read_cameras(rig_file)
    if table is None:
        return None
    camera = camera_from_table(f"{where}: [camera]", table)
    return Rig(camera, camera, floor_known=True)


def camera_index(where: str, name: object, rig: Rig) -> int:
    """Give which camera of a rig is meant, by side or by its own name; one alone needs no name. Raises PoseFileError."""
    own = [camera.name for camera in rig.cameras]
    if rig.is_lone and name in (None, own[0], "camera", "left"):
        return 0
    names = dict(zip(own, (0, 1), strict=True)) if not rig.is_lone else {}
    names |= {} if rig.is_lone else {side: index for index, side in enumerate(SIDES)}
    if isinstance(name, str) and name in names:
        return names[name]
    fault = "names no camera" if name is None else f"unknown camera {name!r}"
    raise PoseFileError(f"{where}: {fault}; give camera = one of: {', '.join(names or own[:1])}")
