"""Views of a board: its corners in one picture, pictures that show it in one position, and how much of a picture it has
covered.
"""

from dataclasses import dataclass
from itertools import combinations

import cv2
import numpy as np
from numpy.typing import NDArray

from config.arrays import Floats


@dataclass(frozen=True, slots=True)
class BoardView:
    """A board in one picture.

    corners_px: raw image points in the board's order, (N, 2) [px], arbitrary where not seen; seen: (N,); t_ns: time of capture,
    or the picture's number; name: of the picture, for messages; blur_px: standard deviation of its edges' blur, a Gaussian [px];
    moved_px: motion of the corners since the picture before, NaN where unknown [px]; legacy: layout of the ChArUco board that was
    seen; velocity_px_s: of each corner, (N, 2) [px/s], None where unknown.
    """

    corners_px: Floats
    seen: NDArray[np.bool_]
    t_ns: int = 0
    name: str = ""
    blur_px: float = float("nan")
    moved_px: float = float("nan")
    legacy: bool = False
    velocity_px_s: Floats | None = None

    def __post_init__(self) -> None:
        self.corners_px.setflags(write=False)
        self.seen.setflags(write=False)
        if self.velocity_px_s is not None:
            self.velocity_px_s.setflags(write=False)

    @property
    def n_seen(self) -> int:
        """Number of corners seen."""
        return int(self.seen.sum())


def make_view(corners_px: Floats, seen: NDArray[np.bool_], blur_px: Floats, legacy: bool = False) -> BoardView:
    """Return a view whose blur is that of the less sharp edges, since a moving board has sharp ones along its motion.

    Args:
        corners_px: in the board's order, (N, 2) [px].
        seen: which are reliable, (N,).
        blur_px: of each corner's edges, (N, 2) [px].
        legacy: layout of the ChArUco board that was seen.
    """
    blur = float(np.median(blur_px[seen], axis=0).max()) if seen.any() else float("nan")
    return BoardView(corners_px, seen, blur_px=blur, legacy=legacy)


@dataclass(frozen=True, slots=True)
class BoardMoment:
    """The board in one position, as the cameras saw it; views: by camera, None: not seen by that camera."""

    views: tuple[BoardView | None, ...]

    @property
    def t_ns(self) -> int:
        """Time of capture of the first of its views."""
        return min((view.t_ns for view in self.views if view is not None), default=0)

    @property
    def name(self) -> str:
        """Names of its pictures, empty where they have none."""
        return " and ".join(dict.fromkeys(view.name for view in self.views if view is not None and view.name))

    @property
    def seen_by(self) -> tuple[int, ...]:
        """The cameras that see the board."""
        return tuple(c for c, view in enumerate(self.views) if view is not None)

    @property
    def n_shared(self) -> int:
        """Number of corners that two cameras see, of those two that share most."""
        seen = [view.seen for view in self.views if view is not None]
        return max((int((a & b).sum()) for a, b in combinations(seen, 2)), default=0)


CELLS = (8, 6)  # across and down, of which the share with a corner is the coverage
REGIONS = (("upper left", "top", "upper right"), ("left", "middle", "right"), ("lower left", "bottom", "lower right"))
MARGIN = 0.04  # of the picture's width, by which the lens is known beyond the corners seen


@dataclass(frozen=True, slots=True)
class Coverage:
    """Where corners were seen.

    share: of the cells that hold a corner; missing: the ninths of the picture that hold none; cells: counts, (6, 8).
    """

    share: float
    missing: tuple[str, ...]
    cells: NDArray[np.intp]

    def describe_missing(self, picture: str) -> str:
        """Describe what is missing, such as `nothing in the lower left of the right picture`; empty if nothing is."""
        if not self.missing:
            return ""
        if len(self.missing) > 4:
            return f"nothing in {len(self.missing)} of 9 parts of {picture}"
        *first, last = self.missing
        return f"nothing in the {', '.join(first)}{' and ' if first else ''}{last} of {picture}"


def measure_coverage(corners_px: Floats, size: tuple[int, int]) -> Coverage:
    """Return where corners were seen: (N, 2) [px] in a picture of `size` (width, height)."""
    cells = _count_by_cell(corners_px, size, CELLS)
    ninths = _count_by_cell(corners_px, size, (3, 3))
    missing = tuple(REGIONS[row][column] for row in range(3) for column in range(3) if not ninths[row, column])
    return Coverage(float((cells > 0).mean()), missing, cells)


def measure_outside_share(corners_px: Floats, size: tuple[int, int], points_px: Floats) -> float:
    """Return the share of points that are outside of the convex hull of the corners seen and a margin.

    Args:
        corners_px: corners seen, (N, 2) [px].
        size: width and height of the picture [px].
        points_px: the points, (M, 2) [px].
    """
    if len(corners_px) < 3 or not len(points_px):
        return 1.0
    hull = cv2.convexHull(np.asarray(corners_px, np.float32))
    inside = [cv2.pointPolygonTest(hull, (float(x), float(y)), True) > -MARGIN * size[0] for x, y in points_px]
    return 1.0 - float(np.mean(inside))


def _count_by_cell(corners_px: Floats, size: tuple[int, int], cells: tuple[int, int]) -> NDArray[np.intp]:
    """Count the corners in each cell of a grid: rows down, columns across."""
    at = np.floor((np.asarray(corners_px, float).reshape(-1, 2) + 0.5) / size * cells).astype(int)
    at = np.clip(at, 0, np.array(cells) - 1)
    out = np.zeros((cells[1], cells[0]), np.intp)
    np.add.at(out, (at[:, 1], at[:, 0]), 1)
    return out
