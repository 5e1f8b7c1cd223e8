"""How a board lies in a picture: worked out by hand for front-on and tilted boards."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.board.views import BoardView
from calibration.guidance.rig import view_shape
from tests.calibration.guidance.views import BOARD, SIZE, board_view


def shape_of(view: BoardView):  # type: ignore[no-untyped-def]
    shape = view_shape(view, BOARD, SIZE)
    assert shape is not None
    return shape


def test_a_board_front_on_in_the_middle() -> None:
    shape = shape_of(board_view(distance_m=0.576))
    # 0.12 x 0.09 m at 0.576 m with a focal length of 576 px: 120 x 90 px in 640 x 480
    assert shape.middle == pytest.approx([0.5, 0.5])
    assert shape.size == pytest.approx(np.sqrt(120 * 90 / (640 * 480)))
    assert shape.lean == pytest.approx([0.0, 0.0], abs=1e-9)
    assert shape.turn_rad == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(
    ("pitch", "yaw", "lean"),
    [(20, 0, (0.0, -np.tan(np.radians(20)))), (-20, 0, (0.0, np.tan(np.radians(20)))), (0, 30, (np.tan(np.radians(30)), 0.0))],
)
def test_the_nearer_edge_tells_the_lean(pitch: float, yaw: float, lean: tuple[float, float]) -> None:
    assert shape_of(board_view(pitch_deg=pitch, yaw_deg=yaw)).lean == pytest.approx(lean, abs=1e-6)


def test_the_nearer_edge_is_the_longer_one() -> None:
    """What the words rest on: the top edge towards the camera looks longer, whatever this module makes of it."""
    corners = board_view(pitch_deg=25).corners_px.reshape(BOARD.rows, BOARD.columns, 2)
    top, bottom = (np.linalg.norm(row[-1] - row[0]) for row in (corners[0], corners[-1]))
    assert top > 1.02 * bottom
    assert shape_of(board_view(pitch_deg=25)).lean[1] < -0.2


@settings(max_examples=40, deadline=None)
@given(st.floats(-35, 35), st.floats(-35, 35), st.floats(0.3, 0.7), st.floats(0.3, 0.7), st.floats(0.4, 1.5))
def test_tilt_comes_back_wherever_the_board_is(pitch: float, yaw: float, x: float, y: float, distance_m: float) -> None:
    a, b = np.radians(pitch), np.radians(yaw)
    normal = np.array([np.sin(b) * np.cos(a), -np.sin(a), np.cos(b) * np.cos(a)])
    shape = shape_of(board_view(x, y, distance_m, pitch, yaw))
    assert shape.lean == pytest.approx(normal[:2] / normal[2], abs=1e-5)


def test_too_few_corners_or_a_line_of_them_tell_nothing() -> None:
    view = board_view()
    few, line = np.zeros(len(BOARD), bool), np.zeros(len(BOARD), bool)
    few[:5] = True
    line[:5] = line[0] = True
    assert view_shape(BoardView(view.corners_px.copy(), few), BOARD, SIZE) is None
    wide = board_view(board=type(BOARD)("chessboard", 8, 4, 0.03))
    row = np.zeros(32, bool)
    row[:8] = True
    assert view_shape(BoardView(wide.corners_px.copy(), row), type(BOARD)("chessboard", 8, 4, 0.03), SIZE) is None


def test_distance_is_small_for_the_same_and_large_for_another_view() -> None:
    first = shape_of(board_view())
    assert first.distance(shape_of(board_view(shift_px=3.0))) < 0.2
    for other in (board_view(x=0.6), board_view(pitch_deg=12), board_view(distance_m=0.75)):
        assert first.distance(shape_of(other)) > 1.0
        assert shape_of(other).distance(first) == pytest.approx(first.distance(shape_of(other)))
