"""Inverted lists: k-means against a slow one, every pose in the list of its nearest centre, the lists a query is nearest to."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from config.arrays import Ints
from reconstruct.search import lists as module
from reconstruct.search.distances import convert_query
from reconstruct.search.examples import Examples
from reconstruct.search.exhaustive import Query, compute_distances, convert_raw_query
from reconstruct.search.kernels import Lists, find_nearest_in_groups, find_nearest_lists
from reconstruct.search.lists import assign_centers, build_lists

M = 3


def markers(n: int, seed: int) -> NDArray[np.float32]:
    """Return markers of n poses about five places."""
    rng = np.random.default_rng(seed)
    places = rng.normal(size=(5, 3 * M))
    return (places[rng.integers(0, 5, n)] + rng.normal(0.0, 0.2, (n, 3 * M))).astype(np.float32)


def query_near(marker_m: NDArray[np.float32], seed: int, rays: bool = False) -> Query:
    """Return a query with one marker unseen now and then, and one on a ray."""
    rng = np.random.default_rng(seed)
    weight = rng.uniform(1.0, 300.0, M) * (rng.random(M) < 0.8)
    ray = np.zeros((M, 3))
    if rays:
        ray[1] = [0.0, 0.6, -0.8]
    near = marker_m[rng.integers(len(marker_m))].reshape(M, 3)
    return Query(near + rng.normal(0.0, 0.1, (M, 3)), weight, None, np.zeros(0), ray)


def nearest_lists(lists: Lists, query: Query, n_lists: int, min_poses: int = 1) -> Ints:
    """Return the lists whose centres are nearest to a query."""
    return find_nearest_lists(lists, convert_query(convert_raw_query(query)), n_lists, min_poses)


@given(st.integers(1, 50), st.integers(1, 12), st.integers(0, 999))
def test_assignment_against_numpy(n: int, n_centers: int, seed: int) -> None:
    poses, center = markers(n, seed), markers(n_centers, seed + 1)
    squared = ((poses[:, None].astype(float) - center[None]) ** 2).sum(axis=2)
    chosen = assign_centers(poses, center)
    np.testing.assert_allclose(squared[np.arange(n), chosen], squared.min(axis=1), rtol=1e-5)


def test_of_equal_centres_the_first() -> None:
    center = np.array([[5.0] * 3, [1.0] * 3, [1.0] * 3], np.float32)
    assert assign_centers(np.array([[0.5, 1.0, 1.5]], np.float32), center).tolist() == [1]


@given(st.integers(1, 120), st.integers(0, 999))
def test_every_pose_is_in_one_list(n: int, seed: int) -> None:
    poses = markers(n, seed)
    lists = build_lists(poses, seed=seed)
    assert len(lists.center_m) == min(n, round(4.0 * np.sqrt(n)))
    assert sorted(lists.row.tolist()) == list(range(n)) and lists.start[0] == 0 and lists.start[-1] == n
    assert np.array_equal(lists.marker_m, poses[lists.row])
    owner = np.repeat(np.arange(len(lists.center_m)), np.diff(lists.start))
    assert np.array_equal(owner, assign_centers(poses, lists.center_m)[lists.row])


def test_two_groups_by_hand() -> None:
    """Four poses, two centres, whichever it starts from: the means are those of the pairs."""
    poses = np.array([[0.0], [1.0], [10.0], [13.0]], np.float32).repeat(3, axis=1)
    for seed in range(6):
        lists = build_lists(poses, 2, seed)
        assert sorted(lists.center_m[:, 0].tolist()) == [0.5, 11.5]
        assert sorted(lists.row[: lists.start[1]].tolist()) in ([0, 1], [2, 3])


def test_lists_shrink_the_spread() -> None:
    """Learning makes poses lie nearer to their centres than to as many poses drawn at random."""
    poses = markers(900, 4)
    lists = build_lists(poses, 30, seed=1)
    learned = lists.center_m[np.repeat(np.arange(30), np.diff(lists.start))] - lists.marker_m
    drawn = poses[np.random.default_rng(0).choice(900, 30, replace=False)]
    unlearned = drawn[assign_centers(poses, drawn)] - poses
    assert (learned**2).sum() < 0.95 * (unlearned**2).sum()


def test_same_seed_same_lists() -> None:
    poses = markers(400, 2)
    first, again, other = build_lists(poses, seed=3), build_lists(poses, seed=3), build_lists(poses, seed=4)
    assert [array.tolist() for array in first] == [array.tolist() for array in again]
    assert not np.array_equal(first.center_m, other.center_m)
    assert not any(array.flags.writeable for array in first)


@given(st.integers(4, 150), st.integers(1, 20), st.integers(0, 999), st.booleans())
def test_the_nearest_lists_by_the_weights_of_the_query(n: int, n_lists: int, seed: int, rays: bool) -> None:
    """Not by those of learning; lists that hold nothing do not count."""
    poses = markers(n, seed)
    lists, query = build_lists(poses, seed=seed), query_near(poses, seed + 1, rays)
    L = len(lists.center_m)
    centers = Examples(np.zeros((L, 66), np.float32), lists.center_m, np.zeros(L, np.int32), 60.0)
    distance = np.where(np.diff(lists.start) > 0, compute_distances(centers, query), np.inf)
    chosen = nearest_lists(lists, query, n_lists)
    assert len(set(chosen.tolist())) == len(chosen) == min(n_lists, int(np.isfinite(distance).sum()))
    np.testing.assert_allclose(distance[chosen], np.sort(distance)[: len(chosen)], rtol=1e-4, atol=1e-4)


def test_more_lists_where_few_do_not_hold_enough() -> None:
    poses = markers(100, 5)
    lists = build_lists(poses, 10)
    size = np.diff(lists.start)
    query = query_near(poses, 0)
    assert len(nearest_lists(lists, query, 1, 95)) > 1 and size[nearest_lists(lists, query, 1, 95)].sum() >= 95
    assert size[nearest_lists(lists, query, 1, 1000)].sum() == 100


@pytest.fixture(scope="module")
def grouped() -> Lists:
    """Return lists in groups, as those of a million poses are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "GROUPS_FROM", 1000)
        return build_lists(markers(1500, 7), seed=2)


def test_groups_are_divided_into_lists(grouped: Lists) -> None:
    """Every pose is in one list, of the group whose centre is nearest and there of the list whose centre is."""
    poses, size = markers(1500, 7), module.LISTS_PER_GROUP
    assert len(grouped.group_m) == round(np.sqrt(1500)) and len(grouped.center_m) == size * len(grouped.group_m)
    assert sorted(grouped.row.tolist()) == list(range(1500)) and np.array_equal(grouped.marker_m, poses[grouped.row])
    owner = np.repeat(np.arange(len(grouped.center_m)), np.diff(grouped.start))
    assert np.array_equal(owner // size, assign_centers(poses, grouped.group_m)[grouped.row])
    squared = ((poses[grouped.row][:, None] - grouped.center_m.reshape(-1, size, 3 * M)[owner // size]) ** 2).sum(axis=2)
    np.testing.assert_allclose(squared[np.arange(1500), owner % size], squared.min(axis=1), rtol=1e-4)


@given(st.integers(1, 60), st.integers(0, 999), st.booleans(), st.floats(0.3, 30.0))
def test_the_nearest_lists_of_the_nearest_groups(grouped: Lists, n_lists: int, seed: int, rays: bool, limit: float) -> None:
    poses, size = markers(1500, 7), module.LISTS_PER_GROUP
    query = query_near(poses, seed, rays)
    assume(query.marker_weight.any())

    def distances(center_m: NDArray[np.float32]) -> NDArray[np.float64]:
        n = len(center_m)
        return compute_distances(Examples(np.zeros((n, 66), np.float32), center_m, np.zeros(n, np.int32), 60.0), query)

    of_group, of_list = distances(grouped.group_m), distances(grouped.center_m)
    near = np.isin(np.arange(len(of_list)) // size, np.argsort(of_group, kind="stable")[: -(-n_lists // 4)])
    allowed = np.flatnonzero(near & (np.diff(grouped.start) > 0) & (of_list < limit))
    chosen = find_nearest_in_groups(grouped, convert_query(convert_raw_query(query)), n_lists, 0, np.float32(limit))
    assert len(set(chosen.tolist())) == len(chosen) == min(n_lists, len(allowed))
    np.testing.assert_allclose(of_list[chosen], np.sort(of_list[allowed])[: len(chosen)], rtol=1e-4, atol=1e-4)
    some = find_nearest_in_groups(grouped, convert_query(convert_raw_query(query)), 1, 400, np.float32(np.inf))
    assert np.diff(grouped.start)[some].sum() >= 400


@pytest.mark.parametrize("n", [1, 7, 300])
def test_identical_poses(n: int) -> None:
    """One list holds all, whichever lists are asked for."""
    poses = np.full((n, 3 * M), 0.25, np.float32)
    lists = build_lists(poses)
    query = Query(np.full((M, 3), 0.5), np.ones(M), None, np.zeros(0))
    (only,) = nearest_lists(lists, query, 5)
    assert lists.start[only + 1] - lists.start[only] == n
