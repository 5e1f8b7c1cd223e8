"""The single things a file of constraints may ask of a pose: points, image points, orientations, held joints, the root."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibration.camera import Rig
from config.arrays import Floats
from config.joints import JOINTS
from config.markers import MarkerSet
from reconstruct.constraints import RootConstraint
from tools.style.request import BodyPoint, FixedAsked, ImagePointAsked, OrientationAsked, PointAsked
from tools.style.values import (
    MOST_M,
    MOST_OFFSET_M,
    PoseFileError,
    check_keys,
    find_camera_index,
    read_joint_name,
    read_number_key,
    read_numbers_key,
    read_rotation,
    read_word_key,
)

HANDLE_KEYS = ("joint", "marker", "offset_m", "end")
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
    """What the words of a file refer to: its cameras, its markers, how many styles there are."""

    rig: Rig | None
    worn: BodyMarkers | None
    n_styles: int


def body_markers_from_set(markers: MarkerSet) -> BodyMarkers:
    """Return the markers of a set at their nominal places."""
    return BodyMarkers(markers.names, markers.joint, markers.offset_m)


def read_point(where: str, entry: object, means: ConstraintContext) -> PointAsked:
    """Read a `[[point]]`.

    Args:
        where: the place in the file, for messages.
        entry: the table as read.
        means: cameras, markers and joints that may be named.
    """
    table = check_keys(where, entry, (*HANDLE_KEYS, "position_m", "sigma_m"))
    sigma_m = read_number_key(where, table, "sigma_m", POINT_SIGMA_M, LEAST_SIGMA_M, MOST_M)
    return PointAsked(read_handle(where, table, means), read_numbers_key(where, table, "position_m", 3, MOST_M), sigma_m)


def read_image_point(where: str, entry: object, means: ConstraintContext) -> ImagePointAsked:
    """Read an `[[image_point]]`.

    Args:
        where: the place in the file, for messages.
        entry: the table as read.
        means: cameras, markers and joints that may be named.
    Raises: PoseFileError: no camera, a point outside of its picture.
    """
    table = check_keys(where, entry, (*HANDLE_KEYS, "px", "sigma_px", "camera"))
    if means.rig is None:
        raise PoseFileError(f"{where}: an image point needs its camera; give --rig rig.toml, or a [camera] in the file")
    camera = find_camera_index(where, table.get("camera"), means.rig)
    px, (width, height) = read_numbers_key(where, table, "px", 2), means.rig.cameras[camera].size
    if not (-0.5 <= px[0] <= width - 0.5 and -0.5 <= px[1] <= height - 0.5):
        raise PoseFileError(f"{where}: px = {table['px']} is outside of the camera's picture of {width} x {height} pixels")
    sigma_px = read_number_key(where, table, "sigma_px", IMAGE_SIGMA_PX, LEAST_SIGMA_PX, 1e4)
    return ImagePointAsked(read_handle(where, table, means), px, sigma_px, camera)


def read_orientation(where: str, entry: object) -> OrientationAsked:
    """Read an `[[orientation]]`."""
    table = check_keys(where, entry, ("joint", "rotvec_deg", "quaternion_xyzw", "sigma_deg"))
    joint, rotation = read_joint_name(where, table), read_rotation(where, table)
    if rotation is None:
        raise PoseFileError(f"{where} lacks its rotation; give rotvec_deg or quaternion_xyzw, in the world, from the T-pose")
    return OrientationAsked(joint, rotation, _read_sigma_rad(where, table, ROTATION_SIGMA_DEG))


def read_fixed(where: str, entry: object) -> FixedAsked:
    """Read a `[[fixed]]`: without a rotation the joint stays as in the T-pose."""
    table = check_keys(where, entry, ("joint", "rotvec_deg", "quaternion_xyzw", "as", "sigma_deg"))
    joint, rotation = read_joint_name(where, table), read_rotation(where, table)
    if joint == 0:
        raise PoseFileError(f"{where}: {JOINTS[0]} turns in the world, not about a parent; use [[orientation]] or [root]")
    sigma_rad = _read_sigma_rad(where, table, FIXED_SIGMA_DEG)
    like = table.get("as", "rest" if rotation is None else None)
    if "as" in table and rotation is not None:
        raise PoseFileError(f"{where} has a rotation and as = {like!r}; give one of them")
    if isinstance(like, int) and not isinstance(like, bool) and 0 <= like < 2**31:
        return FixedAsked(joint, None, like, sigma_rad)
    if isinstance(like, int | float):
        raise PoseFileError(f'{where} as = {like!r}: give the number of a training pose, from 0 on, "mean" or "rest"')
    if rotation is None and read_word_key(where, {"as": like}, "as", ("rest", "mean")) == "mean":
        return FixedAsked(joint, None, None, sigma_rad)
    return FixedAsked(joint, np.eye(3) if rotation is None else rotation, None, sigma_rad)


def read_root(where: str, entry: object) -> RootConstraint:
    """Read `[root]`: where the hips are about, and how they are turned."""
    table = check_keys(where, entry, ("position_m", "sigma_m", "rotvec_deg", "quaternion_xyzw", "sigma_deg"))
    rotation = read_rotation(where, table)
    if rotation is None and "position_m" not in table:
        raise PoseFileError(f"{where} lacks position_m, rotvec_deg or quaternion_xyzw: say where the hips are, or how turned")
    position = read_numbers_key(where, table, "position_m", 3, MOST_M) if "position_m" in table else np.zeros(3)
    return RootConstraint(
        np.eye(3) if rotation is None else rotation,
        position,
        math.inf if rotation is None else _read_sigma_rad(where, table, ROOT_SIGMA_DEG),
        read_number_key(where, table, "sigma_m", ROOT_SIGMA_M, LEAST_SIGMA_M, MOST_M) if "position_m" in table else math.inf,
    )


def _read_sigma_rad(where: str, table: Mapping[str, Any], default_deg: float) -> float:
    """Read how surely a rotation is known."""
    return math.radians(read_number_key(where, table, "sigma_deg", default_deg, LEAST_SIGMA_DEG, 180.0))


def read_handle(where: str, table: Mapping[str, Any], means: ConstraintContext) -> BodyPoint:
    """Read which point of the body is meant: a joint, with an offset or at its bone's end, or a marker.

    Args:
        where: the place in the file, for messages.
        table: table of the point as read.
        means: cameras, markers and joints that may be named.
    """
    if ("joint" in table) == ("marker" in table):
        raise PoseFileError(f"{where} needs a joint or a marker, one of them")
    if "marker" not in table:
        return _read_joint_handle(where, table)
    if means.worn is None:
        raise PoseFileError(
            f'{where}: a marker needs its set; write markers = "boxing" at the top, or give --skeleton subject.toml'
        )
    if "offset_m" in table or "end" in table:
        raise PoseFileError(f"{where}: a marker has its own place; leave out offset_m and end")
    row = means.worn.names.index(read_word_key(where, table, "marker", means.worn.names))
    return BodyPoint(means.worn.names[row], int(means.worn.joint[row]), np.array(means.worn.offset_m[row]))


def _read_joint_handle(where: str, table: Mapping[str, Any]) -> BodyPoint:
    """Read a point that is named by its joint."""
    joint, end = read_joint_name(where, table), table.get("end", False)
    if not isinstance(end, bool):
        raise PoseFileError(f"{where} end must be true or false, got {end!r}")
    if end and "offset_m" in table:
        raise PoseFileError(f"{where} has end and offset_m; give one of them")
    if end:
        return BodyPoint(f"end of {JOINTS[joint]}", joint, None)
    return BodyPoint(
        JOINTS[joint], joint, read_numbers_key(where, {"offset_m": [0, 0, 0], **table}, "offset_m", 3, MOST_OFFSET_M)
    )
