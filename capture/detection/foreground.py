"""Foreground of an image as runs of pixels, row by row, at the cost of reading the bytes once.

A pixel is foreground when at least one channel is further than k sigma from its mean (Chai & Hodgins 2005, sec. 3.1); on 8-bit
bounds that is f < lo or f > hi. Bright markers are above the background and a threshold: f > max(hi, threshold), which needs no
lo, and without a background no array at all. Each row is first tested as a whole, by a loop that compiles to vector instructions
on 8-bit lanes; only rows with foreground are scanned. Instead of dilating the mask, runs across a gap of one pixel are joined.
"""

import numpy as np
from numpy.typing import NDArray

from capture.background.statistics import BackgroundBounds
from config.arrays import Image
from config.errors import CalibrationError
from config.jit import kernel

MAX_RUNS = 60_000
GAP_PX = 1
CHUNK = 64  # pixels tested as one: the widest vector
FULL = np.uint64(0x0101010101010101)  # eight foreground pixels


class ForegroundRuns:
    """Finds runs with its own buffers, so that a frame costs no allocation.

    Runs are (row, first column, last), (R, 3), row by row from left to right, and valid until the next call; pixels up to gap_px
    apart are joined. An image with more than MAX_RUNS gives none, and sets `flooded`.
    """

    def __init__(self, size: tuple[int, int]) -> None:
        """Prepare for images of one size: width, height."""
        self.size = size
        self.flooded = False
        self._runs = np.empty((MAX_RUNS, 3), np.int32)
        self._row = np.zeros(3 * size[0], np.uint8)
        self._pixels = np.zeros(-(-size[0] // CHUNK) * CHUNK, np.uint8)  # those beyond the width stay 0

    def outside(self, image: Image, bounds: BackgroundBounds, gap_px: int = GAP_PX) -> NDArray[np.int32]:
        """Return runs of pixels outside the bounds in some channel. Raises CalibrationError: another size of image."""
        rows = self._rows(image)
        return self._found(_outside(rows, bounds.lo, bounds.hi, gap_px, self._row, self._pixels, self._runs))

    def brighter(
        self, image: Image, threshold: int, bounds: BackgroundBounds | None = None, gap_px: int = 0
    ) -> NDArray[np.int32]:
        """Return runs of pixels brighter, in some channel, than a threshold 0-255 and the background, if its bounds are given.

        Raises CalibrationError: another size of image.
        """
        rows, level = self._rows(image), np.uint8(min(max(threshold, 0), 255))
        if bounds is None:
            return self._found(_brighter(rows, level, gap_px, self._row, self._pixels, self._runs))
        return self._found(_above(rows, bounds.hi, level, gap_px, self._row, self._pixels, self._runs))

    def _rows(self, image: Image) -> Image:
        width, height = self.size
        if image.shape != (height, width, 3):
            raise CalibrationError(
                f"an image of {image.shape[1]}x{image.shape[0]} where {width}x{height} was expected; record all at one resolution"
            )
        return image.reshape(height, width * 3)

    def _found(self, count: int) -> NDArray[np.int32]:
        self.flooded = count < 0
        return self._runs[: max(count, 0)]


@kernel
def _any_outside(row: NDArray[np.uint8], lo: NDArray[np.uint8], hi: NDArray[np.uint8]) -> bool:
    """Return whether any byte is out of bounds. The casts keep the compiler on 8-bit lanes, here and below."""
    some = np.uint8(0)
    for i in range(len(row)):
        some = np.uint8(some | np.uint8(row[i] < lo[i]) | np.uint8(row[i] > hi[i]))
    return bool(some != 0)


@kernel
def _any_above(row: NDArray[np.uint8], hi: NDArray[np.uint8], level: np.uint8) -> bool:
    """Return whether any byte is above both its bound and the level."""
    some = np.uint8(0)
    for i in range(len(row)):
        top = hi[i] if hi[i] > level else level
        some = np.uint8(some | np.uint8(row[i] > top))
    return bool(some != 0)


@kernel
def _any_brighter(row: NDArray[np.uint8], level: np.uint8) -> bool:
    """Return whether any byte is above the level."""
    most = np.uint8(0)
    for i in range(len(row)):
        most = row[i] if row[i] > most else most
    return bool(most > level)


@kernel
def _scan(
    y: int,
    row: NDArray[np.uint8],
    pixels: NDArray[np.uint8],
    words: NDArray[np.uint64],
    gap: int,
    runs: NDArray[np.int32],
    n: int,
) -> int:
    """Append the runs of one row to the n so far; return their number, -1 where they do not fit.

    row: marks 0 or 1 by channel, (3 W,); pixels: scratch for marks by pixel, words: the same memory, eight pixels each.
    """
    for x in range(len(row) // 3):
        pixels[x] = np.uint8(row[3 * x] | row[3 * x + 1] | row[3 * x + 2])
    last = -2 - gap
    k = 0
    while k < len(words):
        if k % 8 == 0:
            some = np.uint64(0)
            for i in range(8):
                some |= words[k + i]
            if some == 0:
                k += 8
                continue
        first = 8 * k
        k += 1
        if words[k - 1] == 0:
            continue
        if words[k - 1] == FULL and last == first - 1:  # inside a large patch
            last = first + 7
            runs[n - 1, 2] = last
            continue
        for x in range(first, first + 8):
            if pixels[x] == 0:
                continue
            if x - last > 1 + gap:
                if n == len(runs):
                    return -1
                runs[n, 0], runs[n, 1] = y, x
                n += 1
            runs[n - 1, 2] = x
            last = x
    return n


@kernel
def _outside(
    image: NDArray[np.uint8],
    lo: NDArray[np.uint8],
    hi: NDArray[np.uint8],
    gap: int,
    row: NDArray[np.uint8],
    pixels: NDArray[np.uint8],
    runs: NDArray[np.int32],
) -> int:
    """Write runs (row, first, last) of what is out of bounds; return their number, -1 where they do not fit; image: (H, 3 W)."""
    n, words = 0, pixels.view(np.uint64)
    for y in range(image.shape[0]):
        here, low, high = image[y], lo[y], hi[y]
        if not _any_outside(here, low, high):
            continue
        for i in range(len(row)):
            row[i] = np.uint8(np.uint8(here[i] < low[i]) | np.uint8(here[i] > high[i]))
        n = _scan(y, row, pixels, words, gap, runs, n)
        if n < 0:
            return -1
    return n


@kernel
def _above(
    image: NDArray[np.uint8],
    hi: NDArray[np.uint8],
    level: np.uint8,
    gap: int,
    row: NDArray[np.uint8],
    pixels: NDArray[np.uint8],
    runs: NDArray[np.int32],
) -> int:
    """Write runs of what is above both the bounds and a level, as `_outside` does."""
    n, words = 0, pixels.view(np.uint64)
    for y in range(image.shape[0]):
        here, high = image[y], hi[y]
        if not _any_above(here, high, level):
            continue
        for i in range(len(row)):
            top = high[i] if high[i] > level else level
            row[i] = np.uint8(here[i] > top)
        n = _scan(y, row, pixels, words, gap, runs, n)
        if n < 0:
            return -1
    return n


@kernel
def _brighter(
    image: NDArray[np.uint8],
    level: np.uint8,
    gap: int,
    row: NDArray[np.uint8],
    pixels: NDArray[np.uint8],
    runs: NDArray[np.int32],
) -> int:
    """Write runs of what is above a level, as `_outside` does."""
    n, words = 0, pixels.view(np.uint64)
    for y in range(image.shape[0]):
        here = image[y]
        if not _any_brighter(here, level):
            continue
        for i in range(len(row)):
            row[i] = np.uint8(here[i] > level)
        n = _scan(y, row, pixels, words, gap, runs, n)
        if n < 0:
            return -1
    return n
