"""Mixtures of Gaussians: one Gaussian, one for each cluster, or the components of a mixture of factor analysers.

A pose y is drawn from N(m_k, C_k) with probability p_k; the observed entries are o = y_o + e, e ~ N(0, s^2). Then

    r_k = p_k N(o; m_k, C_k,oo + s^2) / sum_j ...,    E[y | o] = sum_k r_k (m_k + C_k,:o (C_k,oo + s^2)^-1 (o - m_k,o))

s is the trade-off between prior and observation: 1/s^2 is the paper's lambda but for a factor (Lai, Yuen & Lee 2012, eq. 1).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve, solve_triangular

from config.arrays import Floats, Ints
from tools.evaluate.dimensionality.curves import clusters

POSES_IN_CLUSTER = 50  # on average; the paper's number of clusters is lost
MAX_CLUSTERS = 128
TradeOff = tuple[float, ...]  # between a model and the observation; its first value is s, where not said otherwise
RIDGE = 1e-4  # variance added to each coordinate of a covariance, standardised: clusters can be flat


@dataclass(frozen=True, slots=True)
class GaussianMixture:
    """Probabilities (K,), means (K, D), covariances (K, D, D)."""

    probability: Floats
    mean: Floats
    covariance: Floats

    def restore(self, observed: Floats, weight: Floats, trade_off: TradeOff) -> Floats:
        """Return E[y | o], (N, D), of observed entries, (N, D), those of positive weight, (N, D); noise: s^2 / weight."""
        out = np.empty_like(observed)
        for rows, each in same_weights(weight):
            out[rows] = self._conditional_mean(observed[rows], each, trade_off[0])
        return out

    def _conditional_mean(self, observed: Floats, weight: Floats, noise: float) -> Floats:
        """Return E[y | o], (N, D), of poses whose entries have the same weights, (D,)."""
        at = np.flatnonzero(weight > 0.0)
        noise2 = np.diag(noise**2 / weight[at])
        log_density, means = np.empty((len(self.mean), len(observed))), np.empty((len(self.mean), *observed.shape))
        for k, (p, m, C) in enumerate(zip(self.probability, self.mean, self.covariance, strict=True)):
            L = np.linalg.cholesky(C[np.ix_(at, at)] + noise2)
            off = observed[:, at] - m[at]
            log_density[k] = (
                np.log(p) - np.log(np.diag(L)).sum() - 0.5 * (solve_triangular(L, off.T, lower=True) ** 2).sum(axis=0)
            )
            means[k] = m + off @ cho_solve((L, True), C[at])
        share = np.exp(log_density - log_density.max(axis=0))
        return np.asarray(np.einsum("kn,knd->nd", share / share.sum(axis=0), means))


def same_weights(weight: Floats) -> Iterator[tuple[Ints, Floats]]:
    """Yield the rows that have the same weights, (n,), and these, (D,), of weights (N, D)."""
    patterns, which = np.unique(weight, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        yield np.flatnonzero(which.ravel() == number), pattern


def fit_gaussian(poses: Floats, seed: int) -> GaussianMixture:
    """Fit one Gaussian to poses, (N, D); no randomness in it."""
    return mixture_of([poses])


def fit_clusters(poses: Floats, seed: int) -> GaussianMixture:
    """Fit a Gaussian to each cluster, by k-means, of poses (N, D)."""
    count = int(np.clip(len(poses) // POSES_IN_CLUSTER, 2, MAX_CLUSTERS))
    _, member = clusters(poses, count, seed)
    return mixture_of([poses[member == k] for k in np.unique(member)])


def mixture_of(parts: list[Floats]) -> GaussianMixture:
    """Return the mixture of a Gaussian for each part of the poses, (n, D)."""
    size, ridge = np.array([len(part) for part in parts]), RIDGE * np.eye(parts[0].shape[1])
    means = [part.mean(axis=0) for part in parts]
    covariances = [(part - m).T @ (part - m) / len(part) + ridge for part, m in zip(parts, means, strict=True)]
    return GaussianMixture(size / size.sum(), np.array(means), np.array(covariances))
