"""The likeliest assignments against all there are."""

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from config.arrays import Floats
from numerics.assignment import IMPOSSIBLE, find_likeliest_assignments


def all_assignments(cost: Floats, missed: Floats) -> list[tuple[float, tuple[int, ...]]]:
    """Return every assignment with its cost, the least first."""
    rows, columns = cost.shape
    found = []
    for choice in product(range(-1, columns), repeat=rows):
        taken = [c for c in choice if c >= 0]
        if len(set(taken)) == len(taken):
            found.append((sum(missed[r] if c < 0 else cost[r, c] for r, c in enumerate(choice)), choice))
    return sorted(found)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 100_000), st.integers(1, 4), st.integers(0, 4), st.integers(1, 6), st.floats(0.5, 12.0))
def test_the_likeliest_assignments_are_the_first_of_all(seed: int, rows: int, columns: int, count: int, margin: float) -> None:
    rng = np.random.default_rng(seed)
    cost, missed = rng.uniform(-6.0, 6.0, (rows, columns)), rng.uniform(0.0, 4.0, rows)
    cost[rng.random(cost.shape) < 0.25] = IMPOSSIBLE
    found = find_likeliest_assignments(cost, missed, count, margin)
    every = all_assignments(cost, missed)
    near = [(total, choice) for total, choice in every if total < every[0][0] + margin][:count]
    assert [tuple(choice) for _, choice in found] == [choice for _, choice in near]
    np.testing.assert_allclose([total for total, _ in found], [total for total, _ in near], atol=1e-9)
