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
Best = tuple[Rows, Singles]  # poses and their squared distances
Lengths = tuple[int, int, int]  # poses among the best, poses in the queue, poses examined
# Memory of a walk: stamps (N,) uint8 of the last walk that examined a pose; the queue of poses that hand on their neighbours,
# (B,); poses whose distances are computed together, (P,).
Work = tuple[NDArray[np.uint8], Best, Best]
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


# Distances are taken of many poses at a time: a call costs more than the distance of one pose.
@kernel
def _marker_distances(markers: Singles, query: KernelQuery, out: Singles) -> None:
    """Write the part of the squared distance that the markers make, (N,), those on rays across their ray only."""
    q, w, on_ray, ray, _, _ = query
    for row in range(markers.shape[0]):
        s = np.float32(0.0)
        for i in range(q.shape[0]):
            e = markers[row, i] - q[i]
            s += w[i] * e * e
        for r in range(on_ray.shape[0]):
            along = np.float32(0.0)
            for i in range(3):
                along += ray[r, i] * (markers[row, 3 * on_ray[r] + i] - q[3 * on_ray[r] + i])
            s = max(s - along * along, np.float32(0.0))
        out[row] = s


@kernel
def _marker_distances_of(markers: Singles, query: KernelQuery, rows: Rows, out: Singles) -> None:
    """Write the markers' part of the squared distance of some poses, (R,)."""
    q, w, on_ray, ray, _, _ = query
    for k in range(rows.shape[0]):
        row = rows[k]
        s = np.float32(0.0)
        for i in range(q.shape[0]):
            e = markers[row, i] - q[i]
            s += w[i] * e * e
        for r in range(on_ray.shape[0]):
            along = np.float32(0.0)
            for i in range(3):
                along += ray[r, i] * (markers[row, 3 * on_ray[r] + i] - q[3 * on_ray[r] + i])
            s = max(s - along * along, np.float32(0.0))
        out[k] = s


@kernel
def _add_pose_distances_of(poses: Singles, query: KernelQuery, rows: Rows, limit: np.float32, out: Singles) -> None:
    """Add the joints' part to the squared distance of some poses, (R,), where it is under `limit`."""
    pose, weight = query[4], query[5]
    for k in range(rows.shape[0]):
        if out[k] < limit:
            row = rows[k]
            s = np.float32(0.0)
            for i in range(pose.shape[0]):
                e = poses[row, i] - pose[i]
                s += weight[i] * e * e
            out[k] += s


@kernel
def _add_pose_distances(poses: Singles, query: KernelQuery, limit: np.float32, out: Singles) -> None:
    """Add the part of the squared distance that the joints make where `out`, (N,), is at most `limit`."""
    pose, weight = query[4], query[5]
    for row in range(out.shape[0]):
        if out[row] <= limit:
            s = np.float32(0.0)
            for i in range(pose.shape[0]):
                e = poses[row, i] - pose[i]
                s += weight[i] * e * e
            out[row] += s


@kernel
def _distances(feature: Feature, query: KernelQuery, limit: np.float32, out: Singles) -> None:
    """Write the squared distances of all poses, (N,); of those whose markers are farther than `limit`, the markers' part."""
    _marker_distances(feature[0], query, out)
    _add_pose_distances(feature[1], query, limit, out)


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
def _nearest_lists(lists: ListArrays, query: KernelQuery, n_lists: int, wanted: int, work: ListWork) -> int:
    """Write the lists with the nearest centres to `work`, nearest first, and give their number.

    Lists that hold nothing do not count; twice as many are taken until they hold `wanted` poses.
    """
    center_m, start = lists[0], lists[1]
    squared, chosen, chosen_squared = work
    n_centers = center_m.shape[0]
    _marker_distances(center_m, query, squared)
    while True:
        n_lists = min(n_lists, n_centers)
        n_chosen, n_held = 0, 0
        for center in range(n_centers):
            if start[center + 1] > start[center] and (n_chosen < n_lists or squared[center] < chosen_squared[0]):
                n_chosen = _push(chosen[:n_lists], chosen_squared[:n_lists], n_chosen, center, squared[center])
        for i in range(n_chosen):
            n_held += start[chosen[i] + 1] - start[chosen[i]]
        if n_held >= wanted or n_lists == n_centers:
            _sort(chosen, chosen_squared, n_chosen)
            return n_chosen
        n_lists *= 2


@kernel
def _offer(new: Rows, squared: Singles, queue: Best, best: Best, size: int, n_queued: int) -> tuple[int, int]:
    """Take poses among the best K if they are, and into the queue if there is room; gives the new lengths of both."""
    rows, distances = best
    for k in range(new.shape[0]):
        if size == rows.shape[0] and squared[k] >= distances[0]:
            continue
        size = _push(rows, distances, size, new[k], squared[k])
        if n_queued < queue[0].shape[0]:
            queue[0][n_queued], queue[1][n_queued] = new[k], squared[k]
            n_queued += 1
    return size, n_queued


@kernel
def _from_lists(
    poses: Singles,
    lists: ListArrays,
    query: KernelQuery,
    n_lists: int,
    memory: tuple[Work, ListWork],
    stamp: int,
    best: Best,
    state: Lengths,
) -> tuple[int, int, int]:
    """Offer what the first lists of the memory hold; gives the lengths of best and queue, and how many poses were examined."""
    _, start, row, marker_m = lists
    (stamps, queue, (batch, squared)), (of_list, chosen, _) = memory
    size, n_queued, n_examined = state
    limit = best[1][0] if size == best[1].shape[0] else np.float32(np.inf)
    n_new = 0
    for k in range(n_lists):
        first, end = start[chosen[k]], start[chosen[k] + 1]
        n_examined += end - first
        while first < end:
            part = min(end, first + of_list.shape[0])
            _marker_distances(marker_m[first:part], query, of_list)
            for i in range(first, part):
                if of_list[i - first] >= limit or stamps[row[i]] == stamp:
                    continue
                stamps[row[i]] = stamp
                batch[n_new], squared[n_new] = row[i], of_list[i - first]
                n_new += 1
                if n_new == batch.shape[0]:
                    _add_pose_distances_of(poses, query, batch, limit, squared)
                    size, n_queued = _offer(batch, squared, queue, best, size, n_queued)
                    limit = best[1][0] if size == best[1].shape[0] else np.float32(np.inf)
                    n_new = 0
            first = part
    _add_pose_distances_of(poses, query, batch[:n_new], limit, squared)
    size, n_queued = _offer(batch[:n_new], squared, queue, best, size, n_queued)
    return size, n_queued, n_examined


@kernel
def _from_rows(
    feature: Feature, query: KernelQuery, rows: Rows, work: Work, stamp: int, best: Best, state: Lengths
) -> tuple[int, int, int]:
    """Offer those of some poses that were not examined yet; gives the lengths of best and queue, and how many were examined."""
    stamps, queue, (batch, squared) = work
    size, n_queued, n_examined = state
    here = 0
    while here < rows.shape[0]:
        n_new = 0
        while here < rows.shape[0] and n_new < batch.shape[0]:
            if stamps[rows[here]] != stamp:
                stamps[rows[here]] = stamp
                batch[n_new] = rows[here]
                n_new += 1
            here += 1
        limit = best[1][0] if size == best[1].shape[0] else np.float32(np.inf)
        _marker_distances_of(feature[0], query, batch[:n_new], squared)
        _add_pose_distances_of(feature[1], query, batch[:n_new], limit, squared)
        size, n_queued = _offer(batch[:n_new], squared, queue, best, size, n_queued)
        n_examined += n_new
    return size, n_queued, n_examined


@kernel
def _walk(
    feature: Feature, edges: Edges, query: KernelQuery, work: Work, stamp: int, best: Best, state: Lengths
) -> tuple[int, int]:
    """Offer the neighbours of each pose in the queue that is among the K best when its turn comes, until there is none left.

    Gives how many are in `best` and how many poses were examined. Where the queue is full no more poses get into it.
    """
    start, neighbour = edges
    stamps, queue, (batch, squared) = work
    size, n_queued, n_examined = state
    n_done, here, end = 0, np.int64(0), np.int64(0)
    while True:
        limit = best[1][0] if size == best[1].shape[0] else np.float32(np.inf)
        n_new = 0
        while n_new < batch.shape[0]:
            if here < end:
                row = neighbour[here]
                here += 1
                if stamps[row] != stamp:
                    stamps[row] = stamp
                    batch[n_new] = row
                    n_new += 1
                continue
            while n_done < n_queued and queue[1][n_done] > limit:
                n_done += 1
            if n_done == n_queued:
                break
            here, end = start[queue[0][n_done]], start[queue[0][n_done] + 1]
            n_done += 1
        if n_new == 0:
            return size, n_examined
        _marker_distances_of(feature[0], query, batch[:n_new], squared)
        _add_pose_distances_of(feature[1], query, batch[:n_new], limit, squared)
        size, n_queued = _offer(batch[:n_new], squared, queue, best, size, n_queued)
        n_examined += n_new


@kernel
def _search(
    feature: Feature,
    edges: Edges,
    lists: ListArrays,
    raw: RawQuery,
    n_lists: int,
    memory: tuple[Work, ListWork, KernelQuery],
    stamp: int,
    out: tuple[Rows, Rows, Singles],
) -> tuple[int, int, np.float32]:
    """Write the best K, nearest first, to rows and distances (K,); gives how many were found, or what is wrong with the query.

    Also gives how many were examined and the squared distance of the nearest of the last neighbours. out: these, (S,), rows and
    distances. Lists without centres are not looked into.
    """
    work, list_work, room = memory
    last, rows, distances = out
    n_rays = _prepare(raw, room)
    if n_rays < 0:
        return n_rays, 0, np.float32(np.inf)
    D = raw[3].shape[0]
    query = (room[0], room[1], room[2][:n_rays], room[3][:n_rays], room[4][:D], room[5][:D])
    best = (rows, distances)
    state = _from_rows(feature, query, last, work, stamp, best, (0, 0, 0))
    nearest_last = np.float32(np.inf)
    for i in range(state[0]):
        nearest_last = min(nearest_last, distances[i])
    if lists[0].shape[0] > 0:
        n_chosen = _nearest_lists(lists, query, n_lists, rows.shape[0], list_work)
        state = _from_lists(feature[1], lists, query, n_chosen, (work, list_work), stamp, best, state)
    size, n_examined = _walk(feature, edges, query, work, stamp, best, state)
    _sort(rows, distances, size)
    return size, n_examined, nearest_last
