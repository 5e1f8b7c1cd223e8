"""Small positive definite systems, by Cholesky decomposition: numpy's general solvers take several times as long.

Kernels for those of every frame, LAPACK for the others.
"""

import math

import numpy as np
from scipy.linalg import blas, lapack

from config.arrays import Floats
from config.jit import inline_kernel, kernel


def factor_definite(A: Floats) -> Floats | None:
    """Return L, lower triangular with L L' = A, (N, N); None where A is not positive definite or not finite."""
    L, failed = lapack.dpotrf(A.T, lower=1, clean=1)
    return None if failed or not L[-1, -1] > 0.0 else np.asarray(L)  # NaN anywhere ends up in the last element


def solve_factored(L: Floats, b: Floats) -> Floats:
    """Return x of L L' x = b, (N,)."""
    return np.asarray(lapack.dpotrs(L, b, lower=1)[0])


def solve_triangle(L: Floats, B: Floats) -> Floats:
    """Return B L'^-1 of rows, (K, N), and a lower triangle, (N, N); from the right it takes two thirds of the time."""
    return np.asarray(blas.dtrsm(1.0, L, B, side=1, lower=1, trans_a=1))


def solve_each_damped(A: Floats, g: Floats, damping: Floats, floor: float = 0.0) -> Floats:
    """Return -(A + damping diag A + floor)^-1 g of many small systems, (N, D).

    Args:
        A: of each, (N, D, D).
        g: of each, (N, D).
        damping: of each, the share of its diagonal that is added to it, (N,).
        floor: is added to every diagonal, so that none is singular.
    """
    added = damping[:, None] * np.einsum("nii->ni", A) + floor
    return np.asarray(-np.linalg.solve(A + added[:, :, None] * np.eye(A.shape[1]), g[..., None])[..., 0])


def invert_definite(A: Floats) -> Floats | None:
    """Return the inverse of A by its lower triangle, (N, N); None where A is not positive definite or not finite."""
    factor, failed = lapack.dpotrf(A.T, lower=0, clean=0)  # the transpose is in LAPACK's order already
    if failed or not factor[-1, -1] > 0.0:
        return None
    inverse: Floats = lapack.dpotri(factor, lower=0, overwrite_c=1)[0].T
    _copy_lower_triangle(inverse)
    return inverse


def invert_triangle_in_place(A: Floats) -> float:
    """Replace the lower triangle of A, (N, N), by that of its inverse; return ln det A. Raises LinAlgError: A is not definite."""
    _, failed = lapack.dpotrf(A.T, lower=0, clean=0, overwrite_a=1)  # the transpose is in LAPACK's order already
    if failed:
        raise np.linalg.LinAlgError("the matrix is not positive definite")
    log_det = 2.0 * float(np.log(np.diagonal(A)).sum())
    lapack.dpotri(A.T, lower=0, overwrite_c=1)
    return log_det


def compute_variances(L: Floats) -> Floats:
    """Return the diagonal of (L L')^-1, (N,)."""
    half: Floats = lapack.dtrtri(L, lower=1)[0]
    return np.asarray((half**2).sum(axis=0))


def compute_half_log_det(A: Floats) -> float:
    """Return half of ln det A, (N, N), by its lower triangle alone; NaN where A is not positive definite."""
    factor, failed = lapack.dpotrf(A.T, lower=0, clean=0)  # the transpose is in LAPACK's order already
    return math.nan if failed else float(np.log(factor.diagonal()).sum())


def mirror_triangle(A: Floats) -> Floats:
    """Return the symmetric matrix of a lower triangle, (N, N), whatever is above it."""
    both = A.copy()
    _copy_lower_triangle(both)
    return both


@kernel
def _copy_lower_triangle(A: Floats) -> None:
    """Write the lower triangle of A, (N, N), over its upper one."""
    for i in range(A.shape[0]):
        for j in range(i):
            A[j, i] = A[i, j]


@inline_kernel
def eliminate_rows(C: Floats, step: Floats, first: int) -> bool:
    """Factor the last rows of a lower triangle, and step with them; return whether they are positive definite.

    C'C = A with C lower triangular, from the last row up: every inner loop then runs along rows from their first element and
    sums nothing up, and becomes vector instructions. Four rows at a time, so that those before are read and written a quarter
    as often.

    Args:
        C: the lower triangle of A, (N, N); overwritten by that of C with C'C = A.
        step: right side, (N,); overwritten.
        first: the first row to eliminate; before it stays the Schur complement.
    """
    end = step.shape[0]
    while end > first:
        start = max(first, end - 4)
        for back in range(end - start):
            i = end - 1 - back
            if not C[i, i] > 0.0:
                return False
            scale = 1.0 / math.sqrt(C[i, i])
            for j in range(i + 1):
                C[i, j] *= scale
            step[i] *= scale
            for k in range(start if end - start == 4 else 0, i):
                a = C[i, k]
                step[k] -= a * step[i]
                for j in range(k + 1):
                    C[k, j] -= a * C[i, j]
        if end - start == 4:
            u, v, w, x = C[start], C[start + 1], C[start + 2], C[start + 3]
            for k in range(start):
                a, b, c, d, row = u[k], v[k], w[k], x[k], C[k]
                step[k] -= a * step[start] + b * step[start + 1] + c * step[start + 2] + d * step[start + 3]
                for j in range(k + 1):
                    row[j] -= a * u[j] + b * v[j] + c * w[j] + d * x[j]
        end = start
    return True


@kernel
def solve_damped(A: Floats, g: Floats, damping: float, C: Floats, step: Floats) -> bool:
    """Solve (A + damping diag A) step = -g by a Cholesky decomposition; return whether the matrix is positive definite.

    Args:
        A: its lower triangle is read, (N, N).
        g: (N,).
        damping: share of the diagonal that is added to it.
        C: scratch, (N, N).
        step: (N,); written.
    """
    n = g.shape[0]
    for i in range(n):
        for j in range(i + 1):
            C[i, j] = A[i, j]
        C[i, i] += damping * A[i, i] + 1e-12
        step[i] = -g[i]
    if not eliminate_rows(C, step, 0):
        return False
    substitute_rows(C, step, 0)
    return True


@inline_kernel
def substitute_rows(C: Floats, step: Floats, first: int) -> None:
    """Solve C y = step, in place, for the last rows of a lower triangle; those before are solved for.

    Args:
        C: the lower triangle, (N, N).
        step: (N,); overwritten.
        first: the first row to solve for.
    """
    for i in range(first, step.shape[0]):
        s = step[i]
        for k in range(i):
            s -= C[i, k] * step[k]
        step[i] = s / C[i, i]


@inline_kernel
def invert_triangle(C: Floats) -> None:
    """Write C^-1 over a lower triangle."""
    for i in range(C.shape[0]):
        scale = 1.0 / C[i, i]
        C[i, i] = scale
        for k in range(i):  # row k is inverted already
            a = -scale * C[i, k]
            for j in range(k):
                C[i, j] += a * C[k, j]
            C[i, k] = a * C[k, k]
