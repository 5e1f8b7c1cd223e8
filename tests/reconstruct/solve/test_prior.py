"""The quadratic term against numpy."""

import numpy as np

from reconstruct.models.local.model import Quadratic
from reconstruct.solve.prior import add_prior


def test_what_is_known_before_is_a_quadratic() -> None:
    """Of the coordinates alone, and of the root as well; what it says nothing of is left as it is."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=10)
    for n in (4, 10):
        B, center = rng.normal(size=(n, n)), rng.normal(size=n)
        P, w = B @ B.T, x[:n] - center
        A, g = np.zeros((10, 10)), np.zeros(10)
        np.testing.assert_allclose(add_prior(Quadratic(center, P), x, A, g), 0.5 * w @ P @ w, rtol=1e-12)
        np.testing.assert_allclose(g, np.concatenate([P @ w, np.zeros(10 - n)]), atol=1e-12)
        np.testing.assert_allclose(A[:n, :n], np.tril(P), atol=1e-12)
        assert not A[n:, n:].any()
