"""Qualisys' calibration, XML as QTM exports it (.qca.txt): sensor units of 1/64 px, or px, mm, Z up, cameras that look along -z.

`transform` holds the position of the camera and, row by row, its axes in the world: x right, y up, z backwards. The lens
coefficients are those of our model; the world's floor is at z = 0, where the L-frame lay.
"""

import re
import xml.etree.ElementTree as ET
from decimal import Decimal, InvalidOperation
from functools import partial
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np

from calibration.camera import Camera, Rig
from calibration.formats.camera_file import Z_UP_TO_Y_UP, CameraFile, FoundCamera, change_world_axes
from config.arrays import Floats
from config.errors import FileFormatError
from config.text import read_text

UNITS_A_PIXEL = 64
SMALLEST_SENSOR_PX = 160  # wide: of fewer the file is in pixels, not in their 64ths
BACKWARDS_TO_AHEAD = np.diag([1.0, -1.0, -1.0])
FLOOR = "floor-known"  # of ours: Qualisys' own files always have their floor at 0
PINHOLE = ("focalLengthU", "focalLengthV", "centerPointU", "centerPointV")
LENS = ("radialDistortion1", "radialDistortion2", "tangentalDistortion1", "tangentalDistortion2", "radialDistortion3")


def read_qualisys(path: Path) -> CameraFile:
    """Read its calibrated cameras into a world with Y up. Raises FileFormatError: unreadable, or incomplete."""
    text = read_text(path, what="the calibration")
    try:
        # The encoding that its first line names was of the bytes.
        root = ET.fromstring(re.sub(r"^\s*<\?xml[^>]*\?>", "", text)) if "<!DOCTYPE" not in text else None
    except ET.ParseError as error:
        raise FileFormatError(f"{path}: not valid XML: {error}") from error
    if root is None or root.tag != "calibration":
        raise FileFormatError(f"{path}: not a calibration of Qualisys; expected XML with <calibration> at its top")
    cameras = [element for element in root.findall("cameras/camera") if element.get("calibrated") != "false"]
    if not cameras:
        raise FileFormatError(f"{path}: no calibrated camera in it")
    floor_known = root.get(FLOOR, "true") == "true"
    return CameraFile(
        tuple(FoundCamera(_read_name(each), partial(_read_camera, path, each)) for each in cameras), floor_known=floor_known
    )


def _read_name(element: ET.Element) -> str:
    """Return the name of a camera."""
    return element.get("serial") or element.get("id") or "camera"


def _read_camera(path: Path, element: ET.Element) -> Camera:
    """Return one camera, in a world with Y up, in metres."""
    name = _read_name(element)
    where = f"{path}: camera {name}"
    inside, pose = _find_part(where, element, "intrinsic"), _find_part(where, element, "transform")
    view = element.find("fov_video")
    view = element.find("fov_marker") if view is None else view
    full = element.find("fov_video_max")
    full = view if full is None else full
    sensor = np.array([_read_number(where, inside, f"sensorMax{k}") - _read_number(where, inside, f"sensorMin{k}") for k in "UV"])
    sensor += sensor % 2.0  # the last column is counted, or the one after it: of an even number
    unit = np.full(2, UNITS_A_PIXEL if sensor[0] >= UNITS_A_PIXEL * SMALLEST_SENSOR_PX else 1.0)
    corner, size = np.zeros(2), sensor / unit
    if view is not None and full is not None:
        unit = sensor / _read_extent(where, full)
        corner, size = np.array([_read_number(where, view, side) for side in ("left", "top")]), _read_extent(where, view)
    fx, fy, cx, cy = (_read_number(where, inside, key) for key in PINHOLE)
    K = np.array([[fx / unit[0], 0.0, cx / unit[0] - corner[0]], [0.0, fy / unit[1], cy / unit[1] - corner[1]], [0.0, 0.0, 1.0]])
    lens = np.array([_read_number(where, inside, key) for key in LENS])
    axes = np.array([[_read_number(where, pose, f"r{i}{j}") for j in (1, 2, 3)] for i in (1, 2, 3)])
    center_m = np.array([float(_read_decimal(where, pose, key) / 1000) for key in "xyz"])
    rotation = np.ascontiguousarray(BACKWARDS_TO_AHEAD @ axes + 0.0)
    camera = Camera(name, (round(size[0]), round(size[1])), K, lens, rotation, -rotation @ center_m)
    return change_world_axes(camera, Z_UP_TO_Y_UP)


def _find_part(where: str, element: ET.Element, tag: str) -> ET.Element:
    """Return an element of a camera."""
    found = element.find(tag)
    if found is None:
        raise FileFormatError(f"{where}: lacks <{tag}>; was it calibrated?")
    return found


def _read_extent(where: str, view: ET.Element) -> Floats:
    """Return width and height of a field of view [px]."""
    left, top, right, bottom = (_read_number(where, view, side) for side in ("left", "top", "right", "bottom"))
    if right <= left or bottom <= top:
        raise FileFormatError(f"{where}: <{view.tag}> from {left:g}, {top:g} to {right:g}, {bottom:g} is empty")
    return np.array([right - left + 1.0, bottom - top + 1.0])


def _read_decimal(where: str, element: ET.Element, key: str) -> Decimal:
    """Return an attribute as a decimal number."""
    try:
        value = Decimal(element.get(key, ""))
    except InvalidOperation:
        value = Decimal("NaN")
    if not value.is_finite():
        raise FileFormatError(f"{where}: <{element.tag}> {key} must be a finite number, got {element.get(key)!r}")
    return value


def _read_number(where: str, element: ET.Element, key: str) -> float:
    """Return an attribute as a float."""
    return float(_read_decimal(where, element, key))


def format_qualisys(rig: Rig) -> str:
    """Return the text of such a file; the rig's world has Y up, the file's Z."""
    cameras = rig.cameras
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<calibration calibrated="true" source="duocap" type="regular" {FLOOR}="{str(rig.floor_known).lower()}">',
        " <cameras>",
    ]
    for camera in cameras:
        lines += _format_camera(change_world_axes(camera, Z_UP_TO_Y_UP.T), rig.error_px)
    return "\n".join([*lines, " </cameras>", "</calibration>", ""])


def _format_camera(camera: Camera, error_px: float) -> list[str]:
    """Return one camera's lines, every number with all its digits."""
    width, height = camera.size
    view = f'left="0" top="0" right="{width - 1}" bottom="{height - 1}"'
    axes = BACKWARDS_TO_AHEAD @ camera.rotation + 0.0
    center_mm = [Decimal(repr(float(value))) * 1000 for value in camera.center_m]
    pose = {key: f"{value:f}" for key, value in zip("xyz", center_mm, strict=True)}
    pose |= {f"r{i + 1}{j + 1}": repr(float(axes[i, j])) for i in range(3) for j in range(3)}
    inside = {"focallength": "0", "sensorMinU": "0", "sensorMaxU": f"{width * UNITS_A_PIXEL - 1}"}
    inside |= {"sensorMinV": "0", "sensorMaxV": f"{height * UNITS_A_PIXEL - 1}", "skew": "0"}
    inside |= {key: repr(float(value) * UNITS_A_PIXEL) for key, value in zip(PINHOLE, camera.intrinsics[:4], strict=True)}
    inside |= {key: repr(float(value)) for key, value in zip(LENS, camera.intrinsics[4:9], strict=True)}
    residual = f' avg-residual="{error_px!r}"' if np.isfinite(error_px) else ""
    return [
        f'  <camera active="1" calibrated="true" serial={quoteattr(camera.name)} model="Video" viewrotation="0"{residual}>',
        *(f"   <{tag} {view}/>" for tag in ("fov_marker", "fov_marker_max", "fov_video", "fov_video_max")),
        f"   <transform {_format_attributes(pose)}/>",
        f"   <intrinsic {_format_attributes(inside)}/>",
        "  </camera>",
    ]


def _format_attributes(values: dict[str, str]) -> str:
    """Return attributes as XML."""
    return " ".join(f'{key}="{value}"' for key, value in values.items())
