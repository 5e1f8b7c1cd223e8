"""Blobs from runs of foreground pixels: union by rows, then weighted centres, area, colour and how well the centre is known."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from capture.background import Image
from capture.foreground import GAP_PX, MAX_RUNS
from config.jit import kernel

Floats = NDArray[np.float64]
# Sums of a blob: weight, x, y, weighted blue, green, red, area, brightest weight, x first and last, y first and last, class.
N_SUMS = 13
W, X, Y, B, G, R, AREA, PEAK, X0, X1, Y0, Y1, KIND = range(N_SUMS)


@dataclass(frozen=True, slots=True)
class RawBlobs:
    """What blobs are made of, before choosing among them: one row of sums a blob, (N, 13), columns W .. KIND."""

    sums: Floats

    def __len__(self) -> int:
        return len(self.sums)

    @property
    def center_px(self) -> Floats:
        """Weighted centres, (N, 2) [px]; the centre of the top left pixel is (0, 0)."""
        return np.asarray(self.sums[:, X : Y + 1] / self.sums[:, W : W + 1])

    @property
    def color_rgb(self) -> Floats:
        """Weighted mean colour, (N, 3) 0-255."""
        return np.asarray(self.sums[:, [R, G, B]] / self.sums[:, W : W + 1])

    @property
    def extent_px(self) -> Floats:
        """Width and height of the bounding box, (N, 2) [px]."""
        return np.asarray(self.sums[:, [X1, Y1]] - self.sums[:, [X0, Y0]] + 1.0)

    @property
    def elongation(self) -> Floats:
        """Longer by shorter side of the bounding box, (N,)."""
        extent = self.extent_px
        return np.asarray(extent.max(axis=1) / extent.min(axis=1))

    def touches_border(self, size: tuple[int, int]) -> NDArray[np.bool_]:
        """Mark blobs cut by the edge of the image, (N,)."""
        s = self.sums
        return np.asarray((s[:, X0] <= 0) | (s[:, Y0] <= 0) | (s[:, X1] >= size[0] - 1) | (s[:, Y1] >= size[1] - 1))

    def inside(self, other: "RawBlobs") -> NDArray[np.int64]:
        """Give for each blob the other whose bounding box its own lies in, (N,), -1 for none."""
        a, b = self.sums[:, None], other.sums[None]
        within = (a[..., X0] >= b[..., X0]) & (a[..., X1] <= b[..., X1]) & (a[..., Y0] >= b[..., Y0]) & (a[..., Y1] <= b[..., Y1])
        return np.where(within.any(axis=1), within.argmax(axis=1), -1) if len(other) else np.full(len(self), -1)

    def chosen(self, mask: NDArray[np.bool_]) -> "RawBlobs":
        """Keep the marked blobs."""
        return RawBlobs(self.sums[mask])


class BlobMaker:
    """Turn runs into blobs with buffers of its own."""

    def __init__(self) -> None:
        self._blob = np.empty(MAX_RUNS, np.int32)
        self._kinds = np.zeros(MAX_RUNS, np.uint8)
        self._sums = np.empty((MAX_RUNS, N_SUMS))

    def bright_blobs(self, image: Image, runs: NDArray[np.int32], level: float, gap_px: int = 0) -> RawBlobs:
        """Join runs (R, 3) and weight every pixel by how far its brightest channel is above `level`, below every run's pixels."""
        kinds = self._kinds[: len(runs)]
        sums = self._sums[: _join(runs, kinds, gap_px, self._blob)]
        _sum_bright(image, runs, kinds, self._blob, level, sums)
        return RawBlobs(sums.copy())

    def colored_blobs(self, image: Image, runs: NDArray[np.int32], kinds: NDArray[np.uint8], weights: Image) -> RawBlobs:
        """Join runs (R, 3) of one kind (R,) and weight every pixel by the table (32, 32, 32) of its colour BGR."""
        sums = self._sums[: _join(runs, kinds, GAP_PX, self._blob)]
        _sum_colored(image, runs, kinds, self._blob, weights, sums)
        return RawBlobs(sums.copy())


def colored_runs(
    image: Image, runs: NDArray[np.int32], kinds: Image, out: NDArray[np.int32], out_kinds: NDArray[np.uint8]
) -> int:
    """Split foreground runs into runs of one marker colour by a table (32, 32, 32) of kinds, 0 for none.

    Fills out (K, 3) and out_kinds (K,) and returns how many; those that do not fit are left out.
    """
    return int(_colored_runs(image, runs, kinds, out, out_kinds))


def brighter_runs(image: Image, runs: NDArray[np.int32], threshold: int, out: NDArray[np.int32]) -> int:
    """Split foreground runs into runs brighter than a threshold; fills out (K, 3), returns how many."""
    return int(_brighter_runs(image, runs, threshold, 0, out))


@kernel
def _brighter_runs(image: NDArray[np.uint8], runs: NDArray[np.int32], threshold: int, gap: int, out: NDArray[np.int32]) -> int:
    """Scan the runs' pixels; start a new run after more than `gap` dimmer ones."""
    n = 0
    for i in range(len(runs)):
        y, last = runs[i, 0], -2 - gap
        for x in range(runs[i, 1], runs[i, 2] + 1):
            if max(image[y, x, 0], image[y, x, 1], image[y, x, 2]) <= threshold:
                continue
            if x - last > 1 + gap:
                if n == len(out):
                    return n
                out[n, 0], out[n, 1] = y, x
                n += 1
            out[n - 1, 2] = x
            last = x
    return n


@kernel
def _colored_runs(
    image: NDArray[np.uint8],
    runs: NDArray[np.int32],
    kinds: NDArray[np.uint8],
    out: NDArray[np.int32],
    out_kinds: NDArray[np.uint8],
) -> int:
    """Scan the runs' pixels; start a new run where the kind changes."""
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


@kernel
def _root(parent: NDArray[np.int32], i: int) -> int:
    """Find the representative of a run, halving the path on the way."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@kernel
def _join(runs: NDArray[np.int32], kinds: NDArray[np.uint8], gap: int, blob: NDArray[np.int32]) -> int:
    """Unite runs of one kind that are no more than `gap` pixels apart; blob[i] becomes the blob of run i. Returns how many."""
    n, start = len(runs), 0
    for i in range(n):
        blob[i] = i
        while runs[start, 0] < runs[i, 0] - 1 - gap:
            start += 1
        for j in range(start, i):
            apart = runs[i, 1] > runs[j, 2] + 1 + gap or runs[j, 1] > runs[i, 2] + 1 + gap
            if apart or kinds[i] != kinds[j]:
                continue
            a, b = _root(blob, i), _root(blob, j)
            blob[max(a, b)] = min(a, b)
    count = 0
    for i in range(n):  # a root comes before all that point to it, so one pass numbers them
        if blob[i] == i:
            blob[i] = count
            count += 1
        else:
            blob[i] = blob[blob[i]]
    return count


@kernel
def _add(sums: NDArray[np.float64], pixel: NDArray[np.uint8], x: int, y: int, weight: float) -> None:
    """Add one pixel to the sums of a blob (13,)."""
    sums[0] += weight
    sums[1] += weight * x
    sums[2] += weight * y
    sums[3] += weight * pixel[0]
    sums[4] += weight * pixel[1]
    sums[5] += weight * pixel[2]
    sums[6] += 1.0
    sums[7] = max(sums[7], weight)


@kernel
def _open(runs: NDArray[np.int32], kinds: NDArray[np.uint8], blob: NDArray[np.int32], sums: NDArray[np.float64]) -> None:
    """Clear the sums, then fill bounding boxes and kinds; sums (n_blobs, 13)."""
    sums[:, :] = 0.0
    sums[:, 8], sums[:, 10] = 1e9, 1e9
    for i in range(len(runs)):
        s = sums[blob[i]]
        s[8], s[9] = min(s[8], runs[i, 1]), max(s[9], runs[i, 2])
        s[10], s[11] = min(s[10], runs[i, 0]), max(s[11], runs[i, 0])
        s[12] = kinds[i]


@kernel
def _sum_bright(
    image: NDArray[np.uint8],
    runs: NDArray[np.int32],
    kinds: NDArray[np.uint8],
    blob: NDArray[np.int32],
    level: float,
    sums: NDArray[np.float64],
) -> None:
    """Sum pixels by blob, weight = brightest channel - level, not below 0."""
    _open(runs, kinds, blob, sums)
    for i in range(len(runs)):
        y, s = runs[i, 0], sums[blob[i]]
        for x in range(runs[i, 1], runs[i, 2] + 1):
            pixel = image[y, x]
            brightest = float(max(pixel[0], pixel[1], pixel[2]))
            _add(s, pixel, x, y, max(brightest - level, 0.0))


@kernel
def _sum_colored(
    image: NDArray[np.uint8],
    runs: NDArray[np.int32],
    kinds: NDArray[np.uint8],
    blob: NDArray[np.int32],
    weights: NDArray[np.uint8],
    sums: NDArray[np.float64],
) -> None:
    """Sum pixels by blob, weight from the table of the pixel's colour."""
    _open(runs, kinds, blob, sums)
    for i in range(len(runs)):
        y, s = runs[i, 0], sums[blob[i]]
        for x in range(runs[i, 1], runs[i, 2] + 1):
            pixel = image[y, x]
            _add(s, pixel, x, y, float(weights[pixel[0] >> 3, pixel[1] >> 3, pixel[2] >> 3]))
