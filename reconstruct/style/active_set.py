"""The active set: the few training poses that a style keeps for use (Grochow et al. 2004, appendix B; Lawrence et al. 2003).

From one pose on, that of the largest predictive variance s2(x) given those chosen is added. With K_A = L L' of those chosen,
s2 = alpha + 1/beta - the sum of squares by column of V = L^-1 K_A,all, and a further pose adds one row to V: Cholesky's
decomposition with pivots.
"""

import numpy as np
from numpy.typing import NDArray

from database.rotations import Floats
from reconstruct.style.model import Hyperparameters

SAME = 1e-9  # share of alpha by which the covariance of two points falls short of alpha if they are the same


def active_set(X: Floats, parameters: Hyperparameters, most: int) -> NDArray[np.int64]:
    """Give the rows of at most `most` of X, (N, Q), in the order they are chosen, (M,); the first is the nearest to x = 0.

    Fewer where the rest are repetitions of those chosen.
    """
    n = len(X)
    limit = min(most, n)
    alpha, noise = parameters.alpha, 1.0 / parameters.beta
    variance = np.full(n, alpha + noise)
    rows = np.zeros((limit, n))
    chosen: list[int] = []
    pick = int(np.argmin((X**2).sum(axis=1)))
    while True:
        m = len(chosen)
        row = alpha * np.exp(-0.5 * parameters.gamma * ((X - X[pick]) ** 2).sum(axis=1))
        variance[row >= (1.0 - SAME) * alpha] = -np.inf  # never again, and none that lies there too
        row[pick] += noise
        row -= rows[:m, pick] @ rows[:m]
        row /= np.sqrt(row[pick])
        rows[m] = row
        variance -= row**2
        chosen.append(pick)
        pick = int(np.argmax(variance))
        if len(chosen) == limit or variance[pick] == -np.inf:
            return np.array(chosen, np.int64)
