"""Calibrations for the zoo: views of a board by two cameras of any lens, solved and judged as `duocap calibrate rig` does."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from calibration.board.pattern import Board
from calibration.board.views import BoardMoment, BoardView
from calibration.camera import Camera, Rig
from calibration.quality.rig import judge_rig_solution
from calibration.solve.rig import solve_rig
from calibration.solve.selection import select_views
from calibration.solve.solution import RigSolution
from config.arrays import Floats
from database.geometry.rotations import matrix_from_rotvec, rotvec_from_matrix
from tests.zoo.specimen import Outcome

BOARD = Board("chessboard", 9, 6, 0.04)
MARGIN_PX = 4.0


def camera(
    name: str,
    size: tuple[int, int],
    focal_px: float,
    lens: Sequence[float],
    turn_rad: Sequence[float] = (0.0, 0.0, 0.0),
    center_m: Sequence[float] = (0.0, 0.0, 0.0),
    fisheye: bool = False,
) -> Camera:
    """Return a camera; turn_rad: rotation vector, world to camera; its axis a little off the picture's middle."""
    middle = 0.5 * (np.array(size) - 1.0) + 0.008 * np.array(size) * (1.0, -1.0)
    K = np.array([[focal_px, 0.0, middle[0]], [0.0, focal_px, middle[1]], [0.0, 0.0, 1.0]])
    R = matrix_from_rotvec(np.array(turn_rad, float))
    return Camera(name, size, K, np.array(lens, float), R, -R @ np.array(center_m, float), fisheye)


def pair_of(
    size: tuple[int, int],
    focal_px: tuple[float, float],
    lens: Sequence[float],
    turn_rad: Sequence[float],
    center_m: Sequence[float],
    left_turn_rad: Sequence[float] = (0.0, 0.0, 0.0),
) -> Rig:
    """Return two pinhole cameras of one size and lens, the left one at the origin; turn_rad, center_m: of the right one."""
    left = camera("left", size, focal_px[0], lens, left_turn_rad)
    return Rig((left, camera("right", size, focal_px[1], lens, turn_rad, center_m)))


def board_poses(rig: Rig, n: int, seed: int, board: Board = BOARD, share: tuple[float, float] = (0.25, 0.6)) -> Floats:
    """Return poses of a board that both cameras see, spread over the left picture, board to world, (n, 6) [rad, m].

    share: how much of the left picture's width the board spans where the axis is, from far to near.
    """
    rng, out, left = np.random.default_rng(seed), [], rig.cameras[0]
    middle = board.points_m.mean(axis=0)
    for _ in range(200_000):
        ray = left.rays(rng.uniform((0.0, 0.0), left.size))
        away = left.focal_px * float(np.ptp(board.points_m, axis=0).max()) / (rng.uniform(*share) * max(left.size))
        tilt = rng.normal(size=3) * (1.0, 1.0, 0.5)
        tilt *= rng.uniform(0.1, 0.7) / np.linalg.norm(tilt)
        facing = _towards(ray / np.linalg.norm(ray))
        R = left.rotation.T @ facing @ matrix_from_rotvec(tilt)
        at = left.rotation.T @ (away * ray / np.linalg.norm(ray) - left.translation) - R @ middle
        if all(_whole(each, board.points_m @ R.T + at, R[:, 2]) for each in rig.cameras):
            out.append(np.concatenate([rotvec_from_matrix(R), at]))
            if len(out) == n:
                return np.array(out)
    raise AssertionError("these cameras share too little room for the board")


def _towards(ray: Floats) -> Floats:
    """Return the smallest rotation that turns the z axis along a ray, (3, 3)."""
    axis = np.cross([0.0, 0.0, 1.0], ray)
    sine = np.linalg.norm(axis)
    return matrix_from_rotvec(axis / max(sine, 1e-12) * np.arctan2(sine, ray[2]))


def _whole(seen_by: Camera, points_m: Floats, normal: Floats) -> bool:
    """Return whether a camera sees all points, and not too obliquely; normal: of the board, away from the viewer."""
    x = seen_by.to_camera(points_m)
    ray = points_m.mean(axis=0) - seen_by.center_m
    if normal @ ray < 0.4 * np.linalg.norm(ray):
        return False
    if not (np.degrees(np.arctan2(np.hypot(x[:, 0], x[:, 1]), x[:, 2])) < (80.0 if seen_by.fisheye else 50.0)).all():
        return False
    px = seen_by.project(points_m)
    return bool(((px > MARGIN_PX) & (px < np.array(seen_by.size) - MARGIN_PX - 1.0)).all())


def seen_pairs(rig: Rig, poses: Floats, noise_px: float = 0.1, seed: int = 0, board: Board = BOARD) -> list[BoardMoment]:
    """Return the views of a board, with noise of the corners."""
    rng, pairs = np.random.default_rng(seed), []
    for number, pose in enumerate(poses):
        world = board.points_m @ matrix_from_rotvec(pose[:3]).T + pose[3:]
        views = [
            BoardView(each.project(world) + rng.normal(0.0, noise_px, (len(board), 2)), np.ones(len(board), bool), number)
            for each in rig.cameras
        ]
        pairs.append(BoardMoment((views[0], views[1])))
    return pairs


def calibrates(
    rig: Rig, n_views: int, seed: int, board: Board = BOARD, share: tuple[float, float] = (0.25, 0.6)
) -> Callable[[Path], Outcome]:
    """Return what calibrates two cameras with views of a board, with noise of its corners."""
    return lambda folder: calibrated(rig, seen_pairs(rig, board_poses(rig, n_views, seed, board, share), board=board), board)


def calibrated(rig: Rig, pairs: Sequence[BoardMoment], board: Board = BOARD) -> Outcome:
    """Solve, judge, and return the grade and by how much the baseline is off [%]."""
    chosen = select_views(pairs, (rig.cameras[0].size, rig.cameras[1].size), board)
    return judged(rig, solve_rig(board, chosen.moments, (rig.cameras[0].size, rig.cameras[1].size)))


def judged(rig: Rig, solution: RigSolution) -> Outcome:
    """Return the grade of a solution, its lens model and how far its baseline is from the true rig's [%]."""
    report = judge_rig_solution(solution)
    off = 100.0 * abs(solution.rig.baseline_m / rig.baseline_m - 1.0)
    model = "fisheye" if solution.rig.cameras[0].fisheye else "pinhole"
    return Outcome(f"{report.grade.word}: {report.findings[0].text}; {model}, RMS {solution.rms_px:.2f} px", off)
