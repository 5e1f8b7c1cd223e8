"""Blobs as msgpack messages between processes: their codec, checked fields, and the socket that sends them.

Arrays are packed as little-endian float64. What comes in is not trusted: a malformed message raises MalformedMessageError, and
the receiver counts it.
"""

from dataclasses import dataclass
from typing import Any

import msgpack
import numpy as np
import zmq

from capture.packets import Blobs, Landmarks
from capture.sockets.endpoints import KeySettings, connect_socket, is_loopback
from config.arrays import Floats
from config.errors import DuocapError
from config.landmarks import N_LANDMARKS
from config.settings import CAMERA_NAMES

MAX_BLOBS = 4096
MAX_MESSAGE_BYTES = 1 << 20
INT64_MAX = 2**63 - 1
SEND_BUFFER_MESSAGES = 8
CAN_RECEIVE = int(zmq.POLLIN)


class MalformedMessageError(DuocapError):
    """Bytes from another process or client are no valid message."""


@dataclass(frozen=True, slots=True)
class SentBlobs:
    """Blobs and two times of their frame: t_read_ns in memory, t_sent_ns after detection."""

    blobs: Blobs
    t_read_ns: int
    t_sent_ns: int


def unpack_map(payload: bytes, max_bytes: int = MAX_MESSAGE_BYTES) -> dict[str, Any]:
    """Return one msgpack map with text keys. Raises MalformedMessageError for anything else, or more than max_bytes."""
    if len(payload) > max_bytes:
        raise MalformedMessageError(f"a message of {len(payload)} bytes came, at most {max_bytes} are accepted; it was dropped")
    try:
        content = msgpack.unpackb(payload, raw=False, strict_map_key=True)
    # msgpack documents that hostile bytes can raise any of these, all of them ValueError but the last.
    except (ValueError, RecursionError) as error:
        raise MalformedMessageError(f"expected a msgpack map, got {len(payload)} bytes that are not msgpack; dropped") from error
    if not isinstance(content, dict) or not all(isinstance(key, str) for key in content):
        raise MalformedMessageError(f"expected a msgpack map with text keys, got {type(content).__name__}; dropped")
    return content


def read_message_field(content: dict[str, Any], key: str, kind: type | tuple[type, ...]) -> Any:
    """Return a field of a message.

    Args:
        content: decoded message.
        kind: type it must have; a bool is no number.
    Raises: MalformedMessageError: missing, or of another type.
    """
    value = content.get(key)
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        names = " or ".join(k.__name__ for k in kinds)
        raise MalformedMessageError(f"field {key!r} must be {names}, got {type(value).__name__}; the message was dropped")
    return value


def read_int_field(content: dict[str, Any], key: str, low: int = 0, high: int = INT64_MAX) -> int:
    """Return an integer field of a message.

    Args:
        content: of the message.
        low, high: range, ends included.
    Raises: MalformedMessageError: missing, of another type or out of range.
    """
    value: int = read_message_field(content, key, int)
    if not low <= value <= high:
        raise MalformedMessageError(f"field {key!r} must be within {low} and {high}, got {value}; the message was dropped")
    return value


def read_float_field(content: dict[str, Any], key: str, columns: int, dtype: str = "<f8") -> Floats:
    """Return a packed array field of a message, (n, columns) float64.

    Args:
        content: of the message.
        columns: number of columns of the array.
        dtype: type of its packed numbers.
    Raises: MalformedMessageError: missing, incomplete or non-finite.
    """
    data: bytes = read_message_field(content, key, bytes)
    row_bytes = columns * np.dtype(dtype).itemsize
    if len(data) % row_bytes:
        raise MalformedMessageError(
            f"field {key!r} has {len(data)} bytes, expected a multiple of {row_bytes}; the message was dropped"
        )
    # Widening a signalling NaN would warn; it is refused below.
    with np.errstate(invalid="ignore"):
        array = np.frombuffer(data, dtype).astype(np.float64).reshape(-1, columns)
    if not np.isfinite(array).all():
        raise MalformedMessageError(f"field {key!r} holds numbers that are not finite; the message was dropped")
    return array


def pack_floats(array: Floats, dtype: str = "<f8") -> bytes:
    """Pack an array row by row as little-endian floats."""
    return np.ascontiguousarray(array, dtype).tobytes()


def encode_blobs(sent: SentBlobs) -> bytes:
    """Return the bytes of one camera's blobs."""
    blobs = sent.blobs
    content = {
        "camera": blobs.camera,
        "index": blobs.index,
        "t_capture_ns": blobs.t_capture_ns,
        "t_read_ns": sent.t_read_ns,
        "t_sent_ns": sent.t_sent_ns,
        "points_px": pack_floats(blobs.points_px),
        "area_px": pack_floats(blobs.area_px),
        "color_rgb": pack_floats(blobs.color_rgb),
        "sigma_px": pack_floats(blobs.sigma_px),
        "light": blobs.light,
    }
    content |= pack_landmarks(blobs.landmarks)
    return bytes(msgpack.packb(content, use_bin_type=True))


def decode_blobs(payload: bytes) -> SentBlobs:
    """Return the blobs of a message. Raises MalformedMessageError."""
    content = unpack_map(payload)
    columns: list[bytes] = [read_message_field(content, key, bytes) for key in ("points_px", "area_px", "sigma_px", "color_rgb")]
    n, n_bytes = len(columns[1]) // 8, [len(column) for column in columns]
    if n > MAX_BLOBS or n_bytes != [16 * n, 8 * n, 8 * n, 24 * n]:
        raise MalformedMessageError(f"blob arrays of {n_bytes} bytes, expected 2, 1, 1 and 3 numbers of 8 bytes a blob; dropped")
    table = np.frombuffer(b"".join(columns), "<f8").astype(np.float64, copy=False)  # one check of all
    if np.count_nonzero(np.isfinite(table)) < len(table):
        raise MalformedMessageError("blobs hold numbers that are not finite; the message was dropped")
    blobs = Blobs(
        camera=read_int_field(content, "camera", 0, len(CAMERA_NAMES) - 1),
        index=read_int_field(content, "index"),
        t_capture_ns=read_int_field(content, "t_capture_ns"),
        points_px=table[: 2 * n].reshape(n, 2),
        area_px=table[2 * n : 3 * n],
        sigma_px=table[3 * n : 4 * n],
        color_rgb=table[4 * n :].reshape(n, 3),
        light=_read_part(content, "light", 255.0),
        landmarks=read_landmarks(content),
    )
    return SentBlobs(blobs, read_int_field(content, "t_read_ns"), read_int_field(content, "t_sent_ns"))


def _read_part(content: dict[str, Any], key: str, high: float) -> float:
    """Return a number from 0 to `high`, 0 where an older camera node sends none. Raises MalformedMessageError.

    Args:
        content: of the message.
        high: end of the range, included.
    """
    value = float(read_message_field(content, key, (int, float))) if key in content else 0.0
    if not 0.0 <= value <= high:
        raise MalformedMessageError(f"field {key!r} must be within 0 and {high:g}, got {value}; the message was dropped")
    return value


def pack_landmarks(found: Landmarks | None) -> dict[str, Any]:
    """Return the fields of a message that hold landmarks; an empty map where there are none."""
    if found is None:
        return {}
    return {"landmarks": pack_floats(np.column_stack([found.image_px, found.score])), "presence": found.presence}


def read_landmarks(content: dict[str, Any]) -> Landmarks | None:
    """Return the landmarks of a message, None where it has none. Raises MalformedMessageError."""
    if "landmarks" not in content:
        return None
    table = read_float_field(content, "landmarks", 3)
    if len(table) != N_LANDMARKS or not ((table[:, 2] >= 0.0) & (table[:, 2] <= 1.0)).all():
        expected = f"expected {N_LANDMARKS}, with scores within 0 and 1"
        raise MalformedMessageError(f"field 'landmarks' has {len(table)} landmarks, {expected}; the message was dropped")
    image_px, score = np.ascontiguousarray(table[:, :2]), np.ascontiguousarray(table[:, 2])
    return Landmarks(image_px, score, _read_part(content, "presence", 1.0))


def has_message(socket: "zmq.Socket[bytes]") -> bool:
    """Return whether a message can be received at once: a tenth of what trying costs where there is none."""
    return bool(int(socket.get(zmq.EVENTS)) & CAN_RECEIVE)


class BlobSender:
    """The socket that sends blobs. The address may change, as when the reconstruction is restarted. For one thread."""

    def __init__(self, keys: KeySettings | None) -> None:
        self._keys, self._address = keys, ""
        self._socket: zmq.Socket[bytes] | None = None

    def send(self, payload: bytes, address: str) -> bool:
        """Send without waiting; return False if the message was dropped. Raises EndpointError, KeyFileError."""
        if address != self._address or self._socket is None:
            self._connect(address)
        assert self._socket is not None
        try:
            self._socket.send(payload, zmq.NOBLOCK)
        except zmq.Again:
            return False
        return True

    def _connect(self, address: str) -> None:
        """Connect to another address."""
        self.close(0)
        self._socket = zmq.Context.instance().socket(zmq.PUSH)
        self._socket.setsockopt(zmq.SNDHWM, SEND_BUFFER_MESSAGES)
        self._socket.setsockopt(zmq.LINGER, 0)
        # Across a network, blobs that cannot be delivered now are useless later.
        self._socket.setsockopt(zmq.IMMEDIATE, 0 if is_loopback(address) else 1)
        connect_socket(self._socket, address, self._keys)
        self._address = address

    def close(self, linger_ms: int = 500) -> None:
        """Close the socket after sending what is queued."""
        if self._socket is not None:
            self._socket.close(linger_ms)
            self._socket = None
