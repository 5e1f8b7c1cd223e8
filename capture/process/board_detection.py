"""What a camera saw of a calibration board, as messages between processes (corners only, never pixels), and pairs of these."""

import logging
from collections import deque
from dataclasses import dataclass

import msgpack
import numpy as np
import zmq

from calibration.board.views import BoardView
from capture.sockets.wire import (
    MAX_MESSAGE_BYTES,
    MalformedMessageError,
    pack_floats,
    read_float_field,
    read_int_field,
    read_message_field,
    unpack_map,
)
from config.arrays import Floats
from config.settings import CAMERA_NAMES

log = logging.getLogger(__name__)

MAX_CORNERS, MAX_SIDE_PX, MAX_WORDS = 1600, 1 << 15, 300
MAX_WAITING = 16
RECEIVE_BUFFER_MESSAGES = 64


@dataclass(frozen=True, slots=True)
class BoardDetection:
    """What one camera saw in one frame.

    size: width, height of its image [px]; view: the board, None where none was found; words: what was seen
    instead, empty for nothing like a board.
    """

    camera: int
    index: int
    t_capture_ns: int
    size: tuple[int, int]
    view: BoardView | None
    words: str = ""


def encode_board_detection(detection: BoardDetection) -> bytes:
    """Return the bytes of a detection."""
    view = detection.view
    content = {
        "camera": detection.camera,
        "index": detection.index,
        "t_capture_ns": detection.t_capture_ns,
        "width": detection.size[0],
        "height": detection.size[1],
        "corners": b"" if view is None else pack_floats(np.where(view.seen[:, None], view.corners_px, 0.0)),
        "seen": b"" if view is None else np.ascontiguousarray(view.seen, np.uint8).tobytes(),
        "blur_px": -1.0 if view is None or not view.blur_px >= 0.0 else float(view.blur_px),
        "legacy": view is not None and view.legacy,
        "words": detection.words[:MAX_WORDS],
    }
    return bytes(msgpack.packb(content, use_bin_type=True))


def decode_board_detection(payload: bytes) -> BoardDetection:
    """Return the detection of a message. Raises MalformedMessageError."""
    content = unpack_map(payload)
    corners: Floats = read_float_field(content, "corners", 2)
    seen = np.frombuffer(read_message_field(content, "seen", bytes), np.uint8).astype(bool)
    if len(seen) != len(corners) or len(corners) > MAX_CORNERS:
        raise MalformedMessageError(f"a board of {len(corners)} corners and {len(seen)} marks came; it was dropped")
    blur_px, t_ns = float(read_message_field(content, "blur_px", (int, float))), read_int_field(content, "t_capture_ns")
    camera, index = read_int_field(content, "camera", 0, len(CAMERA_NAMES) - 1), read_int_field(content, "index")
    view = None
    if seen.any():
        legacy = bool(read_message_field(content, "legacy", bool))
        blur = blur_px if 0.0 <= blur_px < np.inf else float("nan")
        view = BoardView(np.ascontiguousarray(corners), seen, t_ns, f"frame {index}", blur, legacy=legacy)
    return BoardDetection(
        camera,
        index,
        t_ns,
        (read_int_field(content, "width", 1, MAX_SIDE_PX), read_int_field(content, "height", 1, MAX_SIDE_PX)),
        view,
        str(read_message_field(content, "words", str))[:MAX_WORDS],
    )


@dataclass(frozen=True, slots=True)
class BoardMatch:
    """What all cameras saw at one time, by camera."""

    detections: tuple[BoardDetection, ...]

    @property
    def t_ns(self) -> int:
        """The latest of the timestamps."""
        return max(detection.t_capture_ns for detection in self.detections)


class BoardPairing:
    """Bring the detections of cameras together by their timestamps, also those without a board.

    budget_ns: largest difference from the last of them; may be changed as frame rates become known.
    """

    def __init__(self, n_cameras: int, budget_ns: int) -> None:
        self.budget_ns = budget_ns
        self._waiting: tuple[deque[BoardDetection], ...] = tuple(deque(maxlen=MAX_WAITING) for _ in range(n_cameras))

    def push(self, detection: BoardDetection) -> BoardMatch | None:
        """Take a detection; return the match that it completes, if any."""
        own, partners = self._waiting[detection.camera], list[BoardDetection]()
        oldest_ns = min(detection.t_capture_ns, own[0].t_capture_ns if own else detection.t_capture_ns)
        for others in self._waiting:
            if others is own:
                partners.append(detection)
                continue
            while others and oldest_ns - others[0].t_capture_ns > self.budget_ns:
                others.popleft()  # older than anything that this camera has waiting, or will ever send
            partner = min(others, key=lambda other: abs(other.t_capture_ns - detection.t_capture_ns), default=None)
            if partner is not None and abs(partner.t_capture_ns - detection.t_capture_ns) <= self.budget_ns:
                partners.append(partner)
        if len(partners) < len(self._waiting):
            own.append(detection)
            return None
        for others, partner in zip(self._waiting, partners, strict=True):
            while others is not own and others.popleft() is not partner:
                pass
        own.clear()  # what waited before is older than this match
        return BoardMatch(tuple(partners))


class BoardInbox:
    """Receives the detections of the cameras on a free port of the loopback interface; for one thread."""

    def __init__(self) -> None:
        self._socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.PULL)
        self._socket.setsockopt(zmq.RCVHWM, RECEIVE_BUFFER_MESSAGES)
        self._socket.setsockopt(zmq.MAXMSGSIZE, MAX_MESSAGE_BYTES)
        self._socket.setsockopt(zmq.LINGER, 0)
        self.address = f"tcp://127.0.0.1:{self._socket.bind_to_random_port('tcp://127.0.0.1')}"
        self.n_malformed = 0

    def drain(self) -> list[BoardDetection]:
        """Return all that came; never waits."""
        detections: list[BoardDetection] = []
        for _ in range(RECEIVE_BUFFER_MESSAGES):
            try:
                detections.append(decode_board_detection(self._socket.recv(zmq.NOBLOCK)))
            except zmq.Again:
                break
            except MalformedMessageError as error:
                self.n_malformed += 1
                log.debug("%s", error)
        return detections

    def close(self) -> None:
        """Close the socket."""
        self._socket.close(0)
