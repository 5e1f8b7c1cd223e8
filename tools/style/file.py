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
from database.geometry.kinematics import forward
from reconstruct.models.style.model import StyleError
from reconstruct.models.style.synthesis.curves import INTERPOLATIONS, KeyedCurve
from tools.style.entries import (
    HANDLE_KEYS,
    LEAST_SIGMA_M,
    POINT_SIGMA_M,
    ConstraintContext,
    NamedMarkers,
    fixed_of,
    handle_of,
    image_point_of,
    orientation_of,
    point_of,
    root_of,
    worn_of,
)
from tools.style.request import BodyPoint, CurveAsked, PoseAsked, PoseRequest, SharesAsked
from tools.style.values import MOST_M, PoseFileError, check_keys, checked_numbers, number, rig_of, word

POSE_KEYS = ("point", "image_point", "orientation", "fixed", "root", "shares")
FILE_KEYS = (*POSE_KEYS, "pose", "curve", "style_share", "camera", "markers")
MOST_TIME_S = 3600.0


def read_request(
    file: Path, n_styles: int, rig_file: Path | None = None, worn: NamedMarkers | None = None
) -> tuple[PoseRequest, Rig | None]:
    """Read a file of constraints; give what it asks for and its cameras.

    n_styles: shares must be as many; rig_file: cameras of image points; worn: markers of the performer, which the file's own
    `markers` replaces. Raises DuocapError with the place in the file.
    """
    table = read_toml(file, PoseFileError, "the constraints", "docs/style-pose.md describes the file")
    return request_of(str(file), table, n_styles, rig_file, worn)


def request_of(
    where: str, table: Mapping[str, Any], n_styles: int, rig_file: Path | None = None, worn: NamedMarkers | None = None
) -> tuple[PoseRequest, Rig | None]:
    """Check the tables of a file, named `where` in errors."""
    check_keys(where, table, FILE_KEYS)
    rig = rig_of(where, table.get("camera"), rig_file)
    if "markers" in table:
        if not isinstance(table["markers"], str):
            raise PoseFileError(f"{where}: markers must name a preset or a markers.toml, got {table['markers']!r}")
        worn = worn_of(read_marker_set(table["markers"]))
    means = ConstraintContext(rig, worn, n_styles)
    common = _pose(where, {key: table[key] for key in POSE_KEYS if key in table}, means)
    curves = tuple(_curve(place, entry, means) for place, entry in _entries(where, table, "curve"))
    shares = _style_shares(where, table, means)
    own = [_pose(place, check_keys(place, entry, POSE_KEYS), means) for place, entry in _entries(where, table, "pose")]
    if own and curves:
        raise PoseFileError(
            f"{where}: [[pose]] and [[curve]] in one file; what holds during the whole motion stands outside of both"
        )
    poses = tuple(pose.with_common(common) for pose in own) if own else (common,)
    return PoseRequest(poses, curves, shares), rig


def _entries(where: str, table: Mapping[str, Any], key: str) -> list[tuple[str, Any]]:
    """Return the tables of `[[key]]` with their places for errors. Raises PoseFileError: `[key]` was written."""
    entries = table.get(key, [])
    if not isinstance(entries, list):
        raise PoseFileError(f"{where}: write [[{key}]] with two brackets: there may be several")
    return [(f"{where}: {key} {number}", entry) for number, entry in enumerate(entries, 1)]


def _pose(where: str, table: Mapping[str, Any], means: ConstraintContext) -> PoseAsked:
    """Read what is asked of one pose."""
    return PoseAsked(
        tuple(point_of(place, entry, means) for place, entry in _entries(where, table, "point")),
        tuple(image_point_of(place, entry, means) for place, entry in _entries(where, table, "image_point")),
        tuple(orientation_of(place, entry) for place, entry in _entries(where, table, "orientation")),
        tuple(fixed_of(place, entry) for place, entry in _entries(where, table, "fixed")),
        root_of(f"{where}: root", table["root"]) if "root" in table else None,
        _shares(f"{where}: shares", table["shares"], means.n_styles) if "shares" in table else None,
    )


def _curve(where: str, entry: object, means: ConstraintContext) -> CurveAsked:
    """Read a `[[curve]]`. Raises PoseFileError: fewer than two keys, times that do not rise, other than one place a key."""
    table = check_keys(where, entry, (*HANDLE_KEYS, "times_s", "positions_m", "sigma_m", "between"))
    handle, sigma_m = handle_of(where, table, means), number(where, table, "sigma_m", POINT_SIGMA_M, LEAST_SIGMA_M, MOST_M)
    times, places = (_listed(where, table, key) for key in ("times_s", "positions_m"))
    time_s = checked_numbers(f"{where} times_s", times, len(times), MOST_TIME_S)
    rows = [checked_numbers(f"{where} positions_m, key {n},", row, 3, MOST_M) for n, row in enumerate(places, 1)]
    try:
        curve = KeyedCurve(time_s, np.array(rows), word(where, table, "between", INTERPOLATIONS, INTERPOLATIONS[0]))
    except StyleError as error:
        raise PoseFileError(f"{where} ({handle.name}): {error}") from error
    return CurveAsked(handle, curve, sigma_m)


def _listed(where: str, table: Mapping[str, Any], key: str) -> list[Any]:
    """Return a list that is not empty. Raises PoseFileError."""
    value = table.get(key)
    if not isinstance(value, list) or not value:
        raise PoseFileError(
            f"{where} needs {key}, a list with one entry a key; got {'nothing' if value is None else repr(value)}"
        )
    return value


def _style_shares(where: str, table: Mapping[str, Any], means: ConstraintContext) -> SharesAsked | None:
    """Read the `[[style_share]]` keys. Raises PoseFileError: times that do not rise, no motion to share."""
    entries = _entries(where, table, "style_share")
    if not entries:
        return None
    times, rows = [], []
    for place, entry in entries:
        keyed = check_keys(place, entry, ("time_s", "shares"))
        times.append(checked_numbers(f"{place} time_s", [keyed.get("time_s")], 1, MOST_TIME_S)[0])
        rows.append(_shares(f"{place} shares", keyed.get("shares"), means.n_styles))
    if not np.all(np.diff(times) > 0.0):
        raise PoseFileError(f"{where}: the times of [[style_share]] do not rise")
    return SharesAsked(np.array(times), np.array(rows))


def _shares(where: str, value: object, n_styles: int) -> tuple[float, ...]:
    """Read one share for every style; they are scaled to a sum of 1. Raises PoseFileError."""
    shares = checked_numbers(where, value, n_styles)
    if (shares < 0.0).any() or shares.sum() <= 0.0:
        raise PoseFileError(f"{where} must be at least 0 and not all 0, got {value!r}")
    return tuple((shares / shares.sum()).tolist())


def with_motion(request: PoseRequest, file: Path, joints: str) -> PoseRequest:
    """Return a request with joints of a motion as further curves, from 0 s on.

    joints: names with commas between. Raises DuocapError: no motion, unknown joints, several poses asked for as well.
    """
    names = [name.strip() for name in joints.split(",") if name.strip()]
    for name in names:
        word("--joints", {"joint": name}, "joint", JOINTS)
    if not names or len(set(names)) != len(names):
        raise PoseFileError(f"--joints {joints!r}: give some joints, each once, such as leftHand,leftFoot,rightFoot")
    if len(request.poses) > 1:
        raise PoseFileError(
            f"--trajectory and {len(request.poses)} poses; what holds during the whole motion stands outside of [[pose]]"
        )
    clip = read_clip(file)
    p = forward(clip.skeleton, clip.rotvec, clip.root_m)[1]
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
