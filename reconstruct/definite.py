"""Small positive definite systems, by LAPACK's Cholesky decomposition: numpy's general solvers take several times as long."""

import numpy as np
from scipy.linalg import lapack

from config.arrays import Floats


def factored(A: Floats) -> Floats | None:
    """Return L, lower triangular with L L' = A, (N, N); None where A is not positive definite or not finite."""
    L, failed = lapack.dpotrf(A.T, lower=1, clean=1)
    return None if failed or not L[-1, -1] > 0.0 else np.asarray(L)  # NaN anywhere ends up in the last element


def inverse(L: Floats) -> Floats:
    """Return the lower triangle of (L L')^-1, zero above it, (N, N)."""
    return np.asarray(lapack.dpotri(L, lower=1)[0])


def solved(L: Floats, b: Floats) -> Floats:
    """Return x of L L' x = b, (N,)."""
    return np.asarray(lapack.dpotrs(L, b, lower=1)[0])


def variances(L: Floats) -> Floats:
    """Return the diagonal of (L L')^-1, (N,)."""
    half: Floats = lapack.dtrtri(L, lower=1)[0]
    return np.asarray((half**2).sum(axis=0))


def whitened(L: Floats, B: Floats) -> Floats:
    """Return L^-1 B, (N, K)."""
    return np.asarray(lapack.dtrtrs(L, B, lower=1)[0])


def mirrored(A: Floats) -> Floats:
    """Return the symmetric matrix of a lower triangle whose upper one is zero, (N, N)."""
    both = A + A.T
    np.fill_diagonal(both, A.diagonal())
    return both
