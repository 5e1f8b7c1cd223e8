"""Ideal cameras and rigs at given places, with any lens."""

import numpy as np
from numpy.typing import ArrayLike

from calibration.camera import Camera, Rig
from calibration.placement import intrinsics_from_fov, make_camera_looking_at

NO_DISTORTION = (0.0, 0.0, 0.0, 0.0, 0.0)


def synthetic_camera(
    name: str,
    position_m: ArrayLike,
    target_m: ArrayLike,
    size: tuple[int, int] = (640, 480),
    horizontal_view_rad: float = np.radians(60.0),
    distortions: ArrayLike = NO_DISTORTION,
) -> Camera:
    """Return a level camera with square pixels, centred principal point and the wanted view across."""
    matrix = intrinsics_from_fov(size, float(np.degrees(horizontal_view_rad)))
    return make_camera_looking_at(name, size, matrix, position_m, target_m, distortions)


def synthetic_rig(
    left_m: ArrayLike,
    right_m: ArrayLike,
    target_m: ArrayLike,
    size: tuple[int, int] = (640, 480),
    horizontal_view_rad: float = np.radians(60.0),
    distortions: ArrayLike = NO_DISTORTION,
) -> Rig:
    """Return two alike cameras at two places that look at one target, in a world with Y up and its floor at 0."""
    left, right = (
        synthetic_camera(name, position, target_m, size, horizontal_view_rad, distortions)
        for name, position in (("left", left_m), ("right", right_m))
    )
    return Rig((left, right), 0.0, floor_known=True)
