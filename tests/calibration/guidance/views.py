"""Views of a board made by hand, for guidance: a front-on or tilted board anywhere in a picture, to the exact pixel."""

import numpy as np

from calibration.board.pattern import Board
from calibration.board.views import BoardView
from calibration.camera import Camera
from calibration.guidance.board import GUESSED_FOCAL

SIZE = (640, 480)
BOARD = Board("chessboard", 5, 4, 0.03)
MS = 1_000_000


def guessed_camera(size: tuple[int, int] = SIZE) -> Camera:
    """A camera as guidance guesses it to be, at the origin, looking along z."""
    f = GUESSED_FOCAL * size[0]
    matrix = np.array([[f, 0.0, 0.5 * size[0]], [0.0, f, 0.5 * size[1]], [0.0, 0.0, 1.0]])
    return Camera("left", size, matrix, np.zeros(5), np.eye(3), np.zeros(3))


def board_view(
    x: float = 0.5,
    y: float = 0.5,
    distance_m: float = 0.6,
    pitch_deg: float = 0.0,
    yaw_deg: float = 0.0,
    t_ms: float = 0.0,
    shift_px: float = 0.0,
    board: Board = BOARD,
    blur_px: float = 0.8,
) -> BoardView:
    """A board whose middle is seen at a share of the picture's width and height.

    pitch_deg: positive brings its top edge nearer; yaw_deg: positive brings its right edge nearer; shift_px: everything to the
    right.
    """
    camera = guessed_camera()
    a, b = np.radians(pitch_deg), np.radians(yaw_deg)
    pitch = np.array([[1.0, 0.0, 0.0], [0.0, np.cos(a), -np.sin(a)], [0.0, np.sin(a), np.cos(a)]])
    yaw = np.array([[np.cos(b), 0.0, np.sin(b)], [0.0, 1.0, 0.0], [-np.sin(b), 0.0, np.cos(b)]])
    points = (board.points_m - board.points_m.mean(axis=0)) @ (yaw @ pitch).T
    ray = camera.undistort(np.array([x * SIZE[0], y * SIZE[1]]))
    corners = camera.project(points + distance_m * np.append(ray, 1.0))
    return BoardView(corners + [shift_px, 0.0], np.ones(len(board), bool), round(t_ms * MS), f"at {t_ms:g} ms", blur_px)
