"""Find a chessboard: OpenCV's finders one after another, and a check that what they return looks like the board.

The sector-based finder (Duda & Frese 2018) finds more boards than the classical one, which is quicker and sometimes finds what
the other misses. Both sometimes return a part of a larger board, or a grid with one row on the board's rim.

A printed board is distinguished from the same one upside down by the colours of its squares: the outer square at the first corner
is dark. A board with an odd number of corners along one side and an even number along the other has one such order; others look
the same upside down and are taken to be upright.
"""

from collections.abc import Iterator

import cv2
import numpy as np
from numpy.typing import NDArray

from calibration.board.corner_fit import CornerFit, fit_corners, is_crossing
from calibration.board.pattern import Board, find_light_squares
from calibration.board.views import BoardView, make_view
from config.arrays import Floats, Image

WORK_WIDTH = 1280  # [px], to which wider pictures are scaled down
QUICK_WIDTH = 640
MIN_SEEN = 0.8  # share of all corners, and half of that of every row and column
MIN_CONTRAST = 6.0  # between dark and light squares, in grey levels
MIN_AGREE = 0.85  # share of neighbouring squares whose contrast has the right sign
CONTINUES = 0.6  # share of the corners that a larger board would have beyond a side


def find_chessboard(grey: Image, board: Board, quick: bool = False) -> BoardView | None:
    """Return the corners of a chessboard that is whole in a picture; None if no finder returns one that looks like it.

    Args:
        grey: the picture, (H, W).
        board: the board that is looked for.
        quick: for live use, where a few milliseconds must do.
    """
    for grid in find_chessboard_grids(grey, board.columns, board.rows, quick):
        ordered = _sort_in_board_order(grey, grid, board)
        if ordered is None:
            continue
        corners, dark_first = ordered
        light = find_light_squares(board, not dark_first)
        fit = fit_corners(grey, corners, compute_grid_steps(corners.reshape(board.rows, board.columns, 2)), board, light)
        seen = is_crossing(fit, light)
        if _is_whole(seen.reshape(board.rows, board.columns)) and not _is_part_of_larger(grey, board, fit, light):
            return make_view(fit.corners_px, seen, fit.blur_px)
    return None


def find_chessboard_grids(grey: Image, columns: int, rows: int, quick: bool = False) -> Iterator[Floats]:
    """Return what each finder takes for a chessboard's corners, in its own order, (rows, columns, 2) [px].

    Args:
        grey: (H, W).
        columns, rows: inner corners.
        quick: only finders that give up after a few milliseconds.
    """
    scale = min(1.0, (QUICK_WIDTH if quick else WORK_WIDTH) / grey.shape[1])
    for kind in ("classical", "half") if quick else ("plain", "equalised", "classical", "half"):
        at = 0.5 * scale if kind == "half" else scale
        small = grey if at == 1.0 else cv2.resize(grey, None, fx=at, fy=at, interpolation=cv2.INTER_AREA)
        corners = _run_finder(small, (columns, rows), kind, quick)
        if corners is not None and len(corners) == rows * columns:
            yield np.asarray((corners.reshape(rows, columns, 2) + 0.5) / at - 0.5)


def _run_finder(small: Image, size: tuple[int, int], kind: str, quick: bool) -> Floats | None:
    """Run one finder; None if it finds nothing."""
    if kind == "classical":
        flags = cv2.CALIB_CB_ADAPTIVE_THRESH | cv2.CALIB_CB_NORMALIZE_IMAGE | (cv2.CALIB_CB_FAST_CHECK if quick else 0)
        found, corners = cv2.findChessboardCorners(small, size, flags=flags)
    else:
        thorough = cv2.CALIB_CB_NORMALIZE_IMAGE | cv2.CALIB_CB_EXHAUSTIVE
        found, corners = cv2.findChessboardCornersSB(small, size, flags=thorough if kind == "equalised" else 0)
    return np.asarray(corners, float) if found and corners is not None else None


def compute_grid_steps(grid: Floats) -> Floats:
    """Return the steps from each corner to the next along the row and down: (rows, columns, 2) [px] -> (N, 2, 2)."""
    return np.stack([np.gradient(grid, axis=1), np.gradient(grid, axis=0)], axis=2).reshape(-1, 2, 2)


def _is_whole(seen: NDArray[np.bool_]) -> bool:
    """Return whether enough corners are crossings, in all and in every row and column: seen (rows, columns)."""
    return bool(seen.mean() >= MIN_SEEN and all(seen.mean(axis=axis).min() >= 0.5 * MIN_SEEN for axis in (0, 1)))


def _is_part_of_larger(grey: Image, board: Board, fit: CornerFit, light: NDArray[np.bool_]) -> bool:
    """Return whether the squares go on beyond a side, as in a larger board."""
    shape = (board.rows, board.columns)
    grid, steps = fit.corners_px.reshape(*shape, 2), compute_grid_steps(fit.corners_px.reshape(*shape, 2)).reshape(*shape, 2, 2)
    shades, halves = light.reshape(shape), np.abs(fit.half).reshape(shape)
    for axis in (0, 1):
        rows, step, shade, half = (np.moveaxis(each, axis, 0) for each in (grid, steps, shades, halves))
        for way in (1, -1):
            a, b, c = rows[::way][:3]
            if has_crossings(grey, board, 3.0 * a - 3.0 * b + c, step[::way][0], ~shade[::way][0], half[::way][0]):
                return True
    return False


def has_crossings(grey: Image, board: Board, at: Floats, steps: Floats, light: NDArray[np.bool_], half: Floats) -> bool:
    """Return whether most positions show crossings as strong as their neighbours; the corner of a lone square is half as
    strong.

    Args:
        grey: the picture, (H, W).
        board: the board that is looked for.
        at: positions, (N, 2) [px].
        steps: from each to the next along the row and down, (N, 2, 2) [px].
        light: whether the square to the lower right is a light one, (N,).
        half: half the contrast of the neighbours, (N,) [grey levels].
    """
    inside = np.all((at > 3.0) & (at < np.array(grey.shape[::-1]) - 4.0), axis=1)
    if inside.sum() < 0.5 * len(at):
        return False
    fit = fit_corners(grey, at[inside], steps[inside], board, light[inside])
    near = np.linalg.norm(fit.corners_px - at[inside], axis=1) < 0.25 * np.linalg.norm(steps[inside], axis=2).min(axis=1)
    strong = np.abs(fit.half) > 0.75 * half[inside]
    return bool((is_crossing(fit, light[inside]) & near & strong).mean() > CONTINUES)


def _sort_in_board_order(image: NDArray[np.uint8], grid_px: Floats, board: Board) -> tuple[Floats, bool] | None:
    """Return corners in the board's order, (N, 2) [px], and whether the square at the first is dark; None if squares do not
    alternate.

    The first square is dark wherever the board allows it.

    Args:
        image: (H, W).
        grid_px: corners in any order of rows and columns, (rows, columns, 2) or rotated by a quarter.
        board: the board that is looked for.
    """
    candidates = []
    for grid in _list_orders(grid_px, board):
        contrast, agree = measure_square_contrast(image, grid)
        if agree < MIN_AGREE or abs(contrast) < MIN_CONTRAST:
            return None
        along = grid[:, -1] - grid[:, 0]
        upright = float(along.mean(axis=0)[0] / (np.linalg.norm(along.mean(axis=0)) + 1e-9))
        candidates.append((contrast > 0.0, upright, grid))
    if not candidates:
        return None
    best = max(candidates, key=lambda candidate: candidate[:2])
    return np.ascontiguousarray(best[2].reshape(-1, 2)), best[0]


def _list_orders(grid: Floats, board: Board) -> list[Floats]:
    """Return the orders of a grid that have the board's rows and columns, and x to y clockwise in the picture as the board has
    it.
    """
    rotated = [np.rot90(grid, quarter) for quarter in range(4)]
    found = []
    for grid_ in (*rotated, *(grid_[::-1] for grid_ in rotated)):
        x, y = (grid_[:, -1] - grid_[:, 0]).mean(axis=0), (grid_[-1] - grid_[0]).mean(axis=0)
        if grid_.shape[:2] == (board.rows, board.columns) and x[0] * y[1] - x[1] * y[0] > 0.0:
            found.append(grid_)
    return found


def measure_square_contrast(image: NDArray[np.uint8], grid_px: Floats) -> tuple[float, float]:
    """Return by how much the squares of one colour are lighter [grey levels], and the share of neighbours that agree.

    Positive where those are lighter whose row and column add up to an odd number.

    image: (H, W); grid_px: (rows, columns, 2) [px]; the first square is between the first corners of the first two rows.
    """
    middles = 0.25 * (grid_px[:-1, :-1] + grid_px[1:, :-1] + grid_px[:-1, 1:] + grid_px[1:, 1:])
    side = np.linalg.norm(np.diff(grid_px, axis=1), axis=2).min()
    smooth = cv2.blur(image, (max(1, int(0.3 * side)),) * 2) if side > 6 else image
    grey = cv2.remap(smooth, np.float32(middles[..., 0]), np.float32(middles[..., 1]), cv2.INTER_LINEAR).astype(float)
    odd = np.add.outer(np.arange(grey.shape[0]), np.arange(grey.shape[1])) % 2 == 1
    contrast = float(grey[odd].mean() - grey[~odd].mean())
    # Light falls off over a board: each square is compared with its neighbours in the same row.
    steps = np.diff(grey, axis=1) * np.where(odd[:, 1:], 1.0, -1.0) * np.sign(contrast)
    return contrast, float((steps > 0.0).mean())
