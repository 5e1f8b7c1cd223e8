"""Blobs from runs of foreground pixels: joined by union-find, then sums for weighted centres, area and colour."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from capture.detection.foreground import GAP_PX, MAX_RUNS
from config.arrays import Floats, Image
from config.jit import inline_kernel, kernel

# Columns of the sums of a blob: weight, weighted x and y, weighted blue, green, red, area, largest weight, bounding box, class.
N_SUMS = 13
W, X, Y, B, G, R, AREA, PEAK, X0, X1, Y0, Y1, KIND = range(N_SUMS)
NO_COLORS = np.zeros((0, 0, 0), np.uint8)  # in place of a table of colours


@dataclass(frozen=True, slots=True)
class RawBlobs:
    """The sums of all blobs, before markers are selected: (N, 13), columns W .. KIND."""

    sums: Floats

    def __len__(self) -> int:
        return len(self.sums)

    def boxes(self, which: NDArray[np.int64]) -> Floats:
        """Return first and last column, first and last row of some blobs, (K, 4)."""
        return np.asarray(self.sums[which, X0 : Y1 + 1])

    def any_elongated(self, ratio: float) -> bool:
        """Return whether the sides of some blob's bounding box differ by more than a ratio."""
        return bool(_has_elongated(self.sums, ratio))

    def select(self, mask: NDArray[np.bool_]) -> "RawBlobs":
        """Return the marked blobs."""
        return RawBlobs(self.sums[mask])


class BlobMaker:
    """Joins runs to blobs, with its own buffers."""

    def __init__(self) -> None:
        self._blob = np.empty(MAX_RUNS, np.int32)
        self._kinds = np.zeros(MAX_RUNS, np.uint8)
        self._sums = np.empty((MAX_RUNS, N_SUMS))

    def bright_blobs(self, image: Image, runs: NDArray[np.int32], level: float, gap_px: int = 0) -> RawBlobs:
        """Join runs to blobs; the weight of a pixel is its brightest channel minus `level`.

        Args:
            image: BGR, (H, W, 3).
            runs: (row, first column, last), (R, 3).
            level: grey level below that of all pixels of runs.
            gap_px: runs up to so far apart are joined.
        """
        n = _sum_blobs(image, runs, self._kinds[: len(runs)], float(level), NO_COLORS, gap_px, self._blob, self._sums)
        return RawBlobs(self._sums[:n].copy())

    def colored_blobs(self, image: Image, runs: NDArray[np.int32], kinds: NDArray[np.uint8], weights: Image) -> RawBlobs:
        """Join runs of one kind to blobs; the weight of a pixel is that of its colour.

        Args:
            image: BGR, (H, W, 3).
            runs: (row, first column, last), (R, 3).
            kinds: of the runs, (R,).
            weights: of colours BGR, (32, 32, 32).
        """
        n = _sum_blobs(image, runs, kinds, 0.0, weights, GAP_PX, self._blob, self._sums)
        return RawBlobs(self._sums[:n].copy())


@kernel
def split_brighter_runs(image: NDArray[np.uint8], runs: NDArray[np.int32], threshold: int, out: NDArray[np.int32]) -> int:
    """Split foreground runs into runs brighter than a threshold; return their number.

    Args:
        image: BGR, (H, W, 3).
        runs: runs of foreground as (row, first column, last), (R, 3).
        threshold: grey level.
        out: the runs, (K, 3), as many as fit; written.
    """
    n = 0
    for i in range(len(runs)):
        y, last = runs[i, 0], -2
        for x in range(runs[i, 1], runs[i, 2] + 1):
            if max(image[y, x, 0], image[y, x, 1], image[y, x, 2]) <= threshold:
                continue
            if x - last > 1:
                if n == len(out):
                    return n
                out[n, 0], out[n, 1] = y, x
                n += 1
            out[n - 1, 2] = x
            last = x
    return n


@kernel
def split_colored_runs(
    image: NDArray[np.uint8],
    runs: NDArray[np.int32],
    kinds: NDArray[np.uint8],
    out: NDArray[np.int32],
    out_kinds: NDArray[np.uint8],
) -> int:
    """Split foreground runs into runs of one marker colour; return their number.

    Args:
        image: BGR, (H, W, 3).
        runs: runs of foreground as (row, first column, last), (R, 3).
        kinds: kind of each colour, (32, 32, 32), 0 for none.
        out: the runs, (K, 3), as many as fit; written.
        out_kinds: their kinds, (K,); written.
    """
    n = 0
    for i in range(len(runs)):
        y, current = runs[i, 0], 0
        for x in range(runs[i, 1], runs[i, 2] + 1):
            kind = kinds[image[y, x, 0] >> 3, image[y, x, 1] >> 3, image[y, x, 2] >> 3]
            if kind != 0 and kind != current:
                if n == len(out):
                    return n
                out[n, 0], out[n, 1], out_kinds[n] = y, x, kind
                n += 1
            if kind != 0:
                out[n - 1, 2] = x
            current = kind
    return n


@inline_kernel
def _find_root(parent: NDArray[np.int32], i: int) -> int:
    """Return the root of a run, halving the path on the way."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@inline_kernel
def _unite_runs(parent: NDArray[np.int32], i: int, j: int) -> None:
    """Unite the blobs of two runs; the root is the first run."""
    a, b = _find_root(parent, i), _find_root(parent, j)
    parent[max(a, b)] = min(a, b)


@inline_kernel
def _join_runs(runs: NDArray[np.int32], kinds: NDArray[np.uint8], gap: int, blob: NDArray[np.int32]) -> int:
    """Unite runs of one kind at most `gap` pixels apart; write the blob of each run, return the number of blobs.

    One pass for each row within reach, so that the cost is that of the runs and their contacts.
    """
    n, reach = len(runs), 1 + gap
    for i in range(n):
        blob[i] = i
        j = i - 1
        while j >= 0 and runs[j, 0] == runs[i, 0] and runs[i, 1] - runs[j, 2] <= reach:
            if kinds[i] == kinds[j]:
                _unite_runs(blob, i, j)
            j -= 1
    for above in range(1, reach + 1):
        j = 0
        for i in range(n):
            y = runs[i, 0] - above
            while j < n and (runs[j, 0] < y or (runs[j, 0] == y and runs[j, 2] + reach < runs[i, 1])):
                j += 1
            k = j
            while k < n and runs[k, 0] == y and runs[k, 1] <= runs[i, 2] + reach:
                if kinds[i] == kinds[k]:
                    _unite_runs(blob, i, k)
                k += 1
    count = 0
    for i in range(n):  # a root comes before all that point to it
        if blob[i] == i:
            blob[i] = count
            count += 1
        else:
            blob[i] = blob[blob[i]]
    return count


@inline_kernel
def _start_sums(
    runs: NDArray[np.int32], kinds: NDArray[np.uint8], blob: NDArray[np.int32], n_blobs: int, sums: NDArray[np.float64]
) -> None:
    """Clear the sums; write areas, bounding boxes and kinds; sums (at least n_blobs, 13)."""
    sums[:n_blobs, :] = 0.0
    sums[:n_blobs, X0], sums[:n_blobs, Y0] = 1e9, 1e9
    for i in range(len(runs)):
        s = sums[blob[i]]
        s[AREA] += runs[i, 2] - runs[i, 1] + 1
        s[X0], s[X1] = min(s[X0], runs[i, 1]), max(s[X1], runs[i, 2])
        s[Y0], s[Y1] = min(s[Y0], runs[i, 0]), max(s[Y1], runs[i, 0])
        s[KIND] = kinds[i]


@kernel
def _sum_blobs(
    image: NDArray[np.uint8],
    runs: NDArray[np.int32],
    kinds: NDArray[np.uint8],
    level: float,
    weights: NDArray[np.uint8],
    gap: int,
    blob: NDArray[np.int32],
    sums: NDArray[np.float64],
) -> int:
    """Join runs and sum their pixels by blob; return the number of blobs.

    A pixel's weight is max(brightest channel - level, 0), or by the table of colours where there is one: weights (32, 32, 32),
    else (0, 0, 0).
    """
    n = _join_runs(runs, kinds, gap, blob)
    _start_sums(runs, kinds, blob, n, sums)
    by_color = len(weights) > 0
    for i in range(len(runs)):
        w, wx, b, g, r, peak = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        row = image[runs[i, 0]]
        for x in range(runs[i, 1], runs[i, 2] + 1):
            if by_color:
                weight = float(weights[row[x, 0] >> 3, row[x, 1] >> 3, row[x, 2] >> 3])
            else:
                weight = max(float(max(row[x, 0], row[x, 1], row[x, 2])) - level, 0.0)
            w += weight
            wx += weight * x
            b += weight * row[x, 0]
            g += weight * row[x, 1]
            r += weight * row[x, 2]
            peak = max(peak, weight)
        s = sums[blob[i]]
        s[W] += w
        s[X] += wx
        s[Y] += w * runs[i, 0]
        s[B] += b
        s[G] += g
        s[R] += r
        s[PEAK] = max(s[PEAK], peak)
    return n


@kernel
def _has_elongated(sums: NDArray[np.float64], ratio: float) -> bool:
    """Return whether the sides of some bounding box differ by more than a ratio."""
    for i in range(len(sums)):
        width, height = sums[i, X1] - sums[i, X0] + 1.0, sums[i, Y1] - sums[i, Y0] + 1.0
        if max(width, height) > ratio * min(width, height):
            return True
    return False
