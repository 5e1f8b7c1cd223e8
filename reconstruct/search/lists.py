"""Inverted lists: the examples grouped by similar markers, to find near poses without a previous frame.

The centres are learned by k-means (Lloyd 1982) on a sample of the markers at the default root; there are four times as many as
the square root of the number of poses. A query looks into the lists of its nearest centres. Unlike a general index it compares
with the query's own weights: hidden markers and the depth along a ray count neither in the centres nor in the poses.

Of very many poses the lists are smaller and in groups: a query looks for the nearest groups, then for the nearest lists in them,
and so compares with fewer centres, and with fewer poses that are not near.
"""

import math
import os
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from config.arrays import Ints, Singles, make_read_only
from config.jit import kernel
from reconstruct.search.kernels import Lists

LISTS_PER_ROOT = 4.0  # lists by the square root of the number of poses
SAMPLES_PER_LIST = 32
ITERATIONS = 5
BLOCK = 1 << 14  # poses assigned by one thread at once
MAX_THREADS = 4
GROUPS_FROM = 1_000_000  # poses; then as many groups as their root
LISTS_PER_GROUP = 32


@kernel
def _find_nearest_centers(marker_m: Singles, columns: Singles, squared: Singles, out: NDArray[np.int32]) -> None:
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


def describe_lists_recipe() -> str:
    """Return what lists depend on beside the markers and the seed."""
    return f"{LISTS_PER_ROOT} {SAMPLES_PER_LIST} {ITERATIONS} {GROUPS_FROM} {LISTS_PER_GROUP}"


def build_lists(marker_m: Singles, n_lists: int | None = None, seed: int = 0) -> Lists:
    """Build lists of poses by their markers, (N, 3M) float32 [m]; deterministic for a given seed.

    Args:
        marker_m: markers of the poses, (N, 3M) float32 [m].
        n_lists: number of lists, LISTS_PER_ROOT times the root of N if None.
        seed: seed of the random numbers.
    """
    center, start, row, group = group_markers(marker_m, n_lists, seed)
    lists = Lists(center, start, row, np.ascontiguousarray(marker_m[row]), group)
    for array in lists:
        array.setflags(write=False)
    return lists


def group_markers(
    marker_m: Singles, n_lists: int | None = None, seed: int = 0
) -> tuple[Singles, Ints, NDArray[np.int32], Singles]:
    """Return the lists of poses without their markers: centre, start, row and group as in `Lists`; arguments as of `build_lists`.

    Memory is taken for a sample of the poses and for 16 bytes of each, so `marker_m` may be mapped from a file.

    Args:
        marker_m: markers of the poses, (N, 3M) float32 [m].
        n_lists: number of lists, LISTS_PER_ROOT times the root of N if None.
        seed: seed of the random numbers.
    """
    n = len(marker_m)
    in_groups = n_lists is None and n >= GROUPS_FROM
    if n_lists is None:
        n_lists = max(1, round((1.0 if in_groups else LISTS_PER_ROOT) * math.sqrt(n)))
    n_lists = min(n, n_lists)
    rng = np.random.default_rng(seed)
    sample = marker_m[np.sort(rng.choice(n, min(n, SAMPLES_PER_LIST * n_lists), replace=False))]
    center = sample[np.sort(rng.choice(len(sample), n_lists, replace=False))]
    for _ in range(ITERATIONS):
        center = _compute_means(sample, assign_centers(sample, center), center)
    owner = assign_centers(marker_m, center)
    row = np.argsort(owner, kind="stable").astype(np.int32)
    start = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=n_lists))]).astype(np.int64)
    return (*divide_lists(marker_m, center, start, row), center) if in_groups else (center, start, row, center[:0])


def divide_lists(
    marker_m: Singles, center_m: Singles, start: Ints, row: NDArray[np.int32]
) -> tuple[Singles, Ints, NDArray[np.int32]]:
    """Divide each of some lists into LISTS_PER_GROUP by k-means of its own; return the centres, starts and rows of these.

    Args:
        marker_m: markers of the poses, (N, 3M) float32 [m].
        center_m: centres of the lists, (L, 3M) [m].
        start: beginning of each list in `row`, (L + 1,).
        row: poses, list by list, (N,).
    """
    centers, rows = np.repeat(center_m, LISTS_PER_GROUP, axis=0), row.copy()
    sizes = np.zeros(len(centers), np.int64)
    for k, (first, end) in enumerate(pairwise(start.tolist())):
        own = slice(LISTS_PER_GROUP * k, LISTS_PER_GROUP * (k + 1))
        poses = marker_m[row[first:end]]
        center = poses[np.linspace(0, end - first, LISTS_PER_GROUP, endpoint=False).astype(int)] if end > first else centers[own]
        for _ in range(ITERATIONS):
            center = _compute_means(poses, assign_centers(poses, center), center)
        owner = assign_centers(poses, center)
        rows[first:end] = row[first:end][np.argsort(owner, kind="stable")]
        centers[own], sizes[own] = center, np.bincount(owner, minlength=LISTS_PER_GROUP)
    return centers, np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), rows


def assign_centers(marker_m: Singles, center_m: Singles) -> NDArray[np.int32]:
    """Return the nearest of centres (L, 3M) for every pose (N, 3M), (N,), the first of equals; blocks of poses side by side."""
    poses, columns = make_read_only(marker_m), make_read_only(np.ascontiguousarray(center_m.T))
    out = np.empty(len(poses), np.int32)

    def assign(first: int) -> None:
        part = slice(first, first + BLOCK)
        _find_nearest_centers(poses[part], columns, np.empty(len(center_m), np.float32), out[part])

    blocks = range(0, len(poses), BLOCK)
    if len(blocks) < 2:
        assign(0)
        return out
    with ThreadPoolExecutor(min(os.cpu_count() or 1, MAX_THREADS, len(blocks))) as pool:
        for done in [pool.submit(assign, first) for first in blocks]:
            done.result()
    return out


def _compute_means(marker_m: Singles, owner: NDArray[np.int32], center_m: Singles) -> Singles:
    """Return each centre's mean pose; a centre without poses stays where it was."""
    count = np.bincount(owner, minlength=len(center_m))
    columns = [np.bincount(owner, column, minlength=len(center_m)) for column in marker_m.T]
    mean = np.stack(columns, axis=1) / np.maximum(count, 1)[:, None]
    return np.ascontiguousarray(np.where(count[:, None] > 0, mean, center_m), np.float32)
