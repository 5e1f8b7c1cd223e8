"""Least squares with unknowns that are not negative."""

import numpy as np
from scipy.optimize import nnls

from reconstruct.models.physics.interior import CoupledSquares, minimise_nonnegative


def test_one_frame_is_nonnegative_least_squares() -> None:
    rng = np.random.default_rng(0)
    A, b = rng.normal(size=(9, 6)), rng.normal(size=9)
    problem = CoupledSquares((A.T @ A)[None], (A.T @ b)[None], np.zeros(0), np.ones((1, 6), bool))
    found = minimise_nonnegative(problem)[0]
    expected = nnls(A, b)[0]
    assert (expected == 0).any() and (expected > 0).any()
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_coupled_frames_solve_the_stacked_problem() -> None:
    """The same as one large problem whose rows couple frames, with unknowns left out where they are not free."""
    rng = np.random.default_rng(1)
    n, k, r = 6, 5, 3.0
    A, b, free = rng.normal(size=(n, 7, k)), rng.normal(size=(n, 7)), rng.random((n, k)) > 0.25
    big, right = np.zeros((n * 7 + (n - 1) * k, n * k)), np.zeros(n * 7 + (n - 1) * k)
    for t in range(n):
        big[7 * t : 7 * t + 7, k * t : k * t + k] = A[t] * free[t]
        right[7 * t : 7 * t + 7] = b[t]
    for t in range(n - 1):
        for i in np.flatnonzero(free[t] & free[t + 1]):
            big[7 * n + k * t + i, [k * t + i, k * t + k + i]] = np.sqrt(r) * np.array([-1.0, 1.0])
    rows = A * 1.0
    H, g = np.einsum("tri,trj->tij", rows, rows), np.einsum("tri,tr->ti", rows, b)
    found = minimise_nonnegative(CoupledSquares(H, g, np.full(n - 1, r), free))
    expected = nnls(big[:, free.ravel()], right)[0]
    np.testing.assert_allclose(found[free], expected, atol=1e-5)
    assert (found[~free] == 0.0).all()
