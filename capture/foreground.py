"""Foreground of an image as runs of pixels, row by row, in one pass over the bytes.

A pixel is foreground when at least one channel is further than k sigma from its mean (Chai & Hodgins 2005, sec. 3.1); on
8-bit bounds that is uint8(f - lo) > hi - lo. Instead of dilating the mask, runs across a gap of one pixel are joined.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from capture.background import Background, Image
from config.errors import CalibrationError
from config.jit import kernel

MAX_RUNS = 60_000
GAP_PX = 1


@dataclass(frozen=True, slots=True)
class Bounds:
    """The interval of background values: lo and span = hi - lo, (H, W * 3) uint8 each."""

    lo: Image
    span: Image

    @property
    def hi(self) -> Image:
        """Upper end of the interval, (H, W * 3)."""
        return self.lo + self.span


def background_bounds(background: Background, k_sigma: float, min_difference: float) -> Bounds:
    """Give mean +- max(k sigma, min_difference) as 8-bit bounds, kept within 0..255 and hi >= lo."""
    reach = np.maximum(k_sigma * background.std, min_difference)
    lo = np.clip(np.ceil(background.mean - reach), 0, 255).astype(np.uint8)
    hi = np.maximum(np.clip(np.floor(background.mean + reach), 0, 255).astype(np.uint8), lo)
    return _bounds(lo, hi)


def brighter_than(background: Bounds | None, threshold: int, size: tuple[int, int]) -> Bounds:
    """Give bounds left only by what is brighter than a threshold and than the background, if known; size: width, height."""
    width, height = size
    hi = np.full((height, width * 3), min(max(threshold, 0), 255), np.uint8)
    if background is not None:
        np.maximum(hi, background.hi, out=hi)
    return Bounds(np.zeros_like(hi), hi)


def everything(size: tuple[int, int]) -> Bounds:
    """Give bounds that every pixel but pure black leaves: all is foreground; size: width, height."""
    width, height = size
    return Bounds(np.zeros((height, width * 3), np.uint8), np.zeros((height, width * 3), np.uint8))


def _bounds(lo: Image, hi: Image) -> Bounds:
    """Lay (H, W, 3) bounds out for the kernel."""
    flat = (lo.shape[0], -1)
    return Bounds(np.ascontiguousarray(lo.reshape(flat)), np.ascontiguousarray((hi - lo).reshape(flat)))


class RunFinder:
    """Find runs with buffers of its own, so that a frame costs no allocation."""

    def __init__(self, size: tuple[int, int]) -> None:
        """Prepare for images of one size: width, height."""
        self.size = size
        self._runs = np.empty((MAX_RUNS, 3), np.int32)
        self._row = np.zeros(-(-size[0] // 8) * 24, np.uint8)  # whole groups of 8 pixels = three 64-bit words

    def runs(self, image: Image, bounds: Bounds, gap_px: int = GAP_PX) -> NDArray[np.int32]:
        """Give runs (row, first column, last) of the foreground, (R, 3), valid until the next call; up to gap_px apart they join.

        No more than MAX_RUNS: an image flooded with foreground gives none. Raises CalibrationError: another size of image.
        """
        width, height = self.size
        if image.shape != (height, width, 3):
            raise CalibrationError(
                f"an image of {image.shape[1]}x{image.shape[0]} where {width}x{height} was expected; record all at one resolution"
            )
        count = _find_runs(image.reshape(height, width * 3), bounds.lo, bounds.span, gap_px, self._row, self._runs)
        return self._runs[: max(count, 0)]


@kernel
def _mask_row(pixels: NDArray[np.uint8], low: NDArray[np.uint8], reach: NDArray[np.uint8], mask: NDArray[np.uint8]) -> None:
    """Mark bytes out of bounds: a loop of its own, which the compiler turns into vector instructions."""
    for i in range(len(pixels)):
        mask[i] = ((np.int32(pixels[i]) - np.int32(low[i])) & 255) > reach[i]


@kernel
def _find_runs(
    image: NDArray[np.uint8],
    lo: NDArray[np.uint8],
    span: NDArray[np.uint8],
    gap: int,
    row_mask: NDArray[np.uint8],
    runs: NDArray[np.int32],
) -> int:
    """Fill runs (row, first, last) and give their number, -1 where they do not fit; image, lo, span: (H, 3 W)."""
    height, n_bytes = image.shape
    words = row_mask.view(np.uint64)
    width, n_groups = n_bytes // 3, len(words) // 3
    n = 0
    for y in range(height):
        _mask_row(image[y], lo[y], span[y], row_mask)
        any_pixel = words[0]
        for k in range(1, len(words)):  # by index: an iterator over the array is not vectorised
            any_pixel |= words[k]
        if any_pixel == 0:  # most rows of a dark room
            continue
        last = -2 - gap
        for group in range(n_groups):
            if words[3 * group] | words[3 * group + 1] | words[3 * group + 2] == 0:
                continue
            for x in range(8 * group, min(8 * group + 8, width)):
                if row_mask[3 * x] | row_mask[3 * x + 1] | row_mask[3 * x + 2] == 0:
                    continue
                if x - last > 1 + gap:
                    if n == len(runs):
                        return -1
                    runs[n, 0], runs[n, 1] = y, x
                    n += 1
                runs[n - 1, 2] = x
                last = x
    return n
