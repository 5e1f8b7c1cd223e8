"""Kalibr's camchain.yaml: cam0, cam1, ... each with its lens and `T_cn_cnm1`, its pose from the camera before; metres.

The file is plain YAML, which OpenCV's reader takes once it has a first line of its own and lists are indented.
"""

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import cv2
import numpy as np

from calibration.camera import Camera, Rig, compute_relative_pose
from calibration.formats.camera_file import CameraFile, FoundCamera
from config.arrays import Floats
from config.errors import FileFormatError, describe_reason

MODELS = {"radtan": False, "equidistant": True, "none": False}  # by name whether it is a fisheye
READ = cv2.FileStorage_READ | cv2.FileStorage_MEMORY


def is_kalibr(path: Path) -> bool:
    """Return whether a file is such a chain of cameras."""
    try:
        return path.is_file() and "camera_model:" in path.read_text(encoding="utf-8")[:4000]
    except (OSError, UnicodeDecodeError):
        return False


def read_kalibr(path: Path) -> CameraFile:
    """Read all its cameras; the world is the first one. Raises FileFormatError: unreadable, or an incomplete camera."""
    try:
        text = path.read_text(encoding="utf-8").removeprefix("---\n")
        store = cv2.FileStorage("%YAML:1.0\n---\n" + re.sub(r"^( *)- ", r"\1    - ", text, flags=re.MULTILINE), READ)
    except (OSError, UnicodeDecodeError) as error:
        raise FileFormatError(f"{path}: cannot read the calibration ({describe_reason(error)})") from error
    except (cv2.error, SystemError) as error:
        raise FileFormatError(f"{path}: not the YAML that Kalibr writes; expected cam0, cam1, ...") from error
    keys: Sequence[str] = store.root().keys()  # a node is no mapping
    names = [name for name in keys if name.startswith("cam")]
    if not names:
        raise FileFormatError(f"{path}: no camera in it; expected cam0, cam1, ...")
    return CameraFile(tuple(FoundCamera(name, partial(_read_camera, path, store, names, name)) for name in names))


def _read_camera(path: Path, store: cv2.FileStorage, names: list[str], name: str) -> Camera:
    """Return one camera in the world of the first."""
    where, node = f"{path}: {name}", store.getNode(name)
    model, lens = node.getNode("camera_model").string(), node.getNode("distortion_model").string() or "none"
    if model != "pinhole" or lens not in MODELS:
        raise FileFormatError(
            f"{where} is of the model {model}-{lens}; expected pinhole-radtan or pinhole-equidistant: calibrate again with one"
        )
    fx, fy, cx, cy = _read_numbers(where, node, "intrinsics", (4,))
    size = _read_numbers(where, node, "resolution", (2,))
    distortions = np.zeros(4) if lens == "none" else _read_numbers(where, node, "distortion_coeffs", (4,))
    pose = np.eye(4)
    for other in names[1 : names.index(name) + 1]:
        pose = _read_numbers(f"{path}: {other}", store.getNode(other), "T_cn_cnm1", (4, 4)) @ pose
    K = np.array([[fx, 0.0, cx], [0.0, fy, cy], [0.0, 0.0, 1.0]])
    R, t = np.ascontiguousarray(pose[:3, :3]), pose[:3, 3].copy()
    return Camera(name, (int(size[0]), int(size[1])), K, distortions, R, t, MODELS[lens])


def _read_numbers(where: str, node: cv2.FileNode, key: str, shape: tuple[int, ...]) -> Floats:
    """Return numbers of a shape. Raises FileFormatError: they are missing, or others."""
    flat = _flatten_lists(node.getNode(key))
    if len(flat) != np.prod(shape) or not np.isfinite(flat).all():
        raise FileFormatError(f"{where} {key} must be {' x '.join(str(n) for n in shape)} finite numbers")
    return np.array(flat).reshape(shape)


def _flatten_lists(node: cv2.FileNode) -> list[float]:
    """Return the numbers in nested lists."""
    if node.isSeq():
        return [leaf for i in range(node.size()) for leaf in _flatten_lists(node.at(i))]
    return [float(node.real())] if node.isInt() or node.isReal() else []


def format_kalibr(rig: Rig) -> str:
    """Return the text of such a file; where the world is not the first camera, that is lost."""
    lines = []
    for n, camera in enumerate(rig.cameras):
        if not camera.fisheye and camera.distortions[4:].any():
            raise FileFormatError(
                f"camera {camera.name} has k3 = {camera.distortions[4]:g}, for which Kalibr has no place; write toml or opencv"
            )
        K = camera.matrix
        lines += [f"cam{n}:"]
        if n:
            R, t = compute_relative_pose(rig.cameras[n - 1], camera)
            pose = np.vstack([np.column_stack([R, t]), [0.0, 0.0, 0.0, 1.0]])
            lines += ["  T_cn_cnm1:", *(f"  - {[float(value) for value in row]}" for row in pose)]
        lines += [
            "  camera_model: pinhole",
            f"  distortion_coeffs: {[float(value) for value in camera.distortions[:4]]}",
            f"  distortion_model: {'equidistant' if camera.fisheye else 'radtan'}",
            f"  intrinsics: {[float(value) for value in (K[0, 0], K[1, 1], K[0, 2], K[1, 2])]}",
            f"  resolution: {list(camera.size)}",
            f"  rostopic: /cam{n}/image_raw",
        ]
    return "\n".join([*lines, ""])
