"""Joining a guess to the local model: products of Gaussians against numpy, weights from none to all."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from config.arrays import Floats
from config.joints import N_JOINTS
from reconstruct.missing.pose_model import PoseGaussian, joined, weighted
from reconstruct.models.local.model import DOFS, FULL, LocalModel


def some_precision(seed: int) -> Floats:
    """Return a positive definite matrix, (D, D)."""
    half = np.random.default_rng(seed).normal(0.0, 1.0, (DOFS, DOFS))
    return half @ half.T + np.eye(DOFS)


def some_model(seed: int = 0) -> LocalModel:
    """Return a local model over all coordinates."""
    rng = np.random.default_rng(seed)
    mean = rng.normal(0.0, 0.3, (N_JOINTS, 3))
    mean[0] = 0.0
    return LocalModel(mean, FULL, rng.normal(0.0, 0.1, DOFS), some_precision(seed + 1))


@settings(deadline=None, max_examples=10)
@given(st.integers(0, 1000), st.floats(0.01, 1.0))
def test_joined_is_the_product_of_both(seed: int, weight: float) -> None:
    model, rng = some_model(seed), np.random.default_rng(seed)
    guess = PoseGaussian(rng.normal(0.0, 0.3, DOFS), some_precision(seed + 2), 0.5)
    found = joined(model, weighted(guess, weight))
    np.testing.assert_allclose(found.precision, model.precision + weight * guess.precision)
    local = model.mean[1:].ravel() + model.center
    product = np.linalg.solve(found.precision, model.precision @ local + weight * guess.precision @ guess.expected)
    np.testing.assert_allclose(found.mean[1:].ravel() + found.center, product, atol=1e-9)


def test_no_weight_leaves_the_local_model() -> None:
    model = some_model()
    found = joined(model, weighted(PoseGaussian(np.ones(DOFS), some_precision(5), 0.0), 0.0))
    np.testing.assert_array_equal(found.precision, model.precision)
    np.testing.assert_allclose(found.center, model.center, atol=1e-10)


def test_a_coordinate_without_weight_is_not_pulled() -> None:
    """Independent coordinates: the guess moves those that have weight only."""
    model = LocalModel(np.zeros((N_JOINTS, 3)), FULL, np.zeros(DOFS), np.eye(DOFS))
    weight = np.where(np.arange(DOFS) < 6, 1.0, 0.0)
    found = joined(model, weighted(PoseGaussian(np.full(DOFS, 2.0), 3.0 * np.eye(DOFS), 0.0), weight))
    assert found.center[:6] == pytest.approx(1.5) and not found.center[6:].any()
