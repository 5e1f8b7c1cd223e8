"""Small positive definite systems by LAPACK's Cholesky decomposition: numpy's general ones take several times as long."""

import numpy as np
from scipy.linalg import lapack

from database.rotations import Floats


def factored(A: Floats) -> Floats | None:
    """Give L, lower triangular with L L' = A, (N, N); None where A is not positive definite, or no numbers."""
    L, failed = lapack.dpotrf(A.T, lower=1, clean=1)
    return None if failed or not L[-1, -1] > 0.0 else np.asarray(L)  # what is no number ends up in the last place


def solved(L: Floats, b: Floats) -> Floats:
    """Give x of L L' x = b, (N,)."""
    return np.asarray(lapack.dpotrs(L, b, lower=1)[0])


def variances(L: Floats) -> Floats:
    """Give the diagonal of (L L')^-1, (N,)."""
    half: Floats = lapack.dtrtri(L, lower=1)[0]
    return np.asarray((half**2).sum(axis=0))


def whitened(L: Floats, B: Floats) -> Floats:
    """Give L^-1 B, (N, K)."""
    return np.asarray(lapack.dtrtrs(L, B, lower=1)[0])


def mirrored(A: Floats) -> Floats:
    """Give the symmetric matrix of a lower triangle whose upper one is zero, (N, N)."""
    both = A + A.T
    np.fill_diagonal(both, A.diagonal())
    return both
