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
    HANDLE_KEYS,
    LEAST_SIGMA_M,
    POINT_SIGMA_M,
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
from tools.style.values import (
    MOST_M,
    PoseFileError,
    check_keys,
    check_numbers,
    read_cameras_asked,
    read_number_key,
    read_word_key,
)

POSE_KEYS = ("point", "image_point", "orientation", "fixed", "root", "shares")
FILE_KEYS = (*POSE_KEYS, "pose", "curve", "style_share", "camera", "markers")
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
    check_keys(where, table, FILE_KEYS)
    rig = read_cameras_asked(where, table.get("camera"), rig_file)
    if "markers" in table:
        if not isinstance(table["markers"], str):
            raise PoseFileError(f"{where}: markers must name a preset or a markers.toml, got {table['markers']!r}")
        worn = body_markers_from_set(read_marker_set(table["markers"]))
    means = ConstraintContext(rig, worn, n_styles)
    common = _read_pose(where, {key: table[key] for key in POSE_KEYS if key in table}, means)
    curves = tuple(_read_curve(place, entry, means) for place, entry in _read_entries(where, table, "curve"))
    shares = _read_style_shares(where, table, means)
    own = [_read_pose(place, check_keys(place, entry, POSE_KEYS), means) for place, entry in _read_entries(where, table, "pose")]
    if own and curves:
        raise PoseFileError(
            f"{where}: [[pose]] and [[curve]] in one file; what holds during the whole motion stands outside of both"
        )
    poses = tuple(pose.with_common(common) for pose in own) if own else (common,)
    return PoseRequest(poses, curves, shares), rig


def _read_entries(where: str, table: Mapping[str, Any], key: str) -> list[tuple[str, Any]]:
    """Return the tables of `[[key]]` with their places for errors. Raises PoseFileError: `[key]` was written."""
    entries = table.get(key, [])
    if not isinstance(entries, list):
        raise PoseFileError(f"{where}: write [[{key}]] with two brackets: there may be several")
    return [(f"{where}: {key} {number}", entry) for number, entry in enumerate(entries, 1)]


def _read_pose(where: str, table: Mapping[str, Any], means: ConstraintContext) -> PoseAsked:
    """Read what is asked of one pose."""
    return PoseAsked(
        tuple(read_point(place, entry, means) for place, entry in _read_entries(where, table, "point")),
        tuple(read_image_point(place, entry, means) for place, entry in _read_entries(where, table, "image_point")),
        tuple(read_orientation(place, entry) for place, entry in _read_entries(where, table, "orientation")),
        tuple(read_fixed(place, entry) for place, entry in _read_entries(where, table, "fixed")),
        read_root(f"{where}: root", table["root"]) if "root" in table else None,
        _read_shares(f"{where}: shares", table["shares"], means.n_styles) if "shares" in table else None,
    )


def _read_curve(where: str, entry: object, means: ConstraintContext) -> CurveAsked:
    """Read a `[[curve]]`. Raises PoseFileError: fewer than two keys, times that do not rise, other than one place a key."""
    table = check_keys(where, entry, (*HANDLE_KEYS, "times_s", "positions_m", "sigma_m", "between"))
    handle = read_handle(where, table, means)
    sigma_m = read_number_key(where, table, "sigma_m", POINT_SIGMA_M, LEAST_SIGMA_M, MOST_M)
    times, places = (_read_list(where, table, key) for key in ("times_s", "positions_m"))
    time_s = check_numbers(f"{where} times_s", times, len(times), MOST_TIME_S)
    rows = [check_numbers(f"{where} positions_m, key {n},", row, 3, MOST_M) for n, row in enumerate(places, 1)]
    try:
        curve = KeyedCurve(time_s, np.array(rows), read_word_key(where, table, "between", INTERPOLATIONS, INTERPOLATIONS[0]))
    except StyleError as error:
        raise PoseFileError(f"{where} ({handle.name}): {error}") from error
    return CurveAsked(handle, curve, sigma_m)


def _read_list(where: str, table: Mapping[str, Any], key: str) -> list[Any]:
    """Return a list that is not empty. Raises PoseFileError."""
    value = table.get(key)
    if not isinstance(value, list) or not value:
        raise PoseFileError(
            f"{where} needs {key}, a list with one entry a key; got {'nothing' if value is None else repr(value)}"
        )
    return value


def _read_style_shares(where: str, table: Mapping[str, Any], means: ConstraintContext) -> StyleShares | None:
    """Read the `[[style_share]]` keys. Raises PoseFileError: times that do not rise, no motion to share."""
    entries = _read_entries(where, table, "style_share")
    if not entries:
        return None
    times, rows = [], []
    for place, entry in entries:
        keyed = check_keys(place, entry, ("time_s", "shares"))
        times.append(check_numbers(f"{place} time_s", [keyed.get("time_s")], 1, MOST_TIME_S)[0])
        rows.append(_read_shares(f"{place} shares", keyed.get("shares"), means.n_styles))
    if not np.all(np.diff(times) > 0.0):
        raise PoseFileError(f"{where}: the times of [[style_share]] do not rise")
    return StyleShares(np.array(times), np.array(rows))


def _read_shares(where: str, value: object, n_styles: int) -> tuple[float, ...]:
    """Read one share for every style; they are scaled to a sum of 1. Raises PoseFileError."""
    shares = check_numbers(where, value, n_styles)
    if (shares < 0.0).any() or shares.sum() <= 0.0:
        raise PoseFileError(f"{where} must be at least 0 and not all 0, got {value!r}")
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
        read_word_key("--joints", {"joint": name}, "joint", JOINTS)
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
