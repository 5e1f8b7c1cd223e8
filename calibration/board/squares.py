"""Find a chessboard of any size in a picture, and how many rows and columns of corners it has."""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from calibration.board.chessboard import compute_grid_steps, has_crossings, measure_square_contrast
from calibration.board.corner_fit import fit_corners, is_crossing
from calibration.board.pattern import SIDES, Board, find_light_squares
from config.arrays import Floats, Image

WORK_WIDTH = 960
MIN_SIDES = (5, 3)  # smaller grids of dark and light squares are found in anything
LEAST_PX2 = 4.0  # area of a square: of finer ones nothing can be told, and corners may lie on each other
AT_EDGE = 1.3  # squares from a side of the picture within which a board may go on outside it


@dataclass(frozen=True, slots=True)
class OtherChessboard:
    """A chessboard of unknown size.

    Inner corners along its longer and shorter side, whether it may extend beyond the picture, and its blur.
    """

    columns: int
    rows: int
    at_edge: bool
    blur_px: float


def detect_chessboard(grey: Image) -> OtherChessboard | None:
    """Return the largest chessboard in a picture, (H, W), whatever its size; None if there is none."""
    scale = min(1.0, WORK_WIDTH / grey.shape[1])
    small = grey if scale == 1.0 else cv2.resize(grey, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    best: tuple[Floats, float] | None = None
    for seed, flags in (((3, 3), 0), ((4, 3), cv2.CALIB_CB_EXHAUSTIVE | cv2.CALIB_CB_NORMALIZE_IMAGE)):
        found, corners, meta = cv2.findChessboardCornersSBWithMeta(small, seed, cv2.CALIB_CB_LARGER | flags)
        if not found or meta is None or len(corners) != meta.size:
            continue
        grid = np.asarray(corners, float).reshape(*meta.shape[:2], 2)
        blur_px = _measure_squares_blur(small, grid)
        if blur_px is not None and (best is None or grid.size > best[0].size):
            best = grid, blur_px
    if best is None:
        return None
    grid, blur_px = _find_true_extent(small, best[0]), best[1]
    step = np.linalg.norm(compute_grid_steps(grid), axis=2).max()
    limit = np.array(small.shape[::-1]) - 1.0
    rim = min(grid.min(), (limit - grid.reshape(-1, 2).max(axis=0)).min())
    sides = sorted(grid.shape[:2], reverse=True)
    return OtherChessboard(sides[0], sides[1], bool(rim < AT_EDGE * step), blur_px / scale)


def _find_true_extent(grey: Image, grid: Floats) -> Floats:
    """Return a grid without outer rows that are no crossings, and with those that go on, (rows, columns, 2) [px]."""
    for axis in (0, 1):
        for _ in range(SIDES[1]):
            before = grid.shape
            crossings, light, half = _find_crossings(grey, grid)
            counts = np.moveaxis(crossings, axis, 0).mean(axis=1)
            along = np.moveaxis(grid, axis, 0)
            if len(along) > MIN_SIDES[1] and counts[-1] < 0.5:
                grid = np.moveaxis(along[:-1], 0, axis)
            elif len(along) > MIN_SIDES[1] and counts[0] < 0.5:
                grid = np.moveaxis(along[1:], 0, axis)
            else:
                grid = np.moveaxis(_extend_grid(grey, along, axis, light, half), 0, axis)
            if grid.shape == before:
                break
    return np.ascontiguousarray(grid)


def _find_crossings(grey: Image, grid: Floats) -> tuple[NDArray[np.bool_], NDArray[np.bool_], Floats]:
    """Return which corners of a grid are crossings, whether the square to the lower right of each is light, and the contrast."""
    rows, columns = grid.shape[:2]
    board, found = Board("chessboard", columns, rows, 0.01), []
    for first in (False, True):
        light = find_light_squares(board, first)
        fit = fit_corners(grey, grid.reshape(-1, 2), compute_grid_steps(grid), board, light)
        found.append((is_crossing(fit, light), light, np.abs(fit.half)))
    best = max(found, key=lambda each: int(each[0].sum()))
    return best[0].reshape(rows, columns), best[1].reshape(rows, columns), best[2].reshape(rows, columns)


def _extend_grid(grey: Image, along: Floats, axis: int, light: NDArray[np.bool_], half: Floats) -> Floats:
    """Return a grid, its rows along the first axis, with another row where the squares go on at either end."""
    steps = np.moveaxis(
        compute_grid_steps(np.moveaxis(along, 0, axis)).reshape(*np.moveaxis(along, 0, axis).shape[:2], 2, 2), axis, 0
    )
    shades, halves = np.moveaxis(light, axis, 0), np.moveaxis(half, axis, 0)
    board = Board("chessboard", along.shape[1], along.shape[0], 0.01)
    for way in (1, -1):
        a, b, c = along[::way][:3]
        further = 3.0 * a - 3.0 * b + c
        if has_crossings(grey, board, further, steps[::way][0], ~shades[::way][0], halves[::way][0]):
            return np.concatenate([further[None], along] if way == 1 else [along, further[None]])
    return along


def _measure_squares_blur(grey: Image, grid: Floats) -> float | None:
    """Return the blur of a grid of squares, (rows, columns, 2) [px]; None if it is not one."""
    rows, columns = grid.shape[:2]
    if max(rows, columns) < MIN_SIDES[0] or min(rows, columns) < MIN_SIDES[1]:
        return None
    if np.abs(np.linalg.det(compute_grid_steps(grid))).min() < LEAST_PX2:
        return None
    contrast, agree = measure_square_contrast(grey, grid)
    x, y = (grid[:, -1] - grid[:, 0]).mean(axis=0), (grid[-1] - grid[0]).mean(axis=0)
    turned = x[0] * y[1] - x[1] * y[0] < 0.0
    board = Board("chessboard", columns, rows, 0.01)
    light = find_light_squares(board, contrast < 0.0)
    fit = fit_corners(grey, grid.reshape(-1, 2), compute_grid_steps(grid), board, light)
    same = is_crossing(fit, light).mean()
    if agree < 0.8 or (same < 0.5 and not turned):
        return None
    return float(np.median(fit.blur_px, axis=0).max())
