"""The contents of a calibration file of any program, and how two of its cameras become a rig."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from calibration.camera import Camera, Rig, check_baseline, check_camera
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
    a world with Z up, whose floor is at z = 0, to Y up, "y" means that it is so already, "" that it is unknown; names: the two
    cameras (or one) to use, left first; empty: the file's own two.
    """

    size: tuple[int, int] | None = None
    unit_m: float = 1.0
    up: str = ""
    names: tuple[str, ...] = ()


def found_camera(camera: Camera) -> FoundCamera:
    """Return a camera that has been read already."""
    return FoundCamera(camera.name, partial(_same, camera))


def _same(camera: Camera) -> Camera:
    """Return what is given."""
    return camera


def in_world(camera: Camera, axes: Floats) -> Camera:
    """Return the camera in a world whose coordinates are `axes` @ those of the old one, axes (3, 3) a signed permutation."""
    return replace(camera, rotation=np.ascontiguousarray(camera.rotation @ axes.T + 0.0))


def rig_of(where: str, content: CameraFile, options: ReadOptions) -> Rig:
    """Return the rig of the cameras asked for: two, or a single one.

    Raises FileFormatError: no such camera, more than two and none named, an implausible camera or baseline; where:
    for messages.
    """
    cameras = _select(where, content.cameras, options.names)
    if options.unit_m != 1.0:
        cameras = [replace(camera, translation=camera.translation * options.unit_m) for camera in cameras]
    if options.up == "z":
        cameras = [in_world(camera, Z_UP_TO_Y_UP) for camera in cameras]
    for camera in cameras:
        check_camera(f"{where}: camera {camera.name}", camera)
    floor_known = content.floor_known or bool(options.up)
    if len(cameras) == 1:
        return Rig((cameras[0],), content.error_px, floor_known, content.grade)
    rig = Rig((cameras[0], cameras[1]), content.error_px, floor_known, content.grade)
    check_baseline(where, rig)
    return rig


def _select(where: str, cameras: Sequence[FoundCamera], names: Sequence[str]) -> list[Camera]:
    """Return the cameras by name, or the one or two that there are."""
    listed = ", ".join(camera.name for camera in cameras) or "none"
    if not names:
        if not 1 <= len(cameras) <= 2:
            raise FileFormatError(
                f"{where}: {len(cameras)} cameras ({listed}), expected two; choose left and right with "
                f"`duocap calibrate convert {where} --cameras LEFT,RIGHT --out rig.toml`"
            )
        return [camera.read() for camera in cameras]
    by_name = {camera.name: camera for camera in cameras}
    for name in names:
        if name not in by_name:
            raise FileFormatError(f"{where}: no camera {name!r}; it has {listed}")
    if len(names) > 2:
        raise FileFormatError(f"{where}: {len(names)} cameras were named, expected LEFT,RIGHT or one alone")
    if len(set(names)) < len(names):
        raise FileFormatError(
            f"{where}: camera {names[0]!r} was named twice; expected another one as the right camera, of {listed}"
        )
    return [by_name[name].read() for name in names]
