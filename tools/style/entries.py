"""The single things a file of constraints may ask of a pose: points, image points, orientations, held joints, the root."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibration.camera import Rig
from config.arrays import Floats
from config.joints import JOINTS
from config.markers import MarkerSet
from reconstruct.constraints import RootConstraint
from tools.style.request import BodyPoint, FixedAsked, ImagePointAsked, OrientationAsked, PointAsked
from tools.style.values import MOST_M, MOST_OFFSET_M, AskedTable, PoseFileError, check_word, read_camera_index

HANDLE_KEYS = ("joint", "marker", "offset_m", "end")
POINT_KEYS = (*HANDLE_KEYS, "position_m", "sigma_m")
IMAGE_POINT_KEYS = (*HANDLE_KEYS, "px", "sigma_px", "camera")
ORIENTATION_KEYS = ("joint", "rotvec_deg", "quaternion_xyzw", "sigma_deg")
FIXED_KEYS = (*ORIENTATION_KEYS, "as")
ROOT_KEYS = ("position_m", "sigma_m", "rotvec_deg", "quaternion_xyzw", "sigma_deg")
POINT_SIGMA_M, IMAGE_SIGMA_PX, ROTATION_SIGMA_DEG, FIXED_SIGMA_DEG = 0.001, 0.3, 0.5, 0.5
ROOT_SIGMA_M, ROOT_SIGMA_DEG = 0.02, 3.0
LEAST_SIGMA_M, LEAST_SIGMA_PX, LEAST_SIGMA_DEG = 1e-6, 1e-3, 1e-3  # surer than that nothing is known, and squares stay finite


@dataclass(frozen=True, slots=True)
class BodyMarkers:
    """The markers that points may be named by: names, joint (M,), and place in the joint's frame, (M, 3) [m]."""

    names: tuple[str, ...]
    joint: NDArray[np.int64]
    offset_m: Floats


@dataclass(frozen=True, slots=True)
class ConstraintContext:
    """Context of the words in a file: its cameras, its markers, how many styles there are."""

    rig: Rig | None
    worn: BodyMarkers | None
    n_styles: int


def body_markers_from_set(markers: MarkerSet) -> BodyMarkers:
    """Return the markers of a set at their nominal places."""
    return BodyMarkers(markers.names, markers.joint, markers.offset_m)


def read_point(table: AskedTable, means: ConstraintContext) -> PointAsked:
    """Read a `[[point]]`."""
    sigma_m = table.read_number("sigma_m", POINT_SIGMA_M, LEAST_SIGMA_M, MOST_M)
    return PointAsked(read_handle(table, means), table.read_numbers("position_m", 3, MOST_M), sigma_m)


def read_image_point(table: AskedTable, means: ConstraintContext) -> ImagePointAsked:
    """Read an `[[image_point]]`. Raises PoseFileError: no camera, a point outside of its picture."""
    if means.rig is None:
        raise PoseFileError(f"{table.where}: an image point needs its camera; give --rig rig.toml, or a [camera] in the file")
    camera = read_camera_index(table, means.rig)
    px, (width, height) = table.read_numbers("px", 2), means.rig.cameras[camera].size
    if not (-0.5 <= px[0] <= width - 0.5 and -0.5 <= px[1] <= height - 0.5):
        fault = f"px = {table.values['px']} is outside of the camera's picture of {width} x {height} pixels"
        raise PoseFileError(f"{table.where}: {fault}")
    sigma_px = table.read_number("sigma_px", IMAGE_SIGMA_PX, LEAST_SIGMA_PX, 1e4)
    return ImagePointAsked(read_handle(table, means), px, sigma_px, camera)


def read_orientation(table: AskedTable) -> OrientationAsked:
    """Read an `[[orientation]]`."""
    joint, rotation = table.read_joint(), table.read_rotation()
    if rotation is None:
        fault = "lacks its rotation; give rotvec_deg or quaternion_xyzw, in the world, from the T-pose"
        raise PoseFileError(f"{table.where} {fault}")
    return OrientationAsked(joint, rotation, _read_sigma_rad(table, ROTATION_SIGMA_DEG))


def read_fixed(table: AskedTable) -> FixedAsked:
    """Read a `[[fixed]]`: without a rotation the joint stays as in the T-pose."""
    joint, rotation = table.read_joint(), table.read_rotation()
    if joint == 0:
        raise PoseFileError(f"{table.where}: {JOINTS[0]} turns in the world, not about a parent; use [[orientation]] or [root]")
    sigma_rad = _read_sigma_rad(table, FIXED_SIGMA_DEG)
    like = table.values.get("as", "rest")
    if rotation is not None:
        if "as" in table:
            raise PoseFileError(f"{table.where} has a rotation and as = {like!r}; give one of them")
        return FixedAsked(joint, rotation, None, sigma_rad)
    if isinstance(like, int) and not isinstance(like, bool) and 0 <= like < 2**31:
        return FixedAsked(joint, None, like, sigma_rad)
    if isinstance(like, int | float):
        raise PoseFileError(f'{table.where} as = {like!r}: give the number of a training pose, from 0 on, "mean" or "rest"')
    own = check_word(table.where, "as", like, ("rest", "mean")) == "rest"
    return FixedAsked(joint, np.eye(3) if own else None, None, sigma_rad)


def read_root(table: AskedTable) -> RootConstraint:
    """Read `[root]`: where the hips are about, and how they are turned."""
    rotation, placed = table.read_rotation(), "position_m" in table
    if rotation is None and not placed:
        fault = "lacks position_m, rotvec_deg or quaternion_xyzw: say where the hips are, or how turned"
        raise PoseFileError(f"{table.where} {fault}")
    return RootConstraint(
        np.eye(3) if rotation is None else rotation,
        table.read_numbers("position_m", 3, MOST_M, [0, 0, 0]),
        math.inf if rotation is None else _read_sigma_rad(table, ROOT_SIGMA_DEG),
        table.read_number("sigma_m", ROOT_SIGMA_M, LEAST_SIGMA_M, MOST_M) if placed else math.inf,
    )


def _read_sigma_rad(table: AskedTable, default_deg: float) -> float:
    """Read how surely a rotation is known."""
    return math.radians(table.read_number("sigma_deg", default_deg, LEAST_SIGMA_DEG, 180.0))


def read_handle(table: AskedTable, means: ConstraintContext) -> BodyPoint:
    """Read which point of the body is meant: a joint, with an offset or at its bone's end, or a marker."""
    if ("joint" in table) == ("marker" in table):
        raise PoseFileError(f"{table.where} needs a joint or a marker, one of them")
    if "marker" not in table:
        return _read_joint_handle(table)
    if means.worn is None:
        raise PoseFileError(
            f'{table.where}: a marker needs its set; write markers = "boxing" at the top, or give --skeleton subject.toml'
        )
    if "offset_m" in table or "end" in table:
        raise PoseFileError(f"{table.where}: a marker has its own place; leave out offset_m and end")
    row = means.worn.names.index(table.read_word("marker", means.worn.names))
    return BodyPoint(means.worn.names[row], int(means.worn.joint[row]), np.array(means.worn.offset_m[row]))


def _read_joint_handle(table: AskedTable) -> BodyPoint:
    """Read a point that is named by its joint."""
    joint, end = table.read_joint(), table.read_flag("end")
    if end and "offset_m" in table:
        raise PoseFileError(f"{table.where} has end and offset_m; give one of them")
    if end:
        return BodyPoint(f"end of {JOINTS[joint]}", joint, None)
    return BodyPoint(JOINTS[joint], joint, table.read_numbers("offset_m", 3, MOST_OFFSET_M, [0, 0, 0]))
