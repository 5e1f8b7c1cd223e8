"""The kernels of the search: distances (Chai & Hodgins 2005, eq. 2), the K best, the exhaustive search, the lists, the walk."""

import math

import numpy as np
from numpy.typing import NDArray

from config.jit import kernel
from database.rotations import Floats

Singles = NDArray[np.float32]
Rows = NDArray[np.int64]
# A query as the kernels take it: marker coordinates (3M,) and weights (3M,); markers on rays (R,) and directions times the
# root of the weight (R, 3); pose coordinates and weights, (D,) or both (0,). What weighs nothing is zero.
KernelQuery = tuple[Singles, Singles, Rows, Singles, Singles, Singles]
Feature = tuple[Singles, Singles]  # markers (N, 3M) and poses (N, D)
Edges = tuple[NDArray[np.int64], NDArray[np.int32]]  # first entry of every pose's row (N + 1,), neighbours (E,)
ListArrays = tuple[Singles, NDArray[np.int64], NDArray[np.int32], Singles]  # as the fields of `reconstruct.lists.Lists`
RawQuery = tuple[Floats, Floats, Floats, Floats, Floats]  # markers (M, 3), weights (M,), rays (M, 3) or (0, 3), pose and weights
# Memory of a walk: stamps (N,) uint8 of the last walk that examined a pose; poses that hand on their neighbours, (B,), and
# their distances, (B,).
Work = tuple[NDArray[np.uint8], Rows, Singles]
ListWork = tuple[Singles, Rows, Singles]  # memory of a look into lists: distances of centres, nearest lists and theirs, (L,) each
NOT_FINITE, NEGATIVE = -1, -2
HUGE = 1e15  # squares of larger numbers are infinite in single precision, or near it


@kernel
def _prepare(raw: RawQuery, out: KernelQuery) -> int:
    """Bring a query to the form of the kernels; what weighs nothing may hold anything.

    out: with room for M markers on rays. Gives their number, or NOT_FINITE or NEGATIVE where a query holds such things.
    """
    marker_m, weight, ray, pose, pose_weight = raw
    q, w, on_ray, rays, pose_out, pose_weight_out = out
    n_rays = 0
    for m in range(weight.shape[0]):
        if weight[m] < 0.0:
            return NEGATIVE
        along, length2 = 0.0, 0.0
        for i in range(3):
            x = marker_m[m, i] if weight[m] != 0.0 else 0.0
            d = ray[m, i] if ray.shape[0] > 0 and weight[m] != 0.0 else 0.0
            if not (abs(x) <= HUGE and abs(d) <= HUGE and weight[m] <= HUGE):
                return NOT_FINITE
            along += x * d
            length2 += d * d
            q[3 * m + i], w[3 * m + i] = x, weight[m]
            if ray.shape[0] > 0:
                rays[n_rays, i] = d * math.sqrt(weight[m])
        if length2 > 0.0:
            # The ray's point nearest the root, so that single precision subtracts no large squares.
            for i in range(3):
                q[3 * m + i] = marker_m[m, i] - along * ray[m, i]
            on_ray[n_rays] = m
            n_rays += 1
    for i in range(pose.shape[0]):
        if pose_weight[i] < 0.0:
            return NEGATIVE
        x = pose[i] if pose_weight[i] != 0.0 else 0.0
        if not (abs(x) <= HUGE and pose_weight[i] <= HUGE):
            return NOT_FINITE
        pose_out[i], pose_weight_out[i] = x, pose_weight[i]
    return n_rays


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
def _probe(lists: ListArrays, query: KernelQuery, n_lists: int, work: ListWork, rows: Rows, best: Singles) -> tuple[int, int]:
    """Write the K poses with the nearest markers in the nearest lists, as a heap; gives how many there are, and were examined.

    Lists that hold nothing do not count; twice as many are taken until they hold K poses.
    """
    center_m, start, row, marker_m = lists
    squared, chosen, chosen_squared = work
    n_centers = center_m.shape[0]
    for center in range(n_centers):
        squared[center] = _marker_distance(center_m, center, query)
    while True:
        n_lists = min(n_lists, n_centers)
        n_chosen, n_examined = 0, 0
        for center in range(n_centers):
            if start[center + 1] > start[center] and (n_chosen < n_lists or squared[center] < chosen_squared[0]):
                n_chosen = _push(chosen[:n_lists], chosen_squared[:n_lists], n_chosen, center, squared[center])
        for i in range(n_chosen):
            n_examined += start[chosen[i] + 1] - start[chosen[i]]
        if n_examined >= rows.shape[0] or n_lists == n_centers:
            break
        n_lists *= 2
    size = 0
    for k in range(n_chosen):
        for i in range(start[chosen[k]], start[chosen[k] + 1]):
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


@kernel
def _sort(rows: Rows, distances: Singles, size: int) -> None:
    """Sort a heap, nearest first, the lower row first of equals."""
    for end in range(size - 1, 0, -1):
        row, d = rows[0], distances[0]
        _push(rows[:end], distances[:end], end, rows[end], distances[end])
        rows[end], distances[end] = row, d
    for i in range(1, size):  # only equals are not in order yet
        k = i
        while k > 0 and distances[k - 1] == distances[k] and rows[k - 1] > rows[k]:
            rows[k - 1], rows[k] = rows[k], rows[k - 1]
            k -= 1


@kernel
def _search(
    feature: Feature,
    edges: Edges,
    lists: ListArrays,
    raw: RawQuery,
    n_lists: int,
    memory: tuple[Work, ListWork, KernelQuery, Rows, Singles],
    stamp: int,
    out: tuple[Rows, Rows, Singles],
) -> tuple[int, int]:
    """Write the best K, nearest first, to rows and distances (K,); gives how many were found and examined, or what is wrong.

    memory: of walk, lists and query; seeds (S + K,) that begin with the S last neighbours, and distances (K,) of what lists hold.
    out: the last neighbours (S,), rows and distances. Lists without centres are not looked into.
    """
    work, list_work, query, seeds, found = memory
    last, rows, distances = out
    n_rays = _prepare(raw, query)
    if n_rays < 0:
        return n_rays, 0
    q, w, on_ray, rays, pose, pose_weight = query
    known = (q, w, on_ray[:n_rays], rays[:n_rays], pose[: raw[3].shape[0]], pose_weight[: raw[3].shape[0]])
    n_last, size, n_looked_at = last.shape[0], 0, 0
    for i in range(n_last):
        seeds[i] = last[i]
    if lists[0].shape[0] > 0:
        size, n_looked_at = _probe(lists, known, n_lists, list_work, seeds[n_last : n_last + rows.shape[0]], found)
    n_found, n_walked = _walk(feature, edges, known, seeds[: n_last + size], work, stamp, rows, distances)
    _sort(rows, distances, n_found)
    return n_found, n_looked_at + n_walked
