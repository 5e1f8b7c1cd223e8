"""Inverted lists: the examples sorted into groups of alike markers, to find near ones with no last frame to go by.

The centres are learned by k-means (Lloyd 1982) over the markers at the default root alone, on a sample; there are four times as
many as the square root of the number of poses. A query looks into the lists of its nearest centres. Unlike a general index it
compares with the query's own weights: markers that are not seen and depths that one camera cannot tell count for nothing, in the
centres as in the poses.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from config.jit import kernel
from reconstruct.search_kernels import KernelQuery, ListArrays, ListWork, Rows, Singles, _nearest_lists

LISTS_PER_ROOT = 4.0  # lists by the square root of the number of poses
SAMPLES_PER_LIST = 32
ITERATIONS = 5


@dataclass(frozen=True, slots=True)
class Lists:
    """Poses by list: those of list l are `row[start[l]:start[l + 1]]`, ascending.

    center_m: mean markers of each list, (L, 3M) float32 [m]; start: (L + 1,) int64; row: poses, (N,) int32; marker_m: their
    markers in the same order, (N, 3M) float32 [m], so that a list is read in one go.
    """

    center_m: Singles
    start: NDArray[np.int64]
    row: NDArray[np.int32]
    marker_m: Singles

    def __len__(self) -> int:
        return len(self.center_m)

    @property
    def arrays(self) -> ListArrays:
        """All of it, as the kernels take it."""
        return self.center_m, self.start, self.row, self.marker_m


@kernel
def _nearest_centers(marker_m: Singles, columns: Singles, squared: Singles, out: NDArray[np.int32]) -> None:
    """Write the nearest centre of every pose, (N,), the first of equals; columns: centres, (3M, L); squared: memory, (L,)."""
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
    """Sort poses into lists by their markers, (N, 3M) float32 [m]; the same for the same seed."""
    n = len(marker_m)
    n_lists = min(n, max(1, round(LISTS_PER_ROOT * math.sqrt(n))) if n_lists is None else n_lists)
    rng = np.random.default_rng(seed)
    sample = marker_m[np.sort(rng.choice(n, min(n, SAMPLES_PER_LIST * n_lists), replace=False))]
    center = sample[np.sort(rng.choice(len(sample), n_lists, replace=False))]
    for _ in range(ITERATIONS):
        center = _means(sample, assigned(sample, center), center)
    owner = assigned(marker_m, center)
    row = np.argsort(owner, kind="stable").astype(np.int32)
    start = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=n_lists))]).astype(np.int64)
    lists = Lists(center, start, row, np.ascontiguousarray(marker_m[row]))
    for array in lists.arrays:
        array.setflags(write=False)
    return lists


def assigned(marker_m: Singles, center_m: Singles) -> NDArray[np.int32]:
    """Give the nearest centre of every pose, (N,), the first of equals."""
    out = np.empty(len(marker_m), np.int32)
    columns = np.ascontiguousarray(center_m.T)
    _nearest_centers(marker_m, columns, np.empty(len(center_m), np.float32), out)
    return out


def _means(marker_m: Singles, owner: NDArray[np.int32], center_m: Singles) -> Singles:
    """Give each centre's mean pose; a centre that owns none stays where it was."""
    count = np.bincount(owner, minlength=len(center_m))
    columns = [np.bincount(owner, column, minlength=len(center_m)) for column in marker_m.T]
    mean = np.stack(columns, axis=1) / np.maximum(count, 1)[:, None]
    return np.ascontiguousarray(np.where(count[:, None] > 0, mean, center_m), np.float32)


def nearest_lists(lists: Lists, query: KernelQuery, n_lists: int, wanted: int = 1) -> Rows:
    """Give the lists whose centres are nearest to a query, nearest first; more if they hold fewer than `wanted` poses."""
    memory = list_memory(len(lists))
    return memory[1][: _nearest_lists(lists.arrays, query, n_lists, wanted, memory)]


def list_memory(n_lists: int) -> ListWork:
    """Give the memory of a look into lists."""
    return np.empty(n_lists, np.float32), np.empty(n_lists, np.int64), np.empty(n_lists, np.float32)
