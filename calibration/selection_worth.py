"""What a view of a board tells about the cameras: its Fisher information, the board's own place eliminated.

The cameras are nominal ones, good enough to weigh views against each other before anything is solved.
"""

from collections.abc import Sequence

import cv2
import numpy as np

from calibration.board import Board
from calibration.camera import Camera
from calibration.views import BoardView, ViewPair
from database.rotations import Floats, matrix_from_rotvec, skew

Size = tuple[int, int]

N_LENS = 8  # f, cx, cy, aspect, k1, k2, p1, p2
N_RIG = 2 * N_LENS + 6  # both cameras, and the right one's turn and place
FOCAL_SHARE = 1.1  # of the longer side, where no views tell
N_GUESS = 20
SIGMA_PX, BLUR_FREE_PX = 0.1, 0.7


def corner_sigma_px(view: BoardView) -> float:
    """Guess the error of a view's corners [px]: that of a sharp and still picture, and more with blur and motion."""
    blur, moved = (float(np.nan_to_num(value)) for value in (view.blur_px, view.moved_px))
    return float(np.hypot(SIGMA_PX * (1.0 + max(blur - BLUR_FREE_PX, 0.0)), 0.2 * moved))


def nominal_cameras(pairs: Sequence[ViewPair], sizes: tuple[Size, Size], board: Board) -> tuple[Camera, Camera]:
    """Guess both cameras from their views: focal length by the homographies, the centre in the middle, no distortion."""
    left, right = (
        _nominal([pair.views[c] for pair in pairs if pair.views[c] is not None], size, board) for c, size in enumerate(sizes)
    )
    return left, right


def _nominal(views: Sequence[BoardView | None], size: Size, board: Board) -> Camera:
    """Guess one camera. The focal length is kept within what lenses have."""
    step = max(len(views) // N_GUESS, 1)
    seen = [view for view in views[::step] if view is not None]
    focal = FOCAL_SHARE * max(size)
    objects = [board.points_m[view.seen].astype(np.float32) for view in seen]
    pixels = [view.corners_px[view.seen].astype(np.float32) for view in seen]
    if len(seen) >= 3:
        guess = cv2.initCameraMatrix2D(objects, pixels, size, 1.0)[0, 0]
        focal = float(np.clip(guess, 0.4 * max(size), 4.0 * max(size))) if np.isfinite(guess) else focal
    matrix = np.array([[focal, 0.0, 0.5 * (size[0] - 1)], [0.0, focal, 0.5 * (size[1] - 1)], [0.0, 0.0, 1.0]])
    return Camera("nominal", size, matrix, np.zeros(5), np.eye(3), np.zeros(3))


def pair_information(pair: ViewPair, cameras: tuple[Camera, Camera], board: Board) -> Floats:
    """Give the information on (left lens, right lens, right camera's turn and place), (N_RIG, N_RIG).

    One place of the board is common to both cameras; where one of them sees nothing, the view says nothing of the other.
    The right camera's pose is linearised at the one this very view shows.
    """
    A = np.zeros((N_RIG, N_RIG))
    B = np.zeros((N_RIG, 6))
    C = 1e-9 * np.eye(6)
    poses = [None if view is None else _pose(view, camera, board) for view, camera in zip(pair.views, cameras, strict=True)]
    shared = poses[0] if poses[0] is not None else poses[1]
    if shared is None:
        return A
    for c, (view, camera, pose) in enumerate(zip(pair.views, cameras, poses, strict=True)):
        if view is None or pose is None:
            continue
        lens, place, rig = _jacobians(view, camera, board, pose, shared if c == 1 and poses[0] is not None else None)
        J = np.zeros((len(lens), N_RIG))
        J[:, c * N_LENS : (c + 1) * N_LENS] = lens
        J[:, 2 * N_LENS :] = rig
        weight = 1.0 / corner_sigma_px(view) ** 2
        A += weight * J.T @ J
        B += weight * J.T @ place
        C += weight * place.T @ place
    information = A - B @ np.linalg.solve(C, B.T)
    return np.asarray(0.5 * (information + information.T))


def _pose(view: BoardView, camera: Camera, board: Board) -> tuple[Floats, Floats] | None:
    """Place the board before the camera: rotation (3, 3), translation (3,) [m]; None where that cannot be done."""
    points, pixels = board.points_m[view.seen], np.ascontiguousarray(view.corners_px[view.seen])
    try:
        ok, rotvec, translation = cv2.solvePnP(points, pixels, camera.matrix, None, flags=cv2.SOLVEPNP_IPPE)
    except cv2.error:
        return None
    if not ok or not np.all(np.isfinite(rotvec)) or translation[2, 0] <= 0.0:
        return None
    return matrix_from_rotvec(rotvec[:, 0]), translation[:, 0]


def _jacobians(
    view: BoardView, camera: Camera, board: Board, pose: tuple[Floats, Floats], from_left: tuple[Floats, Floats] | None
) -> tuple[Floats, Floats, Floats]:
    """Give derivatives of the corners by lens (2n, N_LENS), the board's place (2n, 6) and the right camera's pose (2n, 6).

    from_left: the board's pose before the left camera where this is the right one and the left sees it too, so that the place
    is counted in the left camera's frame.
    """
    rotation, translation = pose
    f = camera.focal_px
    turned = board.points_m[view.seen] @ rotation.T
    x = turned + translation
    u, v = x[:, 0] / x[:, 2], x[:, 1] / x[:, 2]
    r2, zero, one = u * u + v * v, np.zeros(len(u)), np.ones(len(u))
    du = np.stack([u, one, zero, f * u, f * u * r2, f * u * r2**2, f * 2 * u * v, f * (r2 + 2 * u * u)], axis=1)
    dv = np.stack([v, zero, one, -f * v, f * v * r2, f * v * r2**2, f * (r2 + 2 * v * v), f * 2 * u * v], axis=1)
    lens = np.stack([du, dv], axis=1).reshape(-1, N_LENS)
    depth = x[:, 2]
    projection = np.zeros((len(u), 2, 3))
    projection[:, 0, 0] = projection[:, 1, 1] = f / depth
    projection[:, 0, 2], projection[:, 1, 2] = -f * u / depth, -f * v / depth
    if from_left is None:
        place = _moved(projection, turned, np.eye(3))
        return lens, place, np.zeros_like(place)
    to_right = rotation @ from_left[0].T
    place = _moved(projection, board.points_m[view.seen] @ from_left[0].T, to_right)
    return lens, place, _moved(projection, x, np.eye(3))


def _moved(projection: Floats, arms: Floats, after: Floats) -> Floats:
    """Give derivatives by a turn about the origin of `arms` and a shift, both seen through a further turn, (2n, 6)."""
    turns = -np.stack([after @ skew(arm) for arm in arms])
    shifts = np.broadcast_to(after, turns.shape)
    return np.asarray((projection @ np.concatenate([turns, shifts], axis=2)).reshape(-1, 6))
