"""Small positive definite systems against numpy's general solvers."""

import numpy as np
import pytest

from numerics.definite import (
    compute_variances,
    eliminate_rows,
    factor_definite,
    invert_triangle,
    mirror_triangle,
    solve_damped,
    solve_factored,
)

HALF = np.random.default_rng(0).normal(size=(7, 9))
A = HALF @ HALF.T


def test_factor_solution_and_variances_are_those_of_numpy() -> None:
    before, b = A.copy(), np.arange(7.0)
    L = factor_definite(A)
    assert L is not None and np.array_equal(A, before)
    np.testing.assert_allclose(L, np.linalg.cholesky(A), atol=1e-12)
    np.testing.assert_allclose(solve_factored(L, b), np.linalg.solve(A, b), rtol=1e-9)
    np.testing.assert_allclose(compute_variances(L), np.linalg.inv(A).diagonal(), rtol=1e-9)


def test_what_has_no_factor_is_said_to_have_none() -> None:
    assert factor_definite(A - 100.0 * np.eye(7)) is None
    assert factor_definite(np.full((2, 2), np.nan)) is None


def test_a_lower_triangle_is_mirrored() -> None:
    np.testing.assert_array_equal(mirror_triangle(np.tril(A)), np.tril(A) + np.tril(A, -1).T)


@pytest.mark.kernels
@pytest.mark.parametrize("n", [1, 3, 4, 5, 9, 14])
def test_kernels_of_small_systems_against_numpy(n: int) -> None:
    rng = np.random.default_rng(n)
    half = rng.normal(size=(n, n))
    A, b = half @ half.T + np.eye(n), rng.normal(size=n)
    for first in range(n):
        C, step, rest = np.tril(A), b.copy(), slice(first, n)
        assert eliminate_rows(C, step, first)
        whole = np.linalg.inv(A)[:first, :first]
        np.testing.assert_allclose(mirror_triangle(np.tril(C[:first, :first])), np.linalg.inv(whole), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(C[rest, rest].T @ C[rest, rest], A[rest, rest], rtol=1e-9, atol=1e-9)
    C = np.tril(A)
    assert eliminate_rows(C, b, 0)
    invert_triangle(C)
    np.testing.assert_allclose(np.tril(C) @ np.tril(C).T, np.linalg.inv(A), rtol=1e-9, atol=1e-9)
    assert not eliminate_rows(-np.eye(n), b, 0)


def test_cholesky_against_numpy_and_what_is_not_positive() -> None:
    rng = np.random.default_rng(0)
    B = rng.normal(size=(6, 6))
    A, g = B @ B.T + np.eye(6), rng.normal(size=6)
    C, step = np.zeros((6, 6)), np.zeros(6)
    lower = np.tril(A) + np.triu(np.full((6, 6), 99.0), 1)  # the upper triangle must not be read
    assert solve_damped(lower, g, 0.3, C, step)
    np.testing.assert_allclose(step, np.linalg.solve(A + 0.3 * np.diag(np.diag(A)), -g), rtol=1e-9)
    assert not solve_damped(-np.eye(3), np.ones(3), 0.0, np.zeros((3, 3)), np.zeros(3))
    assert not solve_damped(np.full((3, 3), np.nan), np.ones(3), 0.0, np.zeros((3, 3)), np.zeros(3))
