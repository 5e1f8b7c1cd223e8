"""Find a board's corners in a picture, in the board's order and to a few hundredths of a pixel."""

import cv2
import numpy as np
from numpy.typing import NDArray

from calibration.board import Board
from calibration.board_find_chessboard import chessboard_grid
from calibration.board_find_fit import fit_corners
from calibration.board_order import in_board_order
from calibration.views import BoardView
from database.rotations import Floats


def find_board(image: NDArray[np.uint8], board: Board, *, name: str = "", t_ns: int = 0, quick: bool = False) -> BoardView | None:
    """Give the corners of a board in a picture, None where it is not to be seen; of a chessboard all corners or none.

    image: (H, W) or (H, W, 3), blue first; quick: for live use, where pictures without a board must take a few milliseconds and
    a board that was missed comes again.
    """
    grey = grey_picture(image)
    grid = chessboard_grid(grey, board.columns, board.rows, quick)
    if grid is None:
        return None
    corners = in_board_order(grey, grid, board)
    if corners is None:
        return None
    fit = fit_corners(grey, corners, _steps(corners.reshape(board.rows, board.columns, 2)), board, _light(board, False))
    good = fit.good
    if good.mean() < 0.5:
        return None
    corners = np.where(good[:, None], fit.corners_px, corners)
    return BoardView(corners, good | True, t_ns, name, _blur_px(fit.blur_px[good]))


def grey_picture(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Give a picture as (H, W)."""
    grey = image if image.ndim == 2 else cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
    return np.ascontiguousarray(grey, np.uint8)


def _blur_px(blur_px: Floats) -> float:
    """Give the blur of the edges that are less sharp: a board in motion has sharp ones along its way."""
    return float(np.median(blur_px, axis=0).max()) if len(blur_px) else float("nan")


def _light(board: Board, legacy: bool) -> NDArray[np.bool_]:
    """Tell by corner whether the square to its lower right is light, (N,)."""
    starts_light = legacy and board.rows % 2 == 1
    row, column = np.divmod(np.arange(len(board)), board.columns)
    return np.asarray((row + column) % 2 == (0 if starts_light else 1))


def _steps(grid: Floats) -> Floats:
    """Give the steps to the next corner along the row and down, (N, 2, 2) [px]."""
    return np.stack([np.gradient(grid, axis=1), np.gradient(grid, axis=0)], axis=2).reshape(-1, 2, 2)
