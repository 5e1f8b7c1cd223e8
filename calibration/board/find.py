"""Find a board's corners in a picture, in the board's order and to a few hundredths of a pixel."""

from dataclasses import replace

import cv2
import numpy as np
from numpy.typing import NDArray

from calibration.board.charuco import MIN_MARKERS, find_charuco, find_markers
from calibration.board.chessboard import find_chessboard
from calibration.board.circles import find_circles
from calibration.board.pattern import Board, load_board_dictionary
from calibration.board.tags import find_aprilgrid, find_marker
from calibration.board.views import BoardView


def find_board(image: NDArray[np.uint8], board: Board, *, name: str = "", t_ns: int = 0, quick: bool = False) -> BoardView | None:
    """Return the corners of a board in a picture; None if it shows no board, or two. Chessboards and circles must be whole.

    Args:
        image: (H, W) or (H, W, 3), blue first.
        board: the board that is looked for.
        name: of the picture, for messages.
        t_ns: time of its capture.
        quick: for live use, where a picture without a board must take a few milliseconds only and a missed board is seen again.
    """
    grey = convert_to_grey(image)
    if board.kind == "charuco":
        found = _find_charuco_board(grey, board, quick)
    elif board.kind == "chessboard":
        found = find_chessboard(grey, board, quick)
        if found is not None and not quick and has_another_chessboard(grey, board, found):
            return None
    elif board.kind == "circles":
        found = find_circles(grey, board, quick)
    else:
        found = find_aprilgrid(grey, board) if board.kind == "aprilgrid" else find_marker(grey, board)
    return None if found is None else replace(found, name=name, t_ns=t_ns)


def has_another_chessboard(grey: NDArray[np.uint8], board: Board, found: BoardView) -> bool:
    """Return whether a picture shows a second such board: the other camera might take that one.

    Args:
        grey: the picture, (H, W).
        board: the board that is looked for.
        found: the one that was found in it.
    """
    hull = cv2.convexHull(np.float32(found.corners_px))[:, 0]
    middle = hull.mean(axis=0)
    covered = cv2.fillConvexPoly(grey.copy(), np.rint(middle + 1.1 * (hull - middle)).astype(np.int32), float(np.median(grey)))
    return find_chessboard(np.asarray(covered), board, quick=True) is not None


def _find_charuco_board(grey: NDArray[np.uint8], board: Board, quick: bool) -> BoardView | None:
    """Return the corners of a ChArUco board, with a second, slower search if less than half of them are found.

    Light may be printed where the board is dark, and dark where it is light.
    """
    dictionary = load_board_dictionary(board)
    markers = find_markers(grey, dictionary)
    if len(markers.ids) < MIN_MARKERS:
        negative = np.asarray(cv2.bitwise_not(grey))
        inverted = find_markers(negative, dictionary)
        if len(inverted.ids) >= MIN_MARKERS:
            grey, markers = negative, inverted
    found = find_charuco(grey, board, markers)
    if not quick and (found is None or found.seen.mean() < 0.5):
        again = find_charuco(grey, board, find_markers(grey, dictionary, sharpen=True))
        found = max((each for each in (found, again) if each is not None), key=lambda each: each.n_seen, default=None)
    return found


def convert_to_grey(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return a picture as (H, W)."""
    grey = image if image.ndim == 2 else cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
    return np.ascontiguousarray(grey, np.uint8)
