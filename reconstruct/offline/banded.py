"""Symmetric banded matrices of square blocks, such as the Hessian of consecutive frames: their solution, tail and inverse.

blocks: (N, B, V, V), [t, k] couples t with t - k. All is read from the columns of the Cholesky factor, one block after another.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from config.arrays import Floats


class Column(NamedTuple):
    """A block column of the Cholesky factor: the diagonal block (V, V) and those below it, (K V, V)."""

    own: Floats
    below: Floats


def columns(blocks: Floats, count: int | None = None) -> Iterator[tuple[Column, Floats]]:
    """Yield the first columns of the factor, each with what the columns so far take from the blocks after it, (W, W).

    Raises LinAlgError: not positive definite.
    """
    n, bands, width, _ = blocks.shape
    left = np.zeros(((bands - 1) * width, (bands - 1) * width))
    for t in range(n if count is None else count):
        column = np.concatenate([blocks[t + k, k] for k in range(min(bands, n - t))])
        taken = min(len(column), len(left))
        column[:taken] -= left[:taken, :width]
        own = np.linalg.cholesky(column[:width])
        below = solve_triangular(own, column[width:].T, lower=True, check_finite=False).T
        rest = np.zeros_like(left)
        rest[:-width, :-width] = left[width:, width:]
        rest[: len(below), : len(below)] += below @ below.T
        left = rest
        yield Column(own, below), left


def solved(blocks: Floats, right: Floats) -> Floats:
    """Return x of A x = b, both (N, V). Raises LinAlgError."""
    n, width = right.shape
    x, found = right.ravel().copy(), list[Column]()
    for t, (column, _) in enumerate(columns(blocks)):
        here, after = slice(t * width, (t + 1) * width), slice((t + 1) * width, (t + 1) * width + len(column.below))
        x[here] = solve_triangular(column.own, x[here], lower=True, check_finite=False)
        x[after] -= column.below @ x[here]
        found.append(column)
    for t in range(n - 1, -1, -1):
        here, after = slice(t * width, (t + 1) * width), slice((t + 1) * width, (t + 1) * width + len(found[t].below))
        rest = x[here] - found[t].below.T @ x[after]
        x[here] = solve_triangular(found[t].own, rest, lower=True, trans="T", check_finite=False)
    return x.reshape(n, width)


def eliminated(blocks: Floats, gradient: Floats) -> tuple[Floats, Floats, float]:
    """Return what a quadratic, least over all but the last B - 1 blocks, is of these: Hessian (W, W), gradient (W,), constant.

    The quadratic is g'x + x'A x / 2. Raises LinAlgError.
    """
    n, bands, width, _ = blocks.shape
    keep, g, least = bands - 1, gradient.ravel().copy(), 0.0
    tail = np.zeros((keep * width, keep * width))
    for t, (column, taken) in enumerate(columns(blocks, n - keep)):
        tail = -taken
        half = solve_triangular(column.own, g[t * width : (t + 1) * width], lower=True, check_finite=False)
        g[(t + 1) * width : (t + 1) * width + len(column.below)] -= column.below @ half
        least -= 0.5 * float(half @ half)
    for i in range(keep):
        for k in range(i + 1):
            block = blocks[n - keep + i, k]
            tail[i * width : (i + 1) * width, (i - k) * width : (i - k + 1) * width] += block
            if k:
                tail[(i - k) * width : (i - k + 1) * width, i * width : (i + 1) * width] += block.T
    return tail, g[(n - keep) * width :], least


def marginals(blocks: Floats) -> Floats:
    """Return the blocks on the diagonal of the inverse, (N, V, V), by Takahashi's recursion. Raises LinAlgError."""
    n, count, width, _ = blocks.shape
    factors = [column for column, _ in columns(blocks)]
    result = np.empty((n, width, width))
    later = np.zeros((0, 0))  # the inverse of the next frames together
    for t in range(n - 1, -1, -1):
        own, below = factors[t]
        gain = solve_triangular(own, below.T, lower=True, trans="T", check_finite=False).T  # of the next frames by this one
        across = -later @ gain
        inverse = solve_triangular(own, np.eye(width), lower=True, check_finite=False)
        block = inverse.T @ inverse - gain.T @ across
        result[t] = 0.5 * (block + block.T)  # else what rounding leaves of asymmetry grows with every frame
        kept = min((count - 2) * width, len(later))
        later = np.block([[result[t], across[:kept].T], [across[:kept], later[:kept, :kept]]])
    return result
