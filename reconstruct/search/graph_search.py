"""The K nearest poses from frame to frame (Chai & Hodgins 2005, section 5).

The poses near the last query and their neighbours in the graph include most poses near this one. The graph of real motions has
many separate parts, and a walk cannot leave its part. So every query also looks into the few lists of poses whose markers are
most similar, and the walk goes on from what they hold. It looks into many lists at the start, after a loss, after a jump (the
best pose is far nearer than the best of the last ones), and where the best pose is much farther away than usual.
"""

from typing import NamedTuple

import numpy as np

from config.arrays import Ints, Singles, make_read_only
from database.graph.neighbours import Graph
from reconstruct.search.distances import RawQuery
from reconstruct.search.examples import Examples
from reconstruct.search.exhaustive import Query, check_fit, check_status, convert_raw_query, find_nearest_examples
from reconstruct.search.kernels import GraphEdges, Lists, SearchArrays, search_poses

FEW_LISTS, MANY_LISTS = 16, 64  # that a query looks into: usually, and at the start or after a loss
TIMES_IN_GROUPS = 6  # as many where lists are in groups, since these are smaller
POOR = 2.0  # times the usual distance: the best pose is a poor match
JUMPED = 1.5  # times the distance of the best pose: the poses of the last query are left behind
RENEWED = 0.1  # weight of the newest frame in the usual distance
FEW_POSES = 2000  # up to here all poses are tried
LAST_STAMP = np.iinfo(np.uint8).max
NO_ROWS: Ints = np.zeros(0, np.int64)
NO_CENTERS = make_read_only(np.zeros((0, 0), np.float32))
NO_LISTS = Lists(NO_CENTERS, make_read_only(np.zeros(1, np.int64)), make_read_only(np.zeros(0, np.int32)), NO_CENTERS, NO_CENTERS)


class SearchMemory(NamedTuple):
    """Where the next search begins: the poses found last, (K,), and their usual distance."""

    rows: Ints | None = None
    usual: float = np.inf


class PoseSearch:
    """Finds the nearest poses of successive frames; exhaustively without a graph or among few poses.

    Attributes:
        memory: what is known of the frames before.
        examined: number of poses compared with the last query.
        wide: whether the last search looked into many lists.
    """

    def __init__(self, examples: Examples, graph: Graph | None, lists: Lists | None) -> None:
        n = len(examples)
        if graph is not None and graph.n_poses != examples.n_stored:
            came = f"a neighbour graph of {graph.n_poses} poses does not fit {examples.n_stored} examples"
            raise ValueError(f"{came}; expected one row for each")
        if lists is not None and len(lists.row) != n:
            raise ValueError(f"lists of {len(lists.row)} poses do not fit {n} examples; expected each in one list")
        self.examples = examples
        self.examined = 0
        self.wide = False
        self._graph = graph
        self._lists = lists
        self.memory = SearchMemory()
        self._stamp = 0
        self._stamps = np.zeros(n, np.uint8)

    def forget(self) -> None:
        """Forget the last query, as after a loss."""
        self.memory = SearchMemory()

    def nearest(self, query: Query, count: int) -> tuple[Ints, Singles]:
        """Return the `count` nearest poses found, nearest first, and their squared distances: (K,) int64 and (K,) float32.

        Raises ValueError: NaN in the query, or a count below 1.
        """
        if count < 1:
            raise ValueError(f"{count} nearest poses asked for; expected at least 1")
        n, last = len(self.examples), self.memory.rows
        if self._graph is None or n <= max(FEW_POSES, 4 * count) or (last is None and self._lists is None):
            return self._exhaustive(query, count)
        raw = convert_raw_query(query)
        check_fit(self.examples, raw)
        self.wide, self.examined = last is None, 0
        rows, distances, nearest_last = self._search(self._graph, raw, count, MANY_LISTS if self.wide else FEW_LISTS)
        poor = (float(distances[0]) / POOR**2 > self.memory.usual**2) or (nearest_last > JUMPED**2 * float(distances[0]))
        if poor and not self.wide and self._lists is not None:
            self.wide = True
            rows, distances, _ = self._search(self._graph, raw, count, MANY_LISTS)
        if len(rows) < count:
            return self._exhaustive(query, count)
        return self._remember(rows, distances)

    def _exhaustive(self, query: Query, count: int) -> tuple[Ints, Singles]:
        """Try all poses."""
        self.wide, self.examined = False, len(self.examples)
        rows, squared = find_nearest_examples(self.examples, query, count, self.memory.rows)
        return self._remember(rows, squared)

    def _search(self, graph: Graph, raw: RawQuery, count: int, n_lists: int) -> tuple[Ints, Singles, float]:
        """Search the lists and walk; also return the least squared distance of the last query's poses.

        Raises ValueError: NaN in the query.
        """
        lists = NO_LISTS if self._lists is None else self._lists
        n_lists *= TIMES_IN_GROUPS if len(lists.group_m) else 1
        arrays = SearchArrays(self.examples.features, GraphEdges(graph.start, graph.neighbour), lists)
        last, stamp = NO_ROWS if self.memory.rows is None else self.memory.rows, self._next_stamp()
        best, status, n_examined, nearest_last = search_poses(arrays, raw, count, n_lists, last, self._stamps, stamp)
        check_status(status)
        self.examined += n_examined
        return best.rows, best.squared, float(nearest_last)

    def _remember(self, rows: Ints, distances: Singles) -> tuple[Ints, Singles]:
        """Keep what was found for the next query."""
        best, usual = float(np.sqrt(distances[0])), self.memory.usual
        self.memory = SearchMemory(rows, best if np.isinf(usual) else (1.0 - RENEWED) * usual + RENEWED * best)
        return rows, distances

    def _next_stamp(self) -> int:
        """Return a number that no pose is stamped with."""
        if self._stamp == LAST_STAMP:
            self._stamps[:] = 0
            self._stamp = 0
        self._stamp += 1
        return self._stamp
