"""Inverted lists: the examples grouped by similar markers, to find near poses without a previous frame.

The centres are learned by k-means (Lloyd 1982) on a sample of the markers at the default root; there are four times as many as
the square root of the number of poses. A query looks into the lists of its nearest centres. Unlike a general index it compares
with the query's own weights: hidden markers and the depth along a ray count neither in the centres nor in the poses.
"""

import math

import numpy as np
from numpy.typing import NDArray

from config.arrays import Singles, read_only
from config.jit import kernel
from reconstruct.search.kernels import Lists

LISTS_PER_ROOT = 4.0  # lists by the square root of the number of poses
SAMPLES_PER_LIST = 32
ITERATIONS = 5


@kernel
def _nearest_centers(marker_m: Singles, columns: Singles, squared: Singles, out: NDArray[np.int32]) -> None:
    """Write the nearest centre of every pose, (N,), the first of equals; columns: centres, (3M, L); squared: work, (L,)."""
    for n in range(marker_m.shape[0]):
        for center in range(columns.shape[1]):
            squared[center] = np.float32(0.0)
        for i in range(columns.shape[0]):
            x = marker_m[n, i]
            for center in range(columns.shape[1]):
                e = columns[i, center] - x
                squared[center] += e * e
        best = 0
        for center in range(1, columns.shape[1]):
            if squared[center] < squared[best]:
                best = center
        out[n] = best


def build_lists(marker_m: Singles, n_lists: int | None = None, seed: int = 0) -> Lists:
    """Group poses by their markers, (N, 3M) float32 [m]; deterministic for a given seed.

    n_lists: number of lists, LISTS_PER_ROOT times the root of N if None.
    """
    n = len(marker_m)
    n_lists = min(n, max(1, round(LISTS_PER_ROOT * math.sqrt(n))) if n_lists is None else n_lists)
    rng = np.random.default_rng(seed)
    sample = marker_m[np.sort(rng.choice(n, min(n, SAMPLES_PER_LIST * n_lists), replace=False))]
    center = sample[np.sort(rng.choice(len(sample), n_lists, replace=False))]
    for _ in range(ITERATIONS):
        center = _means(sample, assign_centers(sample, center), center)
    owner = assign_centers(marker_m, center)
    row = np.argsort(owner, kind="stable").astype(np.int32)
    start = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=n_lists))]).astype(np.int64)
    lists = Lists(center, start, row, np.ascontiguousarray(marker_m[row]))
    for array in lists:
        array.setflags(write=False)
    return lists


def assign_centers(marker_m: Singles, center_m: Singles) -> NDArray[np.int32]:
    """Return the nearest of centres (L, 3M) for every pose (N, 3M), (N,), the first of equals."""
    out = np.empty(len(marker_m), np.int32)
    columns = np.ascontiguousarray(center_m.T)
    _nearest_centers(read_only(marker_m), read_only(columns), np.empty(len(center_m), np.float32), out)
    return out


def _means(marker_m: Singles, owner: NDArray[np.int32], center_m: Singles) -> Singles:
    """Return each centre's mean pose; a centre without poses stays where it was."""
    count = np.bincount(owner, minlength=len(center_m))
    columns = [np.bincount(owner, column, minlength=len(center_m)) for column in marker_m.T]
    mean = np.stack(columns, axis=1) / np.maximum(count, 1)[:, None]
    return np.ascontiguousarray(np.where(count[:, None] > 0, mean, center_m), np.float32)
