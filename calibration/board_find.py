"""Find a board's corners in a picture, in the board's order and to a few hundredths of a pixel."""

import cv2
import numpy as np
from numpy.typing import NDArray

from calibration.board import Board
from calibration.board_find_charuco import find_charuco, find_markers, light_squares
from calibration.board_find_chessboard import chessboard_grid
from calibration.board_find_fit import fit_corners
from calibration.board_order import in_board_order
from calibration.board_pattern import board_dictionary
from calibration.views import BoardView
from database.rotations import Floats

MIN_GOOD = 0.5  # of a chessboard's corners, or it is not one


def find_board(image: NDArray[np.uint8], board: Board, *, name: str = "", t_ns: int = 0, quick: bool = False) -> BoardView | None:
    """Give the corners of a board in a picture, None where it is not to be seen; of a chessboard all corners or none.

    image: (H, W) or (H, W, 3), blue first; quick: for live use, where pictures without a board must take a few milliseconds and
    a board that was missed comes again.
    """
    grey = grey_picture(image)
    if board.kind == "charuco":
        return _charuco(grey, board, name, t_ns, quick)
    grid = chessboard_grid(grey, board.columns, board.rows, quick)
    corners = None if grid is None else in_board_order(grey, grid, board)
    if corners is None:
        return None
    steps = grid_steps(corners.reshape(board.rows, board.columns, 2))
    fit = fit_corners(grey, corners, steps, board, light_squares(board, False))
    if fit.good.mean() < MIN_GOOD:
        return None
    return BoardView(np.where(fit.good[:, None], fit.corners_px, corners), fit.good, t_ns, name, _blur_px(fit.blur_px[fit.good]))


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


def grid_steps(grid: Floats) -> Floats:
    """Give the steps to the next corner along the row and down, (N, 2, 2) [px]."""
    return np.stack([np.gradient(grid, axis=1), np.gradient(grid, axis=0)], axis=2).reshape(-1, 2, 2)
