"""L_IK against plain numpy, and its derivatives against central differences."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from config.arrays import Floats
from reconstruct.models.style.model import Hyperparameters, StyleEvaluator, compute_covariance, predict_features
from reconstruct.models.style.synthesis.arrays import LatentDerivatives, LikelihoodModel, StaticDerivatives
from reconstruct.models.style.synthesis.likelihood import ENERGY, add_likelihood
from tests.support.compiled import limit_examples

N_STATIC = 7


def evaluator(rng: np.random.Generator, n: int, n_latent: int, n_features: int) -> StyleEvaluator:
    """Return an evaluator of random functions."""
    parameters = Hyperparameters(*(float(v) for v in np.exp(rng.normal(size=3) * 0.5) * (1.0, 20.0, 1.0)))
    X = rng.normal(size=(n, n_latent))
    inverse = np.linalg.inv(compute_covariance(X, X, parameters) + np.eye(n) / parameters.beta)
    scale = np.exp(rng.normal(size=n_features))
    return StyleEvaluator(X, inverse, inverse @ rng.normal(size=(n, n_features)), rng.normal(size=n_features), scale, parameters)


def model_and_offset(level: StyleEvaluator, rng: np.random.Generator) -> tuple[LikelihoodModel, Floats]:
    p, offset = level.parameters, rng.normal(size=len(level.scale))
    column = rng.integers(0, N_STATIC, len(level.scale))
    shift = level.scale * (level.mean + offset)
    parameters = np.array([p.alpha, 1.0 / p.beta, p.gamma, len(level.scale)])
    coefficients = level.coefficients * level.scale
    return LikelihoodModel(level.latent, level.inverse, coefficients, shift, level.scale, column, parameters), offset


def likelihood(x: Floats, s: Floats, model: LikelihoodModel, share: float = 1.0) -> tuple[float, Floats, Floats, Floats]:
    """Return L_IK, its gradient and Hessian by (s, x), and the scale of steps."""
    q, n, summary = len(x), len(s), np.zeros(2)
    by_x = LatentDerivatives(np.zeros(q), np.zeros((q, q)), np.zeros(q))
    by_s = StaticDerivatives(np.zeros(n), np.zeros(n), np.zeros((n, q)))
    add_likelihood(x, s, model, share, by_x, by_s, summary)
    hessian = np.block([[np.diag(by_s.diagonal), by_s.cross], [by_s.cross.T, by_x.hessian]])
    return float(summary[ENERGY]), np.concatenate([by_s.gradient, by_x.gradient]), hessian, by_x.scale


def test_value_is_that_of_the_model() -> None:
    rng = np.random.default_rng(1)
    level = evaluator(rng, 9, 2, 12)
    model, offset = model_and_offset(level, rng)
    x, s = rng.normal(size=2), rng.normal(size=N_STATIC)
    f, s2 = predict_features(level, x)
    y = s[model.column] - offset
    shall = np.sum((level.scale * (y - f[0])) ** 2) / (2.0 * s2[0]) + 6.0 * np.log(s2[0]) + 0.5 * x @ x
    assert_allclose(likelihood(x, s, model, 0.3)[0], 0.3 * shall, rtol=1e-9)


@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 4), st.integers(1, 14))
@limit_examples(15)
def test_derivatives(seed: int, n: int, n_latent: int, n_features: int) -> None:
    rng = np.random.default_rng(seed)
    model, _ = model_and_offset(evaluator(rng, n, n_latent, n_features), rng)
    z, h = rng.normal(size=N_STATIC + n_latent), 1e-5
    _, gradient, hessian, step = likelihood(z[N_STATIC:], z[:N_STATIC], model)
    scale = 1.0 + np.abs(hessian).max()
    for i in range(len(z)):
        d = h * np.eye(len(z))[i]
        up, down = (
            likelihood((z + d)[N_STATIC:], (z + d)[:N_STATIC], model),
            likelihood((z - d)[N_STATIC:], (z - d)[:N_STATIC], model),
        )
        assert_allclose((up[0] - down[0]) / (2.0 * h), gradient[i], rtol=1e-6, atol=1e-6 * scale)
        assert_allclose((up[1] - down[1]) / (2.0 * h), hessian[i], rtol=1e-5, atol=1e-6 * scale)
    assert (step >= 1.0).all()


def test_far_from_all_poses_it_stays_finite() -> None:
    rng = np.random.default_rng(2)
    model, _ = model_and_offset(evaluator(rng, 5, 2, 6), rng)
    value, gradient, hessian, _ = likelihood(np.array([1e3, -1e3]), np.full(N_STATIC, 1e3), model)
    assert np.isfinite(value) and np.isfinite(gradient).all() and np.isfinite(hessian).all()
