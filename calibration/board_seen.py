"""See which board is in a picture when it is not the one that was asked for."""

import cv2
import numpy as np
from numpy.typing import NDArray

from calibration.board import SIDES, Board
from calibration.board_find_charuco import MarkersSeen, find_markers
from calibration.board_find_chessboard import grid_steps
from calibration.board_find_fit import are_crossings, fit_corners
from calibration.board_order import light_squares, square_contrast
from database.rotations import Floats

Image = NDArray[np.uint8]

WORK_WIDTH = 960
MIN_SIDES = (5, 3)  # smaller grids of dark and light squares are found in anything
AT_EDGE = 1.3  # squares from a side of the picture within which a board may go on outside it

# Of each kind the one that boards are printed with; those of 50 and 250 hold the same markers to begin with.
COMMON = (
    *("DICT_4X4_100", "DICT_5X5_100", "DICT_6X6_100", "DICT_7X7_100", "DICT_ARUCO_ORIGINAL", "DICT_ARUCO_MIP_36h12"),
    *("DICT_APRILTAG_36h11", "DICT_APRILTAG_25h9", "DICT_APRILTAG_16h5"),
)
CLEAR = 8  # markers that leave no doubt


def chessboard_seen(grey: Image) -> tuple[tuple[int, int], bool, float] | None:
    """Give the largest chessboard in a picture, (H, W): inner corners (more, fewer), whether it may go on outside, blur [px]."""
    scale = min(1.0, WORK_WIDTH / grey.shape[1])
    small = grey if scale == 1.0 else cv2.resize(grey, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    best: tuple[Floats, float] | None = None
    for seed, flags in (((3, 3), 0), ((4, 3), cv2.CALIB_CB_EXHAUSTIVE | cv2.CALIB_CB_NORMALIZE_IMAGE)):
        found, corners, meta = cv2.findChessboardCornersSBWithMeta(small, seed, cv2.CALIB_CB_LARGER | flags)
        if not found or meta is None or len(corners) != meta.size:
            continue
        grid = np.asarray(corners, float).reshape(*meta.shape[:2], 2)
        blur_px = _squares_blur(small, grid)
        if blur_px is not None and (best is None or grid.size > best[0].size):
            best = grid, blur_px
    if best is None:
        return None
    grid, blur_px = best
    step = np.linalg.norm(grid_steps(grid), axis=2).max()
    limit = np.array(small.shape[::-1]) - 1.0
    rim = min(grid.min(), (limit - grid.reshape(-1, 2).max(axis=0)).min())
    sides = sorted(grid.shape[:2], reverse=True)
    return (sides[0], sides[1]), bool(rim < AT_EDGE * step), blur_px / scale


def _squares_blur(grey: Image, grid: Floats) -> float | None:
    """Give the blur of a grid of squares, (rows, columns, 2), None where it is not one."""
    rows, columns = grid.shape[:2]
    if max(rows, columns) < MIN_SIDES[0] or min(rows, columns) < MIN_SIDES[1]:
        return None
    contrast, agree = square_contrast(grey, grid)
    x, y = (grid[:, -1] - grid[:, 0]).mean(axis=0), (grid[-1] - grid[0]).mean(axis=0)
    turned = x[0] * y[1] - x[1] * y[0] < 0.0
    board = Board("chessboard", columns, rows, 0.01)
    light = light_squares(board, contrast < 0.0)
    fit = fit_corners(grey, grid.reshape(-1, 2), grid_steps(grid), board, light)
    same = are_crossings(fit, light).mean()
    if agree < 0.8 or (same < 0.5 and not turned):
        return None
    return float(np.median(fit.blur_px, axis=0).max())


def dictionary_seen(grey: Image) -> tuple[str, MarkersSeen]:
    """Give the dictionary most of whose markers are in a picture, (H, W), and those markers; of like ones the smallest."""
    best = ("", MarkersSeen(np.zeros(0, int), np.zeros((0, 4, 2))))
    for name in COMMON:
        markers = find_markers(grey, cv2.aruco.getPredefinedDictionary(getattr(cv2.aruco, name)))
        if len(markers.ids) > len(best[1].ids):
            best = name, markers
        if len(best[1].ids) >= CLEAR:
            break
    name, markers = best
    return (name.replace("_100", "_50") if len(markers.ids) and markers.ids.max() < 50 else name), markers


def layout_seen(markers: MarkersSeen) -> tuple[int, int] | None:
    """Give the inner corners of the ChArUco board that markers fit on, at least as many rows as were seen; None: on none."""
    if len(markers.ids) < 6:
        return None
    found = []
    for columns in range(SIDES[0], 25):
        for light_first in (False, True):
            row, column = _squares_of(markers.ids, columns + 1, light_first)
            if np.ptp(row) < 1:
                continue
            points = np.column_stack([column, row]).astype(float)
            H, inlier = cv2.findHomography(markers.corners_px.mean(axis=1), points, cv2.RANSAC, 0.25)
            if H is not None:
                found.append((int(inlier.sum()), columns, int(row[inlier.ravel() > 0].max())))
    best = max(found, default=(0, 0, 0), key=lambda each: each[0])
    return (best[1], best[2]) if best[0] >= max(6, 0.7 * len(markers.ids)) else None


def _squares_of(ids: NDArray[np.int_], across: int, light_first: bool) -> tuple[NDArray[np.int_], NDArray[np.int_]]:
    """Give row and column of the light squares by number, of a board of `across` squares a row, (M,) each."""
    row, column = np.divmod(np.arange(across * (2 * (int(ids.max()) + 1) // across + 2)), across)
    light = (row + column) % 2 == int(not light_first)
    return row[light][ids], column[light][ids]
