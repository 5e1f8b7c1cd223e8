"""The quick way to a no, against trying all."""

import numpy as np
import pytest

from reconstruct.examples import Examples
from reconstruct.likeness import Likeness
from reconstruct.nearest import Query, distances_of

N, M, D = 400, 5, 6


def examples(seed: int = 0) -> Examples:
    """Give poses and markers at random, spread over about a metre."""
    rng = np.random.default_rng(seed)
    pose, marker = rng.normal(size=(N, D)).astype(np.float32), rng.normal(0.0, 0.4, size=(N, 3 * M)).astype(np.float32)
    return Examples(pose, marker, np.zeros(N, np.int32), 60.0)


def query(seed: int) -> Query:
    """Give a query with one marker unseen."""
    rng = np.random.default_rng(seed)
    weight = rng.uniform(50.0, 1000.0, M)
    weight[4] = 0.0
    return Query(rng.normal(0.0, 0.3, (M, 3)), weight, None, np.ones(D))


@pytest.mark.parametrize("seed", range(8))
def test_same_answer_as_trying_all(seed: int) -> None:
    """Limits to both sides of the nearest distance, by markers that are seen and one that is not."""
    every_third = Likeness(examples(), 130)
    assert len(every_third.examples) == 134
    asked = query(seed)
    distances = distances_of(every_third.examples, asked)
    best = float(distances.min())
    found, pose = every_third.nearest(asked)
    assert found == best
    np.testing.assert_array_equal(pose, every_third.examples.pose[int(np.argmin(distances))])
    for markers in ((0, 1), (3, 2), (4, 1)):
        for share in (0.5, 0.99, 1.0, 1.01, 3.0):
            assert every_third.any_within(asked, share * best, markers) == (share >= 1.0)
        assert not every_third.any_within(asked, 0.0, markers)


def test_bound_is_the_nearest_of_the_examples_next_to_some() -> None:
    some, asked = Likeness(examples(), 130), query(9)
    distances = distances_of(some.examples, asked)
    # Every third is kept: poses 0 to 2 stand for example 0, 10 for example 3, and there are 134 of 400.
    assert some.at_most(asked, np.array([2, 10, 399])) == min(distances[0], distances[3], distances[133])
    assert some.at_most(asked, np.arange(N)) == some.nearest(asked)[0]
