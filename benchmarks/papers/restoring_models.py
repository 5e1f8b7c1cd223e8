"""Models that restore standardised poses, (N, D), and the values among which the trade-off of each is chosen.

A trade-off is between a model and the observation; its last value is s, the standard deviation expected of observations, where
not said otherwise: 1/s^2 is the paper's lambda but for a factor (Lai, Yuen & Lee 2012, eq. 1).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy.linalg import cho_solve, solve_triangular
from sklearn.decomposition import PCA, FactorAnalysis
from sklearn.mixture import GaussianMixture

from benchmarks.papers.dimensionality import cluster_poses, sample_poses
from config.arrays import Floats, Ints
from reconstruct.models.sparse.dictionary import Dictionary, RestoreOptions, learn_dictionary, restore_poses
from reconstruct.models.sparse.learn import DictionaryOptions
from reconstruct.models.style.learn.active_set import choose_active_set
from reconstruct.models.style.learn.latent import build_latent_query, find_best_active, find_latent
from reconstruct.models.style.learn.methods import HEURISTIC_STEPS, learn_by_heuristic
from reconstruct.models.style.learn.train import LearnOptions, fit_start_from_components, learn_first_parameters
from reconstruct.models.style.model import StyleEvaluator, build_evaluator_at, predict_features

TradeOff = tuple[float, ...]
POSES_IN_CLUSTER, MAX_CLUSTERS, MAX_ANALYSERS = 50, 128, 64  # on average; the paper's number of clusters is lost
N_FACTORS, ROUNDS = 14, 10  # with fewer factors assigned poses restore worse than shared ones do with 10
FACTOR_STEPS, FACTOR_TOL = 50, 1e-2  # of EM at most; of the log likelihood of all poses, as in scikit-learn
RIDGE = 1e-4  # variance added to each coordinate of a covariance, standardised: clusters can be flat
CHUNK = 128  # poses whose distances to all training poses, or whose covariances, are held at a time
MAX_ATOMS = 200_000  # where all poses are atoms
N_NONZERO, ITERATIONS, N_CODES = 3, 3, 16  # when learning; codes drawn for each pose
N_LEARNED = 500  # poses of a style, as in Grochow et al. 2004
MAX_SCALE = 50.0  # of w: coordinates that hardly vary must not dominate


class RestoringModel(Protocol):
    """A model learned from standardised poses."""

    def restore(self, observed: Floats, weight: Floats, trade_off: TradeOff) -> Floats:
        """Return whole poses, (N, D), from observed entries, (N, D), and their weights, (N, D), 0 where missing."""
        ...


def group_by_weights(weight: Floats) -> Iterator[tuple[Ints, Floats]]:
    """Yield the rows that have the same weights, (n,), and these, (D,), of weights (N, D)."""
    patterns, which = np.unique(weight, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        yield np.flatnonzero(which.ravel() == number), pattern


@dataclass(frozen=True, slots=True)
class GaussianRestorer:
    """A mixture of Gaussians: probabilities (K,), means (K, D), covariances (K, D, D).

    A pose y is drawn from N(m_k, C_k) with probability p_k; the observed entries are o = y_o + e, e ~ N(0, s^2). Then

        r_k = p_k N(o; m_k, C_k,oo + s^2) / sum_j ...,    E[y | o] = sum_k r_k (m_k + C_k,:o (C_k,oo + s^2)^-1 (o - m_k,o))
    """

    probability: Floats
    mean: Floats
    covariance: Floats

    def restore(self, observed: Floats, weight: Floats, trade_off: TradeOff) -> Floats:
        """Return E[y | o]; noise: s^2 / weight."""
        out = np.empty_like(observed)
        for rows, each in group_by_weights(weight):
            out[rows] = self._compute_mean(observed[rows], each, trade_off[0])
        return out

    def _compute_mean(self, observed: Floats, weight: Floats, noise: float) -> Floats:
        """Return E[y | o], (N, D), of poses whose entries have the same weights, (D,)."""
        at = np.flatnonzero(weight > 0.0)
        noise2 = np.diag(noise**2 / weight[at])
        log_density, means = np.empty((len(self.mean), len(observed))), np.empty((len(self.mean), *observed.shape))
        for k, (p, m, C) in enumerate(zip(self.probability, self.mean, self.covariance, strict=True)):
            L = np.linalg.cholesky(C[np.ix_(at, at)] + noise2)
            off = observed[:, at] - m[at]
            far2 = (solve_triangular(L, off.T, lower=True) ** 2).sum(axis=0)
            log_density[k] = np.log(p) - np.log(np.diag(L)).sum() - 0.5 * far2
            means[k] = m + off @ cho_solve((L, True), C[at])
        share = np.exp(log_density - log_density.max(axis=0))
        return np.asarray(np.einsum("kn,knd->nd", share / share.sum(axis=0), means))


def fit_gaussian(poses: Floats, seed: int, numbers: float = np.inf) -> GaussianRestorer:
    """Fit one Gaussian to poses, (N, D)."""
    fit = GaussianMixture(1, reg_covar=RIDGE, random_state=seed).fit(poses)
    return GaussianRestorer(fit.weights_, fit.means_, fit.covariances_)


def fit_clusters(poses: Floats, seed: int, numbers: float = np.inf) -> GaussianRestorer:
    """Fit a Gaussian to each cluster, by k-means, of poses (N, D)."""
    D = poses.shape[1]
    most = int(min(MAX_CLUSTERS, numbers / (D * (D + 3) / 2 + 1)))
    member = cluster_poses(poses, int(np.clip(len(poses) // POSES_IN_CLUSTER, 2, most)), seed).predict(poses)
    parts = [poses[member == k] for k in np.unique(member)]
    covariances = [np.cov(part.T, bias=True) + RIDGE * np.eye(poses.shape[1]) for part in parts]
    share = np.array([len(part) for part in parts]) / len(poses)
    return GaussianRestorer(share, np.array([part.mean(axis=0) for part in parts]), np.array(covariances))


def fit_factor_analysers(poses: Floats, seed: int, numbers: float = np.inf) -> GaussianRestorer:
    """Fit a mixture of factor analysers (Ghahramani & Hinton 1996) to poses, (N, D).

    By classification EM (Celeux & Govaert 1992): each pose belongs to the analyser under which it is likeliest. Every analyser
    has noise of its own; the first authors' have one in common. Of many poses a random part is used.
    """
    poses = sample_poses(poses, seed)
    most = int(min(MAX_ANALYSERS, numbers / (poses.shape[1] * (N_FACTORS + 2) + 1)))
    member = cluster_poses(poses, int(np.clip(len(poses) // POSES_IN_CLUSTER, 2, most)), seed).predict(poses)
    for _ in range(ROUNDS):
        parts = [poses[member == k] for k in np.unique(member)]
        parts = [part for part in parts if len(part) > 1]
        fits = [fit_factors(part, seed) for part in parts]
        share = np.array([len(part) for part in parts]) / len(poses)
        log_density = np.stack([fit.score_samples(poses) + np.log(p) for fit, p in zip(fits, share, strict=True)], axis=1)
        before, member = member, log_density.argmax(axis=1)
        if (before == member).all():
            break
    covariance = np.array([fit.get_covariance() for fit in fits]) + RIDGE * np.eye(poses.shape[1])
    return GaussianRestorer(share / share.sum(), np.array([fit.mean_ for fit in fits]), covariance)


def fit_factors(poses: Floats, seed: int) -> FactorAnalysis:
    """Fit a factor analyser to poses, (N, D). As it depends on their mean and covariance alone, 2 D with these stand for many."""
    D, n = poses.shape[1], len(poses)
    if n > 2 * D:
        variance, V = np.linalg.eigh(np.cov(poses.T, bias=True))
        apart = (V * np.sqrt(D * np.maximum(variance, 0.0))).T
        poses = poses.mean(axis=0) + np.concatenate([apart, -apart])
    return FactorAnalysis(N_FACTORS, tol=FACTOR_TOL * len(poses) / n, max_iter=FACTOR_STEPS, random_state=seed).fit(poses)


@dataclass(frozen=True, slots=True)
class PcaRestorer:
    """Principal components of all poses: the pose of a subspace nearest to the observed entries.

    As in the paper nothing holds the coefficients back: fewer observed entries than components leave them undetermined, and the
    smallest are taken. The trade-off is the share of the variance that the components keep; the paper's is lost.
    """

    fit: PCA

    def restore(self, observed: Floats, weight: Floats, trade_off: TradeOff) -> Floats:
        """Return least-squares poses."""
        kept = np.cumsum(self.fit.explained_variance_ratio_)
        U, mean = self.fit.components_[: 1 + int(np.searchsorted(kept, trade_off[0]))].T, self.fit.mean_
        out = np.empty_like(observed)
        for rows, each in group_by_weights(weight):
            root = np.sqrt(each)
            out[rows] = mean + (observed[rows] - mean) * root @ np.linalg.pinv(U * root[:, None]).T @ U.T
        return out


def fit_components(poses: Floats, seed: int, numbers: float) -> PcaRestorer:
    """Fit principal components to poses, (N, D)."""
    return PcaRestorer(PCA().fit(poses))


@dataclass(frozen=True, slots=True)
class LocalRestorer:
    """A Gaussian around the K training poses nearest to the observed entries (Chai & Hodgins 2005). Trade-off: K and s."""

    poses: Floats

    def restore(self, observed: Floats, weight: Floats, trade_off: TradeOff) -> Floats:
        """Return means given observed entries with noise of variance s^2 / weight; those of no weight do not count."""
        single, out = self.poses.astype(np.float32), np.empty_like(observed)
        squared, count = single**2, min(int(trade_off[0]), len(single))
        for first in range(0, len(observed), CHUNK):
            o, w = observed[first : first + CHUNK], weight[first : first + CHUNK]
            distance2 = w.astype(np.float32) @ squared.T - 2.0 * (w * o).astype(np.float32) @ single.T
            rows = np.argpartition(distance2, count - 1, axis=1)[:, :count]
            out[first : first + CHUNK] = self._restore_few(o, w, self.poses[rows], trade_off[1])
        return out

    def _restore_few(self, observed: Floats, weight: Floats, near: Floats, noise: float) -> Floats:
        """Restore a few poses: with A the neighbours less their mean, E[y | o] = m + A' A_w (A_w' A_w + s^2 K)^-1 w (o - m)."""
        mean = near.mean(axis=1)
        A, root = near - mean[:, None], np.sqrt(weight)
        scaled = A * root[:, None]
        ridge = max(noise**2, 1e-6) * near.shape[1] * np.eye(observed.shape[1])
        solved = np.linalg.solve(scaled.transpose(0, 2, 1) @ scaled + ridge, (root * (observed - mean))[:, :, None])
        return np.asarray(mean + (A.transpose(0, 2, 1) @ (scaled @ solved))[:, :, 0])


def keep_poses(poses: Floats, seed: int, numbers: float) -> LocalRestorer:
    """Keep poses, (N, D), all of them or as many as the memory allows, drawn at random."""
    count = int(min(numbers / poses.shape[1], len(poses)))
    return LocalRestorer(poses[np.random.default_rng(seed).permutation(len(poses))[:count]] if count < len(poses) else poses)


@dataclass(frozen=True, slots=True)
class SparseRestorer:
    """A sparse pose dictionary. Trade-off: atoms considered for a pose, T of these in a code, s: of observations, and of codes
    that are drawn and whose mean is the restored pose, where there is more than one."""

    dictionary: Dictionary
    n_codes: int = N_CODES

    def restore(self, observed: Floats, weight: Floats, trade_off: TradeOff) -> Floats:
        """Return restored poses."""
        options = RestoreOptions(int(trade_off[1]), trade_off[2], self.n_codes, int(trade_off[0]))
        return restore_poses(self.dictionary, observed, np.sqrt(weight), options)


def keep_all_poses(poses: Floats, seed: int, numbers: float) -> SparseRestorer:
    """Return a dictionary of poses, (N, D), all of them or as many as the memory allows, drawn at random."""
    return fit_dictionary(poses, seed, min(numbers / (poses.shape[1] + 1), len(poses), MAX_ATOMS))


def fit_dictionary(poses: Floats, seed: int, n_atoms: float, n_codes: int = N_CODES) -> SparseRestorer:
    """Learn a dictionary by K-SVD from poses, (N, D); as many atoms as poses are these poses.

    Args:
        poses: poses, (N, D).
        seed: decides the first atoms.
        n_atoms: number K of atoms.
        n_codes: codes drawn for a pose, 1: orthogonal matching pursuit alone, as in the paper.
    """
    options = DictionaryOptions(int(min(n_atoms, len(poses))), N_NONZERO, iterations=ITERATIONS, seed=seed)
    return SparseRestorer(learn_dictionary(poses, options), n_codes)


@dataclass(frozen=True, slots=True)
class StyleRestorer:
    """The scaled Gaussian process latent variable model of Grochow et al. 2004 on plain vectors (the paper's SIK).

    A pose is restored at the latent point x that minimises L_IK of the observed entries with noise of variance s^2 added to
    s2(x); its observed entries then are the mean of f(x) and the observation by their variances. s is in scaled features W y,
    whose variance is 1 on average. evaluator: of features less `mean`, (D,).
    """

    mean: Floats
    evaluator: StyleEvaluator

    def restore(self, observed: Floats, weight: Floats, trade_off: TradeOff) -> Floats:
        """Return restored poses."""
        p, noise2 = self.evaluator.parameters, trade_off[0] ** 2
        noisy = replace(self.evaluator, parameters=replace(p, beta=1.0 / (1.0 / p.beta + noise2)))
        out = np.empty_like(observed)
        for rows, each in group_by_weights(weight):
            seen, off = np.asarray(each > 0.0), observed[rows] - self.mean
            query = build_latent_query(noisy, off, seen)
            predicted, variance = predict_features(noisy, find_latent(query, find_best_active(query)))
            gain = np.maximum(1.0 - noise2 / variance, 0.0)
            out[rows] = self.mean + predicted + gain[:, None] * seen * (off - predicted)
        return out


def fit_style(poses: Floats, seed: int, numbers: float) -> StyleRestorer:
    """Learn as styles are learned from poses, (N, D), a random choice of them where they are many."""
    rows = np.random.default_rng(seed).permutation(len(poses))[: int(min(N_LEARNED, numbers / (poses.shape[1] + 3)))]
    mean, options = poses[rows].mean(axis=0), LearnOptions()
    Y = np.ascontiguousarray(poses[rows] - mean)
    most = np.full(Y.shape[1], MAX_SCALE)
    start = learn_first_parameters(fit_start_from_components(Y, options.latent, most), Y, options.optimiser)
    steps = HEURISTIC_STEPS[0]
    fit = learn_by_heuristic(Y, start, most, options.active, steps, options.optimiser, lambda value: None).normalised(Y)
    rows = choose_active_set(fit.X, fit.parameters, options.active)
    return StyleRestorer(
        mean, build_evaluator_at(fit.X[rows], Y[rows], np.zeros(Y.shape[1]), np.exp(fit.ln_scale), fit.parameters)
    )


@dataclass(frozen=True, slots=True)
class ModelKind:
    """How a model is fitted to standardised poses, (N, D), with a seed, and its trade-offs. most: test poses, None: all.

    The third argument of `fit` is how many numbers the model may hold; infinite where it has a size of its own.
    """

    fit: Callable[[Floats, int, float], RestoringModel]
    trade_offs: tuple[TradeOff, ...]
    most: int | None = None


NOISES = tuple((s,) for s in (0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.45, 0.7, 1.0, 1.5, 2.2))
LOCAL = tuple((k, *s) for k in (5, 10, 20, 50, 100) for s in NOISES)
ENERGIES = tuple((share,) for share in (0.5, 0.7, 0.8, 0.9, 0.95, 0.97, 0.98, 0.99, 0.995, 0.999))  # of the variance
SPARSE = (  # atoms considered, atoms of a code, noise
    *((400.0, 1.0, s) for s in (0.3, 0.45, 0.6, 0.8, 1.0, 1.3)),
    *((m, t, s) for m in (5.0, 8.0, 12.0, 16.0) for t in (2.0, 3.0) for s in (0.3, 0.45, 0.6)),
    *((m, 11.0, s) for m in (30.0, 50.0, 100.0) for s in (0.003, 0.01, 0.03)),
)
PURSUIT = tuple((400.0, t, 1e-3) for t in (1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 11.0, 16.0))  # the sparsity T is all it has
LEARNED = tuple((200.0, t, s) for t in (3.0, 8.0, 14.0) for s in (0.03, 0.3, 0.6, 1.0))
N_ATOMS = 500  # of a learned dictionary


def make_dictionary_kind(n_atoms: int, pursuit: bool) -> ModelKind:
    """Return learned dictionaries of some atoms, coded by pursuit alone or by the mean of many codes."""
    n_codes, trade_offs = (1, PURSUIT) if pursuit else (N_CODES, LEARNED)
    return ModelKind(
        lambda poses, seed, numbers: fit_dictionary(poses, seed, min(n_atoms, numbers / (poses.shape[1] + 1)), n_codes),
        trade_offs,
    )


MODELS = {  # in the order of the paper's columns
    "omp": make_dictionary_kind(N_ATOMS, True),
    "mfa": ModelKind(fit_factor_analysers, NOISES),
    "gaussian": ModelKind(fit_gaussian, NOISES),
    "local-pca": ModelKind(keep_poses, LOCAL),
    "clusters": ModelKind(fit_clusters, NOISES),
    "sgplvm": ModelKind(fit_style, NOISES, most=500),
    "pca": ModelKind(fit_components, ENERGIES),
    # Ours, beside the paper's.
    "k-svd": make_dictionary_kind(N_ATOMS, False),
    "all-poses": ModelKind(keep_all_poses, SPARSE),
}
SMALL_ONLY = ("sgplvm",)  # as in the paper
