"""A mixture of factor analysers, fitted by expectation maximisation (Ghahramani & Hinton 1996, section 3).

    y | k, z ~ N(m_k + L_k z, P),  z ~ N(0, I),  so that  y | k ~ N(m_k, L_k L_k' + P),  P diagonal, common to all k.

E-step: h_nk, the probability of component k for pose n. M-step: first p_k and m_k, the shares and means weighted by h; then, with
S_k the covariance of the poses about m_k weighted by h, a few of the paper's own steps

    B = L' (L L' + P)^-1,    L <- S B' (I - B L + B S B')^-1,    P <- sum_k p_k diag(S_k - L_k B_k S_k)

which need no pose again. The paper updates m_k together with L_k; in the order here, too, the likelihood never falls.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from config.arrays import Floats
from tools.evaluate.dimensionality.curves import clusters
from tools.evaluate.poses.mixtures import GaussianMixture

N_FACTORS = 10
POSES_IN_COMPONENT = 50  # on average
MAX_COMPONENTS = 64
MAX_STEPS, INNER_STEPS = 40, 5
MIN_GAIN = 1e-3  # of the log-likelihood of a pose, with which learning has converged
MIN_NOISE = 1e-5  # of P, standardised
RELEVANT = 1e-9  # probability below which a pose does not count for a component


@dataclass(frozen=True, slots=True)
class FactorAnalysers:
    """Probabilities p (K,), means m (K, D), loadings L (K, D, q), noise variances P (D,)."""

    probability: Floats
    mean: Floats
    loading: Floats
    noise: Floats

    def mixture(self) -> GaussianMixture:
        """Return the same density as a mixture of Gaussians."""
        covariance = self.loading @ self.loading.transpose(0, 2, 1) + np.diag(self.noise)
        return GaussianMixture(self.probability, self.mean, covariance)


def fit_factor_analysers(poses: Floats, seed: int) -> GaussianMixture:
    """Fit a mixture of factor analysers to poses, (N, D)."""
    count = int(np.clip(len(poses) // POSES_IN_COMPONENT, 2, MAX_COMPONENTS))
    model, before = first_guess(poses, count, N_FACTORS, seed), -np.inf
    for better, value in expectation_maximisation(poses, model):
        model = better
        if value - before < MIN_GAIN:
            break
        before = value
    return model.mixture()


def expectation_maximisation(poses: Floats, start: FactorAnalysers) -> Iterator[tuple[FactorAnalysers, float]]:
    """Yield models, the start first, each with the mean log-likelihood of the poses, (N, D), under it."""
    model = start
    for _ in range(MAX_STEPS):
        log_density = log_densities(model, poses)
        log_sum = logsumexp(log_density, axis=1)
        yield model, float(log_sum.mean())
        model = _maximised(model, poses, np.exp(log_density - log_sum[:, None]))


def first_guess(poses: Floats, count: int, n_factors: int, seed: int) -> FactorAnalysers:
    """Return principal components of the clusters of poses, (N, D), as the factors."""
    _, member = clusters(poses, count, seed)
    names, size = np.unique(member, return_counts=True)
    mean = np.array([poses[member == k].mean(axis=0) for k in names])
    covariance = np.array([np.cov(poses[member == k].T, bias=True) for k in names])
    value, vector = np.linalg.eigh(covariance)
    loading = vector[:, :, -n_factors:] * np.sqrt(np.maximum(value[:, None, -n_factors:], 1e-6))
    rest = np.einsum("kdd->kd", covariance) - (loading**2).sum(axis=2)
    p = size / size.sum()
    return FactorAnalysers(p, mean, loading, np.maximum(p @ rest, MIN_NOISE))


def log_densities(model: FactorAnalysers, poses: Floats) -> Floats:
    """Return ln p_k N(y; m_k, L_k L_k' + P) of poses (N, D), (N, K), with the matrix inversion lemma: no D x D matrix."""
    root = np.sqrt(model.noise)
    x, constant = poses / root, np.log(model.noise).sum() + poses.shape[1] * np.log(2.0 * np.pi)
    out = np.empty((len(poses), len(model.mean)))
    for k, (p, m, loading) in enumerate(zip(model.probability, model.mean / root, model.loading, strict=True)):
        scaled, off = loading / root[:, None], x - m
        C = np.linalg.cholesky(np.eye(loading.shape[1]) + scaled.T @ scaled)
        explained = np.linalg.solve(C, scaled.T @ off.T)
        distance2 = np.einsum("nd,nd->n", off, off) - np.einsum("qn,qn->n", explained, explained)
        out[:, k] = np.log(p) - 0.5 * (distance2 + constant) - np.log(np.diag(C)).sum()
    return out


def _maximised(model: FactorAnalysers, poses: Floats, h: Floats) -> FactorAnalysers:
    """Return the model after the M-step. h: (N, K)."""
    weight = np.maximum(h.sum(axis=0), 1e-6)
    mean, S = np.empty_like(model.mean), np.empty((*model.mean.shape, poses.shape[1]))
    for k, total in enumerate(weight):
        rows = np.flatnonzero(h[:, k] > RELEVANT)
        some, part = poses[rows], h[rows, k] / total
        mean[k] = part @ some
        S[k] = (some - mean[k]).T @ (part[:, None] * (some - mean[k]))
    p = weight / weight.sum()
    loading, noise = model.loading, model.noise
    for _ in range(INNER_STEPS):
        loading, noise = _factors(loading, noise, p, S)
    return FactorAnalysers(p, mean, loading, noise)


def _factors(L: Floats, P: Floats, p: Floats, S: Floats) -> tuple[Floats, Floats]:
    """Return loadings, (K, D, q), and noise variances, (D,), after one step of factor analysis of covariances S, (K, D, D)."""
    scaled = L / P[:, None]
    inner = np.eye(L.shape[2]) + L.transpose(0, 2, 1) @ scaled
    B = np.linalg.solve(inner, scaled.transpose(0, 2, 1))
    BS = B @ S
    second = np.eye(L.shape[2]) - B @ L + BS @ B.transpose(0, 2, 1)
    loading = np.linalg.solve(second.transpose(0, 2, 1), BS).transpose(0, 2, 1)
    left = np.einsum("kdd->kd", S) - np.einsum("kdq,kqd->kd", loading, BS)
    return np.asarray(loading), np.asarray(np.maximum(p @ left, MIN_NOISE))
