"""Floors seen by rigs that know nothing of them: worlds with truth, and the same rigs in their left camera's frame."""

from dataclasses import replace

import numpy as np

from calibration.board.pattern import Board
from calibration.board.views import BoardMoment, BoardView
from calibration.camera import Camera, Rig
from calibration.floor.dwell import PointFrame
from calibration.floor.frame import Floor
from calibration.triangulate import triangulate
from capture.sources.simulated.performer import Performer
from config.arrays import Floats
from database.geometry.rotations import matrix_from_rotvec, rotvec_from_matrix
from tests.support.rigs import synthetic_rig

LENS = (-0.11, 0.06, 0.0004, -0.0003, 0.0)


def world_rig(look_at_m: tuple[float, float, float] = (0.0, 0.4, 0.0)) -> Rig:
    """Return two webcams that stand unlike each other, Y up, floor at 0."""
    return synthetic_rig((-0.55, 1.3, 2.6), (0.5, 1.15, 2.75), look_at_m, distortions=LENS)


def in_left_frame(rig: Rig) -> Rig:
    """Return the same rig with the left camera's frame as its world, as a calibration by board or wand has it."""
    R, t = rig.cameras[0].rotation, rig.cameras[0].translation

    def seen(camera: Camera) -> Camera:
        rotation = np.ascontiguousarray(camera.rotation @ R.T)
        return replace(camera, rotation=rotation, translation=camera.translation - rotation @ t)

    return replace(rig, cameras=tuple(seen(camera) for camera in rig.cameras), floor_known=False)


def on_floor(turn_rad: float = 0.25, at_m: tuple[float, float, float] = (0.05, 0.0, 0.3)) -> Floats:
    """Return the pose of a board that lies face up, board to world, (6,): z down, x turned from X by `turn_rad`."""
    R = matrix_from_rotvec(np.array([0.0, turn_rad, 0.0])) @ matrix_from_rotvec(np.array([np.pi / 2, 0.0, 0.0]))
    return np.concatenate([rotvec_from_matrix(R), at_m])


def view_of(board: Board, camera: Camera, pose: Floats, noise_px: float, rng: np.random.Generator) -> BoardView:
    """Return what a camera of the true world measures of a board."""
    px = camera.project(board.points_m @ matrix_from_rotvec(pose[:3]).T + pose[3:])
    return BoardView(px + rng.normal(0.0, noise_px, px.shape), np.ones(len(board), bool), 0, camera.name)


def pair_of(
    board: Board, rig: Rig, pose: Floats, noise_px: float = 0.1, seed: int = 0, sees: tuple[bool, bool] = (True, True)
) -> BoardMoment:
    """Return what both cameras measure of a board."""
    rng = np.random.default_rng(seed)
    left, right = (view_of(board, camera, pose, noise_px, rng) for camera in rig.cameras)
    return BoardMoment((left if sees[0] else None, right if sees[1] else None))


def errors(world: Rig, rig: Rig, floor: Floor, at_m: Floats) -> tuple[float, float]:
    """Return a floor's tilt [degrees], and how high it puts a point of the true floor [m], scale left alone."""
    up = world.cameras[0].rotation.T @ rig.cameras[0].rotation @ floor.up
    in_rig = rig.cameras[0].rotation.T @ (world.cameras[0].to_camera(at_m) - rig.cameras[0].translation)
    return float(np.degrees(np.arccos(np.clip(up[1], -1.0, 1.0)))), float(floor.up @ (in_rig - floor.origin_m))


def walk_of(performer: Performer, rig: Rig, noise_px: float, seed: int = 0, fps: float = 30.0) -> list[PointFrame]:
    """Return what a rig sees of a performer in front of `performer.rig`, of which it is the same in another frame."""
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, performer.duration_s, 1.0 / fps)
    markers = performer.markers_of(*performer.joints_at(t))
    moments = []
    for k, at in enumerate(markers):
        seen = [camera.project(at) + rng.normal(0.0, noise_px, (len(at), 2)) for camera in performer.rig.cameras]
        point, covariance = triangulate(rig, seen[0], seen[1], noise_px, noise_px)
        moments.append(PointFrame(float(t[k]), point, covariance))
    return moments
