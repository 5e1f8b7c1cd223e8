"""The quadratic terms against numpy."""

import numpy as np

from reconstruct.models.local.model import Quadratic
from reconstruct.solve.prior import RootTerm, _add_prior, _add_root


def test_prior_of_the_coordinates() -> None:
    rng = np.random.default_rng(2)
    B, center, x = rng.normal(size=(4, 4)), rng.normal(size=4), rng.normal(size=10)
    P, w = B @ B.T, x[:4] - center
    A, g = np.zeros((10, 10)), np.zeros(10)
    np.testing.assert_allclose(_add_prior(Quadratic(center, P), x, A, g), 0.5 * w @ P @ w, rtol=1e-12)
    np.testing.assert_allclose(g, np.concatenate([P @ w, np.zeros(6)]), atol=1e-12)
    np.testing.assert_allclose(A[:4, :4], np.tril(P), atol=1e-12)
    assert not A[4:].any()


def test_prediction_of_the_root() -> None:
    rng = np.random.default_rng(3)
    center, precision, x = rng.normal(size=6), rng.uniform(1.0, 9.0, 6), rng.normal(size=9)
    A, g, e = np.zeros((9, 9)), np.zeros(9), x[3:] - center
    np.testing.assert_allclose(_add_root(RootTerm(center, precision), x, A, g), 0.5 * precision @ e**2, rtol=1e-12)
    np.testing.assert_allclose(g, np.concatenate([np.zeros(3), precision * e]), atol=1e-12)
    np.testing.assert_allclose(A, np.diag(np.concatenate([np.zeros(3), precision])), atol=1e-12)
