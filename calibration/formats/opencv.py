"""Calibrations as OpenCV's samples write them: M1, D1, M2, D2, R, T of two cameras, or camera_matrix of one.

R, T transform the left camera's frame to the right one's. In files of our own the left camera's pose in the world follows, as
world_R, world_T, and the right one's as world_R2, world_T2; without them the world is the left camera.
"""

from pathlib import Path

import numpy as np

from calibration.camera import Camera, Rig, relative_pose
from calibration.formats.camera_file import CameraFile, ReadOptions, found_camera
from calibration.formats.storage import StoredValues, Value, stored_text
from config.arrays import Floats
from config.errors import FileFormatError
from database.geometry.rotations import matrix_from_rotvec

MATRICES = (("M1", "K1", "cameraMatrix1", "camera_matrix_1"), ("M2", "K2", "cameraMatrix2", "camera_matrix_2"))
LENSES = (("D1", "distCoeffs1", "dist_1"), ("D2", "distCoeffs2", "dist_2"))
SINGLE_MATRIX, SINGLE_LENS = (
    ("camera_matrix", "Camera_Matrix", "cameraMatrix", "K"),
    (
        "distortion_coefficients",
        "Distortion_Coefficients",
        "distCoeffs",
        "dist_coeffs",
        "D",
    ),
)
WIDTH, HEIGHT = ("image_width", "image_Width", "width"), ("image_height", "image_Height", "height")
ERROR = ("avg_reprojection_error", "Avg_Reprojection_Error", "rms")
FISHEYE_MODEL = "fisheye_model"
N_LENS = ((4,), (5,), (8,), (12,), (14,))
INTRINSICS_FILES, EXTRINSICS_FILES = (
    ("intrinsics.yml", "intrinsics.yaml", "intrinsics.xml"),
    (
        "extrinsics.yml",
        "extrinsics.yaml",
        "extrinsics.xml",
    ),
)


def opencv_files(path: Path) -> list[Path]:
    """Return the files of a calibration: intrinsics.yml and extrinsics.yml if one of them, or their folder, is given."""
    if not path.is_dir() and path.name not in INTRINSICS_FILES + EXTRINSICS_FILES:
        return [path]
    folder = path if path.is_dir() else path.parent
    found = [folder / name for name in INTRINSICS_FILES + EXTRINSICS_FILES if (folder / name).is_file()]
    return found or [path]


def read_opencv(path: Path, options: ReadOptions) -> CameraFile:
    """Read one or two cameras.

    Raises FileFormatError: unreadable, no camera in it, a lens with more than five coefficients, or an unknown image size.
    """
    values = StoredValues(opencv_files(path))
    error_px = values.number(ERROR)
    error_px = float("nan") if error_px is None else error_px
    if any(name in values for name in MATRICES[0]):
        left, right = _two(values, options)
        return CameraFile((found_camera(left), found_camera(right)), error_px, values.number(("floor_known",)) == 1.0)
    if any(name in values for name in SINGLE_MATRIX):
        matrix, lens = values.needed(SINGLE_MATRIX, [(3, 3)]), _lens(values, SINGLE_LENS)
        name = values.text("camera_name") or "camera"
        camera = Camera(name, _size(values, options), matrix, lens, np.eye(3), np.zeros(3), _is_fisheye(values))
        return CameraFile((found_camera(camera),), error_px)
    raise FileFormatError(f"{values.where}: no camera in it; expected M1, D1, M2, D2, R, T of two, or camera_matrix of one")


def _two(values: StoredValues, options: ReadOptions) -> tuple[Camera, Camera]:
    """Return the left and the right camera."""
    size = _size(values, options)
    R = values.needed(("R",), [(3, 3), (3,)])
    R = matrix_from_rotvec(R) if R.ndim == 1 else R
    T = values.needed(("T",), [(3,)])
    world_R, world_T = values.matrix(("world_R",), [(3, 3)]), values.matrix(("world_T",), [(3,)])
    right_R, right_T = values.matrix(("world_R2",), [(3, 3)]), values.matrix(("world_T2",), [(3,)])
    if world_R is None or world_T is None:
        world_R, world_T, right_R, right_T = np.eye(3), np.zeros(3), R, T
    if right_R is None or right_T is None:
        right_R, right_T = R @ world_R, R @ world_T + T
    poses = ((world_R, world_T), (right_R, right_T))
    cameras = [
        Camera(
            values.text(f"name{c + 1}") or ("left", "right")[c],
            size if c == 0 else _size(values, options, "2"),
            values.needed(MATRICES[c], [(3, 3)]),
            _lens(values, LENSES[c]),
            *poses[c],
            fisheye=_is_fisheye(values, ("", "2")[c]),
        )
        for c in range(2)
    ]
    return cameras[0], cameras[1]


def _is_fisheye(values: StoredValues, which: str = "") -> bool:
    """Return whether a camera's lens is of the fisheye model, as OpenCV's calibration sample writes it."""
    for name in (f"{FISHEYE_MODEL}{which}", FISHEYE_MODEL):
        found = values.number((name,))
        if found is not None:
            return found != 0.0
    return False


def _lens(values: StoredValues, names: tuple[str, ...]) -> Floats:
    """Return k1, k2, p1, p2[, k3]; more coefficients must be 0."""
    found = values.matrix(names, N_LENS)
    if found is None:
        return np.zeros(5)
    if np.any(found[5:] != 0.0):
        raise FileFormatError(
            f"{values.where}: {names[0]} has {len(found)} coefficients; expected k1, k2, p1, p2[, k3]: calibrate again"
        )
    return found[:5].copy()


def _size(values: StoredValues, options: ReadOptions, which: str = "") -> tuple[int, int]:
    """Return width and height of a camera's images; which: suffix of the names."""
    for suffix in (which, ""):
        width, height = (values.number([f"{name}{suffix}" for name in names]) for names in (WIDTH, HEIGHT))
        if width is not None and height is not None:
            return int(width), int(height)
    pair = values.matrix(("image_size", "imageSize", "size"), [(2,)])
    if pair is not None:
        return int(pair[0]), int(pair[1])
    if options.size is None:
        raise FileFormatError(f"{values.where}: does not say how large the images are; give --size WIDTHxHEIGHT")
    return options.size


def opencv_text(rig: Rig, suffix: str) -> str:
    """Return the text of a file of both cameras (or one); suffix: .yml, .yaml or .xml."""
    left, right = rig.left, rig.right
    values: dict[str, Value] = {"image_width": left.size[0], "image_height": left.size[1]}
    if rig.is_monocular:
        values |= {"camera_name": left.name, "camera_matrix": left.matrix, "distortion_coefficients": left.distortions[None]}
        values |= {FISHEYE_MODEL: 1} if left.fisheye else {}
    else:
        R, t = relative_pose(rig.left, rig.right)
        values |= {"image_width2": right.size[0], "image_height2": right.size[1], "name1": left.name, "name2": right.name}
        values |= {"M1": left.matrix, "D1": left.distortions[None], "M2": right.matrix, "D2": right.distortions[None]}
        if left.fisheye or right.fisheye:
            values |= {FISHEYE_MODEL: int(left.fisheye), f"{FISHEYE_MODEL}2": int(right.fisheye)}
        values |= {"R": R, "T": t[:, None]}
        values |= {"world_R": left.rotation, "world_T": left.translation[:, None]}
        values |= {"world_R2": right.rotation, "world_T2": right.translation[:, None]}
        values |= {"floor_known": int(rig.floor_known)}
    if np.isfinite(rig.error_px):
        values["avg_reprojection_error"] = float(rig.error_px)
    return stored_text(values, suffix)
