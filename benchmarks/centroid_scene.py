"""Markers drawn for judging centres: discs of known place, blurred by a lens, clipped by the sensor, compressed by the camera.

Nothing of capture's own renderer: cover by counting 16 x 16 points a pixel, blur by the Fourier transform of a Gaussian.
"""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
SIZE, PITCH, FINE = (320, 240), 40, 16
BLACK = 6.0  # grey level of the dark
BLUR_PX = 0.6  # standard deviation of the lens blur
HALO_SHARE, HALO_PX = 0.03, 4.0  # of the light is spread wide: what grows around a saturated marker


@dataclass(frozen=True, slots=True)
class Shot:
    """How a picture is taken.

    diameter_px: of the markers; level: grey level of their middle, above 255 saturates; noise: grey levels; jpeg: quality, None:
    raw; color_bgr: of the markers, 1 is white; background: grey level around them.
    """

    diameter_px: float
    level: float
    noise: float
    jpeg: int | None = None
    color_bgr: tuple[float, float, float] = (1.0, 1.0, 1.0)
    background: float = BLACK


def picture(shot: Shot, random: np.random.Generator) -> tuple[NDArray[np.uint8], Floats]:
    """Draw markers at random sub-pixel places on a grid; give the image and their true centres, (M, 2)."""
    xs, ys = np.meshgrid(np.arange(PITCH, SIZE[0], PITCH), np.arange(PITCH, SIZE[1], PITCH))
    centers = np.stack([xs.ravel(), ys.ravel()], axis=1) + random.uniform(-4.0, 4.0, (xs.size, 2))
    cover = np.zeros((SIZE[1], SIZE[0]))
    for center in centers:
        _add_disc(cover, center, shot.diameter_px / 2.0)
    light = (1.0 - HALO_SHARE) * blurred(cover, BLUR_PX) + HALO_SHARE * blurred(cover, HALO_PX)
    color = shot.level * np.asarray(shot.color_bgr)
    image = shot.background + light[..., None] * (color - shot.background)
    image += random.normal(0.0, shot.noise, image.shape) if shot.noise else 0.0
    sensed = np.clip(np.round(image), 0, 255).astype(np.uint8)
    if shot.jpeg is not None:
        sensed = cv2.imdecode(cv2.imencode(".jpg", sensed, [cv2.IMWRITE_JPEG_QUALITY, shot.jpeg])[1], cv2.IMREAD_COLOR)  # type: ignore[assignment]
    return sensed, centers


def _add_disc(cover: Floats, center: Floats, radius: float) -> None:
    """Add the share of each pixel that a disc covers; pixel centres at whole numbers."""
    x0, y0 = (int(v - radius - 1.0) for v in center)
    n = int(2.0 * radius) + 4
    offsets = (np.arange(FINE) + 0.5) / FINE - 0.5
    xs = (np.arange(x0, x0 + n)[:, None] + offsets).ravel() - center[0]
    ys = (np.arange(y0, y0 + n)[:, None] + offsets).ravel() - center[1]
    inside = xs[None, :] ** 2 + ys[:, None] ** 2 <= radius**2
    cover[y0 : y0 + n, x0 : x0 + n] += inside.reshape(n, FINE, n, FINE).mean(axis=(1, 3))


def blurred(image: Floats, sigma_px: float) -> Floats:
    """Give a Gaussian blur, the image taken as periodic."""
    fy, fx = np.fft.fftfreq(image.shape[0])[:, None], np.fft.rfftfreq(image.shape[1])[None, :]
    factor = np.exp(-2.0 * (np.pi * sigma_px) ** 2 * (fx**2 + fy**2))
    return np.asarray(np.fft.irfft2(np.fft.rfft2(image) * factor, s=image.shape))
