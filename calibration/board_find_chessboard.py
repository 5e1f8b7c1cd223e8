"""Find a chessboard: OpenCV's finders one after another, and nothing believed that does not look like the board.

The sector-based finder (Duda & Frese 2018) finds more boards than the older one; that one is quicker and now and then finds what
the other missed. Both at times give a part of a larger board, or a grid with one row on the board's rim.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from calibration.board import Board
from calibration.board_find_fit import CornerFit, are_crossings, fit_corners
from calibration.board_order import in_board_order, light_squares
from database.rotations import Floats

WORK_WIDTH = 1280  # wider pictures are searched at a smaller size
QUICK_WIDTH = 640
MIN_SEEN = 0.8  # of all corners, and of every row and column half of that, or it is another board
CONTINUES = 0.6  # of the corners that a larger board would have beyond a side

Image = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class ChessboardSeen:
    """N corners of a chessboard, in its order: their fit, and which of them are to be trusted, (N,)."""

    fit: CornerFit
    seen: NDArray[np.bool_]


def find_chessboard(grey: Image, board: Board, quick: bool = False) -> ChessboardSeen | None:
    """Give the corners of a chessboard that is whole in a picture, (H, W); None: no finder gave one that looks like it."""
    for grid in chessboard_grids(grey, board.columns, board.rows, quick):
        ordered = in_board_order(grey, grid, board)
        if ordered is None:
            continue
        corners, dark_first = ordered
        light = light_squares(board, not dark_first)
        fit = fit_corners(grey, corners, grid_steps(corners.reshape(board.rows, board.columns, 2)), board, light)
        seen = are_crossings(fit, light)
        if _is_whole(seen.reshape(board.rows, board.columns)) and not _continues(grey, board, fit, light):
            return ChessboardSeen(fit, seen)
    return None


def chessboard_grids(grey: Image, columns: int, rows: int, quick: bool = False) -> Iterator[Floats]:
    """Give what each finder takes for a chessboard's corners, in its own order, (rows, columns, 2) [px].

    grey: (H, W); columns, rows: inner corners; quick: only those that give up after a few milliseconds.
    """
    scale = min(1.0, (QUICK_WIDTH if quick else WORK_WIDTH) / grey.shape[1])
    for kind in ("classical", "half") if quick else ("plain", "equalised", "classical", "half"):
        at = 0.5 * scale if kind == "half" else scale
        small = grey if at == 1.0 else cv2.resize(grey, None, fx=at, fy=at, interpolation=cv2.INTER_AREA)
        corners = _found(small, (columns, rows), kind, quick)
        if corners is not None and len(corners) == rows * columns:
            yield np.asarray((corners.reshape(rows, columns, 2) + 0.5) / at - 0.5)


def _found(small: Image, size: tuple[int, int], kind: str, quick: bool) -> Floats | None:
    """Run one finder."""
    if kind == "classical":
        flags = cv2.CALIB_CB_ADAPTIVE_THRESH | cv2.CALIB_CB_NORMALIZE_IMAGE | (cv2.CALIB_CB_FAST_CHECK if quick else 0)
        found, corners = cv2.findChessboardCorners(small, size, flags=flags)
    else:
        thorough = cv2.CALIB_CB_NORMALIZE_IMAGE | cv2.CALIB_CB_EXHAUSTIVE
        found, corners = cv2.findChessboardCornersSB(small, size, flags=thorough if kind == "equalised" else 0)
    return np.asarray(corners, float) if found and corners is not None else None


def grid_steps(grid: Floats) -> Floats:
    """Give the steps to the next corner along the row and down: (rows, columns, 2) [px] -> (N, 2, 2)."""
    return np.stack([np.gradient(grid, axis=1), np.gradient(grid, axis=0)], axis=2).reshape(-1, 2, 2)


def _is_whole(seen: NDArray[np.bool_]) -> bool:
    """Tell whether enough corners are crossings on the whole, and in every row and column, (rows, columns)."""
    return bool(seen.mean() >= MIN_SEEN and all(seen.mean(axis=axis).min() >= 0.5 * MIN_SEEN for axis in (0, 1)))


def _continues(grey: Image, board: Board, fit: CornerFit, light: NDArray[np.bool_]) -> bool:
    """Tell whether the squares go on beyond a side: then this is a part of a larger board."""
    shape = (board.rows, board.columns)
    grid, steps = fit.corners_px.reshape(*shape, 2), grid_steps(fit.corners_px.reshape(*shape, 2)).reshape(*shape, 2, 2)
    shades, halves = light.reshape(shape), np.abs(fit.half).reshape(shape)
    for axis in (0, 1):
        rows, step, shade, half = (np.moveaxis(each, axis, 0) for each in (grid, steps, shades, halves))
        for way in (1, -1):
            a, b, c = rows[::way][:3]
            if _shows_crossings(grey, board, 3.0 * a - 3.0 * b + c, step[::way][0], ~shade[::way][0], half[::way][0]):
                return True
    return False


def _shows_crossings(grey: Image, board: Board, at: Floats, steps: Floats, light: NDArray[np.bool_], half: Floats) -> bool:
    """Tell whether most of some places show crossings as strong as those beside them: a square's own corner is half as strong."""
    inside = np.all((at > 3.0) & (at < np.array(grey.shape[::-1]) - 4.0), axis=1)
    if inside.sum() < 0.5 * len(at):
        return False
    fit = fit_corners(grey, at[inside], steps[inside], board, light[inside])
    near = np.linalg.norm(fit.corners_px - at[inside], axis=1) < 0.25 * np.linalg.norm(steps[inside], axis=2).min(axis=1)
    strong = np.abs(fit.half) > 0.75 * half[inside]
    return bool((are_crossings(fit, light[inside]) & near & strong).mean() > CONTINUES)
