"""What a calibration file of any program holds, and how two cameras of it become a rig."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from calibration.camera import Camera, Rig
from calibration.rig_checks import check_baseline, check_camera
from config.errors import FileFormatError

# A world with Z up seen as one with Y up: x stays, y becomes -z. Its inverse goes back.
Z_UP_TO_Y_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])


@dataclass(frozen=True, slots=True)
class CameraFile:
    """The cameras of a file in its order.

    error_px: reprojection RMS, NaN where unknown; floor_known: Y is up, the floor at 0; verdict: as in Rig.
    """

    cameras: tuple[Camera, ...]
    error_px: float = float("nan")
    floor_known: bool = False
    verdict: str = ""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What a file leaves open.

    size: width and height of the images, where the file does not say [px]; unit_m: length of the unit of its translations [m];
    up: "z" turns a world with Z up, whose floor is at z = 0, into ours, "y" says that it is so already, "" that it is unknown;
    names: which two cameras (or one) are wanted, left first; empty: the file's own two.
    """

    size: tuple[int, int] | None = None
    unit_m: float = 1.0
    up: str = ""
    names: tuple[str, ...] = ()


def in_metres(camera: Camera, unit_m: float) -> Camera:
    """Give a camera whose translation was in units of `unit_m` metres."""
    return camera if unit_m == 1.0 else replace(camera, translation=camera.translation * unit_m)


def in_world(camera: Camera, axes: np.ndarray) -> Camera:
    """Give the camera in a world whose coordinates are `axes` @ those of the old one, axes (3, 3) a signed permutation."""
    return replace(camera, rotation=np.ascontiguousarray(camera.rotation @ axes.T + 0.0))


def rig_of(where: str, content: CameraFile, options: ReadOptions) -> Rig:
    """Give the rig of the cameras asked for: two, or one alone.

    Raises FileFormatError: no such camera, more than two and none named, an implausible camera or baseline; where: for the words.
    """
    cameras = [in_metres(camera, options.unit_m) for camera in _chosen(where, content.cameras, options.names)]
    if options.up == "z":
        cameras = [in_world(camera, Z_UP_TO_Y_UP) for camera in cameras]
    for camera in cameras:
        check_camera(f"{where}: camera {camera.name}", camera)
    floor_known = content.floor_known or bool(options.up)
    if len(cameras) == 1:
        return Rig(cameras[0], cameras[0], content.error_px, floor_known, content.verdict)
    rig = Rig(cameras[0], cameras[1], content.error_px, floor_known, content.verdict)
    check_baseline(where, rig)
    return rig


def _chosen(where: str, cameras: Sequence[Camera], names: Sequence[str]) -> list[Camera]:
    """Give the cameras by name, or the one or two that are there."""
    listed = ", ".join(camera.name for camera in cameras) or "none"
    if not names:
        if not 1 <= len(cameras) <= 2:
            raise FileFormatError(
                f"{where}: {len(cameras)} cameras ({listed}), expected two; choose left and right with "
                f"`duocap calibrate convert {where} --cameras LEFT,RIGHT --out rig.toml`"
            )
        return list(cameras)
    by_name = {camera.name: camera for camera in cameras}
    for name in names:
        if name not in by_name:
            raise FileFormatError(f"{where}: no camera {name!r}; it has {listed}")
    if len(names) > 2:
        raise FileFormatError(f"{where}: {len(names)} cameras were named, expected LEFT,RIGHT or one alone")
    return [by_name[name] for name in names]
