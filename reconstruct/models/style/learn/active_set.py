"""The active set: the few training poses that predictions use (Grochow et al. 2004, appendix B; Lawrence et al. 2003).

Poses are added one by one, each time that of the largest predictive variance s2(x) given those chosen. With K_A = L L' of those
chosen, s2 = alpha + 1/beta - the sum of squares by column of V = L^-1 K_A,all, and a further pose adds one row to V: a pivoted
Cholesky decomposition.
"""

import numpy as np

from config.arrays import Floats, Ints
from config.jit import kernel
from reconstruct.models.style.model import Hyperparameters

SAME = 1e-9  # share of alpha by which the covariance of equal points may be below alpha


def choose_active_set(X: Floats, parameters: Hyperparameters, max_active: int) -> Ints:
    """Return the rows of latent points in the order they are chosen, (M,).

    The first is the nearest to x = 0. Fewer where the rest repeat those chosen.

    Args:
        X: latent points, (N, Q).
        parameters: hyperparameters of the kernel.
        max_active: M at most.
    """
    alpha, noise = parameters.alpha, 1.0 / parameters.beta
    first = int(np.argmin((X**2).sum(axis=1)))
    count = min(max_active, len(X))
    V, chosen = np.zeros((count, len(X))), np.zeros(count, np.int64)
    m = _grow_active_set(np.ascontiguousarray(X), alpha, noise, parameters.gamma, first, V, chosen)
    return chosen[:m]


@kernel
def _grow_active_set(X: Floats, alpha: float, noise: float, gamma: float, pick: int, V: Floats, chosen: Ints) -> int:
    """Write rows of X, (N, Q), beginning with `pick`, to chosen, (M,), and V, (M, N); return how many."""
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
                variance[i] = -1.0  # neither this point again nor any that equals it
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
