"""The active set: each pose added has the largest variance, as recomputed in the plain way; repetitions are left out."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from config.arrays import Floats
from reconstruct.models.style.learn.active_set import choose_active_set
from reconstruct.models.style.model import Hyperparameters, compute_covariance
from tests.support.compiled import limit_examples

PARAMETERS = Hyperparameters(1.4, 300.0, 0.8)


def plain_variance(X: Floats, chosen: list[int], p: Hyperparameters) -> Floats:
    """Return s2 of all points by inverting the covariance of those chosen."""
    k = compute_covariance(X, X[chosen], p)
    K = compute_covariance(X[chosen], X[chosen], p) + np.eye(len(chosen)) / p.beta
    return np.asarray(p.alpha + 1.0 / p.beta - np.einsum("nm,mn->n", k, np.linalg.solve(K, k.T)))


@given(st.integers(1, 15), st.integers(1, 4), st.integers(1, 15), st.integers(0, 10**6))
@limit_examples(15)
def test_each_pose_added_has_the_largest_variance(n: int, n_latent: int, most: int, seed: int) -> None:
    X = np.random.default_rng(seed).normal(size=(n, n_latent))
    rows = choose_active_set(X, PARAMETERS, most).tolist()
    assert len(set(rows)) == len(rows) <= min(n, most)
    assert rows[0] == np.argmin((X**2).sum(axis=1))
    for m in range(1, len(rows)):
        variance = plain_variance(X, rows[:m], PARAMETERS)
        variance[rows[:m]] = 0.0
        assert variance[rows[m]] >= variance.max() - 1e-9


def test_poses_that_are_there_already_are_left_out() -> None:
    X = np.repeat(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 3.0]]), 5, axis=0)
    rows = choose_active_set(X, PARAMETERS, 10)
    assert sorted(map(tuple, X[rows])) == [(0.0, 0.0), (0.0, 3.0), (1.0, 0.0)]


def test_all_alike_leave_one() -> None:
    np.testing.assert_array_equal(choose_active_set(np.full((8, 3), 0.7), PARAMETERS, 5), [0])


def test_far_poses_come_before_near_ones() -> None:
    X = np.array([[0.0], [0.1], [0.2], [5.0], [-4.0]])
    assert set(choose_active_set(X, PARAMETERS, 3).tolist()) == {0, 3, 4}
