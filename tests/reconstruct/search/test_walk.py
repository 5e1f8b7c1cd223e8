"""The search from frame to frame: the walk against a slow one, near-exact on built-in motions, and nothing that derails it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.arrays import Ints
from database.graph.neighbours import Graph
from reconstruct.search import walk as module
from reconstruct.search.examples import Examples
from reconstruct.search.kernels import (
    Best,
    Features,
    GraphEdges,
    Lists,
    Progress,
    WalkMemory,
    _from_rows,
    _prepare,
    _push,
    _sort,
    _walk,
)
from reconstruct.search.lists import build_lists
from reconstruct.search.nearest import Query, distances_of, nearest_examples, raw_query
from reconstruct.search.walk import PoseSearch

M, D = 3, 6


def path(n: int, seed: int, n_parts: int = 4) -> Examples:
    """Return poses along some smooth paths far from each other, markers a function of the pose."""
    rng = np.random.default_rng(seed)
    part = np.arange(n) * n_parts // n
    phase = np.linspace(0.0, 5.7 * n_parts, n)
    wave = np.stack([np.sin((k % 3 + 1) * phase + k) for k in range(D)], axis=1)
    pose = rng.normal(0.0, 1.5, (n_parts, D))[part] + 0.5 * wave
    marker = np.tanh(pose @ np.random.default_rng(9).normal(size=(D, 3 * M)) / 3.0)
    return Examples(pose.astype(np.float32), marker.astype(np.float32), part.astype(np.int32), 60.0)


def graph_from(rows: list[list[int]]) -> Graph:
    """Return a graph from its rows."""
    start = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    flat = np.array([n for row in rows for n in row], np.int32)
    return Graph(start, flat, np.diff(start).astype(np.int32), 0.0, 16, 0)


def ball_graph(examples: Examples, radius: float, degree: int, seed: int = 0) -> Graph:
    """Join poses by their L1 distance, the slow and obvious way, and those before and after in the clip."""
    rng, rows = np.random.default_rng(seed), []
    for n in range(len(examples)):
        ball = np.flatnonzero(np.abs(examples.pose - examples.pose[n]).sum(axis=1) < radius)
        kept = set(rng.permutation(ball)[:degree].tolist())
        kept |= {k for k in (n - 1, n + 1) if 0 <= k < len(examples) and examples.clip[k] == examples.clip[n]}
        rows.append(sorted(kept - {n}))
    return graph_from(rows)


def query_at(examples: Examples, n: int, seed: int = 0, noise: float = 0.02) -> Query:
    """Ask for a pose of the examples, with noise."""
    rng = np.random.default_rng(seed)
    marker = examples.marker_m[n].reshape(M, 3) + rng.normal(0.0, noise, (M, 3))
    return Query(marker, np.full(M, 900.0), examples.pose[n] + rng.normal(0.0, noise, D), np.full(D, 6.0))


def slow_walk(examples: Examples, graph: Graph, query: Query, seeds: list[int], count: int) -> tuple[list[int], set[int]]:
    """Return the nearest poses and all examined: grow from the seeds until no pose of the best has an unknown neighbour."""
    distance = distances_of(examples, query)
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
    memory, known = WalkMemory(np.zeros(len(examples), np.uint8), queue, batch), _prepare(raw_query(query))
    features, edges = Features(examples.marker_m, examples.pose), GraphEdges(graph.start, graph.neighbour)
    seeded = _from_rows(features, known, np.array(seeds, np.int64), memory, 1, best, Progress(0, 0, 0))
    size, _, n_examined = _walk(features, edges, known, memory, 1, best, seeded)
    np.testing.assert_allclose(distances[:size], distances_of(examples, query)[rows[:size]], rtol=1e-4, atol=1e-4)
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
    distance = distances_of(examples, query)
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
            size = _push(rows, distances, size, row, np.float32(value))
    _sort(rows, distances, size)
    assert distances[:size].tolist() == sorted(values)[:count] and size == min(count, len(values))
    pairs = list(zip(distances[:size].tolist(), rows[:size].tolist(), strict=True))
    assert pairs == sorted(pairs) and all(values[row] == d for d, row in pairs)


@pytest.fixture(scope="module")
def world() -> tuple[Examples, Graph, Lists]:
    """Return poses of forty paths, their graph and lists."""
    examples = path(3000, 3, 40)
    return examples, ball_graph(examples, 0.8, 16), build_lists(examples.marker_m, 80, seed=0)


def test_near_exact_along_a_motion_with_few_looked_at(world: tuple[Examples, Graph, Lists]) -> None:
    examples, graph, lists = world
    search = PoseSearch(examples, graph, lists)
    ratios, examined = [], []
    for n in range(400, 440):
        query = query_at(examples, n, n)
        rows, distances = search.nearest(query, 30)
        _, exact = nearest_examples(examples, query, 30)
        assert (np.diff(distances) >= 0).all() and len(set(rows.tolist())) == 30
        np.testing.assert_allclose(distances, distances_of(examples, query)[rows], rtol=1e-4)
        ratios.append(np.sqrt(distances).mean() / np.sqrt(exact).mean())
        examined.append(search.examined)
    assert np.mean(ratios) < 1.005 and np.mean(examined[1:]) < 0.5 * len(examples)


def test_found_again_in_the_frame_of_a_jump(world: tuple[Examples, Graph, Lists]) -> None:
    """From one path to another, where no edge leads."""
    examples, graph, lists = world
    search = PoseSearch(examples, graph, lists)
    for n, here in enumerate([100, 101, 2100, 2101, 990, 1600, 40]):
        query = query_at(examples, here, n)
        _, distances = search.nearest(query, 20)
        _, exact = nearest_examples(examples, query, 20)
        assert np.sqrt(distances).mean() < 1.01 * np.sqrt(exact).mean()


def test_many_lists_where_the_way_is_lost(
    world: tuple[Examples, Graph, Lists],
) -> None:
    """At the start, after forgetting, after a jump, and where the best pose is poor."""
    examples, graph, lists = world
    search = PoseSearch(examples, graph, lists)

    def wide(query: Query) -> bool:
        search.nearest(query, 20)
        return search.wide

    assert wide(query_at(examples, 500)) and not wide(query_at(examples, 501)) and not wide(query_at(examples, 502))
    search.forget()
    assert wide(query_at(examples, 503)) and not wide(query_at(examples, 504))
    assert wide(query_at(examples, 2500)) and not wide(query_at(examples, 2501))  # the last poses are far from these
    nowhere = replace(query_at(examples, 505), marker_m=np.full((M, 3), 7.0))
    assert wide(nowhere)


def test_the_same_twice(world: tuple[Examples, Graph, Lists]) -> None:
    first, second = PoseSearch(*world), PoseSearch(*world)
    for n in range(700, 712):
        query = query_at(world[0], n, n)
        (rows, distances), (again, same) = first.nearest(query, 25), second.nearest(query, 25)
        assert np.array_equal(rows, again) and np.array_equal(distances, same) and first.examined == second.examined


def test_unseen_markers_rays_and_no_prediction(world: tuple[Examples, Graph, Lists]) -> None:
    examples, graph, lists = world
    search = PoseSearch(examples, graph, lists)
    whole = query_at(examples, 1500)
    one_unseen = replace(whole, marker_weight=np.array([900.0, 0.0, 900.0]), marker_m=whole.marker_m.copy())
    one_unseen.marker_m[1] = np.nan
    on_ray = replace(whole, ray=np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]), marker_m=whole.marker_m.copy())
    on_ray.marker_m[1, 2] = 40.0
    for query in (whole, one_unseen, on_ray, replace(whole, pose=None), replace(on_ray, pose=None)):
        rows, distances = search.nearest(query, 15)
        _, exact = nearest_examples(examples, query, 15)
        assert np.sqrt(distances).mean() <= 1.01 * np.sqrt(exact).mean()
        assert np.abs(rows - 1500).min() < 5


def test_nothing_known_is_no_difference(world: tuple[Examples, Graph, Lists]) -> None:
    """All weights zero: any poses do, each once, and the search goes on afterwards."""
    search = PoseSearch(*world)
    rows, distances = search.nearest(Query(np.full((M, 3), np.nan), np.zeros(M), None, np.zeros(0)), 20)
    assert len(set(rows.tolist())) == 20 and distances.tolist() == [0.0] * 20
    query = query_at(world[0], 1234)
    found, exact = search.nearest(query, 20)[1], nearest_examples(world[0], query, 20)[1]
    assert found.mean() <= 1.01 * exact.mean()


def test_nan_is_refused_and_changes_nothing(world: tuple[Examples, Graph, Lists]) -> None:
    search, other = PoseSearch(*world), PoseSearch(*world)
    query = query_at(world[0], 800)
    search.nearest(query, 10), other.nearest(query, 10)
    with pytest.raises(ValueError, match="NaN"):
        search.nearest(replace(query, pose=np.full(D, np.nan)), 10)
    query = query_at(world[0], 801)
    assert np.array_equal(search.nearest(query, 10)[0], other.nearest(query, 10)[0])


def test_identical_poses() -> None:
    n = 2100
    examples = Examples(np.zeros((n, D), np.float32), np.ones((n, 3 * M), np.float32), np.zeros(n, np.int32), 60.0)
    graph = graph_from([[k for k in (row - 1, row + 1) if 0 <= k < n] for row in range(n)])
    search = PoseSearch(examples, graph, build_lists(examples.marker_m, 30))
    for _ in range(3):
        rows, distances = search.nearest(Query(np.ones((M, 3)), np.ones(M), np.zeros(D), np.ones(D)), 50)
        assert len(set(rows.tolist())) == 50 and distances.tolist() == [0.0] * 50


@pytest.mark.parametrize("n", [1, 5, 90])
def test_few_poses_and_more_wanted_than_there_are(n: int) -> None:
    examples = path(n, 0, 1)
    search = PoseSearch(examples, ball_graph(examples, 1.0, 4), build_lists(examples.marker_m))
    for wanted in (1, n, n + 10):
        query = query_at(examples, n // 2)
        rows, distances = search.nearest(query, wanted)
        expected = nearest_examples(examples, query, wanted)
        assert len(rows) == min(n, wanted) and search.examined == n
        assert np.array_equal(distances, expected[1])


@pytest.mark.parametrize("parts", ["none", "graph", "lists"])
def test_without_graph_or_lists(world: tuple[Examples, Graph, Lists], parts: str) -> None:
    """Without a graph all poses are tried; without lists all at the start, then a walk."""
    examples, graph, lists = world
    search = PoseSearch(examples, graph if parts == "graph" else None, lists if parts == "lists" else None)
    for n in range(600, 606):
        query = query_at(examples, n, n)
        _, distances = search.nearest(query, 20)
        np.testing.assert_allclose(distances[:5], nearest_examples(examples, query, 5)[1], rtol=1e-4)
    assert (search.examined < len(examples)) == (parts == "graph")


def test_stamps_start_anew_in_time(world: tuple[Examples, Graph, Lists], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LAST_STAMP", 3)
    search, usual = PoseSearch(*world), PoseSearch(*world)
    found = [search.nearest(query_at(world[0], n), 10)[0] for n in range(300, 309)]
    monkeypatch.undo()
    assert all(np.array_equal(rows, usual.nearest(query_at(world[0], 300 + k), 10)[0]) for k, rows in enumerate(found))


def test_wrong_sizes_are_refused(world: tuple[Examples, Graph, Lists]) -> None:
    examples, graph, lists = world
    few = Examples(examples.pose[:90], examples.marker_m[:90], examples.clip[:90], 60.0)
    with pytest.raises(ValueError, match="3000 poses does not fit 90"):
        PoseSearch(few, graph, None)
    with pytest.raises(ValueError, match="3000 poses do not fit 90"):
        PoseSearch(few, None, lists)
    with pytest.raises(ValueError, match="does not fit examples"):
        PoseSearch(*world).nearest(Query(np.ones((M + 1, 3)), np.ones(M + 1), None, np.zeros(0)), 5)
    with pytest.raises(ValueError, match="at least 1"):
        PoseSearch(*world).nearest(query_at(examples, 0), 0)
