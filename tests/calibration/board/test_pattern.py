"""What is printed of a board, against OpenCV's own drawing of ChArUco boards."""

from dataclasses import replace

import cv2
import numpy as np
import pytest

from calibration.board.pattern import Board, board_dictionary, board_from_text, board_pattern, dictionary_names
from config.errors import CalibrationError


def opencv_board(board: Board, legacy: bool) -> "cv2.aruco.CharucoBoard":
    """Return OpenCV's own description of a ChArUco board."""
    size = (board.columns + 1, board.rows + 1)
    charuco = cv2.aruco.CharucoBoard(size, board.square_m, board.marker_m, board_dictionary(board))
    charuco.setLegacyPattern(legacy)
    return charuco


def test_the_first_square_is_dark_and_the_first_corner_at_the_origin() -> None:
    pattern = board_pattern(board_from_text("4x3:20"))
    np.testing.assert_allclose(pattern.x_m, [-0.02, 0.0, 0.02, 0.04, 0.06, 0.08])
    np.testing.assert_allclose(pattern.y_m, [-0.02, 0.0, 0.02, 0.04, 0.06])
    assert pattern.dark.astype(int).tolist() == [[1, 0, 1, 0, 1], [0, 1, 0, 1, 0], [1, 0, 1, 0, 1], [0, 1, 0, 1, 0]]


@pytest.mark.parametrize(
    "text", ["charuco:9x6:25", "charuco:6x9:25", "charuco:8x5:30:21:DICT_4X4_50", "charuco:7x7:20:14:DICT_6X6_250"]
)
@pytest.mark.parametrize("legacy", [False, True])
def test_charuco_boards_are_as_opencv_draws_them(text: str, legacy: bool) -> None:
    board = replace(board_from_text(text), legacy=legacy)
    pattern = board_pattern(board)
    across, down, px = board.columns + 1, board.rows + 1, 112
    drawn = opencv_board(board, legacy).generateImage((across * px, down * px), marginSize=0, borderBits=1)
    x, y = (((line[1:] + line[:-1]) / 2.0 / board.square_m + 1.0) * px for line in (pattern.x_m, pattern.y_m))
    np.testing.assert_array_equal(drawn[np.ix_(y.astype(int), x.astype(int))] < 128, pattern.dark)
    np.testing.assert_allclose(
        opencv_board(board, legacy).getChessboardCorners()[:, :2] - board.square_m, board.points_m[:, :2], atol=1e-7
    )


def test_both_layouts_are_the_same_with_an_odd_number_of_rows_of_squares_only() -> None:
    odd, even = board_from_text("charuco:9x6:25"), board_from_text("charuco:9x7:25")
    layouts = [[board_pattern(replace(board, legacy=legacy)).dark for legacy in (False, True)] for board in (odd, even)]
    assert np.array_equal(*layouts[0])
    assert not np.array_equal(*layouts[1])


def test_a_dictionary_that_is_unknown_or_too_small_is_refused() -> None:
    with pytest.raises(CalibrationError, match=r"no dictionary 'DICT_9X9_3'.*DICT_5X5_100"):
        board_dictionary(board_from_text("charuco:9x6:25:18:DICT_9X9_3"))
    with pytest.raises(CalibrationError, match="needs 84 markers and DICT_4X4_50 has 50"):
        board_pattern(board_from_text("charuco:13x11:20:14:DICT_4X4_50"))
    assert {"DICT_5X5_100", "DICT_APRILTAG_36h11"} <= set(dictionary_names())
