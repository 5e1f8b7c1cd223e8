"""Small rendered images for the tests of capture: smooth-edged discs at sub-pixel places."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from capture.packets import Frame

FINE = 8  # samples across a pixel


def paint_disc(image: NDArray[np.float64], center_px: Sequence[float], radius_px: float, color_bgr: Sequence[float]) -> None:
    """Blend a disc into an image (H, W, 3), by the share of each pixel it covers; (0, 0) is the centre of the first pixel."""
    height, width = image.shape[:2]
    offsets = (np.arange(FINE) + 0.5) / FINE - 0.5
    x0, y0 = max(int(center_px[0] - radius_px - 1), 0), max(int(center_px[1] - radius_px - 1), 0)
    x1, y1 = min(int(center_px[0] + radius_px + 3), width), min(int(center_px[1] + radius_px + 3), height)
    if x1 <= x0 or y1 <= y0:
        return
    xs = (np.arange(x0, x1)[:, None] + offsets).ravel() - center_px[0]
    ys = (np.arange(y0, y1)[:, None] + offsets).ravel() - center_px[1]
    inside = (xs[None, :] ** 2 + ys[:, None] ** 2 <= radius_px**2).astype(float)
    cover = inside.reshape(y1 - y0, FINE, x1 - x0, FINE).mean(axis=(1, 3))[..., None]
    patch = image[y0:y1, x0:x1]
    patch[:] = (1.0 - cover) * patch + cover * np.asarray(color_bgr, float)


def shot(image: NDArray[np.float64], noise: float, random: np.random.Generator) -> NDArray[np.uint8]:
    """Return the 8-bit image a noisy sensor makes of a scene."""
    return np.clip(np.round(image + random.normal(0.0, noise, image.shape)), 0, 255).astype(np.uint8)


def frame_of(image: NDArray[np.uint8], index: int = 0, camera: int = 0) -> Frame:
    """Wrap an image as a frame, 30 a second."""
    return Frame(camera, index, index * 33_333_333, image)
