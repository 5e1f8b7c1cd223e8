"""What a camera saw of a board, as bytes and back, and pairs of these; hostile bytes are refused."""

from dataclasses import replace

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibration.board.views import BoardView
from capture.process.board_detection import (
    MAX_CORNERS,
    BoardDetection,
    BoardMatch,
    BoardPairing,
    decode_board_detection,
    encode_board_detection,
)
from capture.sockets.wire import MalformedMessageError

SEEN = np.array([True, False, True])
CORNERS = np.array([[10.25, 20.5], [np.nan, 0.0], [630.125, 0.5]])
VIEW = BoardView(CORNERS, SEEN, 123_456_789, "frame 7", 0.75, legacy=True)
SIGHT = BoardDetection(1, 7, 123_456_789, (640, 480), VIEW, "")


def test_round_trip() -> None:
    back = decode_board_detection(encode_board_detection(SIGHT))
    assert back.view is not None
    assert back.view.corners_px[SEEN].tolist() == CORNERS[SEEN].tolist()
    assert back.view.seen.tolist() == SEEN.tolist()
    assert (back.view.t_ns, back.view.name, back.view.blur_px, back.view.legacy) == (123_456_789, "frame 7", 0.75, True)
    assert replace(back, view=None) == replace(SIGHT, view=None)


def test_nothing_seen_and_blur_unknown() -> None:
    none = decode_board_detection(encode_board_detection(replace(SIGHT, view=None, words="a 7x5 board")))
    assert none.view is None
    assert none.words == "a 7x5 board"
    unknown = decode_board_detection(encode_board_detection(replace(SIGHT, view=BoardView(np.ones((3, 2)), SEEN.copy()))))
    assert unknown.view is not None
    assert np.isnan(unknown.view.blur_px)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("camera", 8),
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
    content = msgpack.unpackb(encode_board_detection(SIGHT)) | {key: value}
    with pytest.raises(MalformedMessageError):
        decode_board_detection(msgpack.packb(content))


def test_a_board_of_too_many_corners_is_refused() -> None:
    n = MAX_CORNERS + 1
    large = replace(SIGHT, view=BoardView(np.ones((n, 2)), np.ones(n, bool)))
    with pytest.raises(MalformedMessageError, match=f"{n} corners"):
        decode_board_detection(encode_board_detection(large))


BUDGET = 20


def sight(camera: int, t_ns: int) -> BoardDetection:
    return BoardDetection(camera, t_ns, t_ns, (640, 480), None)


def moments(pairing: BoardPairing, *sights: tuple[int, int]) -> list[tuple[int, int]]:
    found = [pairing.push(sight(camera, t_ns)) for camera, t_ns in sights]
    return [(m.detections[0].t_capture_ns, m.detections[1].t_capture_ns) for m in found if m is not None]


def test_the_nearest_within_the_budget() -> None:
    assert moments(BoardPairing(2, BUDGET), (0, 100), (1, 115), (1, 200), (0, 190)) == [(100, 115), (190, 200)]
    assert moments(BoardPairing(2, BUDGET), (0, 100), (1, 121), (0, 130)) == [(130, 121)]
    assert moments(BoardPairing(2, BUDGET), (0, 100), (0, 118), (1, 120)) == [(118, 120)]


def test_three_cameras_are_brought_together() -> None:
    pairing = BoardPairing(3, BUDGET)
    found = [
        pairing.push(sight(camera, t)) for camera, t in [(0, 100), (2, 104), (0, 200), (1, 110), (2, 207), (1, 201), (1, 300)]
    ]
    assert [[d.t_capture_ns for d in m.detections] for m in found if m is not None] == [[100, 110, 104], [200, 201, 207]]
    assert found[3] is not None and found[3].t_ns == 110


def test_a_camera_that_falls_behind_or_is_gone() -> None:
    late = [(0, t) for t in range(0, 2000, 100)] + [(1, 1900), (1, 2000), (0, 2005)]
    assert moments(BoardPairing(2, BUDGET), *late) == [(1900, 1900), (2005, 2000)]


def test_one_camera_alone_needs_no_partner() -> None:
    moment = BoardPairing(1, BUDGET).push(sight(0, 5))
    assert moment == BoardMatch((sight(0, 5),))
    assert moment is not None and len(moment.detections) == 1 and moment.t_ns == 5


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(1, 30)), max_size=80))
def test_each_sight_is_used_once_and_time_never_goes_back(steps: list[tuple[int, int]]) -> None:
    pairing, t_ns = BoardPairing(2, BUDGET), 0
    found: list[tuple[int, int]] = []
    for camera, later in steps:
        t_ns += later
        found += moments(pairing, (camera, t_ns))
    for side in range(2):
        times = [moment[side] for moment in found]
        assert times == sorted(set(times))
    assert all(abs(left - right) <= BUDGET for left, right in found)
