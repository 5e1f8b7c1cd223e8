"""The active set: the few training poses that a style keeps for use (Grochow et al. 2004, appendix B; Lawrence et al. 2003).

From one pose on, that of the largest predictive variance s2(x) given those chosen is added. With K_A = L L' of those chosen,
s2 = alpha + 1/beta - the sum of squares by column of V = L^-1 K_A,all, and a further pose adds one row to V: Cholesky's
decomposition with pivots.
"""

import numpy as np
from numpy.typing import NDArray

from config.jit import kernel
from database.rotations import Floats
from reconstruct.style.model import Hyperparameters

SAME = 1e-9  # share of alpha by which the covariance of two points falls short of alpha if they are the same


def active_set(X: Floats, parameters: Hyperparameters, most: int) -> NDArray[np.int64]:
    """Give the rows of at most `most` of X, (N, Q), in the order they are chosen, (M,); the first is the nearest to x = 0.

    Fewer where the rest are repetitions of those chosen.
    """
    alpha, noise = parameters.alpha, 1.0 / parameters.beta
    first = int(np.argmin((X**2).sum(axis=1)))
    rows, chosen = np.zeros((min(most, len(X)), len(X))), np.zeros(min(most, len(X)), np.int64)
    m = _grow(np.ascontiguousarray(X), alpha, noise, parameters.gamma, first, rows, chosen)
    return chosen[:m]


@kernel
def _grow(X: Floats, alpha: float, noise: float, gamma: float, pick: int, V: Floats, chosen: NDArray[np.int64]) -> int:
    """Choose rows of X, (N, Q), from `pick` on into chosen, (M,), growing V, (M, N); give how many."""
    n, n_latent = X.shape
    variance = np.full(n, alpha + noise)
    for m in range(len(chosen)):
        chosen[m] = pick
        for i in range(n):
            distance2 = 0.0
            for q in range(n_latent):
                distance2 += (X[i, q] - X[pick, q]) ** 2
            V[m, i] = alpha * np.exp(-0.5 * gamma * distance2)
            if V[m, i] >= (1.0 - SAME) * alpha:
                variance[i] = -1.0  # never again, and none that lies there too
        V[m, pick] += noise
        for before in range(m):
            share = V[before, pick]
            for i in range(n):
                V[m, i] -= share * V[before, i]
        root = np.sqrt(V[m, pick])
        best = -1
        for i in range(n):
            V[m, i] /= root
            if variance[i] > 0.0:
                variance[i] = max(variance[i] - V[m, i] ** 2, noise)
                if best < 0 or variance[i] > variance[best]:
                    best = i
        if best < 0:
            return m + 1
        pick = best
    return len(chosen)
