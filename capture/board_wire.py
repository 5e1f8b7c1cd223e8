"""What a camera saw of a board, as bytes between the processes: corners only, never pixels."""

from dataclasses import dataclass

import msgpack
import numpy as np

from calibration.views import BoardView
from capture.packets import Floats
from capture.wire import MalformedMessageError, field_of, floats_of, int_of, packed, unpacked_map

MAX_CORNERS, MAX_SIDE_PX, MAX_WORDS = 1600, 1 << 15, 300


@dataclass(frozen=True, slots=True)
class Sight:
    """What one camera saw at one moment.

    size: of its picture [px]; view: the board, None where none was found; words: what was seen instead, where that is known;
    took_ms: of the search.
    """

    camera: int
    index: int
    t_capture_ns: int
    size: tuple[int, int]
    view: BoardView | None
    words: str = ""
    took_ms: float = 0.0


def encode_sight(sight: Sight) -> bytes:
    """Give the bytes of a sight."""
    view = sight.view
    content = {
        "camera": sight.camera,
        "index": sight.index,
        "t_capture_ns": sight.t_capture_ns,
        "width": sight.size[0],
        "height": sight.size[1],
        "corners": b"" if view is None else packed(np.where(view.seen[:, None], view.corners_px, 0.0)),
        "seen": b"" if view is None else np.ascontiguousarray(view.seen, np.uint8).tobytes(),
        "blur_px": -1.0 if view is None or not view.blur_px >= 0.0 else float(view.blur_px),
        "legacy": view is not None and view.legacy,
        "words": sight.words[:MAX_WORDS],
        "took_ms": float(sight.took_ms),
    }
    return bytes(msgpack.packb(content, use_bin_type=True))


def decode_sight(payload: bytes) -> Sight:
    """Give the sight of a message. Raises MalformedMessageError."""
    content = unpacked_map(payload)
    corners: Floats = floats_of(content, "corners", 2)
    seen = np.frombuffer(field_of(content, "seen", bytes), np.uint8).astype(bool)
    if len(seen) != len(corners) or len(corners) > MAX_CORNERS:
        raise MalformedMessageError(f"a board of {len(corners)} corners, {len(seen)} of them told of, came; it was dropped")
    blur_px, t_ns = float(field_of(content, "blur_px", (int, float))), int_of(content, "t_capture_ns")
    camera, index = int_of(content, "camera", 0, 1), int_of(content, "index")
    view = None
    if seen.any():
        legacy = bool(field_of(content, "legacy", bool))
        blur = blur_px if 0.0 <= blur_px < np.inf else float("nan")
        view = BoardView(np.ascontiguousarray(corners), seen, t_ns, f"frame {index}", blur, legacy=legacy)
    return Sight(
        camera,
        index,
        t_ns,
        (int_of(content, "width", 1, MAX_SIDE_PX), int_of(content, "height", 1, MAX_SIDE_PX)),
        view,
        str(field_of(content, "words", str))[:MAX_WORDS],
        float(field_of(content, "took_ms", (int, float))),
    )
