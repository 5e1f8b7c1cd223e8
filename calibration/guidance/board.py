"""A board in one camera's picture, before anything is calibrated: how it lies, how fast it moves, which cells it covers."""

from collections import deque
from dataclasses import dataclass

import numpy as np

from calibration.board.pattern import Board
from calibration.board.views import BoardView
from calibration.solve.board_pose import compute_unique_homography
from config.arrays import Floats

GUESSED_FOCAL = 0.9  # of a picture's width, before a calibration: tilts come out a little wrong, their sides do not
MIN_CORNERS = 6
COLUMNS, ROWS = 8, 6  # cells of a picture
STILL_NS, WINDOW_NS, LONG_NS = 150_000_000, 500_000_000, 1_000_000_000  # the last: for a machine that looks seldom


@dataclass(frozen=True, slots=True)
class ViewShape:
    """A board in one picture.

    middle: of its corners, share of the picture's width and height, (2,); size: side of a square as large as the board, share of
    the side of a square as large as the picture; lean: by how much depth shrinks to the right and downwards, (2,): tangents of
    the tilt, positive where the right edge or the bottom edge is nearer to the camera; turn_rad: of its rows in the picture.
    """

    middle: Floats
    size: float
    lean: Floats
    turn_rad: float

    def distance(self, other: "ViewShape") -> float:
        """Return how different another view is: 1 is just enough to learn something from both."""
        turn = abs((self.turn_rad - other.turn_rad + np.pi) % (2.0 * np.pi) - np.pi)
        moved = float(np.abs(self.middle - other.middle).max()) / 0.08
        leant = float(np.abs(np.arctan(self.lean) - np.arctan(other.lean)).max()) / 0.16
        return float(max(moved, leant, abs(np.log(self.size / other.size)) / 0.15, turn / 0.35))


def measure_view_shape(view: BoardView, board: Board, size: tuple[int, int]) -> ViewShape | None:
    """Return how a board lies in a picture; None where too few corners are seen, or in a line.

    The corners' homography tells the plane's normal in the camera: 1/z is linear over the picture.

    Args:
        view: the board as it is seen.
        board: the board.
        size: width and height of the picture [px].
    """
    seen = view.seen
    if view.n_seen < min(MIN_CORNERS, len(board)):
        return None
    plane = board.points_m[seen, :2] / board.square_m
    focal = GUESSED_FOCAL * size[0]
    rays = (view.corners_px[seen] - 0.5 * np.array(size, float)) / focal
    H = compute_unique_homography(plane, rays)
    if H is None:
        return None
    normal = np.cross(H[:, 0], H[:, 1])
    if abs(normal[2]) < 1e-9:
        return None
    whole = board.points_m[:, :2] / board.square_m
    (left, top), (right, down) = whole.min(axis=0), whole.max(axis=0)
    corners = H @ np.array([[left, right, right, left], [top, top, down, down], [1.0, 1.0, 1.0, 1.0]])
    outline = (corners[:2] / corners[2]).T * focal
    across = outline[1] - outline[0]
    area_px = abs(_compute_signed_area(outline))
    return ViewShape(
        middle=view.corners_px[seen].mean(axis=0) / np.array(size, float),
        size=float(np.sqrt(area_px / (size[0] * size[1]))),
        lean=normal[:2] / normal[2],
        turn_rad=float(np.arctan2(across[1], across[0])),
    )


def _compute_signed_area(outline: Floats) -> float:
    """Return the signed area of a polygon, (N, 2)."""
    x, y = outline.T
    return float(0.5 * (x * np.roll(y, -1) - y * np.roll(x, -1)).sum())


class Stillness:
    """How fast a board moves in one camera's picture, from its last half second."""

    def __init__(self) -> None:
        self._past: deque[BoardView] = deque()

    def step(self, view: BoardView | None) -> tuple[float, float]:
        """Take the newest view; return its speed [px/s] and how far it moved since the view before [px], NaN where unknown."""
        if view is None:
            self._past.clear()
            return np.nan, np.nan
        while len(self._past) > 1 and not 0 < view.t_ns - self._past[0].t_ns <= WINDOW_NS:
            self._past.popleft()
        if self._past and not 0 < view.t_ns - self._past[0].t_ns <= LONG_NS:
            self._past.popleft()
        speed, moved = np.nan, np.nan
        if self._past:
            moved = _measure_distance_px(view, self._past[-1])
            span_ns = view.t_ns - self._past[0].t_ns
            if span_ns >= STILL_NS:
                speed = max(_measure_distance_px(view, other) for other in self._past) / (span_ns * 1e-9)
        self._past.append(view)
        return float(speed), float(moved)


def _measure_distance_px(view: BoardView, other: BoardView) -> float:
    """Return the root mean square distance between the corners that two views share [px], NaN where they share none."""
    both = view.seen & other.seen
    if not both.any():
        return float("nan")
    return float(np.sqrt(((view.corners_px[both] - other.corners_px[both]) ** 2).sum(axis=1).mean()))


def count_corners(view: BoardView, size: tuple[int, int]) -> Floats:
    """Count a view's corners by cell of the picture, (ROWS, COLUMNS)."""
    at = view.corners_px[view.seen] / np.array(size, float) * [COLUMNS, ROWS]
    column, row = np.clip(at.astype(np.int64), 0, [COLUMNS - 1, ROWS - 1]).T
    counts = np.zeros((ROWS, COLUMNS))
    np.add.at(counts, (row, column), 1.0)
    return counts
