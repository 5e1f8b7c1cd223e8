"""What is printed of a board, against OpenCV's own drawing of ChArUco boards."""

from dataclasses import replace

import cv2
import numpy as np
import pytest

from calibration.board.pattern import Board, board_from_text, build_board_pattern, list_dictionary_names, load_board_dictionary
from config.errors import CalibrationError


def opencv_board(board: Board, legacy: bool) -> "cv2.aruco.CharucoBoard":
    """Return OpenCV's own description of a ChArUco board."""
    size = (board.columns + 1, board.rows + 1)
    charuco = cv2.aruco.CharucoBoard(size, board.square_m, board.marker_m, load_board_dictionary(board))
    charuco.setLegacyPattern(legacy)
    return charuco


def test_the_first_square_is_dark_and_the_first_corner_at_the_origin() -> None:
    pattern = build_board_pattern(board_from_text("4x3:20"))
    np.testing.assert_allclose(pattern.x_m, [-0.02, 0.0, 0.02, 0.04, 0.06, 0.08])
    np.testing.assert_allclose(pattern.y_m, [-0.02, 0.0, 0.02, 0.04, 0.06])
    assert pattern.dark.astype(int).tolist() == [[1, 0, 1, 0, 1], [0, 1, 0, 1, 0], [1, 0, 1, 0, 1], [0, 1, 0, 1, 0]]


@pytest.mark.parametrize(
    "text", ["charuco:9x6:25", "charuco:6x9:25", "charuco:8x5:30:21:DICT_4X4_50", "charuco:7x7:20:14:DICT_6X6_250"]
)
@pytest.mark.parametrize("legacy", [False, True])
def test_charuco_boards_are_as_opencv_draws_them(text: str, legacy: bool) -> None:
    board = replace(board_from_text(text), legacy=legacy)
    pattern = build_board_pattern(board)
    across, down, px = board.columns + 1, board.rows + 1, 112
    drawn = opencv_board(board, legacy).generateImage((across * px, down * px), marginSize=0, borderBits=1)
    x, y = (((line[1:] + line[:-1]) / 2.0 / board.square_m + 1.0) * px for line in (pattern.x_m, pattern.y_m))
    np.testing.assert_array_equal(drawn[np.ix_(y.astype(int), x.astype(int))] < 128, pattern.dark)
    np.testing.assert_allclose(
        opencv_board(board, legacy).getChessboardCorners()[:, :2] - board.square_m, board.points_m[:, :2], atol=1e-7
    )


def test_a_dictionary_that_is_unknown_or_too_small_is_refused() -> None:
    with pytest.raises(CalibrationError, match=r"no dictionary 'DICT_9X9_3'.*DICT_5X5_100"):
        load_board_dictionary(board_from_text("charuco:9x6:25:18:DICT_9X9_3"))
    with pytest.raises(CalibrationError, match="needs 84 markers and DICT_4X4_50 has 50"):
        build_board_pattern(board_from_text("charuco:13x11:20:14:DICT_4X4_50"))
    assert {"DICT_5X5_100", "DICT_APRILTAG_36h11"} <= set(list_dictionary_names())


# Codes 0 to 7 of the family 36h11, as in Kalibr's kalibr_create_target_pdf.
CODES = (0xD5D628584, 0xD97F18B49, 0xDD280910E, 0xE479E9C98, 0xEBCBCA822, 0xF31DAB3AC, 0x056A5D085, 0x10652E1D4)


def drawn_by_kalibr(columns: int, rows: int, spacing: float, cells_a_tag: int) -> np.ndarray:
    """Return an AprilGrid as Kalibr's generateAprilTag draws it, y up, in squares of `cells_a_tag` a tag: whether it is dark."""
    tag, gap = cells_a_tag, round(spacing * cells_a_tag)
    canvas = np.zeros((rows * (tag + gap) + gap, columns * (tag + gap) + gap), bool)
    bit = tag // 10

    def fill(x: int, y: int, width: int, height: int) -> None:
        canvas[gap + y : gap + y + height, gap + x : gap + x + width] = True

    for number in range(columns * rows):
        x, y = number % columns * (tag + gap), number // columns * (tag + gap)
        for rectangle in ((x, y, tag, 2 * bit), (x, y + tag - 2 * bit, tag, 2 * bit), (x, y, 2 * bit, tag)):
            fill(*rectangle)
        fill(x + tag - 2 * bit, y, 2 * bit, tag)
        code = np.array([[not CODES[number] & (1 << (6 * i + j)) for j in range(6)] for i in range(6)])
        for i, j in np.argwhere(np.rot90(code, 2)):
            fill(x + (j + 2) * bit, y + (1 + 6 - i) * bit, bit, bit)
        for corner in ((-gap, -gap), (tag, -gap), (tag, tag), (-gap, tag)):
            fill(x + corner[0], y + corner[1], gap, gap)
    return canvas[::-1]


def test_aprilgrids_are_as_kalibr_draws_and_numbers_them() -> None:
    board = board_from_text("aprilgrid:4x2:50:0.3")
    pattern = build_board_pattern(board)
    drawn = drawn_by_kalibr(4, 2, 0.3, 100)
    x, y = (((line[1:] + line[:-1]) / 2.0 - line[0]) / 0.0005 for line in (pattern.x_m, pattern.y_m))
    np.testing.assert_array_equal(drawn[np.ix_(y.astype(int), x.astype(int))], pattern.dark)
    np.testing.assert_allclose([pattern.x_m[0], pattern.x_m[-1], pattern.y_m[-1]], [-0.015, 4 * 0.065, 0.015])
    # Two rows of corners a tag, from the lower left upwards; 8 corners a row.
    across = np.array([0.0, 0.05, 0.065, 0.115, 0.13, 0.18, 0.195, 0.245])
    np.testing.assert_allclose(board.points_m[:8, 0], across)
    np.testing.assert_allclose(board.points_m[::8, 1], [0.0, -0.05, -0.065, -0.115])


def test_a_marker_is_as_opencv_draws_it_and_circles_lie_as_opencv_has_them() -> None:
    marker = board_from_text("aruco:7:180:DICT_4X4_50")
    drawn = cv2.aruco.generateImageMarker(load_board_dictionary(marker), 7, 6)
    np.testing.assert_array_equal(build_board_pattern(marker).dark, drawn == 0)
    np.testing.assert_allclose(marker.points_m[:, :2], [(0, 0), (0.18, 0), (0, 0.18), (0.18, 0.18)])
    circles = board_from_text("circles:4x11:20")
    opencv = [((2 * j + i % 2) * 0.02, i * 0.02, 0.0) for i in range(11) for j in range(4)]
    np.testing.assert_allclose(circles.points_m, opencv)


@pytest.mark.parametrize(
    "text", ["chessboard:9x6:25", "charuco:9x6:25", "aprilgrid:3x2:40:0.25", "aruco:7:180", "circles:4x11:20"]
)
def test_a_boards_edges_have_its_lengths(text: str) -> None:
    """They run along x and y, in the direction of the axes, and the name comes back."""
    board = board_from_text(text)
    assert board_from_text(board.text).text == board.text
    first, second, axis = board.edges
    way = board.points_m[second] - board.points_m[first]
    assert (way[np.arange(len(axis)), axis] > 0.99 * board.square_m).all()
    assert np.abs(way[np.arange(len(axis)), 1 - axis]).max() < 1e-12


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("aprilgrid:6x6", "such as aprilgrid:6x6:88:0.3"),
        ("aprilgrid:6x6:88:3", "gaps of 3 of a tag"),
        ("aprilgrid:30x30:88", "needs 900 markers and DICT_APRILTAG_36h11 has 587"),
        ("aruco:7", "such as aruco:7:180"),
        ("aruco:70:180:DICT_4X4_50", "markers 0 to 49"),
        ("circles:4x11", "such as circles:4x11:20"),
    ],
)
def test_a_wrong_name_is_told_with_the_right_form(text: str, words: str) -> None:
    with pytest.raises(CalibrationError, match=words):
        board_from_text(text)
