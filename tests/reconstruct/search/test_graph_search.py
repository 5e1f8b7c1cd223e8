"""The search from frame to frame: near-exact on built-in motions, and nothing that derails it."""

from dataclasses import replace

import numpy as np
import pytest

from database.graph.neighbours import Graph
from reconstruct.search import graph_search as module
from reconstruct.search.examples import Examples
from reconstruct.search.exhaustive import Query, compute_distances, find_nearest_examples
from reconstruct.search.graph_search import PoseSearch
from reconstruct.search.kernels import Lists
from reconstruct.search.lists import build_lists
from tests.reconstruct.search.paths import D, M, ball_graph, graph_from, path, query_at


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
        _, exact = find_nearest_examples(examples, query, 30)
        assert (np.diff(distances) >= 0).all() and len(set(rows.tolist())) == 30
        np.testing.assert_allclose(distances, compute_distances(examples, query)[rows], rtol=1e-4)
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
        _, exact = find_nearest_examples(examples, query, 20)
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
        _, exact = find_nearest_examples(examples, query, 15)
        assert np.sqrt(distances).mean() <= 1.01 * np.sqrt(exact).mean()
        assert np.abs(rows - 1500).min() < 5


def test_nothing_known_is_no_difference(world: tuple[Examples, Graph, Lists]) -> None:
    """All weights zero: any poses do, each once, and the search goes on afterwards."""
    search = PoseSearch(*world)
    rows, distances = search.nearest(Query(np.full((M, 3), np.nan), np.zeros(M), None, np.zeros(0)), 20)
    assert len(set(rows.tolist())) == 20 and distances.tolist() == [0.0] * 20
    query = query_at(world[0], 1234)
    found, exact = search.nearest(query, 20)[1], find_nearest_examples(world[0], query, 20)[1]
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
        expected = find_nearest_examples(examples, query, wanted)
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
        np.testing.assert_allclose(distances[:5], find_nearest_examples(examples, query, 5)[1], rtol=1e-4)
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
