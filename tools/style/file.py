"""The file of constraints (docs/style-pose.md): points, image points, orientations and held joints in a TOML, checked and typed.

Joints of a motion file as curves that a body in a style shall follow.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from calibration.camera import Rig
from config.files import read_toml
from config.joints import JOINT_INDEX, JOINTS
from config.markers import read_marker_set
from database.files.read import read_clip
from database.geometry.kinematics import compute_forward_kinematics
from reconstruct.models.style.model import StyleError
from reconstruct.models.style.synthesis.curves import INTERPOLATIONS, KeyedCurve
from tools.style.entries import (
    FIXED_KEYS,
    HANDLE_KEYS,
    IMAGE_POINT_KEYS,
    LEAST_SIGMA_M,
    ORIENTATION_KEYS,
    POINT_KEYS,
    POINT_SIGMA_M,
    ROOT_KEYS,
    BodyMarkers,
    ConstraintContext,
    body_markers_from_set,
    read_fixed,
    read_handle,
    read_image_point,
    read_orientation,
    read_point,
    read_root,
)
from tools.style.request import BodyPoint, CurveAsked, PoseAsked, PoseRequest, StyleShares
from tools.style.values import MOST_M, AskedTable, PoseFileError, check_numbers, check_table, check_word, read_cameras_asked

POSE_KEYS = ("point", "image_point", "orientation", "fixed", "root", "shares")
FILE_KEYS = (*POSE_KEYS, "pose", "curve", "style_share", "camera", "markers")
CURVE_KEYS = (*HANDLE_KEYS, "times_s", "positions_m", "sigma_m", "between")
MOST_TIME_S = 3600.0


def read_request(
    file: Path, n_styles: int, rig_file: Path | None = None, worn: BodyMarkers | None = None
) -> tuple[PoseRequest, Rig | None]:
    """Read a file of constraints; return its request and its cameras.

    Args:
        file: file of constraints.
        n_styles: number of styles; a share is expected for each.
        rig_file: cameras of image points.
        worn: markers of the performer, which the file's own `markers` replaces.
    Raises: DuocapError with the place in the file.
    """
    table = read_toml(file, PoseFileError, "the constraints", "docs/style-pose.md describes the file")
    return parse_request(str(file), table, n_styles, rig_file, worn)


def parse_request(
    where: str, table: Mapping[str, Any], n_styles: int, rig_file: Path | None = None, worn: BodyMarkers | None = None
) -> tuple[PoseRequest, Rig | None]:
    """Check the tables of a file, named `where` in errors.

    Args:
        where: the file, for messages.
        table: table of the file as read.
        n_styles: shares must be as many.
        rig_file: cameras of image points.
        worn: markers of the performer.
    """
    top = check_table(where, table, FILE_KEYS)
    rig = read_cameras_asked(top, rig_file)
    if "markers" in top:
        if not isinstance(table["markers"], str):
            raise PoseFileError(f"{where}: markers must name a preset or a markers.toml, got {table['markers']!r}")
        worn = body_markers_from_set(read_marker_set(table["markers"]))
    means = ConstraintContext(rig, worn, n_styles)
    common = _read_pose(top, means)
    curves = tuple(_read_curve(each, means) for each in top.list_tables("curve", CURVE_KEYS))
    shares = _read_style_shares(top, means)
    own = [_read_pose(each, means) for each in top.list_tables("pose", POSE_KEYS)]
    if own and curves:
        raise PoseFileError(
            f"{where}: [[pose]] and [[curve]] in one file; what holds during the whole motion stands outside of both"
        )
    poses = tuple(pose.with_common(common) for pose in own) if own else (common,)
    return PoseRequest(poses, curves, shares), rig


def _read_pose(table: AskedTable, means: ConstraintContext) -> PoseAsked:
    """Read what is asked of one pose, or of all."""
    return PoseAsked(
        tuple(read_point(each, means) for each in table.list_tables("point", POINT_KEYS)),
        tuple(read_image_point(each, means) for each in table.list_tables("image_point", IMAGE_POINT_KEYS)),
        tuple(read_orientation(each) for each in table.list_tables("orientation", ORIENTATION_KEYS)),
        tuple(read_fixed(each) for each in table.list_tables("fixed", FIXED_KEYS)),
        read_root(table.read_table("root", ROOT_KEYS)) if "root" in table else None,
        _read_shares(table, means.n_styles) if "shares" in table else None,
    )


def _read_curve(table: AskedTable, means: ConstraintContext) -> CurveAsked:
    """Read a `[[curve]]`. Raises PoseFileError: fewer than two keys, times that do not rise, other than one place a key."""
    handle = read_handle(table, means)
    sigma_m = table.read_number("sigma_m", POINT_SIGMA_M, LEAST_SIGMA_M, MOST_M)
    times, places = (_read_list(table, key) for key in ("times_s", "positions_m"))
    time_s = table.read_numbers("times_s", len(times), MOST_TIME_S)
    rows = [check_numbers(f"{table.where} positions_m, key {n},", row, 3, MOST_M) for n, row in enumerate(places, 1)]
    try:
        curve = KeyedCurve(time_s, np.array(rows), table.read_word("between", INTERPOLATIONS, INTERPOLATIONS[0]))
    except StyleError as error:
        raise PoseFileError(f"{table.where} ({handle.name}): {error}") from error
    return CurveAsked(handle, curve, sigma_m)


def _read_list(table: AskedTable, key: str) -> list[Any]:
    """Return a list that is not empty. Raises PoseFileError."""
    value = table.values.get(key)
    if not isinstance(value, list) or not value:
        got = "nothing" if value is None else repr(value)
        raise PoseFileError(f"{table.where} needs {key}, a list with one entry a key; got {got}")
    return value


def _read_style_shares(table: AskedTable, means: ConstraintContext) -> StyleShares | None:
    """Read the `[[style_share]]` keys. Raises PoseFileError: times that do not rise, no motion to share."""
    times, rows = [], []
    for keyed in table.list_tables("style_share", ("time_s", "shares")):
        times.append(check_numbers(f"{keyed.where} time_s", [keyed.values.get("time_s")], 1, MOST_TIME_S)[0])
        rows.append(_read_shares(keyed, means.n_styles))
    if not times:
        return None
    if not np.all(np.diff(times) > 0.0):
        raise PoseFileError(f"{table.where}: the times of [[style_share]] do not rise")
    return StyleShares(np.array(times), np.array(rows))


def _read_shares(table: AskedTable, n_styles: int) -> tuple[float, ...]:
    """Read one share for every style; they are scaled to a sum of 1. Raises PoseFileError."""
    shares = table.read_numbers("shares", n_styles)
    if (shares < 0.0).any() or shares.sum() <= 0.0:
        raise PoseFileError(f"{table.where} shares must be at least 0 and not all 0, got {table.values['shares']!r}")
    return tuple((shares / shares.sum()).tolist())


def add_motion_curves(request: PoseRequest, file: Path, joints: str) -> PoseRequest:
    """Return a request with joints of a motion as further curves, from 0 s on.

    Args:
        request: request to extend.
        file: file of the motion.
        joints: names with commas between.
    Raises: DuocapError: no motion, unknown joints, several poses asked for as well.
    """
    names = [name.strip() for name in joints.split(",") if name.strip()]
    for name in names:
        check_word("--joints", "joint", name, JOINTS)
    if not names or len(set(names)) != len(names):
        raise PoseFileError(f"--joints {joints!r}: give some joints, each once, such as leftHand,leftFoot,rightFoot")
    if len(request.poses) > 1:
        raise PoseFileError(
            f"--trajectory and {len(request.poses)} poses; what holds during the whole motion stands outside of [[pose]]"
        )
    clip = read_clip(file)
    p = compute_forward_kinematics(clip.skeleton, clip.rotvec, clip.root_m)[1]
    seconds = np.arange(clip.n_frames) / clip.fps
    try:
        curves = tuple(
            CurveAsked(
                BodyPoint(name, JOINT_INDEX[name], np.zeros(3)),
                KeyedCurve(seconds, p[:, JOINT_INDEX[name]], "linear"),
                POINT_SIGMA_M,
            )
            for name in names
        )
    except StyleError as error:
        raise PoseFileError(f"{file}: {error}") from error
    return replace(request, curves=request.curves + curves)
