"""What a camera saw of a board, to bytes and back; hostile bytes are refused."""

from dataclasses import replace

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibration.views import BoardView
from capture.board_wire import MAX_CORNERS, Sight, decode_sight, encode_sight
from capture.wire import MalformedMessageError

SEEN = np.array([True, False, True])
CORNERS = np.array([[10.25, 20.5], [np.nan, 0.0], [630.125, 0.5]])
VIEW = BoardView(CORNERS, SEEN, 123_456_789, "frame 7", 0.75, legacy=True)
SIGHT = Sight(1, 7, 123_456_789, (640, 480), VIEW, "", 12.5)


def test_round_trip() -> None:
    back = decode_sight(encode_sight(SIGHT))
    assert back.view is not None
    assert back.view.corners_px[SEEN].tolist() == CORNERS[SEEN].tolist()
    assert back.view.seen.tolist() == SEEN.tolist()
    assert (back.view.t_ns, back.view.name, back.view.blur_px, back.view.legacy) == (123_456_789, "frame 7", 0.75, True)
    assert replace(back, view=None) == replace(SIGHT, view=None)


def test_nothing_seen_and_blur_unknown() -> None:
    none = decode_sight(encode_sight(replace(SIGHT, view=None, words="a 7x5 board")))
    assert none.view is None
    assert none.words == "a 7x5 board"
    unknown = decode_sight(encode_sight(replace(SIGHT, view=BoardView(np.ones((3, 2)), SEEN.copy()))))
    assert unknown.view is not None
    assert np.isnan(unknown.view.blur_px)


@given(st.binary(max_size=200))
def test_no_bytes_do_harm(payload: bytes) -> None:
    with pytest.raises(MalformedMessageError):
        decode_sight(payload)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("camera", 2),
        ("corners", b"12345"),
        ("corners", np.full((3, 2), np.inf).tobytes()),
        ("seen", b"\x01"),
        ("width", 0),
        ("height", 1 << 20),
        ("words", b"bytes"),
        ("blur_px", "much"),
        ("legacy", 1),
    ],
)
def test_a_field_that_cannot_be_is_refused(key: str, value: object) -> None:
    content = msgpack.unpackb(encode_sight(SIGHT)) | {key: value}
    with pytest.raises(MalformedMessageError):
        decode_sight(msgpack.packb(content))


def test_a_board_of_too_many_corners_is_refused() -> None:
    n = MAX_CORNERS + 1
    large = replace(SIGHT, view=BoardView(np.ones((n, 2)), np.ones(n, bool)))
    with pytest.raises(MalformedMessageError, match=f"{n} corners"):
        decode_sight(encode_sight(large))
