"""How markers are distinguished: bright spots in the dark or in the light, or colours; and the threshold or colours for it.

Threshold: compact blobs are counted at a ladder of thresholds. Between dim surroundings and the brightness of the markers the
count stays the same; the longest such range in log brightness is taken (after Matas et al. 2002, maximally stable regions).

Colours: tables over 32 x 32 x 32 colours. A pixel at a marker's edge mixes the marker with what is behind it, so membership is
soft: 1 for the marker's hue at full saturation, falling to 0 at grey, along the straight line that mixing follows in chromaticity
(r, g, b) / (r + g + b).
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from capture.background.statistics import DARK_LEVEL, DARK_SHARE, is_dark
from capture.detection.blobs import PEAK, RawBlobs
from config.arrays import Image
from config.errors import CalibrationError, SettingsError
from config.jit import kernel

STEP_PX = 16  # the brightness of an image is that of every sixteenth pixel
LIT_SHARE = 0.6  # with a smaller share near black the room is lit; between this and DARK_SHARE it stays what it was
CERTAIN_FRAMES = 10  # in a row, before the mode changes
FLOOR = 14  # grey levels: below is the noise of a webcam in the dark
LADDER = np.unique(np.round(FLOOR * 1.12 ** np.arange(26)).astype(int))
LADDER = LADDER[LADDER <= 235]
MIN_MARKERS = 3
MIN_RATIO = 1.5  # a shorter stable range could be chance
BETTER = 1.5  # ratio of stability of a clearly better estimate
FOLLOW = 0.2  # share of the way to a new estimate
PEAK_SHARE = 0.1  # of the way from the pixel threshold to the markers' peak
BINS = 32
MEMBER, CORE = 0.3, 0.6  # least membership of a pixel in a blob, and of a blob's best pixel
MIN_CHROMA = 0.12  # least colourfulness of a marker
COLORLESS_SHARE = 0.15  # of the marker's brightness: darker pixels have no reliable colour


class Mode(StrEnum):
    """How markers are distinguished."""

    DARK = "dark"  # bright spots in a dark room
    BRIGHT = "bright"  # bright spots on the performer, in the light
    COLOR = "color"  # marker colours on the performer, in the light


def choose_mode(setting: str, image: Image, has_colors: bool) -> Mode:
    """Return the mode of a setting, by the image where it is `auto`.

    Args:
        setting: `auto`, `dark` or `background`.
        image: BGR, (H, W, 3).
        has_colors: the markers have colours.
    Raises: SettingsError: another setting.
    """
    if setting not in ("auto", "dark", "background"):
        raise SettingsError(f"detector.mode is {setting!r}; expected auto, dark or background")
    if setting == "dark" or (setting == "auto" and is_dark(image)):
        return Mode.DARK
    return Mode.COLOR if has_colors else Mode.BRIGHT


def measure_light(image: Image) -> tuple[float, float]:
    """Return the mean brightness of an image, 0-255, and the share of its pixels that are near black."""
    mean, dark = _sample_light(image, STEP_PX, DARK_LEVEL)
    return float(mean), float(dark)


class LightingDetector:
    """Notices when a dark room is lit for good, or the reverse."""

    def __init__(self, dark: bool) -> None:
        self.dark = dark
        self._n_contrary = 0

    def changed(self, dark_share: float) -> bool:
        """Take the share of pixels near black in the next frame; return whether the lighting changed."""
        contrary = dark_share < LIT_SHARE if self.dark else dark_share >= DARK_SHARE
        self._n_contrary = self._n_contrary + 1 if contrary else 0
        if self._n_contrary < CERTAIN_FRAMES:
            return False
        self.dark, self._n_contrary = not self.dark, 0
        return True


@kernel
def _sample_light(image: NDArray[np.uint8], step: int, near_black: int) -> tuple[float, float]:
    """Return the mean of every step-th pixel's channels and the share of those pixels whose channels are all below near_black."""
    total, dark, count = 0, 0, 0
    for y in range(0, image.shape[0], step):
        for x in range(0, image.shape[1], step):
            b, g, r = np.int64(image[y, x, 0]), np.int64(image[y, x, 1]), np.int64(image[y, x, 2])
            total += int(b + g + r)
            dark += int(max(b, g, r) < near_black)
            count += 1
    return total / (3.0 * count), dark / count


@dataclass(frozen=True, slots=True)
class Threshold:
    """Thresholds 0-255. pixel: for the pixels of blobs; peak: for a blob's brightest pixel; level: typical peak of markers.

    stability: log of the ratio over which the count of blobs stayed the same.
    """

    pixel: float
    peak: float
    level: float
    stability: float

    def towards(self, other: "Threshold") -> "Threshold":
        """Return a threshold nearer to a new estimate, or that one if it is far more stable, as when markers come into view."""
        if other.stability > BETTER * self.stability:
            return other
        share = FOLLOW if self.stability < BETTER * other.stability else 0.25 * FOLLOW
        return Threshold(
            self.pixel + share * (other.pixel - self.pixel),
            self.peak + share * (other.peak - self.peak),
            self.level + share * (other.level - self.level),
            self.stability + share * (other.stability - self.stability),
        )


def find_stable_threshold(blobs_above: Callable[[int], RawBlobs], min_markers: int = MIN_MARKERS) -> Threshold | None:
    """Return the threshold of the longest stable range, None without one of min_markers.

    blobs_above: returns the compact blobs brighter than a threshold, with weights above that threshold.
    """
    found = [blobs_above(int(threshold)) for threshold in LADDER]
    counts = np.array([len(blobs) for blobs in found])
    best, chosen, last = float(np.log(MIN_RATIO)), -1, -1
    for start, count in enumerate(counts):
        if count < min_markers:
            continue
        slack = 1 if count >= 8 else 0
        same = np.abs(counts[start:] - count) <= slack
        end = start + (len(same) if same.all() else int(np.argmin(same))) - 1
        length = float(np.log(LADDER[end] / LADDER[start]))
        if length > best:
            best, chosen, last = length, start, end
    if chosen < 0:
        return None
    level = float(np.median(found[chosen].sums[:, PEAK])) + float(LADDER[chosen])
    # The middle in log brightness between the dim surroundings and the markers, so that neighbours rarely touch.
    pixel = min(float(np.sqrt(LADDER[chosen] * level)), float(LADDER[last]))
    return Threshold(pixel, pixel + PEAK_SHARE * (level - pixel), level, best)


@dataclass(frozen=True, slots=True)
class ColorTable:
    """kinds: 1 + index of the marker colour, 0 for none; weights: membership 0..255; both (32, 32, 32) uint8, indexed BGR."""

    kinds: NDArray[np.uint8]
    weights: NDArray[np.uint8]


def build_color_table(colors_rgb: ArrayLike) -> ColorTable:
    """Return the tables for expected marker colours (C, 3) 0-255, equal ones merged.

    Raises CalibrationError: a colour is too close to grey to be found by colour.
    """
    colors = np.unique(np.asarray(colors_rgb, float).reshape(-1, 3), axis=0)
    centers = (np.arange(BINS) + 0.5) * (256.0 / BINS)
    blue, green, red = np.meshgrid(centers, centers, centers, indexing="ij")
    grid = np.stack([red, green, blue], axis=-1)
    membership = np.stack([_compute_membership(grid, color) for color in colors])
    best = membership.argmax(axis=0)
    weights = membership.max(axis=0)
    kinds = np.where(weights >= MEMBER, best + 1, 0).astype(np.uint8)
    return ColorTable(kinds, np.round(255.0 * weights).astype(np.uint8))


def _compute_membership(grid: NDArray[np.float64], color: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how much of one marker colour is in each colour of the grid, 0..1."""
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
    bright = np.clip((sums / total - COLORLESS_SHARE) / COLORLESS_SHARE, 0.0, 1.0)
    return np.asarray(np.clip(1.0 - distance / strength, 0.0, 1.0) * bright)
