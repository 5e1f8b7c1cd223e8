"""Draw markers as anti-aliased ellipses: images of small spheres, with motion blur and the blur of the lens.

Everything is computed on a grid twice as fine as the pixels, where cover is exact along x and sampled on eight lines a row along
y; the lens blur is applied there, before the pixels integrate it, as in a camera. The remaining centroid error of a sharp disc is
that of square pixels, 2 J1(2 pi r) / (2 pi r) / pi (0.02 px at r = 1); 0.5 px of blur removes it.
"""

import math

import cv2
import numpy as np
from numpy.typing import NDArray

from calibration.camera import Camera
from config.arrays import Bytes, Floats
from config.jit import kernel

Floats32 = NDArray[np.float32]
FINE = 2  # grid steps a pixel
LINES = 8
MAX_STEPS = 32


@kernel
def _add_ellipse(patch: Floats32, x: float, y: float, inverse: Floats, weight: float) -> None:
    """Add the cover of the ellipse u' inverse u <= 1 about (x, y) to `patch`; pixel centres at whole numbers."""
    a, b, c = inverse[0, 0], inverse[0, 1], inverse[1, 1]
    half_height = math.sqrt(a / (a * c - b * b))
    height, width = patch.shape
    for row in range(max(math.floor(y - half_height + 0.5), 0), min(math.floor(y + half_height + 0.5) + 1, height)):
        for line in range(LINES):
            v = row - 0.5 + (line + 0.5) / LINES - y
            h = b * v * b * v - a * (c * v * v - 1.0)
            if h <= 0.0:
                continue
            h = math.sqrt(h)
            left, right = x + (-b * v - h) / a, x + (-b * v + h) / a
            for column in range(max(math.floor(left + 0.5), 0), min(math.floor(right + 0.5) + 1, width)):
                covered = min(right, column + 0.5) - max(left, column - 0.5)
                if covered > 0.0:
                    patch[row, column] += weight / LINES * covered


@kernel
def _blend(image: Bytes, patch: Floats32, corner: NDArray[np.int64], color: Floats) -> None:
    """Blend `color` (B, G, R; above 255 saturates) into `image` where `patch` covers it."""
    for y in range(patch.shape[0]):
        for x in range(patch.shape[1]):
            cover = min(patch[y, x], 1.0)
            if cover <= 0.0:
                continue
            for i in range(3):
                old = image[corner[1] + y, corner[0] + x, i]
                image[corner[1] + y, corner[0] + x, i] = int(min(old + cover * (color[i] - old), 255.0) + 0.5)


def ellipse_covariance(camera: Camera, points_m: Floats, radius_m: float) -> Floats:
    """Return Q with the outline of a small sphere u' Q^-1 u = 1 about its projected centre, (M, 2, 2) [px^2].

    First order: Q = r^2 J J', J the derivative of the projection (distortion included) by the point. Moving a point along
    its ray moves no image point, so J J' needs no projection to the tangent plane. The second-order shift of the outline's
    middle, at most f tan(theta) (r / z)^2, is 0.01 px for a 25 mm sphere at 2 m and is left out.
    """
    step = 1e-3
    moved = points_m[:, None, :] + step * np.concatenate([np.eye(3), -np.eye(3)])
    px = camera.project(moved)
    J = np.swapaxes(px[:, :3] - px[:, 3:], 1, 2) / (2.0 * step)
    return np.asarray(radius_m**2 * (J @ np.swapaxes(J, 1, 2)))


def draw_marker(image: Bytes, path_px: Floats, covariance: Floats, color_bgr: Floats, blur_px: float = 0.0) -> None:
    """Draw one marker into a BGR image.

    path_px: its centre at start, middle and end of the exposure, (3, 2) [px], interpolated by a parabola; covariance: of
    `ellipse_covariance`, (2, 2) [px^2]; color_bgr: (3,), above 255 for a saturated reflection; blur_px: standard deviation of the
    lens blur.
    """
    if not np.all(np.isfinite(path_px)) or not np.all(np.isfinite(covariance)):
        return
    height, width = image.shape[:2]
    reach = np.sqrt(np.diag(covariance)) + 3.0 * blur_px + 2.0
    low = np.maximum(np.floor(path_px.min(axis=0) - reach), 0).astype(np.int64)
    high = np.minimum(np.ceil(path_px.max(axis=0) + reach) + 1, (width, height)).astype(np.int64)
    if np.any(high <= low):
        return
    fine = np.zeros(((high[1] - low[1]) * FINE, (high[0] - low[0]) * FINE), np.float32)
    inverse = np.asarray(np.linalg.inv(covariance), np.float64) / FINE**2
    track = _track(path_px)
    for x, y in (track - low + 0.5) * FINE - 0.5:
        _add_ellipse(fine, x, y, inverse, 1.0 / len(track))
    if blur_px > 0.0:
        fine = cv2.GaussianBlur(fine, (0, 0), FINE * blur_px, borderType=cv2.BORDER_CONSTANT).astype(np.float32, copy=False)
    patch = cv2.resize(fine, (high[0] - low[0], high[1] - low[1]), interpolation=cv2.INTER_AREA).astype(np.float32, copy=False)
    _blend(image, patch, low, color_bgr)


def _track(path_px: Floats) -> Floats:
    """Return the centre at the middles of equal parts of the exposure, about 0.67 px apart, (S, 2)."""
    start, middle, end = path_px
    steps = min(math.ceil(float(np.abs(end - start).max()) / 0.67), MAX_STEPS)
    if steps <= 1:
        return path_px[1:2]
    s = ((np.arange(steps) + 0.5) / steps)[:, None] * 2.0 - 1.0
    return np.asarray(middle + 0.5 * s * (end - start) + 0.5 * s**2 * (start + end - 2.0 * middle))
