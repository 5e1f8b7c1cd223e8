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

from calibration.camera import MAX_SIDE_PX
from capture.sockets.wire import (
    MAX_MESSAGE_BYTES,
    MalformedMessageError,
    pack_floats,
    read_float_field,
    read_int_field,
    read_message_field,
    unpack_map,
)
from config.settings import CAMERA_NAMES
from reconstruct.pose import TrackingState
from stream.protocol.messages import (
    CameraReading,
    EventMessage,
    FootForce,
    MarkerReading,
    Message,
    PlacedProp,
    PoseMessage,
    PropReading,
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
# Absent where they are empty: a live pose has no forces, one of a take no errors and views, one by markers no landmarks.
OPTIONAL = ("ground_forces", "error_m", "views", "landmarks", "props")
MAX_JOINTS = 256


def encode_message(message: Message) -> bytes:
    """Return the single-part message: topic, space, msgpack map."""
    content = {name: getattr(message, name) for name in _FIELDS[type(message)]}
    if isinstance(message, PoseMessage):
        for name in ("rotations_xyzw", "confidence", "error_m"):
            content[name] = pack_floats(np.asarray(content[name]), "<f4")
        for name in ("markers", "ground_forces", "props"):
            content[name] = [part._asdict() for part in content[name]]
        content["joint_source"] = message.joint_source.astype(np.uint8).tobytes()
    if isinstance(message, SkeletonMessage):
        for name in ("offsets_m", "rest_xyzw", "tails_m"):
            content[name] = None if content[name] is None else np.asarray(content[name], float).tolist()
        content["props"] = [prop._asdict() for prop in message.props]
    if isinstance(message, RigMessage):
        content["cameras"] = [_encode_camera(camera) for camera in message.cameras]
    content = {name: value for name, value in content.items() if name not in OPTIONAL or value}
    return TOPIC_OF[type(message)] + b" " + bytes(msgpack.packb(content, use_bin_type=True))


def _encode_camera(camera: CameraReading) -> dict[str, Any]:
    """Return a camera as a map of plain values."""
    keys = ("matrix", "distortions", "rotation", "translation")
    arrays = {key: np.asarray(getattr(camera, key), float).tolist() for key in keys}
    return {"name": camera.name, "size": camera.size, **arrays, **({"fisheye": True} if camera.fisheye else {})}


def decode_message(payload: bytes) -> Message:
    """Return the message of a payload. Raises MalformedMessageError."""
    topic, space, body = payload[: MAX_MESSAGE_BYTES + 1].partition(b" ")
    decoder = _DECODERS.get(topic)
    if decoder is None or not space:
        known = ", ".join(name.decode() for name in TOPIC_OF.values())
        raise MalformedMessageError(f"unknown topic {topic[:20]!r}, expected one of {known}; the message was dropped")
    content = unpack_map(body)
    schema = read_int_field(content, "schema")
    if schema != 1:
        raise MalformedMessageError(f"schema {schema} of a newer duocap, this one reads 1; update this client")
    return decoder(content)


def _decode_skeleton(content: dict[str, Any]) -> SkeletonMessage:
    """Return a skeleton message."""
    names = _decode_texts(content, "names")
    parents = tuple(_decode_number_list(content, "parents", int))
    offsets_m, rest_xyzw = _decode_rows(content, "offsets_m", 3), _decode_rows(content, "rest_xyzw", 4)
    tails_m = None if content.get("tails_m") is None else _decode_rows(content, "tails_m", 3)
    if tails_m is not None and len(tails_m) != len(names):
        raise MalformedMessageError(f"{len(names)} names and {len(tails_m)} tails in a skeleton; the message was dropped")
    if not 0 < len(names) == len(parents) == len(offsets_m) == len(rest_xyzw) <= MAX_JOINTS:
        raise MalformedMessageError(
            f"{len(names)} names, {len(parents)} parents, {len(offsets_m)} offsets in a skeleton; dropped"
        )
    if any(not -1 <= parent < joint for joint, parent in enumerate(parents)):
        raise MalformedMessageError("the parents of a skeleton do not come before their children; the message was dropped")
    humanoid = read_message_field(content, "humanoid", dict)
    if not all(isinstance(k, str) and isinstance(v, str) for k, v in humanoid.items()):
        raise MalformedMessageError("field 'humanoid' must map text to text; the message was dropped")
    conventions = {key: read_message_field(content, key, str) for key in ("units", "handedness", "up", "quaternion")}
    return SkeletonMessage(
        hash=read_message_field(content, "hash", str),
        names=names,
        parents=parents,
        offsets_m=offsets_m,
        rest_xyzw=rest_xyzw,
        humanoid=humanoid,
        markers=_decode_texts(content, "markers"),
        subject=read_message_field(content, "subject", str),
        tails_m=tails_m,
        mass_kg=_decode_mass_kg(content),
        props=_decode_props(content, names),
        **conventions,
    )


def _decode_props(content: dict[str, Any], joints: tuple[str, ...]) -> tuple[PropReading, ...]:
    """Return the props of a skeleton."""
    found = []
    for item in _decode_maps(content, "props"):
        length_m, behind_m = (float(read_message_field(item, key, (int, float))) for key in ("length_m", "behind_m"))
        name, joint = (read_message_field(item, key, str) for key in ("name", "joint"))
        if joint not in joints or not (0.0 <= length_m < math.inf and 0.0 <= behind_m < math.inf):
            raise MalformedMessageError(f"the prop {name!r} of a skeleton is on no joint of it, or has no length; dropped")
        found.append(PropReading(name, joint, _decode_triple(item, "offset_m"), _decode_rotation(item), length_m, behind_m))
    return tuple(found)


def _decode_placed_props(content: dict[str, Any]) -> tuple[PlacedProp, ...]:
    """Return the props of a pose."""
    return tuple(
        PlacedProp(read_message_field(item, "name", str), _decode_triple(item, "xyz"), _decode_rotation(item))
        for item in _decode_maps(content, "props")
    )


def _decode_rotation(content: dict[str, Any]) -> tuple[float, float, float, float]:
    """Return the quaternion of a prop."""
    values = _decode_number_list(content, "rotation_xyzw", int, float)
    if len(values) != 4 or not abs(math.hypot(*values) - 1.0) < 1e-3:
        raise MalformedMessageError("the rotation of a prop is no quaternion of unit length; the message was dropped")
    return float(values[0]), float(values[1]), float(values[2]), float(values[3])


def _decode_mass_kg(content: dict[str, Any]) -> float | None:
    """Return the mass of a skeleton's body."""
    if content.get("mass_kg") is None:
        return None
    mass_kg = float(read_message_field(content, "mass_kg", (int, float)))
    if not 0.0 < mass_kg < math.inf:
        raise MalformedMessageError(f"the mass of a skeleton is {mass_kg:g} kg, expected more than 0; the message was dropped")
    return mass_kg


def _decode_rig(content: dict[str, Any]) -> RigMessage:
    """Return a rig message."""
    cameras = tuple(_decode_camera(item) for item in _decode_maps(content, "cameras"))
    if not 1 <= len(cameras) <= len(CAMERA_NAMES):
        expected = f"one to {len(CAMERA_NAMES)}"
        raise MalformedMessageError(f"a rig of {len(cameras)} cameras, expected {expected}; the message was dropped")
    up_xyz = None if content.get("up_xyz") is None else _decode_triple(content, "up_xyz")
    if up_xyz is not None and abs(math.hypot(*up_xyz) - 1.0) > 1e-3:
        raise MalformedMessageError("field 'up_xyz' must be a direction of length 1; the message was dropped")
    return RigMessage(
        read_message_field(content, "session", str), cameras, read_message_field(content, "floor_known", bool), up_xyz
    )


def _decode_camera(content: dict[str, Any]) -> CameraReading:
    """Return one camera of a rig."""
    size = _decode_number_list(content, "size", int)
    if len(size) != 2 or not all(0 < side <= MAX_SIDE_PX for side in size):
        raise MalformedMessageError("field 'size' must be a width and a height in pixels; the message was dropped")
    distortions = np.array(_decode_number_list(content, "distortions", int, float), float)
    matrix = _decode_rows(content, "matrix", 3)
    if len(distortions) not in (4, 5) or not np.isfinite(distortions).all() or len(matrix) != 3:
        raise MalformedMessageError("a camera needs a matrix of 3 x 3 and 4 or 5 distortions; the message was dropped")
    rotation, translation = np.array(_decode_triple(content, "rotation")), np.array(_decode_triple(content, "translation"))
    fisheye = content.get("fisheye", False)
    if not isinstance(fisheye, bool) or (fisheye and len(distortions) != 4):
        raise MalformedMessageError("a fisheye camera has 4 distortions, and 'fisheye' is true or false; the message was dropped")
    name = read_message_field(content, "name", str)
    return CameraReading(name, (size[0], size[1]), matrix, distortions, rotation, translation, fisheye)


def _decode_pose(content: dict[str, Any]) -> PoseMessage:
    """Return a pose message."""
    rotations = read_float_field(content, "rotations_xyzw", 4, "<f4")
    confidence = read_float_field(content, "confidence", 1, "<f4")[:, 0]
    source = np.frombuffer(read_message_field(content, "joint_source", bytes), np.uint8)
    if not 0 < len(rotations) == len(confidence) == len(source) <= MAX_JOINTS:
        raise MalformedMessageError(f"{len(rotations)} rotations, {len(confidence)} confidences, {len(source)} sources; dropped")
    if not np.all(np.abs(np.linalg.norm(rotations, axis=1) - 1.0) < 1e-3):
        raise MalformedMessageError("rotations_xyzw holds quaternions that are not of unit length; the message was dropped")
    state = read_message_field(content, "state", str)
    if state not in tuple(TrackingState):
        expected = ", ".join(TrackingState)
        raise MalformedMessageError(f"unknown state {state[:20]!r}, expected one of {expected}; the message was dropped")
    latency_ns = read_message_field(content, "latency_ns", dict)
    return PoseMessage(
        hash=read_message_field(content, "hash", str),
        session=read_message_field(content, "session", str),
        seq=read_int_field(content, "seq"),
        t_capture_ns=read_int_field(content, "t_capture_ns"),
        t_publish_ns=read_int_field(content, "t_publish_ns"),
        skew_ns=read_int_field(content, "skew_ns", -(2**63)),
        state=TrackingState(state),
        root_m=_decode_triple(content, "root_m"),
        rotations_xyzw=rotations.astype(np.float32),
        joint_source=source,
        confidence=confidence.astype(np.float32),
        contacts=_decode_texts(content, "contacts"),
        markers=tuple(_decode_marker(item) for item in _decode_maps(content, "markers")),
        latency_ns={str(stage): read_int_field(latency_ns, stage, -(2**63)) for stage in latency_ns},
        predicted_ns=read_int_field(content, "predicted_ns") if "predicted_ns" in content else 0,
        ground_forces=_decode_foot_forces(content),
        error_m=_decode_errors_m(content, len(rotations)),
        views=read_int_field(content, "views") if "views" in content else 0,
        landmarks=_decode_exchanges(content) if "landmarks" in content else (),
        props=_decode_placed_props(content),
    )


def _decode_errors_m(content: dict[str, Any], n_joints: int) -> NDArray[np.float32]:
    """Return the expected errors of the joints of a pose, (J,) [m], or (0,) where it has none."""
    if "error_m" not in content:
        return np.zeros(0, np.float32)
    error_m = read_float_field(content, "error_m", 1, "<f4")[:, 0]
    if len(error_m) != n_joints or not (error_m >= 0.0).all():
        raise MalformedMessageError(f"field 'error_m' must hold {n_joints} lengths; the message was dropped")
    return error_m.astype(np.float32)


def _decode_exchanges(content: dict[str, Any]) -> tuple[str | None, ...]:
    """Return what the landmarks of each camera have exchanged, None where it has none."""
    values = read_message_field(content, "landmarks", list)
    if len(values) > len(CAMERA_NAMES) or not all(value is None or isinstance(value, str) for value in values):
        raise MalformedMessageError("field 'landmarks' must be a list of text or nil by camera; the message was dropped")
    return tuple(values)


def _decode_foot_forces(content: dict[str, Any]) -> tuple[FootForce, ...]:
    """Return the forces of the ground on the feet of a pose."""
    found = _decode_maps(content, "ground_forces")
    if len(found) > 2:
        raise MalformedMessageError(f"ground forces on {len(found)} feet, expected two at the most; the message was dropped")
    return tuple(
        FootForce(
            read_message_field(item, "joint", str),
            _decode_triple(item, "force_n"),
            None if item.get("center_m") is None else _decode_triple(item, "center_m"),
            _decode_triple(item, "moment_nm"),
        )
        for item in found
    )


def _decode_marker(content: dict[str, Any]) -> MarkerReading:
    """Return one marker of a pose."""
    residual = None if content.get("residual") is None else float(read_message_field(content, "residual", (int, float)))
    if residual is not None and not math.isfinite(residual):
        raise MalformedMessageError("the residual of a marker is not finite; the message was dropped")
    cameras = tuple(_decode_number_list(content, "cameras", int))
    measured = None if content.get("measured") is None else _decode_triple(content, "measured")
    return MarkerReading(read_message_field(content, "name", str), _decode_triple(content, "xyz"), residual, cameras, measured)


def _decode_status(content: dict[str, Any]) -> StatusMessage:
    """Return a status message."""
    maps = {key: read_message_field(content, key, dict) for key in ("rates_hz", "drops", "skew_ns", "calibration", "cameras")}
    texts = {key: read_message_field(content, key, str) for key in ("service", "recording") if key in content}
    return StatusMessage(
        session=read_message_field(content, "session", str),
        t_ns=read_int_field(content, "t_ns"),
        state=read_message_field(content, "state", str),
        resting=_decode_texts(content, "resting") if "resting" in content else (),
        lag_ns=read_int_field(content, "lag_ns") if "lag_ns" in content else 0,
        **maps,
        **texts,
    )


def _decode_event(content: dict[str, Any]) -> EventMessage:
    """Return an event message."""
    texts = {key: read_message_field(content, key, str) for key in ("session", "kind", "text")}
    return EventMessage(t_ns=read_int_field(content, "t_ns"), **texts)


def _decode_maps(content: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """Return a list of maps, empty where an optional one is absent."""
    values: list[Any] = [] if key in OPTIONAL and key not in content else read_message_field(content, key, list)
    if not all(isinstance(value, dict) for value in values):
        raise MalformedMessageError(f"field {key!r} must be a list of maps; the message was dropped")
    return values


def _decode_texts(content: dict[str, Any], key: str) -> tuple[str, ...]:
    """Return a list of text."""
    values = read_message_field(content, key, list)
    if not all(isinstance(value, str) for value in values):
        raise MalformedMessageError(f"field {key!r} must be a list of text; the message was dropped")
    return tuple(values)


def _decode_number_list(content: dict[str, Any], key: str, *types: type) -> list[Any]:
    """Return a list of numbers of the given types."""
    values: list[Any] = read_message_field(content, key, list)
    if not set(map(type, values)) <= set(types):  # so a bool is no number
        raise MalformedMessageError(f"field {key!r} must be a list of numbers; the message was dropped")
    return values


def _decode_triple(content: dict[str, Any], key: str) -> tuple[float, float, float]:
    """Return three finite numbers."""
    values = _decode_number_list(content, key, int, float)
    if len(values) != 3 or not all(map(math.isfinite, values)):
        raise MalformedMessageError(f"field {key!r} must be three finite numbers; the message was dropped")
    return float(values[0]), float(values[1]), float(values[2])


def _decode_rows(content: dict[str, Any], key: str, columns: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return a list of equally long lists of finite numbers as an array (n, columns)."""
    rows = read_message_field(content, key, list)
    table = [_decode_number_list({key: row}, key, int, float) for row in rows]
    if any(len(row) != columns for row in table):
        raise MalformedMessageError(f"field {key!r} must be rows of {columns} numbers; the message was dropped")
    array = np.array(table, float).reshape(-1, columns)
    if not np.isfinite(array).all():
        raise MalformedMessageError(f"field {key!r} holds numbers that are not finite; the message was dropped")
    return array


_DECODERS: dict[bytes, Callable[[dict[str, Any]], Message]] = {
    b"skeleton": _decode_skeleton,
    b"rig": _decode_rig,
    b"pose": _decode_pose,
    b"status": _decode_status,
    b"event": _decode_event,
}
