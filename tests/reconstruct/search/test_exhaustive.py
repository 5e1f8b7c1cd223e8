"""Exhaustive search: distances against plain numpy, ties, hidden markers; quick bounds against trying all."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconstruct.search.examples import Examples
from reconstruct.search.exhaustive import Query, compute_distances, find_nearest, find_nearest_examples

M, D = 4, 66


def examples(n: int, seed: int) -> Examples:
    """Return random examples."""
    rng = np.random.default_rng(seed)
    pose, marker = rng.normal(size=(n, D)).astype(np.float32), rng.normal(size=(n, 3 * M)).astype(np.float32)
    return Examples(pose, marker, np.zeros(n, np.int32), 60.0)


@given(st.integers(1, 40), st.integers(0, 1000), st.booleans())
def test_distances_against_numpy(n: int, seed: int, predicted: bool) -> None:
    table, rng = examples(n, seed), np.random.default_rng(seed + 1)
    query, weight = rng.normal(size=(M, 3)), rng.uniform(0.5, 900.0, M)
    pose, pose_weight = (rng.normal(size=D) if predicted else None), rng.uniform(0.1, 30.0, D)
    expected = ((table.marker_m.reshape(n, M, 3) - query) ** 2 @ np.ones(3)) @ weight
    if pose is not None:
        expected = expected + (table.pose - pose) ** 2 @ pose_weight
    found = compute_distances(table, Query(query, weight, pose, pose_weight))
    np.testing.assert_allclose(found, expected, rtol=2e-5)  # single precision, 78 terms
    assert found.dtype == np.float32


@pytest.mark.parametrize("rubbish", [np.nan, np.inf, 1e30])
def test_unseen_markers_weigh_nothing(rubbish: float) -> None:
    table, rng = examples(9, 3), np.random.default_rng(4)
    query, weight = rng.normal(size=(M, 3)), np.array([2.0, 0.0, 3.0, 0.5])
    other = query.copy()
    other[1] = rubbish
    first = compute_distances(table, Query(query, weight, None, np.ones(D)))
    assert np.array_equal(first, compute_distances(table, Query(other, weight, None, np.ones(D))))
    seen = [0, 2, 3]
    expected = ((table.marker_m.reshape(9, M, 3)[:, seen] - query[seen]) ** 2 @ np.ones(3)) @ weight[seen]
    np.testing.assert_allclose(first, expected, rtol=1e-5)


def test_nothing_seen_and_nothing_predicted_is_no_difference() -> None:
    found = compute_distances(examples(5, 1), Query(np.zeros((M, 3)), np.zeros(M), None, np.ones(D)))
    assert found.tolist() == [0.0] * 5


@given(st.lists(st.integers(0, 6), min_size=1, max_size=30), st.integers(1, 40))
def test_nearest_against_sorting(values: list[int], count: int) -> None:
    """Many ties: which of them come is open, but no index twice and the distances are the smallest, in order."""
    distances = np.array(values, np.float32)
    found = find_nearest(distances, count)
    assert len(found) == min(count, len(values)) == len(set(found.tolist()))
    assert distances[found].tolist() == sorted(values)[:count]


@given(st.integers(30, 200), st.integers(1, 25), st.integers(0, 1000), st.integers(1, 60))
def test_seeds_change_the_time_not_the_result(n: int, count: int, seed: int, n_seeds: int) -> None:
    table, rng = examples(n, seed), np.random.default_rng(seed + 1)
    weight = rng.uniform(0.5, 900.0, M) * (rng.random(M) < 0.7)
    query = Query(rng.normal(size=(M, 3)), weight, rng.normal(size=D), rng.uniform(0.1, 30.0, D))
    rows, distances = find_nearest_examples(table, query, count)
    seeded, same = find_nearest_examples(table, query, count, rng.integers(0, n, n_seeds))
    assert set(seeded.tolist()) == set(rows.tolist())
    np.testing.assert_allclose(same, distances, rtol=1e-5)


def test_a_ray_counts_only_across_by_hand() -> None:
    """The marker lies anywhere on a line along z through (1, 2, .): only 3 across count; the other marker counts whole."""
    marker = np.array([[1.0, 5.0, 9.0, 0.5, 0.0, 2.0]], np.float32)
    table = Examples(np.zeros((1, D), np.float32), marker, np.zeros(1, np.int32), 60.0)
    ray = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    for depth in (-7.0, 0.0, 40.0):
        query = Query(np.array([[1.0, 2.0, depth], [0.0, 0.0, 0.0]]), np.array([4.0, 4.0]), None, np.ones(D), ray)
        assert compute_distances(table, query).tolist() == [4.0 * 9.0 + 4.0 * 4.25]


@given(st.integers(2, 60), st.integers(0, 1000))
def test_rays_against_numpy(n: int, seed: int) -> None:
    """Also the seeded search, and markers that are both unseen and on a ray."""
    table, rng = examples(n, seed), np.random.default_rng(seed + 1)
    weight = rng.uniform(0.5, 900.0, M) * (rng.random(M) < 0.8)
    ray = rng.normal(size=(M, 3)) * (rng.random(M) < 0.5)[:, None]
    ray = np.divide(ray, np.linalg.norm(ray, axis=1, keepdims=True), out=np.zeros_like(ray), where=ray != 0)
    pose = rng.normal(size=D)
    query = Query(rng.normal(size=(M, 3)), weight, pose, rng.uniform(0.1, 30.0, D), ray)
    e = table.marker_m.reshape(n, M, 3) - query.marker_m
    across = (e**2).sum(axis=2) - (e * ray).sum(axis=2) ** 2
    expected = across @ weight + (table.pose - pose) ** 2 @ query.pose_weight
    np.testing.assert_allclose(compute_distances(table, query), expected, rtol=1e-4)
    rows, found = find_nearest_examples(table, query, n // 2, rng.integers(0, n, n // 2 + 1))
    np.testing.assert_allclose(found, np.sort(expected)[: n // 2], rtol=1e-4)
    np.testing.assert_allclose(found, expected[rows], rtol=1e-4)


@pytest.mark.parametrize("field", ["marker_m", "marker_weight", "pose", "pose_weight", "ray"])
def test_nan_and_infinity_are_refused(field: str) -> None:
    query = Query(np.ones((M, 3)), np.ones(M), np.ones(D), np.ones(D), np.tile([0.6, 0.0, 0.8], (M, 1)))
    assert len(find_nearest_examples(examples(5, 0), query, 3)[0]) == 3
    for rubbish in (np.nan, np.inf):
        spoilt = getattr(query, field).copy()
        spoilt.flat[1] = rubbish
        with pytest.raises(ValueError, match="NaN"):
            find_nearest_examples(examples(5, 0), replace(query, **{field: spoilt}), 3)


def test_negative_weights_are_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        compute_distances(examples(5, 0), Query(np.ones((M, 3)), np.array([1.0, -1.0, 1.0, 1.0]), None, np.ones(D)))


def test_sizes_that_do_not_fit_are_refused() -> None:
    table = examples(5, 0)
    with pytest.raises(ValueError, match="9 marker and 66 joint coordinates does not fit examples of 12 and 66"):
        compute_distances(table, Query(np.ones((3, 3)), np.ones(3), np.ones(D), np.ones(D)))
    with pytest.raises(ValueError, match="12 marker and 65"):
        find_nearest_examples(table, Query(np.ones((M, 3)), np.ones(M), np.ones(D - 1), np.ones(D - 1)), 2)
    with pytest.raises(ValueError, match="do not fit together"):
        compute_distances(table, Query(np.ones((M, 3)), np.ones(M - 1), None, np.ones(D)))
