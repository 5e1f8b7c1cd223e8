"""How much of a camera's picture the board has been in, and in words where it has not."""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from database.rotations import Floats

CELLS = (8, 6)  # across and down, of which the share with a corner is told
REGIONS = (
    ("upper left", "top", "upper right"),
    ("left", "middle", "right"),
    ("lower left", "bottom", "lower right"),
)
MARGIN = 0.04  # of the picture's width: so far beyond the corners seen a lens is still known


@dataclass(frozen=True, slots=True)
class Coverage:
    """Where corners were seen.

    share: of the cells that hold a corner; missing: those ninths of the picture that hold none; cells: counts, (6, 8).
    """

    share: float
    missing: tuple[str, ...]
    cells: NDArray[np.intp]

    def words(self, picture: str) -> str:
        """Say what is missing, such as `nothing in the lower left of the right picture`; empty where nothing is."""
        if not self.missing:
            return ""
        if len(self.missing) > 4:
            return f"nothing in {len(self.missing)} of 9 parts of {picture}"
        *first, last = self.missing
        return f"nothing in the {', '.join(first)}{' and ' if first else ''}{last} of {picture}"


def coverage_of(corners_px: Floats, size: tuple[int, int]) -> Coverage:
    """Tell where corners were seen: (N, 2) [px] in a picture of `size` (width, height)."""
    cells = _counts(corners_px, size, CELLS)
    ninths = _counts(corners_px, size, (3, 3))
    missing = tuple(REGIONS[row][column] for row in range(3) for column in range(3) if not ninths[row, column])
    return Coverage(float((cells > 0).mean()), missing, cells)


def outside_share(corners_px: Floats, size: tuple[int, int], points_px: Floats) -> float:
    """Give the share of points, (M, 2) [px], that lie outside of where corners were seen (their convex hull and a margin)."""
    if len(corners_px) < 3 or not len(points_px):
        return 1.0
    hull = cv2.convexHull(np.asarray(corners_px, np.float32))
    inside = [cv2.pointPolygonTest(hull, (float(x), float(y)), True) > -MARGIN * size[0] for x, y in points_px]
    return 1.0 - float(np.mean(inside))


def _counts(corners_px: Floats, size: tuple[int, int], cells: tuple[int, int]) -> NDArray[np.intp]:
    """Count the corners in each cell of a grid: rows down, columns across."""
    at = np.floor((np.asarray(corners_px, float).reshape(-1, 2) + 0.5) / size * cells).astype(int)
    at = np.clip(at, 0, np.array(cells) - 1)
    out = np.zeros((cells[1], cells[0]), np.intp)
    np.add.at(out, (at[:, 1], at[:, 0]), 1)
    return out
