"""EasyMocap's calibration: a folder with intri.yml (K_, dist_ by camera) and extri.yml (R_, Rot_, T_), world to camera."""

from functools import partial
from pathlib import Path

import numpy as np

from calibration.camera import Camera, Rig
from calibration.formats.camera_file import CameraFile, FoundCamera, ReadOptions
from calibration.formats.lens import LENGTHS, read_lens
from calibration.formats.storage import StoredValues, Value, format_storage
from config.arrays import Floats
from config.errors import FileFormatError
from database.geometry.rotations import matrix_from_rotvec, rotvec_from_matrix

INTRINSICS, EXTRINSICS = "intri.yml", "extri.yml"
ORTHONORMAL = 1e-9  # a matrix with fewer digits is less exact than the rotation vector


def find_easymocap_folder(path: Path) -> Path | None:
    """Return the folder of an EasyMocap calibration if `path` is one or one of its files, else None."""
    folder = path.parent if path.name in (INTRINSICS, EXTRINSICS) else path
    return folder if (folder / INTRINSICS).is_file() or (folder / EXTRINSICS).is_file() else None


def read_easymocap(folder: Path, options: ReadOptions) -> CameraFile:
    """Read all its cameras. Raises FileFormatError: a file or a part of a camera missing, or an unknown image size."""
    for name in (INTRINSICS, EXTRINSICS):
        if not (folder / name).is_file():
            raise FileFormatError(f"{folder}: {name} is missing; EasyMocap's calibrations are {INTRINSICS} and {EXTRINSICS}")
    values = StoredValues([folder / INTRINSICS, folder / EXTRINSICS])
    names = values.texts("names")
    found = [name.removeprefix("K_") for name in values.names if name.startswith("K_")]
    if not names or (len(names) == len(found) and any(f"K_{name}" not in values for name in names)):
        names = found  # names without quotes, such as 01, are read as numbers
    if not names:
        raise FileFormatError(f"{folder / INTRINSICS}: names no cameras; expected a list `names`, and K_, dist_ of each")
    return CameraFile(tuple(FoundCamera(name, partial(_read_camera, values, name, options)) for name in names))


def _read_camera(values: StoredValues, name: str, options: ReadOptions) -> Camera:
    """Return one camera."""
    lens = values.matrix((f"dist_{name}", f"D_{name}"), LENGTHS)
    size = _read_size(values, name, options)
    matrix = values.require_matrix((f"K_{name}",), [(3, 3)])
    matrix, lens = read_lens(f"{values.where}: camera {name}", size, matrix, np.zeros(5) if lens is None else lens)
    return Camera(name, size, matrix, lens, _read_rotation(values, name), values.require_matrix((f"T_{name}",), [(3,)]))


def _read_rotation(values: StoredValues, name: str) -> Floats:
    """Return the rotation, from the matrix or the vector, whichever has more digits."""
    matrix = values.matrix((f"Rot_{name}",), [(3, 3)])
    if matrix is not None and np.allclose(matrix @ matrix.T, np.eye(3), rtol=0.0, atol=ORTHONORMAL):
        return matrix
    return matrix_from_rotvec(values.require_matrix((f"R_{name}",), [(3,)]))


def _read_size(values: StoredValues, name: str, options: ReadOptions) -> tuple[int, int]:
    """Return width and height of a camera's images; many such files do not contain them."""
    width, height = values.number((f"W_{name}",)), values.number((f"H_{name}",))
    if width is not None and height is not None and min(width, height) > 0:
        return int(width), int(height)
    if options.size is None:
        raise FileFormatError(f"{values.where}: do not say how large the images are; give --size WIDTHxHEIGHT")
    return options.size


def format_easymocap(rig: Rig) -> dict[str, str]:
    """Return the texts of both files by name."""
    cameras = rig.cameras
    names: list[str] = [camera.name for camera in cameras]
    if len(set(names)) < len(names):
        names = [f"{n}" for n in range(1, len(names) + 1)]
    inside: dict[str, Value] = {"names": names}
    outside: dict[str, Value] = {"names": names}
    for name, camera in zip(names, cameras, strict=True):
        inside |= {f"K_{name}": camera.matrix, f"dist_{name}": camera.distortions[None]}
        inside |= {f"H_{name}": camera.size[1], f"W_{name}": camera.size[0]}
        outside |= {f"R_{name}": rotvec_from_matrix(camera.rotation)[:, None]}
        outside |= {f"Rot_{name}": camera.rotation, f"T_{name}": camera.translation[:, None]}
    return {INTRINSICS: format_storage(inside, ".yml"), EXTRINSICS: format_storage(outside, ".yml")}
