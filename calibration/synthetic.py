"""Ideal rigs placed by hand, for simulation and tests."""

import numpy as np
from numpy.typing import ArrayLike

from calibration.camera import Camera, Rig
from config.errors import CalibrationError
from database.rotations import Floats


def look_at(position_m: ArrayLike, target_m: ArrayLike, up: ArrayLike = (0.0, 1.0, 0.0)) -> tuple[Floats, Floats]:
    """Give world-to-camera R (3, 3) and t (3,) of a level camera that looks from a place at a target.

    Rows of R are the camera's axes in the world: right, down, forward. Raises CalibrationError: no direction given.
    """
    position = np.asarray(position_m, float)
    forward = np.asarray(target_m, float) - position
    right = np.cross(forward, np.asarray(up, float))
    if np.linalg.norm(forward) < 1e-9 or np.linalg.norm(right) < 1e-9 * np.linalg.norm(forward):
        raise CalibrationError(
            f"a camera at {position.tolist()} cannot look straight up or down at {np.asarray(target_m).tolist()}"
        )
    forward /= np.linalg.norm(forward)
    right /= np.linalg.norm(right)
    R = np.stack([right, np.cross(forward, right), forward])
    return R, -R @ position


def synthetic_camera(
    name: str,
    position_m: ArrayLike,
    target_m: ArrayLike,
    size: tuple[int, int] = (640, 480),
    horizontal_view_rad: float = np.radians(60.0),
    distortions: ArrayLike = (0.0, 0.0, 0.0, 0.0, 0.0),
    up: ArrayLike = (0.0, 1.0, 0.0),
) -> Camera:
    """Give a camera with square pixels, centred principal point and the wanted view across."""
    focal = 0.5 * size[0] / np.tan(0.5 * horizontal_view_rad)
    matrix = np.array([[focal, 0.0, 0.5 * (size[0] - 1)], [0.0, focal, 0.5 * (size[1] - 1)], [0.0, 0.0, 1.0]])
    rotation, translation = look_at(position_m, target_m, up)
    return Camera(name, size, matrix, np.array(distortions, float), rotation, translation)


def synthetic_rig(
    left_m: ArrayLike,
    right_m: ArrayLike,
    target_m: ArrayLike,
    size: tuple[int, int] = (640, 480),
    horizontal_view_rad: float = np.radians(60.0),
    distortions: ArrayLike = (0.0, 0.0, 0.0, 0.0, 0.0),
) -> Rig:
    """Give two alike cameras at two places that look at one target, in a world with Y up and its floor at 0."""
    cameras = [
        synthetic_camera(name, position, target_m, size, horizontal_view_rad, distortions)
        for name, position in (("left", left_m), ("right", right_m))
    ]
    return Rig(cameras[0], cameras[1], 0.0, floor_known=True)
