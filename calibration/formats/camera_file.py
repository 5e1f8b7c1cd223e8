"""The contents of a calibration file of any program, and how its cameras become a rig."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from calibration.camera import MAX_CAMERAS, Camera, Rig, check_baseline, check_camera
from config.arrays import Floats
from config.errors import FileFormatError

# From a world with Z up to one with Y up: x stays, y becomes -z.
Z_UP_TO_Y_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])


@dataclass(frozen=True, slots=True)
class FoundCamera:
    """A camera of a file by name. read: gives it; raises FileFormatError where it is incomplete."""

    name: str
    read: Callable[[], Camera]


@dataclass(frozen=True, slots=True)
class CameraFile:
    """The cameras of a file in its order; only those that are used are read: others may be incomplete.

    error_px: reprojection RMS, NaN where unknown; floor_known: Y is up, the floor at 0; grade: as in `Rig`.
    """

    cameras: tuple[FoundCamera, ...]
    error_px: float = float("nan")
    floor_known: bool = False
    grade: str = ""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What a file leaves open.

    size: width and height of the images, if the file does not say [px]; unit_m: unit of its translations [m]; up: "z" transforms
    a world with Z up, whose floor is at z = 0, to Y up, "y" means that it is so already, "" that it is unknown; names: the
    cameras to use, in this order; empty: all of the file.
    """

    size: tuple[int, int] | None = None
    unit_m: float = 1.0
    up: str = ""
    names: tuple[str, ...] = ()


def make_found_camera(camera: Camera) -> FoundCamera:
    """Return a camera that has been read already."""
    return FoundCamera(camera.name, lambda: camera)


def change_world_axes(camera: Camera, axes: Floats) -> Camera:
    """Return the camera in a world whose coordinates are `axes` @ those of the old one, axes (3, 3) a signed permutation."""
    return replace(camera, rotation=np.ascontiguousarray(camera.rotation @ axes.T + 0.0))


def build_rig(where: str, content: CameraFile, options: ReadOptions) -> Rig:
    """Return the rig of the cameras asked for.

    Args:
        where: the file, for messages.
        content: the cameras of the file.
        options: which cameras, and what the file leaves open.
    Raises: FileFormatError: no such camera, too many and none named, an implausible camera or baseline.
    """
    cameras = _select_cameras(where, content.cameras, options.names)
    if options.unit_m != 1.0:
        cameras = [replace(camera, translation=camera.translation * options.unit_m) for camera in cameras]
    if options.up == "z":
        cameras = [change_world_axes(camera, Z_UP_TO_Y_UP) for camera in cameras]
    for camera in cameras:
        check_camera(f"{where}: camera {camera.name}", camera)
    floor_known = content.floor_known or bool(options.up)
    rig = Rig(tuple(cameras), content.error_px, floor_known, content.grade)
    check_baseline(where, rig)
    return rig


def _select_cameras(where: str, cameras: Sequence[FoundCamera], names: Sequence[str]) -> list[Camera]:
    """Return the cameras by name, or all that there are."""
    listed = ", ".join(camera.name for camera in cameras) or "none"
    by_name = {camera.name: camera for camera in cameras}
    wanted = names or list(by_name)
    if not 1 <= len(wanted) <= MAX_CAMERAS or (not names and len(by_name) < len(cameras)):
        raise FileFormatError(
            f"{where}: {len(cameras)} cameras ({listed}), expected 1 to {MAX_CAMERAS} of different names; choose with "
            f"`duocap calibrate convert {where} --cameras NAME,NAME --out rig.toml`"
        )
    for name in names:
        if name not in by_name:
            raise FileFormatError(f"{where}: no camera {name!r}; it has {listed}")
    twice = next((name for n, name in enumerate(names) if name in names[:n]), None)
    if twice is not None:
        raise FileFormatError(f"{where}: camera {twice!r} was named twice; expected different ones, of {listed}")
    return [by_name[name].read() for name in wanted]
