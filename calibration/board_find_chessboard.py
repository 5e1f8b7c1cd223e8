"""Find a chessboard's corners roughly, by one of OpenCV's finders after another, in the order that finder gives.

The sector-based finder (Duda & Frese 2018) finds more boards than the older one; that one is quicker and now and then finds what
the other missed.
"""

import cv2
import numpy as np
from numpy.typing import NDArray

from database.rotations import Floats

WORK_WIDTH = 1280  # wider pictures are searched at a smaller size
QUICK_WIDTH = 640

Image = NDArray[np.uint8]


def chessboard_grid(grey: Image, columns: int, rows: int, quick: bool = False) -> Floats | None:
    """Give a chessboard's corners in the order of the finder, (rows, columns, 2) [px]; None where none was found.

    grey: (H, W); columns, rows: inner corners; quick: give up after a few milliseconds.
    """
    scale = min(1.0, (QUICK_WIDTH if quick else WORK_WIDTH) / grey.shape[1])
    scales = (scale, 0.5 * scale)
    for kind in ("classical", "half", "plain") if quick else ("plain", "equalised", "classical", "half"):
        at = scales[1] if kind == "half" else scales[0]
        small = grey if at == 1.0 else cv2.resize(grey, None, fx=at, fy=at, interpolation=cv2.INTER_AREA)
        found, corners = _tried(small, (columns, rows), kind, quick)
        if found and corners is not None and len(corners) == rows * columns:
            return np.asarray((np.asarray(corners, float).reshape(rows, columns, 2) + 0.5) / at - 0.5)
        if quick and kind == "half":
            break
    return None


def _tried(small: Image, size: tuple[int, int], kind: str, quick: bool) -> tuple[bool, Floats | None]:
    """Run one finder."""
    if kind == "classical":
        flags = cv2.CALIB_CB_ADAPTIVE_THRESH | cv2.CALIB_CB_NORMALIZE_IMAGE | (cv2.CALIB_CB_FAST_CHECK if quick else 0)
        found, corners = cv2.findChessboardCorners(small, size, flags=flags)
    else:
        thorough = cv2.CALIB_CB_NORMALIZE_IMAGE | cv2.CALIB_CB_EXHAUSTIVE
        found, corners = cv2.findChessboardCornersSB(small, size, flags=thorough if kind == "equalised" else 0)
    return bool(found), corners
