"""Epipolar geometry of a rig, on ideal (undistorted) image points.

Hartley & Zisserman 2004, ch. 9: x_right' F x_left = 0 with F = K_right^-T [t]x R K_left^-1.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from calibration.camera import Camera, Rig
from config.arrays import Floats, read_only
from database.geometry.rotations import skew


def essential_matrix(rig: Rig) -> Floats:
    """Return E = [t]x R with y_right' E y_left = 0 for normalised points y = (x/z, y/z, 1), (3, 3) [m]."""
    R, t = rig.left_to_right
    return np.asarray(skew(t) @ R)


@lru_cache(maxsize=8)
def fundamental_matrix(rig: Rig) -> Floats:
    """Return F with x_right' F x_left = 0 for undistorted pixels x (homogeneous), (3, 3), of unit Frobenius norm."""
    F = np.linalg.inv(rig.right.matrix).T @ essential_matrix(rig) @ np.linalg.inv(rig.left.matrix)
    return read_only(F / np.linalg.norm(F))


def ideal_pixels(camera: Camera, points_px: ArrayLike) -> Floats:
    """Undistort image points and return them in homogeneous pixels: (N, 2) raw [px] -> (N, 3)."""
    return np.asarray(camera.rays(points_px) @ camera.matrix.T)


def epipolar_distances(rig: Rig, left_px: ArrayLike, right_px: ArrayLike) -> Floats:
    """Return the symmetric epipolar distance of every left to every right point: (N, 2), (M, 2) raw [px] -> (N, M) [px].

    The mean of the two distances of a point from the other's epipolar line (after Hartley & Zisserman 2004, eq. 11.10).
    """
    F = fundamental_matrix(rig)
    left, right = ideal_pixels(rig.left, left_px), ideal_pixels(rig.right, right_px)
    lines_right, lines_left = left @ F.T, right @ F
    algebraic = np.abs(lines_right @ right.T)
    to_right = algebraic / np.maximum(np.hypot(lines_right[:, 0], lines_right[:, 1]), 1e-300)[:, None]
    to_left = algebraic / np.maximum(np.hypot(lines_left[:, 0], lines_left[:, 1]), 1e-300)[None, :]
    if rig.left.fisheye or rig.right.fisheye:  # towards the edge an ideal pixel is much smaller than a raw one
        to_right, to_left = to_right / rig.right.magnification(right_px), to_left / rig.left.magnification(left_px)[:, None]
    return np.asarray(0.5 * (to_right + to_left))
