"""The search: the K nearest poses to a query, from frame to frame (Chai & Hodgins 2005, section 5).

The poses near the last query and their neighbours in the graph hold most of the poses near this one. The graph of real motions
falls into many parts, though, and a walk cannot leave the part it is in. So every query also looks into the few lists of poses
whose markers are most alike, and what it finds there joins the walk. At the start, after a loss, after a jump (the best pose is
far nearer than the best of the last ones) and where the best pose is much farther away than usual it looks into many.
"""

import numpy as np

from database.graph import Graph
from reconstruct.examples import Examples
from reconstruct.lists import Lists, list_memory
from reconstruct.nearest import Query, check_fit, check_prepared, nearest_examples, query_memory, raw_query
from reconstruct.search_kernels import KernelQuery, ListArrays, RawQuery, Rows, Singles, Work, _search

FEW, MANY = 16, 64  # lists a query looks into: usually, and to find its way again
POOR = 2.0  # the best pose is poor if it is this many times as far away as the best ones usually are
JUMPED = 1.5  # and the last poses are if their best is this many times as far away as the best of all
RENEWED = 0.1  # share of the newest frame in what is usual
FEW_POSES = 2000  # so few are all tried
MOST_HANDED_ON = 4096  # poses of a query that may hand on their neighbours, a bound on its time
NO_ROWS: Rows = np.zeros(0, np.int64)
TOGETHER = 64  # poses whose distances are computed together
LAST_STAMP = np.iinfo(np.uint8).max
NO_LISTS: ListArrays = (np.zeros((0, 0), np.float32), np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros((0, 0), np.float32))


def walk_memory(n_poses: int, n_handed_on: int) -> Work:
    """Give the memory of a walk."""
    queue = np.empty(n_handed_on, np.int64), np.empty(n_handed_on, np.float32)
    return np.zeros(n_poses, np.uint8), queue, (np.empty(TOGETHER, np.int64), np.empty(TOGETHER, np.float32))


class Search:
    """Finds the nearest poses of frame after frame; exhaustive where there is no graph or hardly anything to search.

    examined: poses compared with the last query, in the lists and on the walk together; wide: whether it looked into many lists.
    """

    def __init__(self, examples: Examples, graph: Graph | None, lists: Lists | None) -> None:
        n = len(examples)
        if graph is not None and graph.n_poses != n:
            raise ValueError(f"a neighbour graph of {graph.n_poses} poses does not fit {n} examples; expected one row for each")
        if lists is not None and len(lists.row) != n:
            raise ValueError(f"lists of {len(lists.row)} poses do not fit {n} examples; expected each in one list")
        self.examples = examples
        self.examined = 0
        self.wide = False
        self._graph = graph
        self._lists = lists
        self._last: Rows | None = None
        self._usual = np.inf
        self._stamp = 0
        self._work = walk_memory(n, min(n, MOST_HANDED_ON))
        self._list_work = list_memory(0 if lists is None else len(lists))
        self._list_arrays = NO_LISTS if lists is None else lists.arrays
        self._query: KernelQuery = query_memory(examples.marker_m.shape[1] // 3, examples.pose.shape[1])

    def forget(self) -> None:
        """Start anew, as after a loss: the next query has nothing to do with the last one."""
        self._last = None
        self._usual = np.inf

    def nearest(self, query: Query, count: int) -> tuple[Rows, Singles]:
        """Give the `count` nearest poses found, nearest first, and their squared distances: (K,) int64 and (K,) float32.

        Raises ValueError: NaN in the query, or a count below 1.
        """
        if count < 1:
            raise ValueError(f"{count} nearest poses asked for; expected at least 1")
        n = len(self.examples)
        if self._graph is None or n <= max(FEW_POSES, 4 * count) or (self._last is None and self._lists is None):
            return self._exhaustive(query, count)
        raw = raw_query(query)
        check_fit(self.examples, raw)
        self.wide, self.examined = self._last is None, 0
        rows, distances, nearest_last = self._found(raw, count, MANY if self.wide else FEW)
        poor = (float(distances[0]) / POOR**2 > self._usual**2) or (nearest_last > JUMPED**2 * float(distances[0]))
        if poor and not self.wide and self._lists is not None:
            self.wide = True
            rows, distances, _ = self._found(raw, count, MANY)
        if len(rows) < count:
            return self._exhaustive(query, count)
        return self._remember(rows, distances)

    def _exhaustive(self, query: Query, count: int) -> tuple[Rows, Singles]:
        """Try all poses."""
        self.wide, self.examined = False, len(self.examples)
        return self._remember(*nearest_examples(self.examples, query, count, self._last))

    def _found(self, raw: RawQuery, count: int, n_lists: int) -> tuple[Rows, Singles, float]:
        """Walk from the last poses and those in the nearest lists; also gives the least squared distance of the last ones.

        Raises ValueError: NaN in the query.
        """
        assert self._graph is not None
        last = NO_ROWS if self._last is None else self._last
        rows, distances = np.empty(count, np.int64), np.empty(count, np.float32)
        n_found, n_examined, nearest_last = _search(
            (self.examples.marker_m, self.examples.pose),
            (self._graph.start, self._graph.neighbour),
            self._list_arrays,
            raw,
            n_lists,
            (self._work, self._list_work, self._query),
            self._next_stamp(),
            (last, rows, distances),
        )
        check_prepared(n_found)
        self.examined += n_examined
        return rows[:n_found], distances[:n_found], float(nearest_last)

    def _remember(self, rows: Rows, distances: Singles) -> tuple[Rows, Singles]:
        """Keep what was found for the next query."""
        best = float(np.sqrt(distances[0]))
        self._last = rows
        self._usual = best if np.isinf(self._usual) else (1.0 - RENEWED) * self._usual + RENEWED * best
        return rows, distances

    def _next_stamp(self) -> int:
        """Give a number that no pose is stamped with."""
        if self._stamp == LAST_STAMP:
            self._work[0][:] = 0
            self._stamp = 0
        self._stamp += 1
        return self._stamp
