"""Kernels of a heap: the K nearest poses of all that are offered."""

from typing import NamedTuple

import numpy as np

from config.arrays import Ints, Singles
from config.jit import inline_kernel, kernel


class Best(NamedTuple):
    """Poses and their squared distances: a heap with the farthest on top, or a queue."""

    rows: Ints
    squared: Singles


@inline_kernel
def allocate_best(size: int) -> Best:
    """Return room for poses and their distances."""
    return Best(np.empty(size, np.int64), np.empty(size, np.float32))


@kernel
def push_pose(rows: Ints, squared: Singles, size: int, row: int | np.signedinteger, d: np.float32) -> int:
    """Put a pose into a heap of at most K, in place of the farthest if it is full; return the new size.

    Args:
        rows: rows of the heap, (K,); changed.
        squared: distances of these, (K,); changed.
        size: poses in the heap.
        row: row of the pose.
        d: squared distance of the pose.
    """
    if size < rows.shape[0]:
        child = size
        while child > 0:
            parent = (child - 1) >> 1
            if squared[parent] >= d:
                break
            rows[child], squared[child] = rows[parent], squared[parent]
            child = parent
        rows[child], squared[child] = row, d
        return size + 1
    hole = 0
    while True:
        child = 2 * hole + 1
        if child >= size:
            break
        if child + 1 < size and squared[child + 1] > squared[child]:
            child += 1
        if squared[child] <= d:
            break
        rows[hole], squared[hole] = rows[child], squared[child]
        hole = child
    rows[hole], squared[hole] = row, d
    return size


@kernel
def sort_heap(rows: Ints, squared: Singles, size: int) -> None:
    """Sort a heap, nearest first; of equal distances the lower row first.

    Args:
        rows: rows of the heap, (K,); changed.
        squared: distances of these, (K,); changed.
        size: poses in the heap.
    """
    for end in range(size - 1, 0, -1):
        row, d = rows[0], squared[0]
        push_pose(rows[:end], squared[:end], end, rows[end], squared[end])
        rows[end], squared[end] = row, d
    for i in range(1, size):  # only equal distances are not in order yet
        k = i
        while k > 0 and squared[k - 1] == squared[k] and rows[k - 1] > rows[k]:
            rows[k - 1], rows[k] = rows[k], rows[k - 1]
            k -= 1
