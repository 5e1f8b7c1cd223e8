"""The scaled Gaussian process latent variable model of Grochow et al. 2004 on plain vectors (the paper's SIK).

It is learned as styles are (`reconstruct.models.style.learn`: the heuristic, active set of 100, three latent dimensions), from at
most 500 of the poses, standardised coordinates instead of joint angles. A pose is restored at the latent point x that minimises
L_IK of the observed entries with noise of variance s^2 added to s2(x); its observed entries then are the mean of f(x) and the
observation by their variances. s, the trade-off, is in scaled features W y, whose variance is 1 on average.
"""

from dataclasses import dataclass, replace

import numpy as np

from config.arrays import Floats
from reconstruct.models.style.learn.active_set import choose_active_set
from reconstruct.models.style.learn.latent import build_latent_query, find_best_active, find_latent
from reconstruct.models.style.learn.methods import HEURISTIC_STEPS, learn_by_heuristic
from reconstruct.models.style.learn.train import LearnOptions, fit_start_from_components, learn_first_parameters
from reconstruct.models.style.model import StyleEvaluator, build_evaluator_at, predict_features
from tools.evaluate.poses.mixtures import TradeOff, same_weights

N_LEARNED = 500  # poses, as in Grochow et al. 2004
MAX_SCALE = 50.0  # of w: coordinates that hardly vary must not dominate


@dataclass(frozen=True, slots=True)
class VectorStyle:
    """A learned model. evaluator: of features less `mean`, (D,)."""

    mean: Floats
    evaluator: StyleEvaluator

    def restore(self, observed: Floats, weight: Floats, trade_off: TradeOff) -> Floats:
        """Return restored poses, (N, D), of observed entries, (N, D), those of positive weight, (N, D)."""
        p, noise2 = self.evaluator.parameters, trade_off[0] ** 2
        noisy = replace(self.evaluator, parameters=replace(p, beta=1.0 / (1.0 / p.beta + noise2)))
        out = np.empty_like(observed)
        for rows, each in same_weights(weight):
            seen, off = np.asarray(each > 0.0), observed[rows] - self.mean
            query = build_latent_query(noisy, off, seen)
            x = find_latent(query, find_best_active(query))
            predicted, variance = predict_features(noisy, x)
            gain = np.maximum(1.0 - noise2 / variance, 0.0)
            out[rows] = self.mean + predicted + gain[:, None] * seen * (off - predicted)
        return out


def fit_style(poses: Floats, seed: int) -> VectorStyle:
    """Learn from poses, (N, D), a random choice of them where they are many."""
    rows = np.random.default_rng(seed).permutation(len(poses))[:N_LEARNED]
    mean, options = poses[rows].mean(axis=0), LearnOptions()
    Y = np.ascontiguousarray(poses[rows] - mean)
    most = np.full(Y.shape[1], MAX_SCALE)
    start = learn_first_parameters(fit_start_from_components(Y, options.latent, most), Y, options.optimiser)
    steps = HEURISTIC_STEPS[0]
    fit = learn_by_heuristic(Y, start, most, options.active, steps, options.optimiser, lambda value: None).normalised(Y)
    rows = choose_active_set(fit.X, fit.parameters, options.active)
    return VectorStyle(mean, build_evaluator_at(fit.X[rows], Y[rows], np.zeros(Y.shape[1]), np.exp(fit.ln_scale), fit.parameters))
