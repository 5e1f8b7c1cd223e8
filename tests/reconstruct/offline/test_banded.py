"""Banded matrices of blocks against whole ones: solution, what is left of a quadratic, blocks of the inverse."""

import numpy as np
import pytest

from config.arrays import Floats
from reconstruct.offline.banded import eliminated, marginals, solved


def banded(frames: int, count: int, width: int = 3) -> tuple[Floats, Floats]:
    """Return a random positive definite matrix, whole and as blocks."""
    rng = np.random.default_rng(frames)
    L = np.zeros((frames, width, frames, width))
    for t in range(frames):
        for k in range(min(count, t + 1)):
            L[t, :, t - k] = rng.normal(size=(width, width))
    half = L.reshape(frames * width, -1)
    A = half @ half.T + np.eye(len(half))
    square, blocks = A.reshape(L.shape), np.zeros((frames, count, width, width))
    for t in range(frames):
        for k in range(min(count, t + 1)):
            blocks[t, k] = square[t, :, t - k]
    return A, blocks


SIZES = pytest.mark.parametrize(("frames", "count"), [(1, 4), (2, 4), (3, 4), (4, 4), (9, 4), (6, 2)])


@SIZES
def test_marginals_are_blocks_of_the_inverse(frames: int, count: int) -> None:
    A, blocks = banded(frames, count)
    inverse = np.linalg.inv(A).reshape(frames, 3, frames, 3)
    expected = np.stack([inverse[t, :, t] for t in range(frames)])
    np.testing.assert_allclose(marginals(blocks), expected, rtol=1e-8, atol=1e-10)


@SIZES
def test_solution_is_that_of_the_whole_matrix(frames: int, count: int) -> None:
    A, blocks = banded(frames, count)
    right = np.random.default_rng(1).normal(size=(frames, 3))
    np.testing.assert_allclose(solved(blocks, right).ravel(), np.linalg.solve(A, right.ravel()), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(("frames", "count"), [(4, 4), (9, 4), (6, 2)])
def test_what_is_left_of_a_quadratic_has_the_same_minimum(frames: int, count: int) -> None:
    A, blocks = banded(frames, count)
    g = np.random.default_rng(1).normal(size=(frames, 3))
    hessian, gradient, constant = eliminated(blocks, g)
    best, last = -np.linalg.solve(A, g.ravel()), -np.linalg.solve(hessian, gradient)
    np.testing.assert_allclose(last, best[-len(last) :], rtol=1e-8, atol=1e-10)
    assert constant + 0.5 * gradient @ last == pytest.approx(0.5 * g.ravel() @ best)


def test_marginals_of_a_long_chain_stay_right() -> None:
    """Third differences that are nearly 0, and a place seen now and then: rounding must not grow from frame to frame."""
    n, width, rng = 200, 4, np.random.default_rng(0)
    turn = np.linalg.qr(rng.normal(size=(width, width)))[0]
    step = turn @ np.diag([1e3, 3e4, 1e5, 3e5]) @ turn.T
    A = np.zeros((n, width, n, width))
    for t in range(3, n):
        for i, a in enumerate((-1.0, 3.0, -3.0, 1.0)):
            for j, b in enumerate((-1.0, 3.0, -3.0, 1.0)):
                A[t - 3 + i, :, t - 3 + j] += a * b * step
    for t in range(0, n, 9):
        A[t, :, t] += np.eye(width)
    blocks = np.stack([[A[t, :, t - k] if k <= t else np.zeros((width, width)) for k in range(4)] for t in range(n)])
    inverse = np.linalg.inv(A.reshape(n * width, -1)).reshape(A.shape)
    expected = np.stack([inverse[t, :, t] for t in range(n)])
    np.testing.assert_allclose(marginals(blocks), expected, rtol=1e-3, atol=1e-4)


def test_what_is_no_minimum_has_no_covariance() -> None:
    with pytest.raises(np.linalg.LinAlgError):
        marginals(np.tile(-np.eye(3), (4, 4, 1, 1)))
