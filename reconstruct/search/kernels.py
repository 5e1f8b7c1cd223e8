"""Kernels of the search (Chai & Hodgins 2005, section 5): inverted lists, and the walk along the neighbour graph."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from config.arrays import Ints, Singles
from config.jit import inline_kernel, kernel
from reconstruct.search.distances import (
    VALID,
    Features,
    KernelQuery,
    RawQuery,
    add_pose_distances_of,
    check_query,
    compute_marker_distances,
    compute_row_distances,
    convert_query,
)
from reconstruct.search.heap import Best, allocate_best, push_pose, sort_heap

MAX_QUEUED = 4096  # poses of a query whose neighbours are examined, a bound on its time
BATCH = 64  # poses whose distances are computed together
LISTS_OF_GROUP = 4  # chosen lists are of a group, on average
REACH2 = np.float32(1.2**2)  # squared times the distance of the farthest of the last query's poses: there, lists in groups end


class GraphEdges(NamedTuple):
    """The neighbour graph: the neighbours of pose n are `neighbour[start[n]:start[n + 1]]`; start: (N' + 1,).

    Those of the mirror image of a pose are the mirror images of its neighbours.
    """

    start: Ints
    neighbour: NDArray[np.int32]


class Lists(NamedTuple):
    """Poses in lists of similar markers: those of list l are `row[start[l]:start[l + 1]]`, ascending.

    Attributes:
        center_m: mean markers of each list, (L, 3M) float32 [m].
        start: (L + 1,) int64.
        row: poses, (N,) int32.
        marker_m: markers of the poses in the same order, (N, 3M) float32 [m], so that a list is read from contiguous memory.
        group_m: means of G groups of L / G successive lists, (G, 3M), by which lists are looked for where there are many of
            them, else (0, 3M).
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


class WalkMemory(NamedTuple):
    """Memory of a walk.

    Attributes:
        stamps: number of the last search that examined each pose, (N,) uint8.
        queue: poses whose neighbours are still to be examined, (B,).
        batch: poses whose distances are computed together, (P,).
    """

    stamps: NDArray[np.uint8]
    queue: Best
    batch: Best


class SearchProgress(NamedTuple):
    """Counts during a search: poses among the best, poses in the queue, poses examined."""

    n_best: int
    n_queued: int
    n_examined: int


@kernel
def _hold_enough_poses(lists: Lists, chosen: Ints, min_poses: int) -> bool:
    """Return whether some lists hold a number of poses."""
    n_poses = 0
    for i in range(chosen.shape[0]):
        n_poses += lists.start[chosen[i] + 1] - lists.start[chosen[i]]
    return n_poses >= min_poses


@inline_kernel
def find_nearest_lists(lists: Lists, query: KernelQuery, n_lists: int, min_poses: int) -> Ints:
    """Return the lists with the nearest centres, nearest first.

    Empty lists do not count; the number is doubled until the lists hold `min_poses` poses.

    Args:
        lists: the lists of poses and their centres.
        query: query that poses are compared with.
        n_lists: least number of lists.
        min_poses: least number of poses that the lists hold together.
    """
    n_centers = lists.center_m.shape[0]
    squared, chosen = np.empty(n_centers, np.float32), allocate_best(n_centers)
    compute_marker_distances(lists.center_m, query, squared)
    while True:
        n_lists = min(n_lists, n_centers)
        n_chosen = 0
        for center in range(n_centers):
            filled = lists.start[center + 1] > lists.start[center]
            if filled and (n_chosen < n_lists or squared[center] < chosen.squared[0]):
                n_chosen = push_pose(chosen.rows[:n_lists], chosen.squared[:n_lists], n_chosen, center, squared[center])
        if n_lists == n_centers or _hold_enough_poses(lists, chosen.rows[:n_chosen], min_poses):
            sort_heap(chosen.rows, chosen.squared, n_chosen)
            return chosen.rows[:n_chosen]
        n_lists *= 2


@inline_kernel
def find_nearest_in_groups(lists: Lists, query: KernelQuery, n_lists: int, min_poses: int, limit: np.float32) -> Ints:
    """Return the lists with the nearest centres of those in the nearest groups, nearest first.

    Empty lists do not count, nor those whose centre's squared distance is not under `limit`; the numbers of groups and of lists
    are doubled until the lists hold `min_poses` poses.

    Args:
        lists: the lists of poses and their centres.
        query: query that poses are compared with.
        n_lists: least number of lists.
        min_poses: least number of poses that the lists hold together.
        limit: squared distance of a centre beyond which its list does not count.
    """
    n_centers, n_groups = lists.center_m.shape[0], lists.group_m.shape[0]
    size = n_centers // n_groups
    squared, of_group = np.empty(n_groups, np.float32), np.empty(size, np.float32)
    groups, chosen = allocate_best(n_groups), allocate_best(n_centers)
    compute_marker_distances(lists.group_m, query, squared)
    while True:
        n_lists, wanted = min(n_lists, n_centers), min(-(-n_lists // LISTS_OF_GROUP), n_groups)
        n_found, n_chosen = 0, 0
        for group in range(n_groups):
            if n_found < wanted or squared[group] < groups.squared[0]:
                n_found = push_pose(groups.rows[:wanted], groups.squared[:wanted], n_found, group, squared[group])
        for k in range(n_found):
            first = groups.rows[k] * size
            compute_marker_distances(lists.center_m[first : first + size], query, of_group)
            for i in range(size):
                filled = lists.start[first + i + 1] > lists.start[first + i] and of_group[i] < limit
                if filled and (n_chosen < n_lists or of_group[i] < chosen.squared[0]):
                    n_chosen = push_pose(chosen.rows[:n_lists], chosen.squared[:n_lists], n_chosen, first + i, of_group[i])
        if n_lists == n_centers or _hold_enough_poses(lists, chosen.rows[:n_chosen], min_poses):
            sort_heap(chosen.rows, chosen.squared, n_chosen)
            return chosen.rows[:n_chosen]
        n_lists *= 2


@kernel
def _offer_poses(new: Ints, squared: Singles, queue: Best, best: Best, size: int, n_queued: int) -> tuple[int, int]:
    """Put poses among the best K where they belong there, and into the queue while there is room; return both lengths."""
    for k in range(new.shape[0]):
        if size == best.rows.shape[0] and squared[k] >= best.squared[0]:
            continue
        size = push_pose(best.rows, best.squared, size, new[k], squared[k])
        if n_queued < queue.rows.shape[0]:
            queue.rows[n_queued], queue.squared[n_queued] = new[k], squared[k]
            n_queued += 1
    return size, n_queued


@inline_kernel
def _offer_lists(
    arrays: SearchArrays, query: KernelQuery, chosen: Ints, memory: WalkMemory, stamp: int, best: Best, before: SearchProgress
) -> SearchProgress:
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
            compute_marker_distances(lists.marker_m[first:part], query, of_list)
            for i in range(first, part):
                if of_list[i - first] >= limit or stamps[lists.row[i]] == stamp:
                    continue
                stamps[lists.row[i]] = stamp
                batch[n_new], squared[n_new] = lists.row[i], of_list[i - first]
                n_new += 1
                if n_new == batch.shape[0]:
                    add_pose_distances_of(poses, query, batch, limit, squared)
                    size, n_queued = _offer_poses(batch, squared, queue, best, size, n_queued)
                    limit = best.squared[0] if size == best.squared.shape[0] else np.float32(np.inf)
                    n_new = 0
            first = part
    add_pose_distances_of(poses, query, batch[:n_new], limit, squared)
    size, n_queued = _offer_poses(batch[:n_new], squared, queue, best, size, n_queued)
    return SearchProgress(size, n_queued, n_examined)


@inline_kernel
def offer_rows(
    features: Features, query: KernelQuery, rows: Ints, memory: WalkMemory, stamp: int, best: Best, before: SearchProgress
) -> SearchProgress:
    """Offer those of some poses that this search has not examined yet.

    Args:
        features: markers and joints of the known poses.
        query: query that poses are compared with.
        rows: rows of the poses, (R,).
        memory: marks of the poses examined, and the queue.
        stamp: number of this search.
        best: the nearest so far; changed.
        before: numbers of poses examined and queued before.
    """
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
        compute_row_distances(features.marker_m, query, batch[:n_new], squared)
        add_pose_distances_of(features.pose, query, batch[:n_new], limit, squared)
        size, n_queued = _offer_poses(batch[:n_new], squared, queue, best, size, n_queued)
        n_examined += n_new
    return SearchProgress(size, n_queued, n_examined)


@inline_kernel
def walk_graph(
    features: Features, edges: GraphEdges, query: KernelQuery, memory: WalkMemory, stamp: int, best: Best, before: SearchProgress
) -> SearchProgress:
    """Offer the neighbours of each queued pose that is still among the K best when its turn comes, until the queue is empty.

    A full queue takes no more poses.

    Args:
        features: markers and joints of the known poses.
        edges: neighbours of each pose.
        query: query that poses are compared with.
        memory: marks of the poses examined, and the queue.
        stamp: number of this search.
        best: the nearest so far; changed.
        before: numbers of poses examined and queued before.
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
            return SearchProgress(size, n_queued, n_examined)
        compute_row_distances(features.marker_m, query, batch[:n_new], squared)
        add_pose_distances_of(features.pose, query, batch[:n_new], limit, squared)
        size, n_queued = _offer_poses(batch[:n_new], squared, queue, best, size, n_queued)
        n_examined += n_new


@kernel
def search_poses(
    arrays: SearchArrays, raw: RawQuery, count: int, n_lists: int, last: Ints, stamps: NDArray[np.uint8], stamp: int
) -> tuple[Best, int, int, np.float32]:
    """Return the nearest poses, nearest first, at most `count`.

    Also return the status of the query, how many poses were examined, and the squared distance of the nearest of `last`.

    Args:
        arrays: features, lists and graph.
        raw: the query as given.
        count: number K of poses.
        n_lists: number of lists to search.
        last: poses to begin with, (S,), those found for the last query; without centres the lists are skipped; stamps and stamp:
            see `WalkMemory`.
        stamps: last search that examined each pose, (N,); see `WalkMemory`.
        stamp: number of this search.
    """
    best, status, nearest_last = allocate_best(count), check_query(raw), np.float32(np.inf)
    if status != VALID:
        return best, status, 0, nearest_last
    query = convert_query(raw)
    memory = WalkMemory(stamps, allocate_best(min(stamps.shape[0], MAX_QUEUED)), allocate_best(BATCH))
    progress = offer_rows(arrays.features, query, last, memory, stamp, best, SearchProgress(0, 0, 0))
    for i in range(progress.n_best):
        nearest_last = min(nearest_last, best.squared[i])
    if arrays.lists.center_m.shape[0] > 0:
        if arrays.lists.group_m.shape[0] > 0:
            full = progress.n_best == count
            limit = REACH2 * best.squared[0] if full else np.float32(np.inf)
            chosen = find_nearest_in_groups(arrays.lists, query, n_lists, 0 if full else count, limit)
        else:
            chosen = find_nearest_lists(arrays.lists, query, n_lists, count)
        progress = _offer_lists(arrays, query, chosen, memory, stamp, best, progress)
    progress = walk_graph(arrays.features, arrays.edges, query, memory, stamp, best, progress)
    size = progress.n_best
    sort_heap(best.rows, best.squared, size)
    return Best(best.rows[:size], best.squared[:size]), status, progress.n_examined, nearest_last
