"""Drawn pairs of frames for timing detection: a dark or a lit room, 18 markers a view, noise."""

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import NDArray

from capture.background.statistics import Background, learn_background
from config.arrays import Image

PAIRS, MARKERS, NOISE = 8, 18, 2.0
SHIFT = 4  # fractional bits of a position, for cv2.circle
RED, GREEN, WHITE = (40, 40, 210), (50, 190, 40), (235, 240, 238)


@dataclass(frozen=True, slots=True)
class Scene:
    """pairs: of images; background, colors_rgb: given to the detectors, or None; threshold: in the dark."""

    look: str
    size: tuple[int, int]
    pairs: list[tuple[Image, Image]]
    background: Background | None
    colors_rgb: list[list[int]] | None
    threshold: float
    n_markers: int = MARKERS


def noisy(image: NDArray[np.float32], random: np.random.Generator) -> Image:
    """Return an image with the noise of a sensor."""
    return np.clip(np.round(image + random.normal(0.0, NOISE, image.shape)), 0, 255).astype(np.uint8)


def empty_room(look: str, size: tuple[int, int]) -> NDArray[np.float32]:
    """Return the room without noise, (H, W, 3): black with a dim panel, or lit."""
    width, height = size
    image = np.full((height, width, 3), 4.0, np.float32)
    if look == "dark":
        image[height // 2 : height * 3 // 4, width * 3 // 4 :] = 20.0
        return image
    image[:] = np.linspace(90.0, 170.0, width, dtype=np.float32)[None, :, None]
    image[height * 3 // 4 :] = (70.0, 85.0, 95.0)
    image[height // 8 : height // 3, width // 12 : width // 5] = (120.0, 60.0, 50.0)
    return image


def scene(look: str, size: tuple[int, int]) -> Scene:
    """Draw the frames of one look: dark; bright (white markers in the light); color; either with `, performer` in view."""
    random = np.random.default_rng(len(look) + size[0])
    positions = _positions(size)
    pairs = []
    for k in range(PAIRS):
        images = []
        for camera in range(2):
            image = empty_room(look, size)
            if "performer" in look:
                _performer(image, size)
            for m, position in enumerate(positions + (1.37 * k + 3.0 * camera, 0.61 * k)):
                color = WHITE if look == "dark" or look.startswith("bright") else (RED, GREEN)[m % 2]
                center = np.round(position * (1 << SHIFT)).astype(int).tolist()
                cv2.circle(image, center, round(size[0] / 150.0 * (1 << SHIFT)), color, -1, cv2.LINE_AA, SHIFT)
            images.append(noisy(image, random))
        pairs.append((images[0], images[1]))
    colored = look.startswith("color")
    background = None if look == "dark" else learn_background(noisy(empty_room(look, size), random) for _ in range(40))
    return Scene(look, size, pairs, background, [list(RED[::-1]), list(GREEN[::-1])] if colored else None, 60.0)


def _positions(size: tuple[int, int]) -> NDArray[np.float64]:
    """Return marker positions on a standing performer in the middle, (18, 2) [px]."""
    rows, columns = np.divmod(np.arange(MARKERS), 3)
    x = size[0] * (0.42 + 0.07 * columns + 0.012 * (rows % 2))
    y = size[1] * (0.12 + 0.14 * rows)
    return np.stack([x, y], axis=1)


def _performer(image: NDArray[np.float32], size: tuple[int, int]) -> None:
    """Draw a grey body from head to foot."""
    middle, half = (size[0] // 2, int(size[1] * 0.5)), (int(size[0] * 0.13), int(size[1] * 0.46))
    cv2.ellipse(image, middle, half, 0.0, 0.0, 360.0, (52, 48, 45), -1)
