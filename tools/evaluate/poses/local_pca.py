"""A Gaussian around the training poses nearest to the observed entries (Chai & Hodgins 2005; Lai, Yuen & Lee 2012, section 4.2).

The trade-off is the number K of neighbours, lost in the paper, and the standard deviation s of the observations.
"""

from dataclasses import dataclass

import numpy as np

from config.arrays import Floats, Ints, Singles
from tools.evaluate.poses.mixtures import TradeOff

CHUNK = 128  # poses whose distances to all training poses, or whose covariances, are held at a time
MIN_NOISE = 1e-6


@dataclass(frozen=True, slots=True)
class LocalGaussians:
    """Training poses, (N, D), also in single precision for the search."""

    poses: Floats
    single: Singles

    def restore(self, observed: Floats, weight: Floats, trade_off: TradeOff) -> Floats:
        """Return the mean of each pose, (N, D), given observed entries, (N, D), with noise of variance s^2 / weight.

        Entries of no weight get a variance so large that they do not count.
        """
        parts = [slice(first, first + CHUNK) for first in range(0, len(observed), CHUNK)]
        return np.concatenate([self._restored(observed[part], weight[part], int(trade_off[0]), trade_off[1]) for part in parts])

    def _restored(self, observed: Floats, weight: Floats, count: int, noise: float) -> Floats:
        """Restore a few poses: with A the neighbours less their mean, E[y | o] = m + A' A_w (A_w' A_w + s^2 K)^-1 w (o - m)."""
        near = self.poses[self._nearest(observed, weight, count)]
        mean = near.mean(axis=1)
        A, root = near - mean[:, None], np.sqrt(weight)
        scaled = A * root[:, None]
        ridge = max(noise**2, MIN_NOISE) * near.shape[1] * np.eye(observed.shape[1])
        solved = np.linalg.solve(scaled.transpose(0, 2, 1) @ scaled + ridge, (root * (observed - mean))[:, :, None])
        return np.asarray(mean + (A.transpose(0, 2, 1) @ (scaled @ solved))[:, :, 0])

    def _nearest(self, observed: Floats, weight: Floats, count: int) -> Ints:
        """Return the rows of the training poses with the least weighted distance to each pose, (N, K)."""
        w, o = weight.astype(np.float32), observed.astype(np.float32)
        if (w == w[0]).all():  # columns without weight cost nothing
            at = np.flatnonzero(w[0])
            known = self.single[:, at] * np.sqrt(w[0, at])
            distance2 = np.einsum("nd,nd->n", known, known) - 2.0 * (o[:, at] * np.sqrt(w[0, at])) @ known.T
        else:
            distance2 = w @ (self.single**2).T - 2.0 * (w * o) @ self.single.T
        count = min(count, len(self.poses))
        return np.asarray(np.argpartition(distance2, count - 1, axis=1)[:, :count], np.int64)


def fit_local(poses: Floats, seed: int) -> LocalGaussians:
    """Keep poses, (N, D); no randomness in it."""
    return LocalGaussians(poses, poses.astype(np.float32))
