"""Kernels of the search: the distance of eq. 2 (Chai & Hodgins 2005), a heap of the K nearest, inverted lists, the graph walk."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from config.arrays import Floats, Ints, Singles
from config.jit import inlined, kernel
from database.files.resample import OTHER_SIDE, ROTVEC_SIGN

VALID, NOT_FINITE, NEGATIVE = 0, -1, -2  # of a query
HUGE = 1e15  # squares of larger numbers are infinite in single precision, or nearly so
MAX_QUEUED = 4096  # poses of a query whose neighbours are examined, a bound on its time
BATCH = 64  # poses whose distances are computed together
LISTS_OF_GROUP = 4  # chosen lists are of a group, on average
REACH2 = np.float32(1.2**2)  # squared times the distance of the farthest of the last query's poses: there, lists in groups end
# The joint coordinates of a mirror image, without the root: coordinate i is IMAGE_SIGN[i] times coordinate IMAGE_COLUMN[i].
IMAGE_COLUMN = (3 * (OTHER_SIDE[1:, None] - 1) + np.arange(3)).ravel()
IMAGE_SIGN = np.tile(ROTVEC_SIGN, len(OTHER_SIDE) - 1).astype(np.float32)


class RawQuery(NamedTuple):
    """A query in double precision: fields as those of `reconstruct.search.nearest.Query`, empty arrays for what is None."""

    marker_m: Floats
    marker_weight: Floats
    ray: Floats
    pose: Floats
    pose_weight: Floats


class KernelQuery(NamedTuple):
    """A query in single precision; what has no weight is zero.

    marker: marker coordinates (3M,), with weights (3M,); on_ray: markers on rays, (R,), and ray: their directions times the root
    of the weight, (R, 3); pose: joint coordinates and then those of their mirror image, (2D,), with weights (2D,), or both (0,).
    """

    marker: Singles
    marker_weight: Singles
    on_ray: Ints
    ray: Singles
    pose: Singles
    pose_weight: Singles


class Features(NamedTuple):
    """What queries are compared with: markers (N, 3M) and joint coordinates of every pose, the last D of each row of (N', ...).

    Where N' is less than N, pose N' + n is the mirror image of pose n: |mirror(q_n) - q| = |q_n - mirror(q)|.
    """

    marker_m: Singles
    pose: Singles


class GraphEdges(NamedTuple):
    """The neighbour graph: the neighbours of pose n are `neighbour[start[n]:start[n + 1]]`; start: (N' + 1,).

    Those of the mirror image of a pose are the mirror images of its neighbours.
    """

    start: Ints
    neighbour: NDArray[np.int32]


class Lists(NamedTuple):
    """Poses in lists of similar markers: those of list l are `row[start[l]:start[l + 1]]`, ascending.

    center_m: mean markers of each list, (L, 3M) float32 [m]; start: (L + 1,) int64; row: poses, (N,) int32; marker_m: their
    markers in the same order, (N, 3M) float32 [m], so that a list is read from contiguous memory; group_m: means of G groups of
    L / G successive lists, (G, 3M), by which lists are looked for where there are many of them, else (0, 3M).
    """

    center_m: Singles
    start: Ints
    row: NDArray[np.int32]
    marker_m: Singles
    group_m: Singles


class SearchArrays(NamedTuple):
    """All that is searched."""

    features: Features
    edges: GraphEdges
    lists: Lists


class Best(NamedTuple):
    """Poses and their squared distances: a heap with the farthest on top, or a queue."""

    rows: Ints
    squared: Singles


class WalkMemory(NamedTuple):
    """Memory of a walk.

    stamps: number of the last search that examined each pose, (N,) uint8; queue: poses whose neighbours are still to be
    examined, (B,); batch: poses whose distances are computed together, (P,).
    """

    stamps: NDArray[np.uint8]
    queue: Best
    batch: Best


class Progress(NamedTuple):
    """Counts during a search: poses among the best, poses in the queue, poses examined."""

    n_best: int
    n_queued: int
    n_examined: int


@kernel
def _status(raw: RawQuery) -> int:
    """Return VALID, NOT_FINITE or NEGATIVE; values without weight may be anything."""
    for m in range(raw.marker_weight.shape[0]):
        weight = raw.marker_weight[m]
        if weight < 0.0:
            return NEGATIVE
        if weight != 0.0:
            for i in range(3):
                d = raw.ray[m, i] if raw.ray.shape[0] > 0 else 0.0
                if not (abs(raw.marker_m[m, i]) <= HUGE and abs(d) <= HUGE and weight <= HUGE):
                    return NOT_FINITE
    for i in range(raw.pose.shape[0]):
        if raw.pose_weight[i] < 0.0:
            return NEGATIVE
        if raw.pose_weight[i] != 0.0 and not (abs(raw.pose[i]) <= HUGE and raw.pose_weight[i] <= HUGE):
            return NOT_FINITE
    return VALID


@kernel
def _prepare(raw: RawQuery) -> KernelQuery:
    """Convert a valid query to single precision."""
    n_markers, n_pose, n_rays = raw.marker_weight.shape[0], raw.pose.shape[0], 0
    marker, marker_weight = np.zeros(3 * n_markers, np.float32), np.zeros(3 * n_markers, np.float32)
    on_ray, ray = np.empty(n_markers, np.int64), np.empty((n_markers, 3), np.float32)
    pose, pose_weight = np.zeros(2 * n_pose, np.float32), np.zeros(2 * n_pose, np.float32)
    for m in range(n_markers):
        weight = raw.marker_weight[m]
        if weight == 0.0:
            continue
        along, length2 = 0.0, 0.0
        for i in range(3):
            x = raw.marker_m[m, i]
            d = raw.ray[m, i] if raw.ray.shape[0] > 0 else 0.0
            along += x * d
            length2 += d * d
            marker[3 * m + i], marker_weight[3 * m + i] = x, weight
            ray[n_rays, i] = d * math.sqrt(weight)
        if length2 > 0.0:
            # The ray's point nearest the root, so that single precision subtracts no large squares.
            for i in range(3):
                marker[3 * m + i] = raw.marker_m[m, i] - along * raw.ray[m, i]
            on_ray[n_rays] = m
            n_rays += 1
    for i in range(n_pose):
        if raw.pose_weight[i] != 0.0:
            pose[i], pose_weight[i] = raw.pose[i], raw.pose_weight[i]
    if n_pose == IMAGE_COLUMN.shape[0]:
        for i in range(n_pose):
            pose[n_pose + i], pose_weight[n_pose + i] = IMAGE_SIGN[i] * pose[IMAGE_COLUMN[i]], pose_weight[IMAGE_COLUMN[i]]
    return KernelQuery(marker, marker_weight, on_ray[:n_rays], ray[:n_rays], pose, pose_weight)


@inlined
def _marker_distance(markers: Singles, row: int | np.signedinteger, query: KernelQuery) -> np.float32:
    """Return the markers' part of the squared distance of one pose; of markers on a ray only what is across it."""
    q, w, on_ray, ray = query.marker, query.marker_weight, query.on_ray, query.ray
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


@inlined
def _pose_distance(poses: Singles, row: int | np.signedinteger, query: KernelQuery) -> np.float32:
    """Return the joints' part of the squared distance of one pose."""
    D = query.pose.shape[0] // 2
    there, half = row, 0
    if row >= poses.shape[0]:
        there, half = row - poses.shape[0], D
    # Slices, since an index that is a sum might be negative for all that the compiler knows, which costs vector instructions.
    own, pose, weight = poses[there, poses.shape[1] - D :], query.pose[half:], query.pose_weight[half:]
    s = np.float32(0.0)
    for i in range(D):
        e = own[i] - pose[i]
        s += weight[i] * e * e
    return s


# Distances of many poses are computed in one call: a call costs more than the distance of one pose.
@kernel
def _marker_distances(markers: Singles, query: KernelQuery, out: Singles) -> None:
    """Write the markers' part of the squared distance of all poses, (N,)."""
    for row in range(markers.shape[0]):
        out[row] = _marker_distance(markers, row, query)


@kernel
def _marker_distances_of(markers: Singles, query: KernelQuery, rows: Ints, out: Singles) -> None:
    """Write the markers' part of the squared distance of some poses, (R,)."""
    for k in range(rows.shape[0]):
        out[k] = _marker_distance(markers, rows[k], query)


@kernel
def _add_pose_distances_of(poses: Singles, query: KernelQuery, rows: Ints, limit: np.float32, out: Singles) -> None:
    """Add the joints' part to the squared distance of some poses, (R,), where it is under `limit`."""
    for k in range(rows.shape[0]):
        if out[k] < limit:
            out[k] += _pose_distance(poses, rows[k], query)


@kernel
def _distances(features: Features, raw: RawQuery, limit: np.float32, out: Singles) -> int:
    """Write the squared distances of all poses, (N,); where the markers' part alone exceeds `limit`, that part.

    Return the status of the query.
    """
    status = _status(raw)
    if status != VALID:
        return status
    query = _prepare(raw)
    _marker_distances(features.marker_m, query, out)
    for row in range(out.shape[0]):
        if out[row] <= limit:
            out[row] += _pose_distance(features.pose, row, query)
    return status


@kernel
def _least_distance(markers: Singles, raw: RawQuery, rows: Ints) -> tuple[int, np.float32]:
    """Return the status of a query, and the least squared distance of the markers of some poses, (R,), infinity for none."""
    status, least = _status(raw), np.float32(np.inf)
    if status == VALID:
        query = _prepare(raw)
        for k in range(rows.shape[0]):
            least = min(least, _marker_distance(markers, rows[k], query))
    return status, least


@inlined
def _empty_best(size: int) -> Best:
    """Return room for poses and their distances."""
    return Best(np.empty(size, np.int64), np.empty(size, np.float32))


@kernel
def _push(rows: Ints, squared: Singles, size: int, row: int | np.signedinteger, d: np.float32) -> int:
    """Put a pose into a heap of at most K, in place of the farthest if it is full; return the new size."""
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
def _sort(rows: Ints, squared: Singles, size: int) -> None:
    """Sort a heap, nearest first; of equal distances the lower row first."""
    for end in range(size - 1, 0, -1):
        row, d = rows[0], squared[0]
        _push(rows[:end], squared[:end], end, rows[end], squared[end])
        rows[end], squared[end] = row, d
    for i in range(1, size):  # only equal distances are not in order yet
        k = i
        while k > 0 and squared[k - 1] == squared[k] and rows[k - 1] > rows[k]:
            rows[k - 1], rows[k] = rows[k], rows[k - 1]
            k -= 1


@kernel
def _nearest_lists(lists: Lists, query: KernelQuery, n_lists: int, min_poses: int) -> Ints:
    """Return the lists with the nearest centres, nearest first.

    Empty lists do not count; the number is doubled until the lists hold `min_poses` poses.
    """
    n_centers = lists.center_m.shape[0]
    squared, chosen = np.empty(n_centers, np.float32), _empty_best(n_centers)
    _marker_distances(lists.center_m, query, squared)
    while True:
        n_lists = min(n_lists, n_centers)
        n_chosen, n_poses = 0, 0
        for center in range(n_centers):
            filled = lists.start[center + 1] > lists.start[center]
            if filled and (n_chosen < n_lists or squared[center] < chosen.squared[0]):
                n_chosen = _push(chosen.rows[:n_lists], chosen.squared[:n_lists], n_chosen, center, squared[center])
        for i in range(n_chosen):
            n_poses += lists.start[chosen.rows[i] + 1] - lists.start[chosen.rows[i]]
        if n_poses >= min_poses or n_lists == n_centers:
            _sort(chosen.rows, chosen.squared, n_chosen)
            return chosen.rows[:n_chosen]
        n_lists *= 2


@kernel
def _nearest_lists_of_groups(lists: Lists, query: KernelQuery, n_lists: int, min_poses: int, limit: np.float32) -> Ints:
    """Return the lists with the nearest centres of those in the nearest groups, nearest first.

    Empty lists do not count, nor those whose centre's squared distance is not under `limit`; the numbers of groups and of lists
    are doubled until the lists hold `min_poses` poses.
    """
    n_centers, n_groups = lists.center_m.shape[0], lists.group_m.shape[0]
    size = n_centers // n_groups
    squared, of_group = np.empty(n_groups, np.float32), np.empty(size, np.float32)
    groups, chosen = _empty_best(n_groups), _empty_best(n_centers)
    _marker_distances(lists.group_m, query, squared)
    while True:
        n_lists, wanted = min(n_lists, n_centers), min(-(-n_lists // LISTS_OF_GROUP), n_groups)
        n_found, n_chosen, n_poses = 0, 0, 0
        for group in range(n_groups):
            if n_found < wanted or squared[group] < groups.squared[0]:
                n_found = _push(groups.rows[:wanted], groups.squared[:wanted], n_found, group, squared[group])
        for k in range(n_found):
            first = groups.rows[k] * size
            _marker_distances(lists.center_m[first : first + size], query, of_group)
            for i in range(size):
                filled = lists.start[first + i + 1] > lists.start[first + i] and of_group[i] < limit
                if filled and (n_chosen < n_lists or of_group[i] < chosen.squared[0]):
                    n_chosen = _push(chosen.rows[:n_lists], chosen.squared[:n_lists], n_chosen, first + i, of_group[i])
        for i in range(n_chosen):
            n_poses += lists.start[chosen.rows[i] + 1] - lists.start[chosen.rows[i]]
        if n_poses >= min_poses or n_lists == n_centers:
            _sort(chosen.rows, chosen.squared, n_chosen)
            return chosen.rows[:n_chosen]
        n_lists *= 2


@kernel
def _offer(new: Ints, squared: Singles, queue: Best, best: Best, size: int, n_queued: int) -> tuple[int, int]:
    """Put poses among the best K where they belong there, and into the queue while there is room; return both lengths."""
    for k in range(new.shape[0]):
        if size == best.rows.shape[0] and squared[k] >= best.squared[0]:
            continue
        size = _push(best.rows, best.squared, size, new[k], squared[k])
        if n_queued < queue.rows.shape[0]:
            queue.rows[n_queued], queue.squared[n_queued] = new[k], squared[k]
            n_queued += 1
    return size, n_queued


@kernel
def _from_lists(
    arrays: SearchArrays, query: KernelQuery, chosen: Ints, memory: WalkMemory, stamp: int, best: Best, before: Progress
) -> Progress:
    """Offer the poses in the chosen lists."""
    lists, poses = arrays.lists, arrays.features.pose
    stamps, queue, batch, squared = memory.stamps, memory.queue, memory.batch.rows, memory.batch.squared
    of_list = np.empty(lists.center_m.shape[0], np.float32)
    size, n_queued, n_examined = before.n_best, before.n_queued, before.n_examined
    limit = best.squared[0] if size == best.squared.shape[0] else np.float32(np.inf)
    n_new = 0
    for k in range(chosen.shape[0]):
        first, end = lists.start[chosen[k]], lists.start[chosen[k] + 1]
        n_examined += end - first
        while first < end:
            part = min(end, first + of_list.shape[0])
            _marker_distances(lists.marker_m[first:part], query, of_list)
            for i in range(first, part):
                if of_list[i - first] >= limit or stamps[lists.row[i]] == stamp:
                    continue
                stamps[lists.row[i]] = stamp
                batch[n_new], squared[n_new] = lists.row[i], of_list[i - first]
                n_new += 1
                if n_new == batch.shape[0]:
                    _add_pose_distances_of(poses, query, batch, limit, squared)
                    size, n_queued = _offer(batch, squared, queue, best, size, n_queued)
                    limit = best.squared[0] if size == best.squared.shape[0] else np.float32(np.inf)
                    n_new = 0
            first = part
    _add_pose_distances_of(poses, query, batch[:n_new], limit, squared)
    size, n_queued = _offer(batch[:n_new], squared, queue, best, size, n_queued)
    return Progress(size, n_queued, n_examined)


@kernel
def _from_rows(
    features: Features, query: KernelQuery, rows: Ints, memory: WalkMemory, stamp: int, best: Best, before: Progress
) -> Progress:
    """Offer those of some poses that this search has not examined yet."""
    stamps, queue, batch, squared = memory.stamps, memory.queue, memory.batch.rows, memory.batch.squared
    size, n_queued, n_examined = before.n_best, before.n_queued, before.n_examined
    here = 0
    while here < rows.shape[0]:
        n_new = 0
        while here < rows.shape[0] and n_new < batch.shape[0]:
            if stamps[rows[here]] != stamp:
                stamps[rows[here]] = stamp
                batch[n_new] = rows[here]
                n_new += 1
            here += 1
        limit = best.squared[0] if size == best.squared.shape[0] else np.float32(np.inf)
        _marker_distances_of(features.marker_m, query, batch[:n_new], squared)
        _add_pose_distances_of(features.pose, query, batch[:n_new], limit, squared)
        size, n_queued = _offer(batch[:n_new], squared, queue, best, size, n_queued)
        n_examined += n_new
    return Progress(size, n_queued, n_examined)


@kernel
def _walk(
    features: Features, edges: GraphEdges, query: KernelQuery, memory: WalkMemory, stamp: int, best: Best, before: Progress
) -> Progress:
    """Offer the neighbours of each queued pose that is still among the K best when its turn comes, until the queue is empty.

    A full queue takes no more poses.
    """
    stamps, queue, batch, squared = memory.stamps, memory.queue, memory.batch.rows, memory.batch.squared
    size, n_queued, n_examined = before.n_best, before.n_queued, before.n_examined
    n_done, here, end, shift = 0, np.int64(0), np.int64(0), np.int64(0)
    n_stored = edges.start.shape[0] - 1
    while True:
        limit = best.squared[0] if size == best.squared.shape[0] else np.float32(np.inf)
        n_new = 0
        while n_new < batch.shape[0]:
            if here < end:
                row = edges.neighbour[here] + shift
                here += 1
                if stamps[row] != stamp:
                    stamps[row] = stamp
                    batch[n_new] = row
                    n_new += 1
                continue
            while n_done < n_queued and queue.squared[n_done] > limit:
                n_done += 1
            if n_done == n_queued:
                break
            shift = np.int64(0) if queue.rows[n_done] < n_stored else np.int64(n_stored)
            here, end = edges.start[queue.rows[n_done] - shift], edges.start[queue.rows[n_done] - shift + 1]
            n_done += 1
        if n_new == 0:
            return Progress(size, n_queued, n_examined)
        _marker_distances_of(features.marker_m, query, batch[:n_new], squared)
        _add_pose_distances_of(features.pose, query, batch[:n_new], limit, squared)
        size, n_queued = _offer(batch[:n_new], squared, queue, best, size, n_queued)
        n_examined += n_new


@kernel
def _search(
    arrays: SearchArrays, raw: RawQuery, count: int, n_lists: int, last: Ints, stamps: NDArray[np.uint8], stamp: int
) -> tuple[Best, int, int, np.float32]:
    """Return the nearest poses, nearest first, at most `count`.

    last: poses to begin with, (S,), those found for the last query; without centres the lists are skipped; stamps and stamp: see
    `WalkMemory`. Also return the status of the query, how many poses were examined, and the squared distance of the nearest of
    `last`.
    """
    best, status, nearest_last = _empty_best(count), _status(raw), np.float32(np.inf)
    if status != VALID:
        return best, status, 0, nearest_last
    query = _prepare(raw)
    memory = WalkMemory(stamps, _empty_best(min(stamps.shape[0], MAX_QUEUED)), _empty_best(BATCH))
    progress = _from_rows(arrays.features, query, last, memory, stamp, best, Progress(0, 0, 0))
    for i in range(progress.n_best):
        nearest_last = min(nearest_last, best.squared[i])
    if arrays.lists.center_m.shape[0] > 0:
        if arrays.lists.group_m.shape[0] > 0:
            full = progress.n_best == count
            limit = REACH2 * best.squared[0] if full else np.float32(np.inf)
            chosen = _nearest_lists_of_groups(arrays.lists, query, n_lists, 0 if full else count, limit)
        else:
            chosen = _nearest_lists(arrays.lists, query, n_lists, count)
        progress = _from_lists(arrays, query, chosen, memory, stamp, best, progress)
    progress = _walk(arrays.features, arrays.edges, query, memory, stamp, best, progress)
    size = progress.n_best
    _sort(best.rows, best.squared, size)
    return Best(best.rows[:size], best.squared[:size]), status, progress.n_examined, nearest_last
