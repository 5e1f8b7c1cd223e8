"""The kernels of the search: distances (Chai & Hodgins 2005, eq. 2), the K best, the exhaustive search, the lists, the walk."""

import numpy as np
from numpy.typing import NDArray

from config.jit import kernel

Singles = NDArray[np.float32]
Rows = NDArray[np.int64]
# A query as the kernels take it: marker coordinates (3M,) and weights (3M,); markers on rays (R,) and directions times the
# root of the weight (R, 3); pose coordinates and weights, (D,) or both (0,). What weighs nothing is zero.
KernelQuery = tuple[Singles, Singles, Rows, Singles, Singles, Singles]
Feature = tuple[Singles, Singles]  # markers (N, 3M) and poses (N, D)
Edges = tuple[NDArray[np.int64], NDArray[np.int32]]  # first entry of every pose's row (N + 1,), neighbours (E,)
ListArrays = tuple[Singles, NDArray[np.int64], NDArray[np.int32], Singles]  # as the fields of `reconstruct.lists.Lists`
# Memory of a walk: stamps (N,) int32 of the last walk that examined a pose; poses that hand on their neighbours, (B,), and
# their distances, (B,).
Work = tuple[NDArray[np.int32], Rows, Singles]


@kernel
def _marker_distance(markers: Singles, row: int | np.signedinteger, query: KernelQuery) -> np.float32:
    """Give the part of the squared distance that the markers make, those on rays across their ray only."""
    q, w, on_ray, ray, _, _ = query
    s = np.float32(0.0)
    for i in range(q.shape[0]):
        e = markers[row, i] - q[i]
        s += w[i] * e * e
    for r in range(on_ray.shape[0]):
        along = np.float32(0.0)
        for i in range(3):
            along += ray[r, i] * (markers[row, 3 * on_ray[r] + i] - q[3 * on_ray[r] + i])
        s = max(s - along * along, np.float32(0.0))
    return s


@kernel
def _pose_distance(poses: Singles, row: int | np.signedinteger, query: KernelQuery) -> np.float32:
    """Give the part of the squared distance that the joints make."""
    _, _, _, _, pose, weight = query
    s = np.float32(0.0)
    for i in range(pose.shape[0]):
        e = poses[row, i] - pose[i]
        s += weight[i] * e * e
    return s


@kernel
def _distances(feature: Feature, query: KernelQuery, out: Singles) -> None:
    """Write the squared distances of all poses, (N,)."""
    markers, poses = feature
    for row in range(out.shape[0]):
        out[row] = _marker_distance(markers, row, query) + _pose_distance(poses, row, query)


@kernel
def _within(feature: Feature, query: KernelQuery, bound: float, rows: Rows, out: Singles) -> int:
    """Write rows at most `bound` away and their distances, and give their number; the pose only where the markers let it."""
    markers, poses = feature
    n_found = 0
    limit = np.float32(bound)
    for row in range(markers.shape[0]):
        s = _marker_distance(markers, row, query)
        if s > limit:
            continue
        s += _pose_distance(poses, row, query)
        if s <= limit:
            rows[n_found] = row
            out[n_found] = s
            n_found += 1
    return n_found


@kernel
def _push(rows: Rows, distances: Singles, size: int, row: int | np.signedinteger, d: np.float32) -> int:
    """Put a pose into a heap of at most K, the farthest on top, in place of the top if it is full; gives the new size."""
    if size < rows.shape[0]:
        child = size
        while child > 0:
            parent = (child - 1) >> 1
            if distances[parent] >= d:
                break
            rows[child], distances[child] = rows[parent], distances[parent]
            child = parent
        rows[child], distances[child] = row, d
        return size + 1
    hole = 0
    while True:
        child = 2 * hole + 1
        if child >= size:
            break
        if child + 1 < size and distances[child + 1] > distances[child]:
            child += 1
        if distances[child] <= d:
            break
        rows[hole], distances[hole] = rows[child], distances[child]
        hole = child
    rows[hole], distances[hole] = row, d
    return size


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


@kernel
def _probe(lists: ListArrays, query: KernelQuery, n_lists: int, squared: Singles, rows: Rows, best: Singles) -> tuple[int, int]:
    """Write the K poses with the nearest markers in the nearest lists, as a heap; gives how many there are, and were examined.

    squared: memory, (L,). Lists are taken until `n_lists` held something and K poses were seen.
    """
    center_m, start, row, marker_m = lists
    for center in range(center_m.shape[0]):
        squared[center] = _marker_distance(center_m, center, query)
    size, n_examined, n_probed = 0, 0, 0
    for _ in range(center_m.shape[0]):
        if n_probed >= n_lists and n_examined >= rows.shape[0]:
            break
        nearest = np.argmin(squared)
        squared[nearest] = np.inf
        if start[nearest + 1] > start[nearest]:
            n_probed += 1
        for i in range(start[nearest], start[nearest + 1]):
            n_examined += 1
            d = _marker_distance(marker_m, i, query)
            if size < rows.shape[0] or d < best[0]:
                size = _push(rows, best, size, np.int64(row[i]), d)
    return size, n_examined


@kernel
def _walk(
    feature: Feature, edges: Edges, query: KernelQuery, seeds: Rows, work: Work, stamp: int, rows: Rows, distances: Singles
) -> tuple[int, int]:
    """Write the best K to rows and distances (K,), as a heap; gives how many were found and how many poses were examined.

    First the seeds, then the neighbours of each of them and of each pose found that is among the K best when its turn comes; a
    pose is examined once. Where `work` is full no more poses hand on their neighbours.
    """
    start, neighbour = edges
    stamps, queue, queued = work
    size, n_queued, n_done, n_examined = 0, 0, 0, 0
    limit = np.float32(np.inf)
    here, end, seeding = 0, seeds.shape[0], True
    while True:
        while here < end:
            row = seeds[here] if seeding else np.int64(neighbour[here])
            here += 1
            if stamps[row] == stamp:
                continue
            stamps[row] = stamp
            n_examined += 1
            d = _marker_distance(feature[0], row, query)
            if d < limit:
                d += _pose_distance(feature[1], row, query)
            if d >= limit:
                continue
            size = _push(rows, distances, size, row, d)
            if size == rows.shape[0]:
                limit = distances[0]
            if n_queued < queue.shape[0]:
                queue[n_queued], queued[n_queued] = row, d
                n_queued += 1
        seeding = False
        while n_done < n_queued and queued[n_done] > limit:
            n_done += 1
        if n_done == n_queued:
            return size, n_examined
        here, end = start[queue[n_done]], start[queue[n_done] + 1]
        n_done += 1
