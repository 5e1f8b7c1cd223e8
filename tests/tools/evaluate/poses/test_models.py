"""Models of poses: each against the formula it is, EM's likelihood, and what all of them must do."""

import numpy as np
import pytest

from config.arrays import Floats
from tools.evaluate.poses.factor_analysers import expectation_maximisation, first_guess, log_densities
from tools.evaluate.poses.mixtures import GaussianMixture, fit_clusters, fit_gaussian
from tools.evaluate.poses.models import MODELS
from tools.evaluate.poses.pca import fit_pca

D = 9
OBSERVED = np.array([1, 1, 0, 1, 1, 0, 1, 0, 1], float)


def curved(n: int, seed: int) -> Floats:
    """Return points on a curved surface of two dimensions in D, with a little noise, standardised roughly."""
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(-np.pi, np.pi, n), rng.uniform(-1.0, 1.0, n)
    columns = (np.sin(a), np.cos(a), b, np.sin(2 * a), np.cos(2 * a), a * b / 2, b**2, np.cos(a) * b, np.sin(a) * b)
    return np.stack(columns, axis=1) * 1.4 + 0.01 * rng.standard_normal((n, D))


LINEAR = ("gaussian", "pca")
TRAIN, TEST = curved(1200, 1), curved(80, 2)


@pytest.mark.parametrize("name", MODELS)
def test_every_model_completes_and_denoises_better_than_nothing_does(name: str) -> None:
    kind, rng = MODELS[name], np.random.default_rng(3)
    model = kind.fit(TRAIN, 0)
    least = 0.9 if name in LINEAR else 0.35
    noise = 0.5 * rng.standard_normal(TEST.shape)
    for observed, weight, share in (
        (TEST * OBSERVED, np.tile(OBSERVED, (len(TEST), 1)), least),
        (TEST + noise, np.ones_like(TEST), 1.0),
    ):
        left = float(np.mean((observed - TEST) ** 2))
        errors = [float(np.mean((model.restore(observed, weight, each) - TEST) ** 2)) for each in kind.trade_offs]
        assert min(errors) < share * left, name


@pytest.mark.parametrize("name", MODELS)
def test_missing_entries_may_hold_anything_and_rows_do_not_depend_on_each_other(name: str) -> None:
    kind = MODELS[name]
    model, trade_off = kind.fit(TRAIN, 0), kind.trade_offs[4]
    weight = np.ones((4, D))
    weight[0, 3:6], weight[2, :2] = 0.0, 0.0
    observed = np.where(weight > 0.0, TEST[:4], 0.0)
    found = model.restore(observed, weight, trade_off)
    np.testing.assert_allclose(model.restore(np.where(weight > 0.0, observed, 7.0), weight, trade_off), found, atol=1e-6)
    np.testing.assert_allclose(model.restore(observed[2:3], weight[2:3], trade_off), found[2:3], atol=1e-4)


def test_a_gaussian_restores_what_conditioning_by_precisions_does() -> None:
    model, noise = fit_gaussian(TRAIN, 0), 0.3
    precision = np.linalg.inv(model.covariance[0])
    given = OBSERVED / noise**2
    expected = np.linalg.solve(precision + np.diag(given), (precision @ model.mean[0])[:, None] + (TEST * given).T).T
    np.testing.assert_allclose(model.restore(TEST, np.tile(OBSERVED, (len(TEST), 1)), (noise,)), expected, atol=1e-9)


def test_a_mixture_takes_the_component_the_observed_entries_tell_of() -> None:
    mean = np.array([[-5.0, -3.0, 0.0], [5.0, 2.0, 4.0]])
    model = GaussianMixture(np.array([0.5, 0.5]), mean, np.array([np.eye(3)] * 2))
    found = model.restore(np.array([[5.0, 0.0, 0.0]]), np.array([[1.0, 0.0, 0.0]]), (0.1,))
    np.testing.assert_allclose(found, [[5.0, 2.0, 4.0]], atol=1e-9)


def test_principal_components_have_least_squares_coefficients() -> None:
    model = fit_pca(TRAIN, 0)
    kept = np.cumsum(model.variance) / model.variance.sum()
    n = 1 + int(np.searchsorted(kept, 0.8))
    U, seen = model.directions[:, :n], OBSERVED > 0.0
    a = np.linalg.lstsq(U[seen], (TEST - model.mean)[:, seen].T, rcond=None)[0]
    found = model.restore(TEST * OBSERVED, np.tile(OBSERVED, (len(TEST), 1)), (0.8,))
    np.testing.assert_allclose(found, model.mean + (U @ a).T, atol=1e-8)


def test_the_likelihood_of_factor_analysers_never_falls() -> None:
    values = [value for _, value in expectation_maximisation(TRAIN, first_guess(TRAIN, 6, 2, 0))]
    assert len(values) > 10 and values[-1] > values[0] + 0.05
    assert (np.diff(values) > -1e-9).all()


def test_log_densities_are_those_of_the_mixture() -> None:
    model = first_guess(TRAIN, 3, 2, 0)
    mixture = model.mixture()
    found = log_densities(model, TEST[:5])
    for k in range(len(mixture.mean)):
        C, off = mixture.covariance[k], TEST[:5] - mixture.mean[k]
        distance2 = np.einsum("nd,de,ne->n", off, np.linalg.inv(C), off)
        expected = np.log(mixture.probability[k]) - 0.5 * (distance2 + np.linalg.slogdet(2.0 * np.pi * C)[1])
        np.testing.assert_allclose(found[:, k], expected, rtol=1e-9)


def test_factor_analysers_find_the_noise_they_were_drawn_with() -> None:
    rng = np.random.default_rng(4)
    loading, noise = rng.standard_normal((D, 2)), rng.uniform(0.05, 0.4, D)
    poses = rng.standard_normal((20_000, 2)) @ loading.T + noise * rng.standard_normal((20_000, D))
    *_, (model, _) = expectation_maximisation(poses, first_guess(poses, 1, 2, 0))
    np.testing.assert_allclose(np.sqrt(model.noise), noise, rtol=0.05, atol=0.01)


def test_clusters_are_as_many_as_the_poses_allow() -> None:
    model = fit_clusters(TRAIN, 0)
    assert len(model.mean) == 24
    assert model.probability.sum() == pytest.approx(1.0)
