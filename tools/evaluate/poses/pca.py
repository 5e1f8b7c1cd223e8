"""Principal components of all poses (Lai, Yuen & Lee 2012, section 4.2): the pose of a subspace nearest to the observed entries.

As in the paper nothing holds the coefficients back: fewer observed entries than components leave them undetermined, and the
smallest are taken. The trade-off is the share of the variance that the components keep; the paper's is lost.
"""

from dataclasses import dataclass

import numpy as np

from config.arrays import Floats
from tools.evaluate.poses.mixtures import TradeOff, same_weights


@dataclass(frozen=True, slots=True)
class PrincipalComponents:
    """Mean (D,), directions (D, D) by falling variance, variances (D,)."""

    mean: Floats
    directions: Floats
    variance: Floats

    def restore(self, observed: Floats, weight: Floats, trade_off: TradeOff) -> Floats:
        """Return least-squares poses, (N, D), of observed entries, (N, D), with weights (N, D), in a subspace."""
        kept = np.cumsum(self.variance) / self.variance.sum()
        U = self.directions[:, : 1 + int(np.searchsorted(kept, trade_off[0]))]
        out = np.empty_like(observed)
        for rows, each in same_weights(weight):
            root = np.sqrt(each)
            out[rows] = self.mean + (observed[rows] - self.mean) * root @ np.linalg.pinv(U * root[:, None]).T @ U.T
        return out


def fit_pca(poses: Floats, seed: int) -> PrincipalComponents:
    """Fit principal components to poses, (N, D); no randomness in it."""
    mean = poses.mean(axis=0)
    variance, directions = np.linalg.eigh((poses - mean).T @ (poses - mean) / len(poses))
    return PrincipalComponents(mean, directions[:, ::-1], np.maximum(variance[::-1], 0.0))
