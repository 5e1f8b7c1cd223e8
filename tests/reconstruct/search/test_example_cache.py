"""What is remembered of examples is what computing it anew gives, whichever share a slot."""

import numpy as np

from config.arrays import Floats, Ints
from reconstruct.search.example_cache import SLOTS, RememberedRows


def test_values_are_those_computed_and_few_are_computed_again() -> None:
    asked = list[int]()

    def compute(rows: Ints) -> Floats:
        asked.extend(rows.tolist())
        return np.stack([rows, rows**2], axis=1).astype(np.float64)

    remembered, rng = RememberedRows(2, compute), np.random.default_rng(0)
    for step in range(20):
        rows = np.unique(np.concatenate([step + rng.integers(0, 40, 30), SLOTS + np.arange(5)]))
        np.testing.assert_array_equal(remembered.of(rows), np.stack([rows, rows**2], axis=1))
    assert len(asked) < 20 * 15
