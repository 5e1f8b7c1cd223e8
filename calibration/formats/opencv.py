"""Calibrations as OpenCV's samples write them: M1, D1, M2, D2, R, T of two cameras, or camera_matrix of one, as ROS has it.

R, T transform the first camera's frame to the second one's. In files of our own the first camera's pose in the world follows, as
world_R, world_T, and the second one's as world_R2, world_T2; without them the world is the first camera. Further cameras have M3,
D3, world_R3, world_T3 and so on.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from calibration.camera import Camera, Rig, compute_relative_pose
from calibration.formats.camera_file import CameraFile, ReadOptions, make_found_camera
from calibration.formats.lens import LENGTHS, read_lens
from calibration.formats.storage import StoredValues, Value, format_storage
from config.arrays import Floats
from config.errors import FileFormatError
from database.geometry.rotations import matrix_from_rotvec

# Case and underscores do not matter: `left_camera_matrix`, `cameraMatrixL` and `M1` are all of the first camera.
MATRICES = ("M", "K", "cameraMatrix", "mtx", "intrinsics", "intrinsicMatrix")
LENSES = ("D", "distCoeffs", "dist", "distortion", "distortionCoefficients", "distCoefficients", "distortionCoeffs")
SIDES = {1: ("L", "left"), 2: ("R", "right")}
SINGLE_MATRIX, SINGLE_LENS = ("camera_matrix", *MATRICES[1:]), ("distortion_coefficients", *LENSES)
ROTATION, TRANSLATION = ("R", "rotation", "rotation_matrix"), ("T", "translation", "translation_vector")
WIDTH, HEIGHT, SIZE = ("image_width", "width"), ("image_height", "height"), ("image_size", "size", "resolution")
ERROR = ("avg_reprojection_error", "rms", "reprojection_error")
FISHEYE_MODEL = "fisheye_model"
FISHEYES = ("equidistant", "fisheye")  # ROS' names of the model
FILES = tuple(f"{part}.{suffix}" for part in ("intrinsics", "extrinsics") for suffix in ("yml", "yaml", "xml"))


def find_opencv_files(path: Path) -> list[Path]:
    """Return the files of a calibration: intrinsics.yml and extrinsics.yml if one of them, or their folder, is given."""
    if not path.is_dir() and path.name not in FILES:
        return [path]
    folder = path if path.is_dir() else path.parent
    found = [folder / name for name in FILES if (folder / name).is_file()]
    return found or [path]


def read_opencv(path: Path, options: ReadOptions) -> CameraFile:
    """Read all its cameras.

    Raises FileFormatError: unreadable, no camera in it, a lens that five coefficients do not describe, or an unknown image size.
    """
    values = StoredValues(find_opencv_files(path))
    error_px = values.number(ERROR)
    error_px = float("nan") if error_px is None else error_px
    if any(name in values for name in _list_numbered_names(MATRICES, 1)):
        cameras = tuple(map(make_found_camera, _read_several(values, options)))
        return CameraFile(cameras, error_px, values.number(("floor_known",)) == 1.0)
    if any(name in values for name in SINGLE_MATRIX):
        name, size, fisheye = values.text("camera_name") or "camera", _read_size(values, options), _is_fisheye(values)
        matrix, lens = _read_lens(values, name, size, SINGLE_MATRIX, SINGLE_LENS)
        camera = Camera(name, size, matrix, lens, np.eye(3), np.zeros(3), fisheye)
        return CameraFile((make_found_camera(camera),), error_px)
    raise FileFormatError(f"{values.where}: no camera in it; expected M1, D1, M2, D2, R, T of two, or camera_matrix of one")


def _list_numbered_names(names: tuple[str, ...], number: int) -> tuple[str, ...]:
    """Return the names that hold a value of a camera, numbered from 1 on; the first two may be the left and the right one."""
    sides = SIDES.get(number, ())
    numbered = [f"{name}{number}" for name in names]
    return (*numbered, *(words for name in names for side in sides for words in (f"{name}_{side}", f"{side}_{name}")))


def _read_several(values: StoredValues, options: ReadOptions) -> list[Camera]:
    """Return two cameras or more."""
    R = values.require_matrix(ROTATION, [(3, 3), (3,)])
    R = matrix_from_rotvec(R) if R.ndim == 1 else R
    T = values.require_matrix(TRANSLATION, [(3,)])
    first, second = _read_world_pose(values, ""), _read_world_pose(values, "2")
    if first is None:
        first, second = (np.eye(3), np.zeros(3)), (R, T)
    if second is None:
        second = (R @ first[0], R @ first[1] + T)
    cameras = [_read_camera(values, options, 1, first), _read_camera(values, options, 2, second)]
    number = 3
    while any(name in values for name in _list_numbered_names(MATRICES, number)):
        R, t = (values.require_matrix((f"world_{part}{number}",), [shape]) for part, shape in (("R", (3, 3)), ("T", (3,))))
        cameras.append(_read_camera(values, options, number, (R, t)))
        number += 1
    return cameras


def _read_world_pose(values: StoredValues, which: str) -> tuple[Floats, Floats] | None:
    """Return a camera's pose in the world, None where it is not there; which: suffix of the names."""
    R, t = values.matrix((f"world_R{which}",), [(3, 3)]), values.matrix((f"world_T{which}",), [(3,)])
    return None if R is None or t is None else (R, t)


def _read_camera(values: StoredValues, options: ReadOptions, number: int, pose: tuple[Floats, Floats]) -> Camera:
    """Return a camera, numbered from 1 on, in its pose."""
    which = "" if number == 1 else str(number)
    name = values.text(f"name{number}") or {1: "left", 2: "right"}.get(number, f"camera {number}")
    size = _read_size(values, options, which)
    names = (_list_numbered_names(MATRICES, number), _list_numbered_names(LENSES, number))
    matrix, lens = _read_lens(values, name, size, names[0], names[1])
    return Camera(name, size, matrix, lens, pose[0], pose[1], fisheye=_is_fisheye(values, which))


def _is_fisheye(values: StoredValues, which: str = "") -> bool:
    """Return whether a camera's lens is of the fisheye model, as OpenCV's calibration sample writes it."""
    for name in (f"{FISHEYE_MODEL}{which}", FISHEYE_MODEL):
        found = values.number((name,))
        if found is not None:
            return found != 0.0
    return values.text("distortion_model").lower() in FISHEYES


def _read_lens(
    values: StoredValues, name: str, size: tuple[int, int], matrices: Sequence[str], lenses: Sequence[str]
) -> tuple[Floats, Floats]:
    """Return a camera's matrix and k1, k2, p1, p2[, k3].

    Args:
        values: the file.
        name: of the camera, for messages.
        size: width, height [px].
        matrices, lenses: names of its matrix and of its coefficients.
    """
    found = values.matrix(lenses, LENGTHS)
    matrix = values.require_matrix(matrices, [(3, 3)])
    return read_lens(f"{values.where}: camera {name}", size, matrix, np.zeros(5) if found is None else found)


def _read_size(values: StoredValues, options: ReadOptions, which: str = "") -> tuple[int, int]:
    """Return width and height of a camera's images; which: suffix of the names."""
    for suffix in (which, ""):
        width, height = (values.number([f"{name}{suffix}" for name in names]) for names in (WIDTH, HEIGHT))
        if width is not None and height is not None:
            return int(width), int(height)
    pair = values.matrix(SIZE, [(2,)])
    if pair is not None:
        return int(pair[0]), int(pair[1])
    if options.size is None:
        raise FileFormatError(f"{values.where}: does not say how large the images are; give --size WIDTHxHEIGHT")
    return options.size


def format_opencv(rig: Rig, suffix: str) -> str:
    """Return the text of a file of all cameras; suffix: .yml, .yaml or .xml."""
    first = rig.cameras[0]
    values: dict[str, Value] = {"image_width": first.size[0], "image_height": first.size[1]}
    if rig.is_monocular:
        values |= {"camera_name": first.name, "camera_matrix": first.matrix, "distortion_coefficients": first.distortions[None]}
        values |= {FISHEYE_MODEL: 1} if first.fisheye else {}
    else:
        R, t = compute_relative_pose(first, rig.cameras[1])
        values |= {"R": R, "T": t[:, None]}
        fisheyes = any(camera.fisheye for camera in rig.cameras)
        for number, camera in enumerate(rig.cameras, start=1):
            which = "" if number == 1 else str(number)
            values |= {f"image_width{which}": camera.size[0], f"image_height{which}": camera.size[1]}
            values |= {f"name{number}": camera.name, f"M{number}": camera.matrix, f"D{number}": camera.distortions[None]}
            values |= {f"{FISHEYE_MODEL}{which}": int(camera.fisheye)} if fisheyes else {}
            values |= {f"world_R{which}": camera.rotation, f"world_T{which}": camera.translation[:, None]}
        values |= {"floor_known": int(rig.floor_known)}
    if np.isfinite(rig.error_px):
        values["avg_reprojection_error"] = float(rig.error_px)
    return format_storage(values, suffix)
