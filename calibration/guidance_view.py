"""How a board lies in a picture, told before anything is calibrated: where, how large, how much tilted and to which side."""

from dataclasses import dataclass

import numpy as np

from calibration.board import Board
from calibration.homography import homography_if_told
from calibration.views import BoardView
from database.rotations import Floats

GUESSED_FOCAL = 0.9  # of a picture's width, before a calibration: tilts come out a little wrong, their sides do not
MIN_CORNERS = 6


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
        """Tell how different another view is: 1 is just enough to learn something from both."""
        turn = abs((self.turn_rad - other.turn_rad + np.pi) % (2.0 * np.pi) - np.pi)
        moved = float(np.abs(self.middle - other.middle).max()) / 0.08
        leant = float(np.abs(np.arctan(self.lean) - np.arctan(other.lean)).max()) / 0.16
        return float(max(moved, leant, abs(np.log(self.size / other.size)) / 0.15, turn / 0.35))


def view_shape(view: BoardView, board: Board, size: tuple[int, int]) -> ViewShape | None:
    """Tell how a board lies in a picture of a size [px]; None where too few corners are seen, or in a line.

    The corners' homography tells the plane's normal in the camera: 1/z is linear over the picture.
    """
    seen = view.seen
    if view.n_seen < MIN_CORNERS:
        return None
    plane = board.points_m[seen, :2] / board.square_m
    focal = GUESSED_FOCAL * size[0]
    rays = (view.corners_px[seen] - 0.5 * np.array(size, float)) / focal
    H = homography_if_told(plane, rays)
    if H is None:
        return None
    normal = np.cross(H[:, 0], H[:, 1])
    if abs(normal[2]) < 1e-9:
        return None
    right, down = board.columns - 1.0, board.rows - 1.0
    corners = H @ np.array([[0.0, right, right, 0.0], [0.0, 0.0, down, down], [1.0, 1.0, 1.0, 1.0]])
    outline = (corners[:2] / corners[2]).T * focal
    across = outline[1] - outline[0]
    area_px = abs(_area(outline))
    return ViewShape(
        middle=view.corners_px[seen].mean(axis=0) / np.array(size, float),
        size=float(np.sqrt(area_px / (size[0] * size[1]))),
        lean=normal[:2] / normal[2],
        turn_rad=float(np.arctan2(across[1], across[0])),
    )


def _area(outline: Floats) -> float:
    """Give the signed area of a polygon, (N, 2)."""
    x, y = outline.T
    return float(0.5 * (x * np.roll(y, -1) - y * np.roll(x, -1)).sum())
