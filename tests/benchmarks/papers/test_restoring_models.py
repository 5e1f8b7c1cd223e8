"""Models of poses: each against the formula it is, and what all of them must do."""

import numpy as np
import pytest

pytest.importorskip("sklearn", reason='needs scikit-learn: pip install "duocap[benchmarks]"')

from benchmarks.papers.restoring_models import (
    MODELS,
    GaussianRestorer,
    SparseRestorer,
    fit_clusters,
    fit_factor_analysers,
    fit_gaussian,
)
from config.arrays import Floats

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
    model = kind.fit(TRAIN, 0, np.inf)
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
    model, trade_off = kind.fit(TRAIN, 0, np.inf), kind.trade_offs[4]
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
    model = GaussianRestorer(np.array([0.5, 0.5]), mean, np.array([np.eye(3)] * 2))
    found = model.restore(np.array([[5.0, 0.0, 0.0]]), np.array([[1.0, 0.0, 0.0]]), (0.1,))
    np.testing.assert_allclose(found, [[5.0, 2.0, 4.0]], atol=1e-9)


def test_principal_components_have_least_squares_coefficients() -> None:
    model, mean, seen = MODELS["pca"].fit(TRAIN, 0, np.inf), TRAIN.mean(axis=0), OBSERVED > 0.0
    _, singular, V = np.linalg.svd(TRAIN - mean, full_matrices=False)
    U = V[: 1 + int(np.searchsorted(np.cumsum(singular**2) / (singular**2).sum(), 0.8))].T
    a = np.linalg.lstsq(U[seen], (TEST - mean)[:, seen].T, rcond=None)[0]
    found = model.restore(TEST * OBSERVED, np.tile(OBSERVED, (len(TEST), 1)), (0.8,))
    np.testing.assert_allclose(found, mean + (U @ a).T, atol=1e-8)


def test_clusters_are_as_many_as_the_poses_allow() -> None:
    model = fit_clusters(TRAIN, 0)
    assert len(model.mean) == 24
    assert model.probability.sum() == pytest.approx(1.0)


def test_factor_analysers_part_flat_clusters_by_their_shape() -> None:
    """Two crossing planes: k-means cannot part them, the analysers' densities can."""
    rng = np.random.default_rng(4)
    planes = [np.linalg.qr(rng.standard_normal((D, 2)))[0] for _ in range(2)]
    poses = np.concatenate([3.0 * rng.standard_normal((100, 2)) @ plane.T for plane in planes])
    model = fit_factor_analysers(poses + 0.01 * rng.standard_normal(poses.shape), 0)
    half = np.array([1, 1, 1, 1, 0, 0, 0, 0, 0], float)
    found = model.restore(poses * half, np.tile(half, (len(poses), 1)), (0.01,))
    assert np.median(np.abs(found - poses)) < 0.1


@pytest.mark.parametrize("name", ["omp", "all-poses", "local-pca", "clusters", "mfa"])
def test_a_model_holds_no_more_numbers_than_it_may(name: str) -> None:
    model = MODELS[name].fit(TRAIN, 0, 600.0)
    if isinstance(model, GaussianRestorer):
        assert len(model.mean) <= 600 / (2 * D)
    else:
        held = model.dictionary.atoms if isinstance(model, SparseRestorer) else model.poses  # type: ignore[attr-defined]
        assert 500 < held.size <= 600
