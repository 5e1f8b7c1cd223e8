"""Draw markers as anti-aliased ellipses: images of small spheres, with motion blur and the blur of the lens.

Everything is computed on a grid twice as fine as the pixels, where cover is exact along x and sampled on eight lines a row along
y; the lens blur is applied there, before the pixels integrate it, as in a camera. The remaining centroid error of a sharp disc is
that of square pixels, 2 J1(2 pi r) / (2 pi r) / pi (0.02 px at r = 1); 0.5 px of blur removes it.
"""

import math
from functools import cache
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from calibration.triangulate import project_point
from config.arrays import Bytes, Floats
from config.jit import inline_kernel, kernel

Floats32 = NDArray[np.float32]
FINE = 2  # grid steps a pixel
LINES = 8
MAX_STEPS = 32


@inline_kernel
def _add_ellipse(patch: Floats32, x: float, y: float, inverse: tuple[float, float, float], weight: float) -> None:
    """Add the cover of the ellipse a u^2 + 2 b u v + c v^2 <= 1 about (x, y) to `patch`; pixel centres at whole numbers."""
    a, b, c = inverse
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


@inline_kernel
def _blend_patch(image: Bytes, fine: Floats32, left: int, top: int, taps: Floats32, color: Floats) -> None:
    """Blur `fine` and halve it, by `taps` along both axes, then blend `color` (above 255 saturates) into `image` by it."""
    n, reach = len(taps), len(taps) // 2 - 1
    height, width = fine.shape
    rows = np.zeros((height, width // FINE), np.float32)
    for y in range(height):
        for x in range(width // FINE):
            first = FINE * x - reach
            for k in range(max(-first, 0), min(n, width - first)):
                rows[y, x] += taps[k] * fine[y, first + k]
    for y in range(height // FINE):
        first = FINE * y - reach
        for x in range(width // FINE):
            cover = np.float32(0.0)
            for k in range(max(-first, 0), min(n, height - first)):
                cover += taps[k] * rows[first + k, x]
            if cover > 0.0:
                for i in range(3):
                    old = image[top + y, left + x, i]
                    image[top + y, left + x, i] = int(min(old + min(cover, 1.0) * (color[i] - old), 255.0) + 0.5)


@kernel
def _draw_marker(image: Bytes, path: Floats, Q: Floats, color: Floats, blur_px: float, taps: Floats32) -> None:
    """Draw one marker as `draw_marker` does; nothing where it is nowhere."""
    det = Q[0, 0] * Q[1, 1] - Q[0, 1] * Q[1, 0]
    if not (math.isfinite(path.sum()) and math.isfinite(det) and det > 0.0):
        return
    reach_x, reach_y = math.sqrt(Q[0, 0]) + 3.0 * blur_px + 2.0, math.sqrt(Q[1, 1]) + 3.0 * blur_px + 2.0
    left = int(max(math.floor(path[:, 0].min() - reach_x), 0))
    top = int(max(math.floor(path[:, 1].min() - reach_y), 0))
    right = int(min(math.ceil(path[:, 0].max() + reach_x) + 1, image.shape[1]))
    bottom = int(min(math.ceil(path[:, 1].max() + reach_y) + 1, image.shape[0]))
    if right <= left or bottom <= top:
        return
    fine = np.zeros(((bottom - top) * FINE, (right - left) * FINE), np.float32)
    scale = 1.0 / (det * FINE * FINE)
    inverse = (Q[1, 1] * scale, -Q[0, 1] * scale, Q[0, 0] * scale)
    # The centre at the middles of equal parts of the exposure, about 0.67 px apart.
    longest = max(abs(path[2, 0] - path[0, 0]), abs(path[2, 1] - path[0, 1]))
    steps = int(max(min(math.ceil(longest / 0.67), MAX_STEPS), 1))
    for k in range(steps):
        s = (k + 0.5) / steps * 2.0 - 1.0
        x = path[1, 0] + 0.5 * s * (path[2, 0] - path[0, 0]) + 0.5 * s * s * (path[0, 0] + path[2, 0] - 2.0 * path[1, 0])
        y = path[1, 1] + 0.5 * s * (path[2, 1] - path[0, 1]) + 0.5 * s * s * (path[0, 1] + path[2, 1] - 2.0 * path[1, 1])
        _add_ellipse(fine, (x - left + 0.5) * FINE - 0.5, (y - top + 0.5) * FINE - 0.5, inverse, 1.0 / steps)
    _blend_patch(image, fine, left, top, taps, color)


class DrawnMarkers(NamedTuple):
    """Markers as a camera sees them.

    path_m: centres at start, middle and end of the exposure, (3, M, 3) [m]; shown: visible share, (M,); seen_m: middle of the
    visible part at mid-exposure, (M, 3) [m]; shift_px: added to each drawn centre, (M, 2); radius_m: of all; color_bgr: (M, 3).
    """

    path_m: Floats
    shown: Floats
    seen_m: Floats
    shift_px: Floats
    radius_m: float
    color_bgr: Floats


@kernel
def _draw_spheres(image: Bytes, camera: Floats, markers: DrawnMarkers, blur_px: float, taps: Floats32) -> None:
    """Draw the visible part of every marker as `draw_markers` does; camera: packed, (22,)."""
    path_m, shown, shift_px, radius_m = markers.path_m, markers.shown, markers.shift_px, markers.radius_m
    n = len(shown)
    depth = camera[15] * path_m[1, :, 0] + camera[16] * path_m[1, :, 1] + camera[17] * path_m[1, :, 2] + camera[20]
    px, seen, J, Q = np.empty((3, 2)), np.empty(2), np.empty((2, 3)), np.empty((2, 2))
    for _ in range(n):
        m = int(np.argmax(depth))  # far ones first
        in_front = depth[m] > 0.0 and shown[m] > 0.0 and project_point(camera, markers.seen_m[m], seen, J)
        depth[m] = -np.inf
        for k in (0, 2, 1):  # the derivative at the middle of the exposure stays
            in_front = in_front and project_point(camera, path_m[k, m], px[k], J)
        if not in_front:
            continue
        for i in range(2):
            moved = seen[i] - px[1, i] + shift_px[m, i]
            for k in range(3):
                px[k, i] += moved
            for j in range(2):
                Q[i, j] = radius_m * radius_m * shown[m] * (J[i, 0] * J[j, 0] + J[i, 1] * J[j, 1] + J[i, 2] * J[j, 2])
        _draw_marker(image, px, Q, markers.color_bgr[m], blur_px, taps)


@cache
def _compute_taps(blur_px: float) -> Floats32:
    """Return the weights that blur the fine grid by a normal distribution and halve it, symmetric, of even length."""
    sigma = FINE * blur_px
    blur = cv2.getGaussianKernel(round(8.0 * sigma + 1.0) | 1, sigma)[:, 0] if blur_px > 0.0 else np.ones(1)
    return np.convolve(blur, [0.5, 0.5]).astype(np.float32)


def draw_marker(image: Bytes, path_px: Floats, covariance: Floats, color_bgr: Floats, blur_px: float = 0.0) -> None:
    """Draw one marker into a BGR image.

    Args:
        image: BGR, (H, W, 3); drawn into.
        path_px: its centre at start, middle and end of the exposure, (3, 2) [px], interpolated by a parabola.
        covariance: Q of its outline u' Q^-1 u = 1 about the centre, (2, 2) [px^2].
        color_bgr: (3,), above 255 for a saturated reflection.
        blur_px: standard deviation of the lens blur.
    """
    path_px, covariance, color_bgr = (np.ascontiguousarray(x, np.float64) for x in (path_px, covariance, color_bgr))
    _draw_marker(image, path_px, covariance, color_bgr, blur_px, _compute_taps(blur_px))


def draw_markers(image: Bytes, packed: Floats, markers: DrawnMarkers, blur_px: float = 0.0) -> None:
    """Draw the visible part of every marker into a BGR image, far ones first, as an ellipse of its area about its middle.

    Args:
        image: BGR, (H, W, 3); drawn into.
        packed: the camera, (22,).
        markers: what is drawn; colours as in `draw_marker`.
        blur_px: as in `draw_marker`.
    """
    _draw_spheres(image, packed, markers, blur_px, _compute_taps(blur_px))
