"""What is printed of a board: a grid of dark and light cells in its own frame, from which it is drawn.

Chessboard: the outer square at the first corner is dark. ChArUco: markers lie in the light squares, numbered row by row; before
OpenCV 4.6 a board with an even number of rows of squares began with a light square, ever since all begin with a dark one.
"""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from calibration.board import Board
from config.errors import CalibrationError
from database.rotations import Floats


@dataclass(frozen=True, slots=True)
class Pattern:
    """A board as cells: columns end at x_m, (K + 1,) [m], rows at y_m, (L + 1,) [m], in the board's frame; dark: (L, K)."""

    x_m: Floats
    y_m: Floats
    dark: NDArray[np.bool_]


def board_pattern(board: Board) -> Pattern:
    """Give what is printed of a board. Raises CalibrationError as `board_dictionary` does."""
    x, y = np.arange(board.columns + 1), np.arange(board.rows + 1)
    starts_light = bool(board.legacy) and board.kind == "charuco" and len(y) % 2 == 0
    dark = (x[None, :] + y[:, None]) % 2 == int(starts_light)
    if board.kind == "chessboard":
        return Pattern(_lines(len(x)) * board.square_m, _lines(len(y)) * board.square_m, dark)
    return _with_markers(board, dark)


def dictionary_names() -> list[str]:
    """List the marker dictionaries that OpenCV knows, by one name each."""
    names = [name for name in vars(cv2.aruco) if name.startswith("DICT_") and not name.startswith("DICT_APRILTAG_")]
    april = [f"DICT_APRILTAG_{kind}" for kind in ("16h5", "25h9", "36h10", "36h11")]
    return sorted(name for name in names if name != "DICT_ARUCO_MIP_36H12") + april


def board_dictionary(board: Board) -> "cv2.aruco.Dictionary":
    """Give the dictionary of a ChArUco board's markers. Raises CalibrationError: none has that name, or it is too small."""
    number = getattr(cv2.aruco, board.dictionary, None) if board.dictionary.startswith("DICT_") else None
    if number is None:
        known = ", ".join(name for name in dictionary_names() if name.endswith(("_100", "h11", "ORIGINAL")))
        raise CalibrationError(f"{board.text}: OpenCV has no dictionary {board.dictionary!r}; it has {known} and others")
    dictionary = cv2.aruco.getPredefinedDictionary(number)
    held, needed = len(dictionary.bytesList), (board.columns + 1) * (board.rows + 1) // 2
    if held < needed:
        raise CalibrationError(
            f"{board.text}: such a board needs {needed} markers and {board.dictionary} has {held}; take a larger dictionary"
        )
    return dictionary


def opencv_board(board: Board, legacy: bool) -> "cv2.aruco.CharucoBoard":
    """Give OpenCV's own description of a ChArUco board. Raises CalibrationError as `board_dictionary` does."""
    size = (board.columns + 1, board.rows + 1)
    charuco = cv2.aruco.CharucoBoard(size, board.square_m, board.marker_m, board_dictionary(board))
    charuco.setLegacyPattern(legacy)
    return charuco


def _lines(n_squares: int) -> Floats:
    """Give the sides of a row of squares, the first inner one at 0, (n + 1,) [squares]."""
    return np.asarray(np.arange(n_squares + 1) - 1.0, float)


def _with_markers(board: Board, dark: NDArray[np.bool_]) -> Pattern:
    """Divide every square into margin, marker cells and margin, and draw the markers into the light squares."""
    dictionary = board_dictionary(board)
    n_cells = int(dictionary.markerSize) + 2
    share = board.marker_m / board.square_m
    within = np.concatenate([[0.0], 0.5 * (1.0 - share) + share * np.arange(n_cells + 1) / n_cells])
    n = len(within)
    cells = np.repeat(np.repeat(dark, n, axis=0), n, axis=1)
    for number, (row, column) in enumerate(np.argwhere(~dark)):
        image = cv2.aruco.generateImageMarker(dictionary, number, n_cells)
        cells[row * n + 1 :, column * n + 1 :][:n_cells, :n_cells] = image == 0
    x_m, y_m = ((np.arange(side)[:, None] - 1.0 + within).ravel() for side in dark.shape[::-1])
    x_m, y_m = (np.append(line, side - 1.0) for line, side in ((x_m, dark.shape[1]), (y_m, dark.shape[0])))
    return Pattern(x_m * board.square_m, y_m * board.square_m, cells)
