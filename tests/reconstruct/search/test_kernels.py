"""The walk in the graph against a slow one and by hand, the heap against sorting."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from config.arrays import Ints
from database.graph.neighbours import Graph
from reconstruct.search.distances import convert_query
from reconstruct.search.examples import Examples
from reconstruct.search.exhaustive import Query, compute_distances, convert_raw_query
from reconstruct.search.heap import Best, push_pose, sort_heap
from reconstruct.search.kernels import GraphEdges, SearchProgress, WalkMemory, offer_rows, walk_graph
from tests.reconstruct.search.paths import D, ball_graph, graph_from, path, query_at


def slow_walk(examples: Examples, graph: Graph, query: Query, seeds: list[int], count: int) -> tuple[list[int], set[int]]:
    """Return the nearest poses and all examined: grow from the seeds until no pose of the best has an unknown neighbour."""
    distance = compute_distances(examples, query)
    queue: list[int] = []
    known: set[int] = set()

    def look_at(rows: list[int]) -> None:
        for row in rows:
            if row not in known:
                best = sorted(distance[list(known)])[:count]
                known.add(row)
                if len(best) < count or distance[row] < best[-1]:
                    queue.append(row)

    look_at(seeds)
    while queue:
        row = queue.pop(0)
        if distance[row] <= sorted(distance[list(known)])[:count][-1]:
            look_at(graph.of(row).tolist())
    return sorted(known, key=lambda row: distance[row])[:count], known


def empty_best(size: int) -> Best:
    return Best(np.empty(size, np.int64), np.empty(size, np.float32))


def walk(
    examples: Examples, graph: Graph, query: Query, seeds: list[int], count: int, room: int = 1000, together: int = 1
) -> tuple[Ints, int, int]:
    """Walk with new memory; return rows, how many were found and examined."""
    rows, distances = np.empty(count, np.int64), np.empty(count, np.float32)
    best, queue, batch = Best(rows, distances), empty_best(room), empty_best(together)
    memory, known = WalkMemory(np.zeros(len(examples), np.uint8), queue, batch), convert_query(convert_raw_query(query))
    features, edges = examples.features, GraphEdges(graph.start, graph.neighbour)
    seeded = offer_rows(features, known, np.array(seeds, np.int64), memory, 1, best, SearchProgress(0, 0, 0))
    size, _, n_examined = walk_graph(features, edges, known, memory, 1, best, seeded)
    np.testing.assert_allclose(distances[:size], compute_distances(examples, query)[rows[:size]], rtol=1e-4, atol=1e-4)
    return rows[:size], size, n_examined


def test_a_walk_by_hand() -> None:
    """Poses at 0, 1, ..., 6 on a line, each joined to the next; from 0 towards 4.2 with two wanted it looks at all up to 6."""
    line = np.arange(7, dtype=np.float32)[:, None]
    examples = Examples(np.zeros((7, D), np.float32), line.repeat(3, axis=1), np.zeros(7, np.int32), 60.0)
    graph = graph_from([[n + 1] for n in range(6)] + [[]])
    query = Query(np.full((1, 3), 4.2), np.ones(1), None, np.zeros(0))
    rows, size, n_examined = walk(examples, graph, query, [0], 2)
    assert sorted(rows.tolist()) == [4, 5] and size == 2 and n_examined == 7
    # 3 cannot be reached against the direction of the edges, and two of 6 and later there are not.
    assert walk(examples, graph, query, [6], 2)[1:] == (1, 1)


@given(st.integers(5, 60), st.integers(1, 8), st.integers(0, 999))
def test_walk_against_a_slow_one(n: int, count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    examples = path(n, seed)
    graph = graph_from([sorted(set(rng.integers(0, n, 3).tolist()) - {row}) for row in range(n)])
    query, seeds = query_at(examples, int(rng.integers(n)), seed), rng.integers(0, n, 4).tolist()
    expected, known = slow_walk(examples, graph, query, seeds, count)
    rows, size, n_examined = walk(examples, graph, query, seeds, count)
    assert set(rows.tolist()) == set(expected) and size == len(expected) and n_examined == len(known)


@given(st.integers(5, 60), st.integers(1, 8), st.integers(0, 999), st.integers(2, 9))
def test_looking_at_several_at_once_finds_no_less(n: int, count: int, seed: int, together: int) -> None:
    """Every pose that is among the best found has handed on its neighbours: none of theirs is nearer than the farthest kept."""
    rng = np.random.default_rng(seed)
    examples = path(n, seed)
    graph = graph_from([sorted(set(rng.integers(0, n, 3).tolist()) - {row}) for row in range(n)])
    query = query_at(examples, int(rng.integers(n)), seed)
    rows, size, n_examined = walk(examples, graph, query, rng.integers(0, n, 4).tolist(), count, together=together)
    distance = compute_distances(examples, query)
    around = np.concatenate([graph.of(int(row)) for row in rows])
    missed = np.setdiff1d(around, rows)
    assert n_examined <= n and (len(missed) == 0 or (size == count and distance[missed].min() >= 0.999 * distance[rows].max()))


def test_a_full_memory_ends_the_walk_early() -> None:
    examples = path(300, 1, 1)
    graph, query = ball_graph(examples, 0.5, 8), query_at(examples, 150)
    free, bounded = walk(examples, graph, query, [0], 10)[2], walk(examples, graph, query, [0], 10, room=3)[2]
    assert bounded < free and bounded <= 1 + 3 * 10


@given(st.lists(st.integers(0, 9), min_size=1, max_size=60), st.integers(1, 20))
def test_the_heap_against_sorting(values: list[int], count: int) -> None:
    """The smallest of what was pushed, in order, of equals the lower row first; no row twice."""
    rows, distances, size = np.empty(count, np.int64), np.empty(count, np.float32), 0
    for row, value in enumerate(values):
        if size < count or value < distances[0]:
            size = push_pose(rows, distances, size, row, np.float32(value))
    sort_heap(rows, distances, size)
    assert distances[:size].tolist() == sorted(values)[:count] and size == min(count, len(values))
    pairs = list(zip(distances[:size].tolist(), rows[:size].tolist(), strict=True))
    assert pairs == sorted(pairs) and all(values[row] == d for d, row in pairs)
