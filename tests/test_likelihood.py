"""L_IK against plain numpy, and its derivatives against central differences."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from database.rotations import Floats
from reconstruct.style.likelihood_kernels import Model, _likelihood
from reconstruct.style.model import Hyperparameters, Level, covariance, predicted

N_STATIC = 7


def a_level(rng: np.random.Generator, n: int, n_latent: int, n_features: int) -> Level:
    """Make a level whose functions are no special ones."""
    parameters = Hyperparameters(*(float(v) for v in np.exp(rng.normal(size=3) * 0.5) * (1.0, 20.0, 1.0)))
    X = rng.normal(size=(n, n_latent))
    inverse = np.linalg.inv(covariance(X, X, parameters) + np.eye(n) / parameters.beta)
    scale = np.exp(rng.normal(size=n_features))
    return Level(X, inverse, inverse @ rng.normal(size=(n, n_features)), rng.normal(size=n_features), scale, parameters)


def model_and_offset(level: Level, rng: np.random.Generator) -> tuple[Model, Floats]:
    p, offset = level.parameters, rng.normal(size=len(level.scale))
    column = rng.integers(0, N_STATIC, len(level.scale))
    shift = level.scale * (level.mean + offset)
    parameters = np.array([p.alpha, 1.0 / p.beta, p.gamma, len(level.scale)])
    return (level.latent, level.inverse, level.coefficients * level.scale, shift, level.scale, column, parameters), offset


def asked(x: Floats, s: Floats, model: Model, share: float = 1.0) -> tuple[float, Floats, Floats, Floats]:
    """Give L_IK, its gradient and Hessian by (s, x), and the scale of steps."""
    q, about = len(x), np.zeros(2)
    gx, Hxx, step, gs, Hss, Hsx = (
        np.zeros(q),
        np.zeros((q, q)),
        np.zeros(q),
        np.zeros(len(s)),
        np.zeros(len(s)),
        np.zeros((len(s), q)),
    )
    value = _likelihood(x, s, model, share, (gx, Hxx, step), (gs, Hss, Hsx), about)
    return value, np.concatenate([gs, gx]), np.block([[np.diag(Hss), Hsx], [Hsx.T, Hxx]]), step


def test_value_is_that_of_the_model() -> None:
    rng = np.random.default_rng(1)
    level = a_level(rng, 9, 2, 12)
    model, offset = model_and_offset(level, rng)
    x, s = rng.normal(size=2), rng.normal(size=N_STATIC)
    f, s2 = predicted(level, x)
    y = s[model[5]] - offset
    shall = np.sum((level.scale * (y - f[0])) ** 2) / (2.0 * s2[0]) + 6.0 * np.log(s2[0]) + 0.5 * x @ x
    assert_allclose(asked(x, s, model, 0.3)[0], 0.3 * shall, rtol=1e-9)


@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 4), st.integers(1, 14))
@settings(max_examples=15)
def test_derivatives(seed: int, n: int, n_latent: int, n_features: int) -> None:
    rng = np.random.default_rng(seed)
    model, _ = model_and_offset(a_level(rng, n, n_latent, n_features), rng)
    z, h = rng.normal(size=N_STATIC + n_latent), 1e-5
    _, gradient, hessian, step = asked(z[N_STATIC:], z[:N_STATIC], model)
    scale = 1.0 + np.abs(hessian).max()
    for i in range(len(z)):
        d = h * np.eye(len(z))[i]
        up, down = asked((z + d)[N_STATIC:], (z + d)[:N_STATIC], model), asked((z - d)[N_STATIC:], (z - d)[:N_STATIC], model)
        assert_allclose((up[0] - down[0]) / (2.0 * h), gradient[i], rtol=1e-6, atol=1e-6 * scale)
        assert_allclose((up[1] - down[1]) / (2.0 * h), hessian[i], rtol=1e-5, atol=1e-6 * scale)
    assert (step >= 1.0).all()


def test_far_from_all_poses_it_stays_finite() -> None:
    rng = np.random.default_rng(2)
    model, _ = model_and_offset(a_level(rng, 5, 2, 6), rng)
    value, gradient, hessian, _ = asked(np.array([1e3, -1e3]), np.full(N_STATIC, 1e3), model)
    assert np.isfinite(value) and np.isfinite(gradient).all() and np.isfinite(hessian).all()
