"""Find a board's corners in a picture, in the board's order and to a few hundredths of a pixel."""

import cv2
import numpy as np
from numpy.typing import NDArray

from calibration.board import Board
from calibration.board_find_charuco import find_charuco, find_markers
from calibration.board_find_chessboard import ChessboardSeen, find_chessboard
from calibration.board_pattern import board_dictionary
from calibration.views import BoardView
from database.rotations import Floats


def find_board(image: NDArray[np.uint8], board: Board, *, name: str = "", t_ns: int = 0, quick: bool = False) -> BoardView | None:
    """Give the corners of a board in a picture, None where none is to be seen, or two are; a chessboard must be whole.

    image: (H, W) or (H, W, 3), blue first; quick: for live use, where pictures without a board must take a few milliseconds and
    a board that was missed comes again.
    """
    grey = grey_picture(image)
    if board.kind == "charuco":
        return _charuco(grey, board, name, t_ns, quick)
    found = find_chessboard(grey, board, quick)
    if found is None or (not quick and _has_another(grey, board, found)):
        return None
    fit, seen = found.fit, found.seen
    return BoardView(fit.corners_px, seen, t_ns, name, _blur_px(fit.blur_px[seen]))


def _has_another(grey: NDArray[np.uint8], board: Board, found: ChessboardSeen) -> bool:
    """Tell whether a second such board is in the picture: which of them the other camera takes is anyone's guess."""
    return find_chessboard(without_board(grey, found.fit.corners_px), board, quick=True) is not None


def without_board(grey: NDArray[np.uint8], corners_px: Floats) -> NDArray[np.uint8]:
    """Give the picture with the hull of some corners, (N, 2) [px], painted over in their mean grey."""
    hull = cv2.convexHull(np.float32(corners_px))[:, 0]
    middle = hull.mean(axis=0)
    covered = cv2.fillConvexPoly(grey.copy(), np.rint(middle + 1.1 * (hull - middle)).astype(np.int32), float(np.median(grey)))
    return np.asarray(covered)


def _charuco(grey: NDArray[np.uint8], board: Board, name: str, t_ns: int, quick: bool) -> BoardView | None:
    """Give the corners of a ChArUco board, looking twice if the first look shows less than half of them."""
    dictionary = board_dictionary(board)
    found = find_charuco(grey, board, find_markers(grey, dictionary))
    if not quick and (found is None or found.seen.mean() < 0.5):
        again = find_charuco(grey, board, find_markers(grey, dictionary, crisp=True))
        found = max((each for each in (found, again) if each is not None), key=lambda each: int(each.seen.sum()), default=None)
    if found is None:
        return None
    fit, seen = found.fit, found.seen
    return BoardView(fit.corners_px, seen, t_ns, name, _blur_px(fit.blur_px[seen]), legacy=found.legacy)


def grey_picture(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Give a picture as (H, W)."""
    grey = image if image.ndim == 2 else cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
    return np.ascontiguousarray(grey, np.uint8)


def _blur_px(blur_px: Floats) -> float:
    """Give the blur of the edges that are less sharp: a board in motion has sharp ones along its way."""
    return float(np.median(blur_px, axis=0).max()) if len(blur_px) else float("nan")
