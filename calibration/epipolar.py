"""Epipolar geometry of two cameras, on ideal (undistorted) image points.

Hartley & Zisserman 2004, ch. 9: x_2' F x_1 = 0 with F = K_2^-T [t]x R K_1^-1.
"""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from calibration.camera import Camera, compute_pixel_magnification, compute_relative_pose
from calibration.triangulate import pack_camera
from config.arrays import Floats, make_read_only
from config.jit import kernel
from database.geometry.rotations import skew_from_vector


class TwoViews(NamedTuple):
    """Two cameras for the kernels: cameras (2, 22) of `pack_camera`, lenses (2, 10), fundamental F (3, 3)."""

    cameras: Floats
    lenses: Floats
    fundamental: Floats


@lru_cache(maxsize=64)
def pack_two_views(first: Camera, second: Camera) -> TwoViews:
    """Return two cameras as the kernels take them."""
    lenses = np.stack([first.intrinsics, second.intrinsics])
    cameras = make_read_only(np.stack([pack_camera(first), pack_camera(second)]))
    return TwoViews(cameras, make_read_only(lenses), compute_fundamental_matrix(first, second))


def compute_essential_matrix(first: Camera, second: Camera) -> Floats:
    """Return E = [t]x R with y_second' E y_first = 0 for normalised points y = (x/z, y/z, 1), (3, 3) [m]."""
    R, t = compute_relative_pose(first, second)
    return np.asarray(skew_from_vector(t) @ R)


@lru_cache(maxsize=64)
def compute_fundamental_matrix(first: Camera, second: Camera) -> Floats:
    """Return F with x_second' F x_first = 0 for undistorted pixels x (homogeneous), (3, 3), of unit Frobenius norm."""
    F = np.linalg.inv(second.matrix).T @ compute_essential_matrix(first, second) @ np.linalg.inv(first.matrix)
    return make_read_only(F / np.linalg.norm(F))


def undistort_to_pixels(camera: Camera, points_px: ArrayLike) -> Floats:
    """Undistort image points and return them in homogeneous pixels: (N, 2) raw [px] -> (N, 3)."""
    return np.asarray(camera.rays(points_px) @ camera.matrix.T)


def compute_epipolar_distances(cameras: tuple[Camera, Camera], first_px: ArrayLike, second_px: ArrayLike) -> Floats:
    """Return the symmetric epipolar distance of every first to every second point, (N, M) [px].

    The mean of the two distances of a point from the other's epipolar line (after Hartley & Zisserman 2004, eq. 11.10).

    Args:
        cameras: the first and the second.
        first_px: points of the first camera, (N, 2) raw [px].
        second_px: points of the second, (M, 2) raw [px].
    """
    first, second = cameras[0].undistort(first_px), cameras[1].undistort(second_px)
    out = np.empty((len(first), len(second)))
    write_epipolar_distances(pack_two_views(cameras[0], cameras[1]), first, second, out)
    return out


@kernel
def write_epipolar_distances(views: TwoViews, left: Floats, right: Floats, out: Floats) -> None:
    """Write `compute_epipolar_distances` of ideal points.

    Args:
        views: the two cameras.
        left: points of the first camera, (N, 2).
        right: points of the second, (M, 2).
        out: the distances, (N, M) [px].
    """
    F, (a, b) = views.fundamental, views.lenses
    for m in range(right.shape[0]):
        x, y = b[0] * right[m, 0] + b[2], b[1] * right[m, 1] + b[3]
        u, v = F[0, 0] * x + F[1, 0] * y + F[2, 0], F[0, 1] * x + F[1, 1] * y + F[2, 1]  # F' x_right, a line in the left image
        w = F[0, 2] * x + F[1, 2] * y + F[2, 2]
        # Towards the edge of a fisheye an ideal pixel is much smaller than a raw one.
        right_wide = compute_pixel_magnification(b, right[m, 0], right[m, 1])
        for n in range(left.shape[0]):
            p, q = a[0] * left[n, 0] + a[2], a[1] * left[n, 1] + a[3]
            algebraic = abs(u * p + v * q + w)
            s, t = F[0, 0] * p + F[0, 1] * q + F[0, 2], F[1, 0] * p + F[1, 1] * q + F[1, 2]  # F x_left, one in the right image
            to_right = algebraic / max(math.sqrt(s * s + t * t), 1e-300) / right_wide
            to_left = algebraic / max(math.sqrt(u * u + v * v), 1e-300) / compute_pixel_magnification(a, left[n, 0], left[n, 1])
            out[n, m] = 0.5 * (to_right + to_left)
