"""Bring the corners that a finder gives into the board's own order.

The printed board is told from the same one turned round by the colour of its squares: the outer square at the first corner is
dark. A board with an odd number of corners along one side and an even number along the other has one such order; others look
the same upside down, and are taken to be upright.
"""

import cv2
import numpy as np
from numpy.typing import NDArray

from calibration.board import Board
from database.rotations import Floats

MIN_CONTRAST = 6.0  # between dark and light squares, in grey levels
MIN_AGREE = 0.85  # of the squares are on their colour's side


def is_ambiguous(board: Board) -> bool:
    """Tell whether a board looks the same upside down, so that only its being held upright tells its first corner."""
    return board.kind == "chessboard" and (board.columns + board.rows) % 2 == 0


def light_squares(board: Board, light_first: bool) -> NDArray[np.bool_]:
    """Tell by corner whether the square to its lower right is light, (N,); light_first: that of the first corner is."""
    row, column = np.divmod(np.arange(len(board)), board.columns)
    return np.asarray((row + column) % 2 == int(not light_first))


def in_board_order(image: NDArray[np.uint8], grid_px: Floats, board: Board) -> tuple[Floats, bool] | None:
    """Give corners in the board's order, (N, 2) [px], and whether the square at the first is dark, as it is wherever it can be.

    None: what was found has no light and dark squares in turn.

    image: (H, W); grid_px: corners as a grid in any order of rows and columns, (rows, columns, 2) or turned by a quarter.
    """
    candidates = []
    for grid in _turned(grid_px, board):
        contrast, agree = square_contrast(image, grid)
        if agree < MIN_AGREE or abs(contrast) < MIN_CONTRAST:
            return None
        along = grid[:, -1] - grid[:, 0]
        upright = float(along.mean(axis=0)[0] / (np.linalg.norm(along.mean(axis=0)) + 1e-9))
        candidates.append((contrast > 0.0, upright, grid))
    if not candidates:
        return None
    best = max(candidates, key=lambda candidate: candidate[:2])
    return np.ascontiguousarray(best[2].reshape(-1, 2)), best[0]


def _turned(grid: Floats, board: Board) -> list[Floats]:
    """Give the orders of a grid that have the board's rows and columns and its handedness: x to y clockwise in the picture."""
    turns = [np.rot90(grid, quarter) for quarter in range(4)]
    found = []
    for turn in (*turns, *(turn[::-1] for turn in turns)):
        x, y = (turn[:, -1] - turn[:, 0]).mean(axis=0), (turn[-1] - turn[0]).mean(axis=0)
        if turn.shape[:2] == (board.rows, board.columns) and x[0] * y[1] - x[1] * y[0] > 0.0:
            found.append(turn)
    return found


def square_contrast(image: NDArray[np.uint8], grid_px: Floats) -> tuple[float, float]:
    """Give how much lighter the squares are whose row and column sum to odd [grey levels], and the share that is so.

    image: (H, W); grid_px: (rows, columns, 2) [px]; the first square lies between the first corners of the first two rows.
    """
    middles = 0.25 * (grid_px[:-1, :-1] + grid_px[1:, :-1] + grid_px[:-1, 1:] + grid_px[1:, 1:])
    side = np.linalg.norm(np.diff(grid_px, axis=1), axis=2).min()
    smooth = cv2.blur(image, (max(1, int(0.3 * side)),) * 2) if side > 6 else image
    grey = cv2.remap(smooth, np.float32(middles[..., 0]), np.float32(middles[..., 1]), cv2.INTER_LINEAR).astype(float)
    odd = np.add.outer(np.arange(grey.shape[0]), np.arange(grey.shape[1])) % 2 == 1
    contrast = float(grey[odd].mean() - grey[~odd].mean())
    # Light falls off over a board: each square is held against its neighbours in the same row.
    steps = np.diff(grey, axis=1) * np.where(odd[:, 1:], 1.0, -1.0) * np.sign(contrast)
    return contrast, float((steps > 0.0).mean())
