"""Small positive definite systems against numpy's general ones."""

import numpy as np

from reconstruct.cholesky import factored, mirrored, solved, variances, whitened

HALF = np.random.default_rng(0).normal(size=(7, 9))
A = HALF @ HALF.T


def test_factor_solution_and_variances_are_those_of_numpy() -> None:
    before, b = A.copy(), np.arange(7.0)
    L = factored(A)
    assert L is not None and np.array_equal(A, before)
    np.testing.assert_allclose(L, np.linalg.cholesky(A), atol=1e-12)
    np.testing.assert_allclose(solved(L, b), np.linalg.solve(A, b), rtol=1e-9)
    np.testing.assert_allclose(variances(L), np.linalg.inv(A).diagonal(), rtol=1e-9)
    np.testing.assert_allclose(L @ whitened(L, HALF), HALF, atol=1e-12)


def test_what_has_no_factor_is_said_to_have_none() -> None:
    assert factored(A - 100.0 * np.eye(7)) is None
    assert factored(np.full((2, 2), np.nan)) is None


def test_a_lower_triangle_is_mirrored() -> None:
    np.testing.assert_array_equal(mirrored(np.tril(A)), np.tril(A) + np.tril(A, -1).T)
