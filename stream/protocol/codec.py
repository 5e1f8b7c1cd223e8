"""Messages as bytes and back: `topic`, one space, one msgpack map; no sockets here.

rotations_xyzw and confidence are packed little-endian float32, joint_source is one byte a joint. Unknown keys are ignored, so
that fields can be added; everything else that is not well-formed raises MalformedMessageError.
"""

import math
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import msgpack
import numpy as np
from numpy.typing import NDArray

from capture.sockets.wire import MAX_MESSAGE_BYTES, MalformedMessageError, field_of, floats_of, int_of, packed, unpacked_map
from config.settings import CAMERA_NAMES
from reconstruct.pose import TrackingState
from stream.protocol.messages import (
    CameraReading,
    EventMessage,
    FootForce,
    MarkerReading,
    Message,
    PoseMessage,
    RigMessage,
    SkeletonMessage,
    StatusMessage,
)

TOPIC_OF: dict[type[Any], bytes] = {
    SkeletonMessage: b"skeleton",
    RigMessage: b"rig",
    PoseMessage: b"pose",
    StatusMessage: b"status",
    EventMessage: b"event",
}
_FIELDS = {kind: tuple(item.name for item in fields(kind)) for kind in TOPIC_OF}
MAX_JOINTS = 256
MAX_SIDE_PX = 16384


def encode(message: Message) -> bytes:
    """Return the single-part message: topic, space, msgpack map."""
    content = {name: getattr(message, name) for name in _FIELDS[type(message)]}
    if isinstance(message, PoseMessage):
        content["rotations_xyzw"] = packed(np.asarray(message.rotations_xyzw), "<f4")
        content["confidence"] = packed(np.asarray(message.confidence), "<f4")
        content["error_m"] = packed(np.asarray(message.error_m), "<f4")
        content["joint_source"] = message.joint_source.astype(np.uint8).tobytes()
        content["markers"] = [
            {"name": m.name, "xyz": m.xyz, "residual": m.residual, "cameras": m.cameras, "measured": m.measured}
            for m in message.markers
        ]
        content["ground_forces"] = [
            {"joint": f.joint, "force_n": f.force_n, "center_m": f.center_m, "moment_nm": f.moment_nm}
            for f in message.ground_forces
        ]
        absent = [name for name in ("ground_forces", "error_m", "views") if not content[name]]
        for name in absent:  # a live pose has no forces, one of a take no errors and views
            del content[name]
    if isinstance(message, SkeletonMessage):
        content["offsets_m"] = np.asarray(message.offsets_m, float).tolist()
        content["rest_xyzw"] = np.asarray(message.rest_xyzw, float).tolist()
        content["tails_m"] = None if message.tails_m is None else np.asarray(message.tails_m, float).tolist()
    if isinstance(message, RigMessage):
        content["cameras"] = [_camera_content(camera) for camera in message.cameras]
    return TOPIC_OF[type(message)] + b" " + bytes(msgpack.packb(content, use_bin_type=True))


def _camera_content(camera: CameraReading) -> dict[str, Any]:
    """Return a camera as a map of plain values."""
    keys = ("matrix", "distortions", "rotation", "translation")
    arrays = {key: np.asarray(getattr(camera, key), float).tolist() for key in keys}
    return {"name": camera.name, "size": camera.size, **arrays, **({"fisheye": True} if camera.fisheye else {})}


def decode(payload: bytes) -> Message:
    """Return the message of a payload. Raises MalformedMessageError."""
    topic, space, body = payload[: MAX_MESSAGE_BYTES + 1].partition(b" ")
    decoder = _DECODERS.get(topic)
    if decoder is None or not space:
        known = ", ".join(name.decode() for name in TOPIC_OF.values())
        raise MalformedMessageError(f"unknown topic {topic[:20]!r}, expected one of {known}; the message was dropped")
    content = unpacked_map(body)
    schema = int_of(content, "schema")
    if schema != 1:
        raise MalformedMessageError(f"schema {schema} of a newer duocap, this one reads 1; update this client")
    return decoder(content)


def _skeleton(content: dict[str, Any]) -> SkeletonMessage:
    """Return a skeleton message."""
    names = _texts(content, "names")
    parents = tuple(_number_list(content, "parents", int))
    offsets_m, rest_xyzw = _rows(content, "offsets_m", 3), _rows(content, "rest_xyzw", 4)
    tails_m = None if content.get("tails_m") is None else _rows(content, "tails_m", 3)
    if tails_m is not None and len(tails_m) != len(names):
        raise MalformedMessageError(f"{len(names)} names and {len(tails_m)} tails in a skeleton; the message was dropped")
    if not 0 < len(names) == len(parents) == len(offsets_m) == len(rest_xyzw) <= MAX_JOINTS:
        raise MalformedMessageError(
            f"{len(names)} names, {len(parents)} parents, {len(offsets_m)} offsets in a skeleton; dropped"
        )
    if any(not -1 <= parent < joint for joint, parent in enumerate(parents)):
        raise MalformedMessageError("the parents of a skeleton do not come before their children; the message was dropped")
    humanoid = field_of(content, "humanoid", dict)
    if not all(isinstance(k, str) and isinstance(v, str) for k, v in humanoid.items()):
        raise MalformedMessageError("field 'humanoid' must map text to text; the message was dropped")
    conventions = {key: field_of(content, key, str) for key in ("units", "handedness", "up", "quaternion")}
    return SkeletonMessage(
        hash=field_of(content, "hash", str),
        names=names,
        parents=parents,
        offsets_m=offsets_m,
        rest_xyzw=rest_xyzw,
        humanoid=humanoid,
        markers=_texts(content, "markers"),
        subject=field_of(content, "subject", str),
        tails_m=tails_m,
        mass_kg=_mass_kg(content),
        **conventions,
    )


def _mass_kg(content: dict[str, Any]) -> float | None:
    """Return the mass of a skeleton's body."""
    if content.get("mass_kg") is None:
        return None
    mass_kg = float(field_of(content, "mass_kg", (int, float)))
    if not 0.0 < mass_kg < math.inf:
        raise MalformedMessageError(f"the mass of a skeleton is {mass_kg:g} kg, expected more than 0; the message was dropped")
    return mass_kg


def _rig(content: dict[str, Any]) -> RigMessage:
    """Return a rig message."""
    cameras = tuple(_camera(item) for item in field_of(content, "cameras", list))
    if not 1 <= len(cameras) <= len(CAMERA_NAMES):
        expected = f"one to {len(CAMERA_NAMES)}"
        raise MalformedMessageError(f"a rig of {len(cameras)} cameras, expected {expected}; the message was dropped")
    up_xyz = None if content.get("up_xyz") is None else _triple(content, "up_xyz")
    if up_xyz is not None and abs(math.hypot(*up_xyz) - 1.0) > 1e-3:
        raise MalformedMessageError("field 'up_xyz' must be a direction of length 1; the message was dropped")
    return RigMessage(field_of(content, "session", str), cameras, field_of(content, "floor_known", bool), up_xyz)


def _camera(content: object) -> CameraReading:
    """Return one camera of a rig."""
    if not isinstance(content, dict):
        raise MalformedMessageError(f"a camera must be a map, got {type(content).__name__}; the message was dropped")
    size = _number_list(content, "size", int)
    if len(size) != 2 or not all(0 < side <= MAX_SIDE_PX for side in size):
        raise MalformedMessageError("field 'size' must be a width and a height in pixels; the message was dropped")
    distortions = np.array(_number_list(content, "distortions", int, float), float)
    matrix = _rows(content, "matrix", 3)
    if len(distortions) not in (4, 5) or not np.isfinite(distortions).all() or len(matrix) != 3:
        raise MalformedMessageError("a camera needs a matrix of 3 x 3 and 4 or 5 distortions; the message was dropped")
    rotation, translation = np.array(_triple(content, "rotation")), np.array(_triple(content, "translation"))
    fisheye = content.get("fisheye", False)
    if not isinstance(fisheye, bool) or (fisheye and len(distortions) != 4):
        raise MalformedMessageError("a fisheye camera has 4 distortions, and 'fisheye' is true or false; the message was dropped")
    name = field_of(content, "name", str)
    return CameraReading(name, (size[0], size[1]), matrix, distortions, rotation, translation, fisheye)


def _pose(content: dict[str, Any]) -> PoseMessage:
    """Return a pose message."""
    rotations = floats_of(content, "rotations_xyzw", 4, "<f4")
    confidence = floats_of(content, "confidence", 1, "<f4")[:, 0]
    source = np.frombuffer(field_of(content, "joint_source", bytes), np.uint8)
    if not 0 < len(rotations) == len(confidence) == len(source) <= MAX_JOINTS:
        raise MalformedMessageError(f"{len(rotations)} rotations, {len(confidence)} confidences, {len(source)} sources; dropped")
    if not np.all(np.abs(np.linalg.norm(rotations, axis=1) - 1.0) < 1e-3):
        raise MalformedMessageError("rotations_xyzw holds quaternions that are not of unit length; the message was dropped")
    state = field_of(content, "state", str)
    if state not in tuple(TrackingState):
        expected = ", ".join(TrackingState)
        raise MalformedMessageError(f"unknown state {state[:20]!r}, expected one of {expected}; the message was dropped")
    latency_ns = field_of(content, "latency_ns", dict)
    return PoseMessage(
        hash=field_of(content, "hash", str),
        session=field_of(content, "session", str),
        seq=int_of(content, "seq"),
        t_capture_ns=int_of(content, "t_capture_ns"),
        t_publish_ns=int_of(content, "t_publish_ns"),
        skew_ns=int_of(content, "skew_ns", -(2**63)),
        state=TrackingState(state),
        root_m=_triple(content, "root_m"),
        rotations_xyzw=rotations.astype(np.float32),
        joint_source=source,
        confidence=confidence.astype(np.float32),
        contacts=_texts(content, "contacts"),
        markers=tuple(_marker(item) for item in field_of(content, "markers", list)),
        latency_ns={str(stage): int_of(latency_ns, stage, -(2**63)) for stage in latency_ns},
        predicted_ns=int_of(content, "predicted_ns") if "predicted_ns" in content else 0,
        ground_forces=_foot_forces(content),
        error_m=_errors_m(content, len(rotations)),
        views=int_of(content, "views") if "views" in content else 0,
    )


def _errors_m(content: dict[str, Any], n_joints: int) -> NDArray[np.float32]:
    """Return the expected errors of the joints of a pose, (J,) [m], or (0,) where it has none."""
    if "error_m" not in content:
        return np.zeros(0, np.float32)
    error_m = floats_of(content, "error_m", 1, "<f4")[:, 0]
    if len(error_m) != n_joints or not (error_m >= 0.0).all():
        raise MalformedMessageError(f"field 'error_m' must hold {n_joints} lengths; the message was dropped")
    return error_m.astype(np.float32)


def _foot_forces(content: dict[str, Any]) -> tuple[FootForce, ...]:
    """Return the forces of the ground on the feet of a pose."""
    found = field_of(content, "ground_forces", list) if "ground_forces" in content else []
    if len(found) > 2 or not all(isinstance(item, dict) for item in found):
        raise MalformedMessageError("field 'ground_forces' must hold a map for each of two feet; the message was dropped")
    return tuple(
        FootForce(
            field_of(item, "joint", str),
            _triple(item, "force_n"),
            None if item.get("center_m") is None else _triple(item, "center_m"),
            _triple(item, "moment_nm"),
        )
        for item in found
    )


def _marker(content: object) -> MarkerReading:
    """Return one marker of a pose."""
    if not isinstance(content, dict):
        raise MalformedMessageError(f"a marker must be a map, got {type(content).__name__}; the message was dropped")
    residual = None if content.get("residual") is None else float(field_of(content, "residual", (int, float)))
    if residual is not None and not math.isfinite(residual):
        raise MalformedMessageError("the residual of a marker is not finite; the message was dropped")
    cameras = tuple(_number_list(content, "cameras", int))
    measured = None if content.get("measured") is None else _triple(content, "measured")
    return MarkerReading(field_of(content, "name", str), _triple(content, "xyz"), residual, cameras, measured)


def _status(content: dict[str, Any]) -> StatusMessage:
    """Return a status message."""
    maps = {key: field_of(content, key, dict) for key in ("rates_hz", "drops", "skew_ns", "calibration", "cameras")}
    texts = {key: field_of(content, key, str) for key in ("service", "recording") if key in content}
    return StatusMessage(
        session=field_of(content, "session", str),
        t_ns=int_of(content, "t_ns"),
        state=field_of(content, "state", str),
        resting=_texts(content, "resting") if "resting" in content else (),
        lag_ns=int_of(content, "lag_ns") if "lag_ns" in content else 0,
        **maps,
        **texts,
    )


def _event(content: dict[str, Any]) -> EventMessage:
    """Return an event message."""
    texts = {key: field_of(content, key, str) for key in ("session", "kind", "text")}
    return EventMessage(t_ns=int_of(content, "t_ns"), **texts)


def _texts(content: dict[str, Any], key: str) -> tuple[str, ...]:
    """Return a list of text."""
    values = field_of(content, key, list)
    if not all(isinstance(value, str) for value in values):
        raise MalformedMessageError(f"field {key!r} must be a list of text; the message was dropped")
    return tuple(values)


def _number_list(content: dict[str, Any], key: str, *types: type) -> list[Any]:
    """Return a list of numbers of the given types."""
    values: list[Any] = field_of(content, key, list)
    if not set(map(type, values)) <= set(types):  # so a bool is no number
        raise MalformedMessageError(f"field {key!r} must be a list of numbers; the message was dropped")
    return values


def _triple(content: dict[str, Any], key: str) -> tuple[float, float, float]:
    """Return three finite numbers."""
    values = _number_list(content, key, int, float)
    if len(values) != 3 or not all(map(math.isfinite, values)):
        raise MalformedMessageError(f"field {key!r} must be three finite numbers; the message was dropped")
    return float(values[0]), float(values[1]), float(values[2])


def _rows(content: dict[str, Any], key: str, columns: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return a list of equally long lists of finite numbers as an array (n, columns)."""
    rows = field_of(content, key, list)
    table = [_number_list({key: row}, key, int, float) for row in rows]
    if any(len(row) != columns for row in table):
        raise MalformedMessageError(f"field {key!r} must be rows of {columns} numbers; the message was dropped")
    array = np.array(table, float).reshape(-1, columns)
    if not np.isfinite(array).all():
        raise MalformedMessageError(f"field {key!r} holds numbers that are not finite; the message was dropped")
    return array


_DECODERS: dict[bytes, Callable[[dict[str, Any]], Message]] = {
    b"skeleton": _skeleton,
    b"rig": _rig,
    b"pose": _pose,
    b"status": _status,
    b"event": _event,
}
