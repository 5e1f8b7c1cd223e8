"""A session as a file, JSON: versioned, checked as it is read, replaced as a whole; with the picture that is posed after."""

import base64
import binascii
import json
import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from calibration.formats.rig_toml import camera_from_table, table_from_camera
from config.errors import DuocapError, describe_reason
from config.files import write_atomically
from config.joints import JOINTS
from database.geometry.skeleton import Skeleton
from stream.posing.document import (
    Document,
    Keyframe,
    PictureFile,
    PictureView,
    Point,
    PosingError,
    StoredPose,
    check_joint_name,
    check_point,
    pin_image_point,
    turn_joint,
)
from stream.posing.picture import MAX_SIDE_PX, MIN_SIDE_PX, unpack_picture

SCHEMA = "duocap-posing-1"
SUFFIX = ".json"
MAX_KEYS = 10_000
MAX_BYTES = 64_000_000
SAME_HEIGHT_M = 0.005


def write_posing_session(file: Path, document: Document, skeleton: Skeleton) -> None:
    """Write a session.

    Args:
        file: JSON to write.
        document: the session's document.
        skeleton: skeleton of the body.
    Raises: FileFormatError: it cannot be written.
    """
    write_atomically(file, format_posing_session(document, skeleton))


def check_session_body(file: Path, skeleton: Skeleton) -> str:
    """Return a word on a session that was made with another body than the one that is posed now; empty if it was this one."""
    try:
        height_m = float(json.loads(file.read_text("utf-8"))["skeleton"]["height_m"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""
    if abs(height_m - skeleton.height_m) < SAME_HEIGHT_M:
        return ""
    return f"{file} was posed with a body {height_m:.2f} m tall, this one is {skeleton.height_m:.2f} m: held joints may be missed"


def format_posing_session(document: Document, skeleton: Skeleton) -> str:
    """Return a session as the text of its file."""
    content: dict[str, Any] = {
        "schema": SCHEMA,
        "skeleton": {"name": skeleton.name, "height_m": round(skeleton.height_m, 4)},
        "joints": list(JOINTS),
        "model": document.model,
        "shares": list(document.shares),
        "pose": _format_pose_entry(document.pose),
        "pins": {name: list(at) for name, at in document.pins.items()},
        "image_points": {name: list(at) for name, at in document.image_points.items()},
        "turns": {name: list(rotvec) for name, rotvec in document.turns.items()},
        "keys": [
            {
                "time_s": key.time_s,
                "pose": _format_pose_entry(key.pose),
                "pins": {name: list(at) for name, at in key.pins.items()},
            }
            for key in document.keys
        ],
    }
    if document.picture is not None:
        content["picture"] = _format_picture_entry(document.picture)
    return json.dumps(content, indent=1, allow_nan=False) + "\n"


def read_posing_session(file: Path) -> Document:
    """Read a session. Raises PosingError: no such file, damaged, not a session, or of another version."""
    try:
        if file.stat().st_size > MAX_BYTES:
            raise PosingError(f"{file}: too large for a posing session; expected a file that `duocap pose` has written")
        content = file.read_bytes()
    except OSError as error:
        why = describe_reason(error)
        raise PosingError(f"{file}: cannot be read ({why}); give a session that `duocap pose` has written") from error
    return posing_session_from_bytes(content, str(file))


def posing_session_from_bytes(content: bytes, name: str) -> Document:
    """Read a session from the bytes of its file; name: name of the file, for messages. Raises PosingError."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise PosingError(f"{name}: not a posing session: not UTF-8 text") from error
    try:
        table = json.loads(text, object_pairs_hook=_check_unique_keys, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise PosingError(f"{name}: damaged or not a posing session ({error}); take an older copy of it") from error
    schema = table.get("schema") if isinstance(table, dict) else None
    if schema != SCHEMA:
        came = f"schema {schema!r}" if schema is not None else "a file without a schema"
        raise PosingError(f"{name}: not a posing session of this version: expected schema {SCHEMA!r}, came {came}")
    try:
        return _parse_document(table)
    except (DuocapError, KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise PosingError(f"{name}: damaged: {what}; take an older copy of it") from error


def _parse_document(content: Mapping[str, Any]) -> Document:
    """Return the document of a file's content. Raises PosingError, KeyError, TypeError, ValueError."""
    if content["joints"] != list(JOINTS):
        raise PosingError("its joints are not those of this duocap")
    keys = tuple(_parse_key(entry) for entry in content["keys"][: MAX_KEYS + 1])
    times_s = [key.time_s for key in keys]
    if len(keys) > MAX_KEYS or any(not b > a for a, b in pairwise(times_s)):
        raise PosingError(f"its keys do not rise in time, or are more than {MAX_KEYS}")
    shares = tuple(float(share) for share in content["shares"])
    if any(not (math.isfinite(share) and share >= 0.0) for share in shares):
        raise PosingError("a share of a style is negative or not finite")
    picture = _parse_picture(content["picture"]) if "picture" in content else None
    document = Document(
        _parse_pose(content["pose"]), _parse_pins(content["pins"]), {}, keys, str(content["model"]), shares, picture
    )
    for joint, at in content["image_points"].items():
        if joint in document.pins:
            raise PosingError(f"{joint} is held at a place and at a point of the picture")
        document = pin_image_point(document, joint, at)
    for joint, rotvec in content.get("turns", {}).items():
        document = turn_joint(document, joint, rotvec)
    return document


def _parse_key(entry: Mapping[str, Any]) -> Keyframe:
    """Return a key."""
    time_s = float(entry["time_s"])
    if not (math.isfinite(time_s) and time_s >= 0.0):
        raise PosingError(f"a key at {time_s} s")
    return Keyframe(time_s, _parse_pose(entry["pose"]), _parse_pins(entry["pins"]))


def _format_pose_entry(pose: StoredPose) -> dict[str, Any]:
    """Return a pose as the file has it."""
    return {"rotvec": pose.rotvec.tolist(), "root_m": pose.root_m.tolist()}


def _parse_pose(entry: Mapping[str, Any]) -> StoredPose:
    """Return a pose of the file."""
    return StoredPose(np.array(entry["rotvec"], np.float64), np.array(entry["root_m"], np.float64))


def _parse_pins(entry: Mapping[str, Any]) -> dict[str, Point]:
    """Return the handles that are held."""
    return {check_joint_name(joint): check_point(at) for joint, at in entry.items()}


def _format_picture_entry(picture: PictureView) -> dict[str, Any]:
    """Return a picture as the file has it."""
    entry: dict[str, Any] = {"size": list(picture.size), "fov_deg": picture.fov_deg}
    if picture.camera is not None:
        entry["camera"] = table_from_camera(picture.camera)
    if picture.file is not None:
        content = picture.file.content
        entry["file"] = {
            "name": picture.file.name,
            "crc32": binascii.crc32(content),
            "base64": base64.b64encode(content).decode(),
        }
    return entry


def _parse_picture(entry: Mapping[str, Any]) -> PictureView:
    """Return a picture. Raises DuocapError, KeyError, TypeError, ValueError."""
    width, height = (int(side) for side in entry["size"])
    fov_deg = float(entry["fov_deg"])
    if not (min(width, height) >= MIN_SIDE_PX and max(width, height) <= MAX_SIDE_PX and 10.0 <= fov_deg <= 150.0):
        raise PosingError(f"a picture of {width}x{height} px seen at {fov_deg} degrees")
    camera = camera_from_table("the picture's camera", entry["camera"]) if "camera" in entry else None
    if camera is not None and camera.size != (width, height):
        raise PosingError(f"a camera for {camera.size[0]}x{camera.size[1]} px and a picture of {width}x{height}")
    picture = PictureView((width, height), fov_deg, camera, _parse_picture_file(entry["file"]) if "file" in entry else None)
    unpack_picture(picture)
    return picture


def _parse_picture_file(entry: Mapping[str, Any]) -> PictureFile:
    """Return the bytes of a picture. Raises PosingError: damaged."""
    content = base64.b64decode(entry["base64"], validate=True)
    if binascii.crc32(content) != entry["crc32"]:
        raise PosingError("the picture in it is not as it was written")
    return PictureFile(str(entry["name"]), content)


def _check_unique_keys(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of the file. Raises ValueError: a name twice, of which JSON would silently keep the last."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice in it")
    return found


def _refuse_constant(name: str) -> float:
    """Refuse NaN and infinite numbers."""
    raise ValueError(f"{name} is no number")
