"""The elementwise half of L_GP: the kernel matrix and what its derivative does to latent points and parameters.

Only lower triangles are written and read; the rest is LAPACK's (`objective.py`).
"""

import numpy as np

from config.jit import kernel
from database.rotations import Floats


@kernel
def fill_covariance(X: Floats, alpha: float, beta: float, gamma: float, smooth: Floats, K: Floats) -> None:
    """Write alpha exp(-gamma/2 |x - x'|^2) of X, (N, Q), to smooth, (N, N), and with 1/beta on the diagonal to K, (N, N)."""
    n, n_latent = X.shape
    for i in range(n):
        for j in range(i):
            distance2 = 0.0
            for q in range(n_latent):
                distance2 += (X[i, q] - X[j, q]) ** 2
            smooth[i, j] = alpha * np.exp(-0.5 * gamma * distance2)
            K[i, j] = smooth[i, j]
        smooth[i, i] = alpha
        K[i, i] = alpha + 1.0 / beta


@kernel
def chain_covariance(X: Floats, gamma: float, smooth: Floats, dK: Floats, dX: Floats) -> tuple[float, float, float]:
    """Add dL/dK, (N, N), through the kernel to dX, (N, Q); give its sums with the kernel, on the diagonal and with distances.

    The sums are of dK * smooth, of dK's diagonal and of dK * smooth * |x - x'|^2.
    """
    n, n_latent = X.shape
    by_smooth, trace, by_distance = 0.0, 0.0, 0.0
    for i in range(n):
        for j in range(i):
            weight = 2.0 * dK[i, j] * smooth[i, j]
            distance2 = 0.0
            for q in range(n_latent):
                apart = X[i, q] - X[j, q]
                distance2 += apart * apart
                dX[i, q] -= gamma * weight * apart
                dX[j, q] += gamma * weight * apart
            by_smooth += weight
            by_distance += weight * distance2
        by_smooth += dK[i, i] * smooth[i, i]
        trace += dK[i, i]
    return by_smooth, trace, by_distance
