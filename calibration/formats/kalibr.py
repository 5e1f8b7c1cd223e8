"""Kalibr's camchain.yaml: cam0, cam1, ... each with its lens and `T_cn_cnm1`, its pose from the camera before; metres.

Where a file has the poses from the inertial unit alone, `T_cam_imu` or its inverse `T_imu_cam`, those between cameras follow.
"""

import re
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path

import cv2
import numpy as np

from calibration.camera import Camera, Rig, compute_relative_pose
from calibration.formats.camera_file import CameraFile, FoundCamera
from calibration.formats.storage import flatten_node, open_storage
from config.arrays import Floats
from config.errors import FileFormatError

# By name whether it is a fisheye.
MODELS = {"radtan": False, "plumb_bob": False, "equidistant": True, "equi": True, "none": False}
CAMERA = re.compile(r"^cam\d+$")


def is_kalibr(text: str) -> bool:
    """Return whether a text is such a chain of cameras."""
    return "camera_model:" in text and re.search(r"^cam\d+:", text, flags=re.MULTILINE) is not None


def read_kalibr(path: Path) -> CameraFile:
    """Read all its cameras; the world is the first one. Raises FileFormatError: unreadable, or an incomplete camera."""
    store = open_storage(path)
    keys: Sequence[str] = store.root().keys()  # a node is no mapping
    names = [name for name in keys if CAMERA.match(name)]
    if not names:
        raise FileFormatError(f"{path}: no camera in it; expected cam0, cam1, ...")
    return CameraFile(tuple(FoundCamera(name, partial(_read_camera, path, store, names, name)) for name in names))


def _read_camera(path: Path, store: cv2.FileStorage, names: list[str], name: str) -> Camera:
    """Return one camera in the world of the first."""
    where, node = f"{path}: {name}", _find_camera(path, store, name)
    model, lens = node.getNode("camera_model").string(), node.getNode("distortion_model").string() or "none"
    if model != "pinhole" or lens not in MODELS:
        raise FileFormatError(
            f"{where} is of the model {model}-{lens}; expected pinhole-radtan or pinhole-equidistant: calibrate again with one"
        )
    fx, fy, cx, cy = _read_numbers(where, node, "intrinsics", (4,))
    size = _read_numbers(where, node, "resolution", (2,))
    n_coefficients = 5 if not MODELS[lens] and len(flatten_node(node.getNode("distortion_coeffs"))) == 5 else 4
    distortions = np.zeros(4) if lens == "none" else _read_numbers(where, node, "distortion_coeffs", (n_coefficients,))
    pose = _read_pose(path, store, names, name)
    K = np.array([[fx, 0.0, cx], [0.0, fy, cy], [0.0, 0.0, 1.0]])
    R, t = np.ascontiguousarray(pose[:3, :3]), pose[:3, 3].copy()
    return Camera(name, (int(size[0]), int(size[1])), K, distortions, R, t, MODELS[lens])


def _read_numbers(where: str, node: cv2.FileNode, key: str, shape: tuple[int, ...]) -> Floats:
    """Return numbers of a shape. Raises FileFormatError: they are missing, or others."""
    flat = flatten_node(node.getNode(key))
    if len(flat) != np.prod(shape) or not np.isfinite(flat).all():
        raise FileFormatError(f"{where} {key} must be {' x '.join(str(n) for n in shape)} finite numbers")
    return np.array(flat).reshape(shape)


def _find_camera(path: Path, store: cv2.FileStorage, name: str) -> cv2.FileNode:
    """Return what is said of a camera. Raises FileFormatError: nothing is."""
    node = store.getNode(name)
    if not node.isMap():
        raise FileFormatError(f"{path}: {name} has no values by name; expected its lens and its pose: is the file cut short?")
    return node


def _read_pose(path: Path, store: cv2.FileStorage, names: list[str], name: str) -> Floats:
    """Return a camera's pose in the world of the first camera, (4, 4). Raises FileFormatError: no way from one to the other."""
    if not _find_camera(path, store, names[0]).getNode("T_cn_cnm1").empty():
        raise FileFormatError(
            f"{path}: {names[0]} has a pose from a camera before it, which is missing; expected cam0, cam1, ..."
        )
    pose = np.eye(4)
    for before, other in pairwise(names[: names.index(name) + 1]):
        where, node = f"{path}: {other}", _find_camera(path, store, other)
        if not node.getNode("T_cn_cnm1").empty():
            step = _read_numbers(where, node, "T_cn_cnm1", (4, 4))
        else:
            first, second = _read_pose_from_unit(path, store, before), _read_pose_from_unit(path, store, other)
            step = second @ np.linalg.inv(first)
        if not np.allclose(step[:3, :3] @ step[:3, :3].T, np.eye(3), atol=1e-3):
            raise FileFormatError(f"{where} has no rotation in its pose; expected right-handed, orthonormal axes")
        pose = step @ pose
    return pose


def _read_pose_from_unit(path: Path, store: cv2.FileStorage, name: str) -> Floats:
    """Return a camera's pose from the inertial unit, (4, 4). Raises FileFormatError: there is none."""
    where, node = f"{path}: {name}", _find_camera(path, store, name)
    if not node.getNode("T_cam_imu").empty():
        return _read_numbers(where, node, "T_cam_imu", (4, 4))
    if node.getNode("T_imu_cam").empty():
        raise FileFormatError(f"{where} has no pose; expected T_cn_cnm1, T_cam_imu or T_imu_cam, each 4 x 4")
    pose = _read_numbers(where, node, "T_imu_cam", (4, 4))
    if abs(np.linalg.det(pose)) < 0.5:
        raise FileFormatError(f"{where} T_imu_cam is no pose; expected right-handed, orthonormal axes")
    return np.asarray(np.linalg.inv(pose))


def format_kalibr(rig: Rig) -> str:
    """Return the text of such a file; where the world is not the first camera, that is lost."""
    lines = []
    for n, camera in enumerate(rig.cameras):
        if not camera.fisheye and camera.distortions[4:].any():
            raise FileFormatError(
                f"camera {camera.name} has k3 = {camera.distortions[4]:g}, for which Kalibr has no place; write toml or opencv"
            )
        lines += [f"cam{n}:"]
        if n:
            R, t = compute_relative_pose(rig.cameras[n - 1], camera)
            pose = np.vstack([np.column_stack([R, t]), [0.0, 0.0, 0.0, 1.0]])
            lines += ["  T_cn_cnm1:", *(f"  - {row}" for row in pose.tolist())]
        lines += [
            "  camera_model: pinhole",
            f"  distortion_coeffs: {camera.distortions[:4].tolist()}",
            f"  distortion_model: {'equidistant' if camera.fisheye else 'radtan'}",
            f"  intrinsics: {camera.intrinsics[:4].tolist()}",
            f"  resolution: {list(camera.size)}",
            f"  rostopic: /cam{n}/image_raw",
        ]
    return "\n".join([*lines, ""])
