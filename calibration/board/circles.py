"""Find an asymmetric grid of dark circles: OpenCV's finder, then the centre of each circle's darkness."""

import cv2
import numpy as np

from calibration.board.pattern import Board
from calibration.board.views import BoardView
from config.arrays import Floats, Image

WINDOW = 0.7  # of the distance to the nearest circle: half the side of the window in which a centre is measured
ROUNDS = 3
MIN_CONTRAST = 15.0  # grey levels


def find_circles(grey: Image, board: Board, quick: bool = False) -> BoardView | None:
    """Return the circles' centres in the board's order, (N, 2) [px]; None unless all are in view.

    Args:
        grey: the picture, (H, W).
        board: the board that is looked for.
        quick: for live use, where a few milliseconds must do.
    """
    for picture in (grey, np.asarray(cv2.bitwise_not(grey))):
        corners = find_circle_grid(picture, board.columns, board.rows, quick=quick)
        if corners is not None:
            return BoardView(_find_centres(picture, corners), np.ones(len(board), bool), blur_px=0.7)
    return None


def find_circle_grid(grey: Image, columns: int, rows: int, symmetric: bool = False, quick: bool = False) -> Floats | None:
    """Return the rough centres of a grid of dark circles, row by row, (N, 2) [px]; None where there is no such grid.

    Args:
        grey: the picture, (H, W).
        columns: circles in a row.
        rows: rows of circles.
        symmetric: the circles of all rows are below each other.
        quick: for live use, where a few milliseconds must do.
    """
    kind = cv2.CALIB_CB_SYMMETRIC_GRID if symmetric else cv2.CALIB_CB_ASYMMETRIC_GRID
    for flags in (kind,) if quick else (kind, kind | cv2.CALIB_CB_CLUSTERING):
        found, centres = cv2.findCirclesGrid(grey, (columns, rows), flags=flags, blobDetector=make_blob_detector(grey))
        if found and centres is not None:
            return np.asarray(centres, float).reshape(-1, 2)
    return None


def make_blob_detector(grey: Image) -> "cv2.SimpleBlobDetector":
    """Return a detector of dark, round spots of any usual size."""
    parameters = cv2.SimpleBlobDetector.Params()
    parameters.minArea, parameters.maxArea = 12.0, 0.02 * grey.size
    parameters.minDistBetweenBlobs = 3.0
    parameters.minCircularity = 0.6
    return cv2.SimpleBlobDetector.create(parameters)


def _find_centres(grey: Image, centres: Floats) -> Floats:
    """Return the centre of darkness around every circle: (N, 2) -> (N, 2) [px]."""
    away = np.linalg.norm(centres[:, None] - centres[None], axis=2)
    np.fill_diagonal(away, np.inf)
    half = 0.5 * WINDOW * away.min(axis=1) * 1.4
    out = centres.copy()
    for n in range(len(out)):
        for _ in range(ROUNDS):
            out[n] = _find_centre(grey, out[n], half[n])
    return out


def _find_centre(grey: Image, at: Floats, half: float) -> Floats:
    """Return the centre of what is darker than the paper within a circle of radius `half`, (2,) [px]."""
    low = np.maximum(np.floor(at - half - 1.0).astype(int), 0)
    high = np.minimum(np.ceil(at + half + 2.0).astype(int), grey.shape[::-1])
    window = grey[low[1] : high[1], low[0] : high[0]].astype(float)
    y, x = np.mgrid[low[1] : high[1], low[0] : high[0]]
    r = np.hypot(x - at[0], y - at[1])
    weight = np.clip(half + 0.5 - r, 0.0, 1.0)
    rim = window[(r > half - 1.5) & (r < half + 0.5)]
    paper = float(np.median(rim)) if len(rim) else float(window.max(initial=0.0))
    dark = weight * np.clip(paper - window - 0.15 * (paper - window.min(initial=paper)), 0.0, None)
    total = dark.sum()
    return at if total < MIN_CONTRAST else np.array([(dark * x).sum(), (dark * y).sum()]) / total
