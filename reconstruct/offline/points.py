"""Frames of markers that come as labelled points, of an optical system or of a recording, whose pictures nobody has."""

import numpy as np

from calibration.placement import make_facing_rig
from capture.packets import MarkerFrame
from config.arrays import Bools, Floats

RIG = make_facing_rig((640, 480), 60.0, 4.0, 1.0, 1.0)  # markers come as points: a rig is needed, its images are not
POINT_SIGMA_M = 0.001  # of a point of an optical system


def make_marker_frame(
    point_m: Floats, valid: Bools, n: int, seconds: float, sigma_m: float | Floats = POINT_SIGMA_M
) -> MarkerFrame:
    """Return a frame of markers that are known as points.

    Args:
        point_m: (M, 3) [m].
        valid: (M,).
        n: number of the frame.
        seconds: its time.
        sigma_m: standard deviation of a point along each axis, of all or of each, (M,) [m].
    """
    count = len(point_m)
    covariance = np.broadcast_to(sigma_m, count)[:, None, None] ** 2 * np.eye(3)
    pixels, sigma_px, seen = np.zeros((2, count, 2)), np.ones((2, count)), np.stack([valid, valid])
    point = np.where(valid[:, None], point_m, 0.0)
    none = np.zeros((0, 3))
    return MarkerFrame(n, round(1e9 * seconds), 0, valid.copy(), point, covariance, seen, pixels, sigma_px, np.zeros(count), none)
