"""What cameras show of somebody who calibrates: a board held still at one place after the other, a performer in a T-pose."""

from dataclasses import replace
from functools import cache

import numpy as np

from calibration.board.pattern import Board, board_from_text
from calibration.camera import Rig
from capture.sources.simulated.camera import SimulatedCamera
from capture.sources.simulated.performer import Performer, make_scene_performer
from capture.sources.simulated.scene import SimulatedScene
from tests.support.board_scenes import Look, render_board, scene_views
from tests.support.cameras.mjpeg import encoded
from tests.support.rigs import synthetic_rig

HZ = 10.0
BOARD = board_from_text("9x6:25")
PLACES = 16  # of them 14 are enough, if none is missed
PICTURES = 14  # pictures at each place: enough for a busy machine
T_POSE_SCENE = SimulatedScene(motion="idle", markers="dark_room", fps=20.0, tpose_s=2.0, seconds=1.0)


def boards_rig() -> Rig:
    """Two webcams side by side that see nearly the same."""
    lens = (-0.05, 0.02, 0.0, 0.0, 0.0)
    return synthetic_rig((-0.06, 1.0, 0.8), (0.06, 1.0, 0.8), (0.0, 1.0, -3.0), distortions=lens)


@cache
def board_movie(places: int = PLACES, board: Board = BOARD) -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
    """Return what the left and the right camera show: a board here and there, an empty room in between."""
    rig = boards_rig()
    movies: tuple[list[bytes], list[bytes]] = ([], [])
    for k, pose in enumerate(scene_views(board, rig, places, seed=0, share=(0.28, 0.6))):
        for camera, movie in zip(rig.cameras, movies, strict=True):
            image = render_board(board, camera, pose[:3], pose[3:], Look(samples=2), seed=k)
            movie += _held(image, k)
    return tuple(movies[0]), tuple(movies[1])


def _held(image: np.ndarray, seed: int) -> list[bytes]:
    """Return a picture several times, with the noise of each time, then a grey one."""
    rng = np.random.default_rng(seed)
    shown = [image] * PICTURES + [np.full_like(image, 90)]
    return [encoded(np.clip(one + rng.normal(0.0, 1.0, image.shape), 0, 255).astype(np.uint8)) for one in shown]


@cache
def tpose_movie(n_cameras: int = 2, frames: int = 6) -> tuple[Performer, tuple[tuple[bytes, ...], ...]]:
    """Return a performer and what the cameras show: the T-pose, again and again."""
    scene = replace(T_POSE_SCENE, views=n_cameras)
    performer = make_scene_performer(scene)
    cameras = [SimulatedCamera(scene, camera, performer) for camera in range(n_cameras)]
    return performer, tuple(tuple(encoded(camera.frame_at(k).image) for k in range(frames)) for camera in cameras)
