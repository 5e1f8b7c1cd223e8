"""Exhaustive search: distances against plain numpy, ties, more wanted than there are, unseen markers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconstruct.examples import Examples
from reconstruct.nearest import Query, nearest, nearest_examples, squared_distances

M, D = 4, 66


def examples(n: int, seed: int) -> Examples:
    """Give random examples."""
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
    found = squared_distances(table, query, weight, pose, pose_weight)
    np.testing.assert_allclose(found, expected, rtol=2e-5)  # single precision, 78 terms
    assert found.dtype == np.float32


@pytest.mark.parametrize("rubbish", [np.nan, np.inf, 1e30])
def test_unseen_markers_weigh_nothing(rubbish: float) -> None:
    table, rng = examples(9, 3), np.random.default_rng(4)
    query, weight = rng.normal(size=(M, 3)), np.array([2.0, 0.0, 3.0, 0.5])
    other = query.copy()
    other[1] = rubbish
    first = squared_distances(table, query, weight, None, np.ones(D))
    assert np.array_equal(first, squared_distances(table, other, weight, None, np.ones(D)))
    seen = [0, 2, 3]
    expected = ((table.marker_m.reshape(9, M, 3)[:, seen] - query[seen]) ** 2 @ np.ones(3)) @ weight[seen]
    np.testing.assert_allclose(first, expected, rtol=1e-5)


def test_nothing_seen_and_nothing_predicted_is_no_difference() -> None:
    found = squared_distances(examples(5, 1), np.zeros((M, 3)), np.zeros(M), None, np.ones(D))
    assert found.tolist() == [0.0] * 5


@given(st.lists(st.integers(0, 6), min_size=1, max_size=30), st.integers(1, 40))
def test_nearest_against_sorting(values: list[int], count: int) -> None:
    """Many ties: which of them come is open, but no index twice and the distances are the smallest, in order."""
    distances = np.array(values, np.float32)
    found = nearest(distances, count)
    assert len(found) == min(count, len(values)) == len(set(found.tolist()))
    assert distances[found].tolist() == sorted(values)[:count]


@given(st.integers(30, 200), st.integers(1, 25), st.integers(0, 1000), st.integers(1, 60))
def test_seeds_change_the_time_not_the_result(n: int, count: int, seed: int, n_seeds: int) -> None:
    table, rng = examples(n, seed), np.random.default_rng(seed + 1)
    weight = rng.uniform(0.5, 900.0, M) * (rng.random(M) < 0.7)
    query = Query(rng.normal(size=(M, 3)), weight, rng.normal(size=D), rng.uniform(0.1, 30.0, D))
    rows, distances = nearest_examples(table, query, count)
    seeded, same = nearest_examples(table, query, count, rng.integers(0, n, n_seeds))
    assert set(seeded.tolist()) == set(rows.tolist())
    np.testing.assert_allclose(same, distances, rtol=1e-5)
