"""Rigs and boards of known truth for the adjustment: corners computed, noise added, nothing rendered."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from calibration.board.pattern import Board
from calibration.board.views import BoardMoment, BoardView
from calibration.camera import Camera, Rig
from calibration.placement import make_camera_looking_at
from calibration.solve.equations import (
    BundleState,
    CornerMotion,
    CornerObservations,
    FreeParameters,
    compute_camera_points,
    state_from_rig,
)
from calibration.solve.projection import project_points
from calibration.solve.rig import BundleUncertainty, compute_uncertainty
from calibration.solve.solution import LensModel
from config.arrays import Bools, Floats
from database.geometry.rotations import matrix_from_rotvec, rotvec_from_matrix

BOARD = Board("chessboard", 9, 6, 0.03)
SIZE = (640, 480)


def true_rig(baseline_m: float = 0.4, toe_in_rad: float = 0.12) -> Rig:
    """Two unlike cameras, the right one turned a little about every axis."""
    left = np.array([[610.0, 0.0, 325.0], [0.0, 610.0, 231.0], [0.0, 0.0, 1.0]])
    right = np.array([[655.0, 0.0, 309.0], [0.0, 655.0, 246.0], [0.0, 0.0, 1.0]])
    R = matrix_from_rotvec([0.03, toe_in_rad, -0.02])
    t = -R @ np.array([baseline_m, 0.012, -0.02])
    return Rig(
        (
            Camera("left", SIZE, left, np.array([-0.21, 0.08, 0.0, 0.0, 0.0]), np.eye(3), np.zeros(3)),
            Camera("right", SIZE, right, np.array([-0.12, 0.03, 0.0, 0.0, 0.0]), R, t),
        )
    )


def true_places(
    n: int, seed: int = 1, tilt_rad: float = 0.6, far: tuple[float, float] = (0.8, 1.5), rig: Rig | None = None
) -> Floats:
    """Places of the board that both cameras of a rig, by default `true_rig()`, see: rotation vector and translation, (n, 6)."""
    rng, rig, out = np.random.default_rng(seed), rig or true_rig(), []
    middle = BOARD.points_m.mean(axis=0)
    while len(out) < n:
        axis = rng.normal(size=3) * (1.0, 1.0, 0.4)
        turn = axis / np.linalg.norm(axis) * rng.uniform(0.3, 1.0) * tilt_rad
        at = np.array([rng.uniform(-0.25, 0.5), rng.uniform(-0.3, 0.3), rng.uniform(*far)])
        place = np.concatenate([turn, at - matrix_from_rotvec(turn) @ middle])
        px = [camera.project(BOARD.points_m @ matrix_from_rotvec(turn).T + place[3:]) for camera in rig.cameras]
        if all(((p > 3) & (p < np.array(SIZE) - 4)).all() for p in px):
            out.append(place)
    return np.stack(out)


def pairs_of(rig: Rig, places: Floats, sigma_px: float, seed: int = 2, board: Board = BOARD) -> list[BoardMoment]:
    """What both cameras see of the board at these places, with noise."""
    rng, out = np.random.default_rng(seed), []
    for i, place in enumerate(places):
        world = board.points_m @ matrix_from_rotvec(place[:3]).T + place[3:]
        views = []
        for camera in rig.cameras:
            px = camera.project(world) + rng.normal(0.0, sigma_px, (len(board), 2))
            views.append(BoardView(px, np.ones(len(board), bool), t_ns=i, name=f"{camera.name}{i:02d}"))
        out.append(BoardMoment((views[0], views[1])))
    return out


def small_problem(n_cameras: int, seed: int = 3) -> tuple[BundleState, CornerObservations]:
    """A state with every number away from zero, three places, a few corners unseen, and observations off by some pixels."""
    rng = np.random.default_rng(seed)
    rows: Sequence[Sequence[float]] = (
        (610.0, 604.0, 325.0, 231.0, -0.21, 0.08, 0.002, -0.001, 0.03),
        (655.0, 660.0, 309.0, 246.0, -0.12, 0.03, -0.001, 0.003, -0.02),
        (580.0, 577.0, 330.0, 236.0, -0.16, 0.05, 0.001, 0.002, 0.01),
    )
    places = true_places(3, seed)
    state = BundleState(
        np.array([[*row, 0.0] for row in rows[:n_cameras]]),
        matrix_from_rotvec([[0.0, 0.0, 0.0], [0.03, 0.12, -0.02], [-0.05, -0.2, 0.03]])[:n_cameras],
        np.array([[0.0, 0.0, 0.0], [-0.39, 0.01, 0.07], [0.36, -0.02, 0.05]])[:n_cameras],
        matrix_from_rotvec(places[:, :3]),
        places[:, 3:],
        np.array([0.004, 0.09, -0.06, 0.05]),
        np.array([0.0, 0.013, -0.021])[:n_cameras],
    )
    px = np.stack([project_points(state.intrinsics[c], x) for c, x in enumerate(compute_camera_points(state, BOARD.points_m))])
    weight = rng.uniform(0.5, 2.0, px.shape[:3]) * (rng.random(px.shape[:3]) > 0.1)
    velocity, lag = rng.normal(0.0, 30.0, px.shape), np.tile([0.004, -0.007, 0.011], (n_cameras, 1))
    velocity[0], lag[0] = 0.0, 0.0
    motion = CornerMotion(velocity, lag, np.zeros(3, np.intp))
    return state, CornerObservations(BOARD.points_m, px + rng.normal(0.0, 2.0, px.shape), weight, motion)


def cramer_rao(
    rig: Rig, board: Board, board_to_world: ArrayLike, sigma_px: ArrayLike, lenses: Sequence[LensModel], used: Bools | None = None
) -> BundleUncertainty:
    """Return the bound for a known rig and known poses of the board.

    rig: the first camera at the origin of the world; board_to_world: rotation vector and translation of every
    view, (V, 6) [rad, m]; sigma_px: noise of a coordinate, one for all or by camera; lenses: by camera, what was free;
    used: corners that took part, (C, V, N), by default all that are in the picture.
    """
    state = state_from_rig(rig, board_to_world)
    C, V = len(state.intrinsics), len(state.board_rotation)
    sigma = np.broadcast_to(np.asarray(sigma_px, float), (C,))
    px, weight = np.zeros((C, V, len(board), 2)), np.zeros((C, V, len(board)))
    for c, points in enumerate(compute_camera_points(state, board.points_m)):
        px[c] = project_points(state.intrinsics[c], points)
        size = np.array(rig.cameras[c].size)
        inside = (points[..., 2] > 0) & ((px[c] >= 0) & (px[c] <= size - 1)).all(axis=-1)
        weight[c] = (inside if used is None else used[c]) / sigma[c] ** 2
    return compute_uncertainty(
        state, CornerObservations(board.points_m, px, weight), FreeParameters(tuple(lenses), relative=C > 1)
    )


def rig_around(n: int = 4) -> Rig:
    """Cameras around a room: two in front, then at the side and behind, no two alike; world Y up."""
    places = ((-0.7, 1.2, 2.2), (0.7, 1.0, 2.3), (2.1, 1.3, 0.6), (1.6, 1.2, -1.7), (-0.4, 1.4, -2.3), (-2.0, 1.1, -0.9))
    names = ("front_left", "front_right", "side", "behind", "back", "far")
    cameras = []
    for k in range(n):
        f = (610.0, 640.0, 600.0, 655.0, 620.0, 630.0)[k]
        K = np.array([[f, 0.0, 324.0 - 4.0 * k], [0.0, f, 236.0 + 3.0 * k], [0.0, 0.0, 1.0]])
        lens = np.array([-0.2 + 0.03 * k, 0.08, 0.0, 0.0, 0.0])
        cameras.append(make_camera_looking_at(names[k], SIZE, K, places[k], (0.0, 1.0, 0.0), lens))
    return Rig(tuple(cameras))


def moments_around(rig: Rig, n: int, sigma_px: float = 0.2, seed: int = 1, part: int = 2) -> list[BoardMoment]:
    """What the cameras see of a board that is turned about the room's middle, at most `part` of them at a time."""
    return places_around(rig, n, sigma_px, seed, part)[0]


def places_around(
    rig: Rig, n: int, sigma_px: float = 0.2, seed: int = 1, part: int = 2
) -> tuple[list[BoardMoment], list[Floats]]:
    """Return what `moments_around` does, and where the board was, rotation vector and translation, (6,) each."""
    rng, out, places = np.random.default_rng(seed), list[BoardMoment](), list[Floats]()
    middle = BOARD.points_m.mean(axis=0)
    while len(out) < n:
        towards = rig.cameras[rng.integers(len(rig))].center_m * (1.0, 0.0, 1.0)
        yaw = np.arctan2(towards[0], towards[2]) + rng.uniform(-0.6, 0.6)
        R = (
            matrix_from_rotvec([0.0, yaw, 0.0])
            @ matrix_from_rotvec([np.pi, 0.0, 0.0])
            @ matrix_from_rotvec(rng.normal(size=3) * 0.3)
        )
        at = np.array([0.0, 1.0, 0.0]) + rng.uniform(-0.45, 0.45, 3) - R @ middle
        world = BOARD.points_m @ R.T + at
        views: list[BoardView | None] = []
        for camera in rig.cameras:
            px, towards = camera.project(world), camera.to_camera(world).mean(axis=0)
            facing = (camera.rotation @ R[:, 2]) @ towards > 0.35 * np.linalg.norm(towards)
            inside = facing and ((px > 3) & (px < np.array(SIZE) - 4)).all()
            px = px + rng.normal(0.0, sigma_px, px.shape)
            name = f"{camera.name}{len(out):02d}"
            views.append(BoardView(px, np.ones(len(px), bool), t_ns=10**9 * len(out), name=name) if inside else None)
        seen = [c for c, view in enumerate(views) if view is not None]
        for c in rng.permutation(seen)[part:]:
            views[int(c)] = None
        if seen:
            out.append(BoardMoment(tuple(views)))
            places.append(np.concatenate([rotvec_from_matrix(R), at]))
    return out, places
