"""Which pixel colours are marker colours: tables over 32 x 32 x 32 colours, for markers on a performer in the light.

A pixel at a marker's edge mixes the marker with what is behind it, so membership is soft: 1 for the marker's hue at full
saturation, falling to 0 at grey, along the straight line that mixing follows in chromaticity (r, g, b) / (r + g + b).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from config.errors import CalibrationError

BINS = 32
MEMBER, CORE = 0.3, 0.6  # least membership of a pixel in a blob, and of a blob's best pixel
MIN_CHROMA = 0.12  # less colourful than this and a marker cannot be told from grey by its colour
DARK_SHARE = 0.15  # of the marker's brightness: darker pixels have no reliable colour


@dataclass(frozen=True, slots=True)
class ColorTable:
    """kinds: 1 + index of the marker colour, 0 for none; weights: membership 0..255; both (32, 32, 32) uint8, indexed BGR."""

    kinds: NDArray[np.uint8]
    weights: NDArray[np.uint8]


def color_table(colors_rgb: ArrayLike) -> ColorTable:
    """Give the tables for expected marker colours (C, 3) 0-255, equal ones merged.

    Raises CalibrationError: a colour is too close to grey to be found by colour.
    """
    colors = np.unique(np.asarray(colors_rgb, float).reshape(-1, 3), axis=0)
    centers = (np.arange(BINS) + 0.5) * (256.0 / BINS)
    blue, green, red = np.meshgrid(centers, centers, centers, indexing="ij")
    grid = np.stack([red, green, blue], axis=-1)
    membership = np.stack([_membership(grid, color) for color in colors])
    best = membership.argmax(axis=0)
    weights = membership.max(axis=0)
    kinds = np.where(weights >= MEMBER, best + 1, 0).astype(np.uint8)
    return ColorTable(kinds, np.round(255.0 * weights).astype(np.uint8))


def _membership(grid: NDArray[np.float64], color: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give how much of one marker colour is in each colour of the grid, 0..1."""
    total = np.maximum(color.sum(), 1.0)
    chroma = color / total - 1.0 / 3.0
    strength = float(np.linalg.norm(chroma))
    if strength < MIN_CHROMA:
        raise CalibrationError(
            f"the marker colour {color.astype(int).tolist()} is nearly grey; in a lit room use saturated colours, or leave "
            "color_rgb out to search for bright markers"
        )
    sums = grid.sum(axis=-1)
    distance = np.linalg.norm(grid / sums[..., None] - 1.0 / 3.0 - chroma, axis=-1)
    bright = np.clip((sums / total - DARK_SHARE) / DARK_SHARE, 0.0, 1.0)
    return np.asarray(np.clip(1.0 - distance / strength, 0.0, 1.0) * bright)
