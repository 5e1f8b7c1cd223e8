"""The likeliest labels of several tracks together, against all of them."""

from itertools import product

import numpy as np
import pytest

from reconstruct.offline import sweep
from reconstruct.offline.labels import NO_LABEL
from reconstruct.offline.sweep import find_best_choices


@pytest.mark.parametrize(("tracks", "seed"), [(1, 0), (2, 1), (3, 2), (3, 3)])
def test_choices_are_the_cheapest_of_all(tracks: int, seed: int) -> None:
    markers, rng = 4, np.random.default_rng(seed)
    cost = rng.uniform(0.0, 30.0, (tracks, markers + 1))
    cost[0, 1] = np.inf
    spent = []
    for choice in product(range(markers + 1), repeat=tracks):
        given = [m for m in choice if m < markers]
        total = float(cost[np.arange(tracks), choice].sum())
        if len(set(given)) == len(given) and np.isfinite(total):
            spent.append((total, [NO_LABEL if m == markers else m for m in choice]))
    expected = [choice for _, choice in sorted(spent)[: sweep.BRANCHES]]
    assert [found.tolist() for found in find_best_choices(cost)] == expected


def test_what_is_far_likelier_has_no_rival() -> None:
    assert [found.tolist() for found in find_best_choices(np.array([[0.0, 2.0 * sweep.FAR, 2.0 * sweep.FAR]]))] == [[0]]
