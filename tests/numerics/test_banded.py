"""Banded matrices of blocks against whole ones: equations of residuals, solution, what is left of a quadratic, inverse."""

import numpy as np
import pytest

from config.arrays import Floats
from numerics.banded import BandedEquations, compute_marginal_blocks, eliminate_leading, solve_banded


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
    np.testing.assert_allclose(compute_marginal_blocks(blocks), expected, rtol=1e-8, atol=1e-10)


@SIZES
def test_solution_is_that_of_the_whole_matrix(frames: int, count: int) -> None:
    A, blocks = banded(frames, count)
    right = np.random.default_rng(1).normal(size=(frames, 3))
    np.testing.assert_allclose(solve_banded(blocks, right).ravel(), np.linalg.solve(A, right.ravel()), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(("frames", "count"), [(4, 4), (9, 4), (6, 2)])
def test_what_is_left_of_a_quadratic_has_the_same_minimum(frames: int, count: int) -> None:
    A, blocks = banded(frames, count)
    g = np.random.default_rng(1).normal(size=(frames, 3))
    hessian, gradient, constant = eliminate_leading(blocks, g)
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
    np.testing.assert_allclose(compute_marginal_blocks(blocks), expected, rtol=1e-3, atol=1e-4)


def test_what_is_no_minimum_has_no_covariance() -> None:
    with pytest.raises(np.linalg.LinAlgError):
        compute_marginal_blocks(np.tile(-np.eye(3), (4, 4, 1, 1)))


def test_equations_solve_the_stacked_least_squares() -> None:
    rng = np.random.default_rng(1)
    n, size = 7, 3
    normal = BandedEquations.zero(n, size)
    rows: list[tuple[list[tuple[int, Floats]], Floats]] = []
    one, pair, triple = (rng.normal(size=shape) for shape in ((n, 4, size), (2, n - 1, 2, size), (3, n - 2, 5, size)))
    e1, e2, e3 = rng.normal(size=(n, 4)), rng.normal(size=(n - 1, 2)), rng.normal(size=(n - 2, 5))
    normal.add_frames(one, e1)
    normal.add_pairs(pair[0], pair[1], e2)
    normal.add_triples(np.concatenate(list(triple), axis=2), e3)
    rows += [([(t, one[t])], e1[t]) for t in range(n)]
    rows += [([(t, pair[0, t]), (t + 1, pair[1, t])], e2[t]) for t in range(n - 1)]
    rows += [([(t + k, triple[k, t]) for k in range(3)], e3[t]) for t in range(n - 2)]
    J, e = np.zeros((sum(len(r) for _, r in rows), n * size)), np.concatenate([r for _, r in rows])
    at = 0
    for parts, residual in rows:
        for t, block in parts:
            J[at : at + len(residual), t * size : (t + 1) * size] = block
        at += len(residual)
    for fixed in (0, 2):
        found = normal.solve(0.0, fixed)
        assert found is not None and (found[:fixed] == 0.0).all()
        expected = np.linalg.lstsq(J[:, fixed * size :], -e, rcond=None)[0]
        np.testing.assert_allclose(found[fixed:].ravel(), expected, atol=1e-9)


def test_diagonal_blocks_are_the_same_as_full_ones() -> None:
    rng = np.random.default_rng(2)
    n, size, total = 6, 3, 9
    mask = np.kron(np.eye(total // size), np.ones((size, size)))
    before, at, after = (mask * rng.normal(size=(n - 2, total, total)) for _ in range(3))
    e = rng.normal(size=(n - 2, total))
    full, quick = BandedEquations.zero(n, total), BandedEquations.zero(n, total)
    full.add_triples(np.concatenate([before, at, after], axis=2), e)
    quick.add_diagonal_triples(before, at, after, e, size)
    for one, other in zip((quick.gradient, *quick.blocks), (full.gradient, *full.blocks), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)
