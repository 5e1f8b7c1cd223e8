"""Gaussian mixtures: which states a motion begins with (Wei et al. 2011, eq. 5, pr_init)."""

from dataclasses import dataclass

import numpy as np
from scipy.cluster.vq import kmeans2
from scipy.special import logsumexp

from config.arrays import Floats, ReadOnlyArrays

FLOOR = 0.05  # least standard deviation, of inputs whose own is 1
ITERATIONS = 50


@dataclass(frozen=True, slots=True)
class Mixture(ReadOnlyArrays):
    """Weights (C,), means (C, D) and Cholesky factors of the inverse covariances, P = root root', (C, D, D)."""

    weight: Floats
    mean: Floats
    root: Floats


def fit_mixture(X: Floats, n_components: int) -> Mixture:
    """Return the mixture of points (N, D) by expectation maximisation from k-means, always the same for the same points."""
    n, d = X.shape
    n_components = max(1, min(n_components, n // (2 * d)))
    start = X[np.linspace(0, n - 1, n_components).astype(int)]
    label = kmeans2(X, start, minit="matrix", missing="warn")[1] if n_components > 1 else np.zeros(n, int)
    share = np.eye(n_components)[label]
    mixture = _maximise_likelihood(X, share)
    for _ in range(ITERATIONS):
        terms = compute_log_terms(mixture, X)
        share = np.exp(terms - logsumexp(terms, axis=1, keepdims=True))
        mixture = _maximise_likelihood(X, share)
    return mixture


def compute_log_terms(mixture: Mixture, X: Floats) -> Floats:
    """Return the logarithm of each component's share of the density at points (N, D): (N, C)."""
    white = np.einsum("cij,nci->ncj", mixture.root, X[:, None, :] - mixture.mean)
    log_det = np.log(np.einsum("cii->ci", mixture.root)).sum(axis=1)
    constant = np.log(np.maximum(mixture.weight, 1e-300)) + log_det - 0.5 * X.shape[1] * np.log(2.0 * np.pi)
    return np.asarray(constant - 0.5 * (white**2).sum(axis=2))


def _maximise_likelihood(X: Floats, share: Floats) -> Mixture:
    """Return the most likely mixture of points that belong to components by shares, (N, C)."""
    d = X.shape[1]
    total = share.sum(axis=0) + 1e-9
    mean = (share.T @ X) / total[:, None]
    roots = []
    for c in range(share.shape[1]):
        centred = X - mean[c]
        covariance = (share[:, c, None] * centred).T @ centred / total[c] + FLOOR**2 * np.eye(d)
        roots.append(np.linalg.cholesky(np.linalg.inv(covariance)))
    return Mixture(total / total.sum(), mean, np.array(roots))
