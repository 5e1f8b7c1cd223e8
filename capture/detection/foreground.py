"""Foreground of an image as runs of pixels, chunk by chunk, at the cost of reading the bytes once.

A pixel is foreground when at least one channel is further than k sigma from its mean (Chai & Hodgins 2005, sec. 3.1); on 8-bit
bounds that is f < lo or f > hi. Bright markers are above the background and a threshold: f > max(hi, threshold), which needs no
lo, and no hi where nothing is above the threshold. The image is taken as one sequence of pixels, whatever its width, and tested
in chunks of a constant length, by a loop that compiles to vector instructions on 8-bit lanes; only chunks with foreground are
scanned. Instead of dilating the mask, runs across a gap of one pixel are joined.
"""

import numpy as np
from numpy.typing import NDArray

from capture.background.statistics import BackgroundBounds
from config.arrays import Image
from config.errors import CalibrationError
from config.jit import inline_kernel, kernel

MAX_RUNS = 60_000
GAP_PX = 1
CHUNK = 64  # pixels tested as one
SIZE = 3 * CHUNK  # bytes of a chunk
FULL = np.uint64(0x0101010101010101)  # eight foreground pixels
NO_BOUNDS = np.zeros((0, 0), np.uint8)

Bytes = NDArray[np.uint8]
Words = NDArray[np.uint64]


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
        self._marks, self._pixels = np.zeros(SIZE, np.uint8), np.zeros(CHUNK, np.uint8)

    def outside(self, image: Image, bounds: BackgroundBounds, gap_px: int = GAP_PX) -> NDArray[np.int32]:
        """Return runs of pixels outside the bounds in some channel.

        Args:
            image: BGR, (H, W, 3).
            bounds: of the background.
            gap_px: pixels up to so far apart are joined.
        Raises: CalibrationError: another size of image.
        """
        rows = self._rows(image)
        return self._found(write_outside_runs(rows, bounds.lo, bounds.hi, gap_px, self._marks, self._pixels, self._runs))

    def brighter(
        self, image: Image, threshold: int, bounds: BackgroundBounds | None = None, gap_px: int = 0
    ) -> NDArray[np.int32]:
        """Return runs of pixels brighter, in some channel, than a threshold and the background.

        Args:
            image: BGR, (H, W, 3).
            threshold: grey level, 0-255.
            bounds: of the background; None: unknown.
            gap_px: pixels up to so far apart are joined.
        Raises: CalibrationError: another size of image.
        """
        rows, level = self._rows(image), np.uint8(min(max(threshold, 0), 255))
        hi = NO_BOUNDS if bounds is None else bounds.hi
        return self._found(write_brighter_runs(rows, hi, level, gap_px, self._marks, self._pixels, self._runs))

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


@inline_kernel
def _has_outside(image: Bytes, lo: Bytes, hi: Bytes, first: np.uint64) -> bool:
    """Return whether a byte of the chunk from `first` on is out of bounds.

    The casts keep the compiler on 8-bit lanes, here and below; with an unsigned index, which cannot count from the end, and a
    constant number of steps it uses vectors.
    """
    some = np.uint8(0)
    for k in range(SIZE):
        i = first + np.uint64(k)
        some = np.uint8(some | np.uint8(image[i] < lo[i]) | np.uint8(image[i] > hi[i]))
    return bool(some != 0)


@inline_kernel
def _has_brighter(image: Bytes, level: np.uint8, first: np.uint64) -> bool:
    """Return whether a byte of the chunk from `first` on is above the level."""
    most = np.uint8(0)
    for k in range(SIZE):
        i = first + np.uint64(k)
        most = image[i] if image[i] > most else most
    return bool(most > level)


@kernel
def _scan_chunk(
    marks: Bytes, pixels: Bytes, words: Words, begin: int, width: int, gap: int, runs: NDArray[np.int32], n: int
) -> int:
    """Append the runs of one chunk to the n so far; return their number, -1 where they do not fit.

    marks: 0 or 1 by channel, (SIZE,); pixels: scratch for the same by pixel, (CHUNK,); words: its memory, eight pixels each;
    begin: index of the first pixel in the image. No slices: counting who holds them would cost more than the pixels.
    """
    for k in range(CHUNK):
        i = np.uint64(k)
        j = np.uint64(3) * i
        pixels[i] = np.uint8(marks[j] | marks[j + np.uint64(1)] | marks[j + np.uint64(2)])
    y = begin // width
    start = y * width
    for k in range(len(words)):
        if words[k] == 0:
            continue
        x = begin + 8 * k - start
        inside = n > 0 and runs[n - 1, 0] == y and runs[n - 1, 2] == x - 1 and x + 8 <= width
        if words[k] == FULL and inside:  # inside a large patch
            runs[n - 1, 2] += 8
            continue
        for p in range(8 * k, 8 * k + 8):
            if pixels[p] == 0:
                continue
            while begin + p >= start + width:
                y, start = y + 1, start + width
            x = begin + p - start
            if n == 0 or runs[n - 1, 0] != y or x - runs[n - 1, 2] > 1 + gap:
                if n == len(runs):
                    return -1
                runs[n, 0], runs[n, 1] = y, x
                n += 1
            runs[n - 1, 2] = x
    return n


@kernel
def write_outside_runs(
    rows: Bytes, lows: Bytes, highs: Bytes, gap: int, marks: Bytes, pixels: Bytes, runs: NDArray[np.int32]
) -> int:
    """Write runs (row, first, last) of what is out of bounds; return their number, -1 where they do not fit.

    rows: the image, (H, 3 W), lows and highs likewise; marks, pixels: scratch, as in `_scan_chunk`.
    """
    image, lo, hi, words = rows.reshape(-1), lows.reshape(-1), highs.reshape(-1), pixels.view(np.uint64)
    n, width = 0, rows.shape[1] // 3
    for c in range(-(-len(image) // SIZE)):
        first = c * SIZE
        length = min(SIZE, len(image) - first)
        if length == SIZE and not _has_outside(image, lo, hi, np.uint64(first)):
            continue
        if length < SIZE:
            marks[:] = 0
        for i in range(length):
            value = image[first + i]
            marks[i] = np.uint8(np.uint8(value < lo[first + i]) | np.uint8(value > hi[first + i]))
        n = _scan_chunk(marks, pixels, words, c * CHUNK, width, gap, runs, n)
        if n < 0:
            return -1
    return n


@kernel
def write_brighter_runs(
    rows: Bytes, highs: Bytes, level: np.uint8, gap: int, marks: Bytes, pixels: Bytes, runs: NDArray[np.int32]
) -> int:
    """Write runs of what is above a level, and above bounds where there are any.

    Highs (H, 3 W) or (0, 0); as `write_outside_runs` does.
    """
    image, hi, words = rows.reshape(-1), highs.reshape(-1), pixels.view(np.uint64)
    n, width = 0, rows.shape[1] // 3
    for c in range(-(-len(image) // SIZE)):
        first = c * SIZE
        length = min(SIZE, len(image) - first)
        if length == SIZE and not _has_brighter(image, level, np.uint64(first)):
            continue
        if length < SIZE:
            marks[:] = 0
        for i in range(length):
            marks[i] = np.uint8(image[first + i] > level)
        if len(hi) > 0:
            for i in range(length):
                marks[i] = np.uint8(marks[i] & np.uint8(image[first + i] > hi[first + i]))
        n = _scan_chunk(marks, pixels, words, c * CHUNK, width, gap, runs, n)
        if n < 0:
            return -1
    return n
