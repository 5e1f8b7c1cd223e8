"""Joining a guess to the local model: products of Gaussians against numpy, weights from none to all."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from config.arrays import Floats
from config.joints import N_JOINTS
from database.geometry.rotations import matrix_from_rotvec
from reconstruct.missing.pose_model import PoseGaussian, join_prediction, weigh_prediction
from reconstruct.models.local.model import DOFS, FULL, LocalModel
from reconstruct.solve.root import RootPrior


def some_precision(seed: int, n: int = DOFS) -> Floats:
    """Return a positive definite matrix, (n, n)."""
    half = np.random.default_rng(seed).normal(0.0, 1.0, (n, n))
    return half @ half.T + np.eye(n)


ROOT = RootPrior(matrix_from_rotvec([0.1, 0.7, -0.2]), np.array([0.2, 1.0, -0.1]), np.nan, np.nan)


def some_model(seed: int = 0) -> LocalModel:
    """Return what is known of all joint coordinates and of the root."""
    rng = np.random.default_rng(seed)
    mean = rng.normal(0.0, 0.3, (N_JOINTS, 3))
    mean[0] = 0.0
    return LocalModel(mean, FULL, rng.normal(0.0, 0.1, DOFS), some_precision(seed + 1, DOFS + 6))


@settings(deadline=None, max_examples=10)
@given(st.integers(0, 1000), st.floats(0.01, 1.0))
def test_joined_is_the_product_of_both(seed: int, weight: float) -> None:
    """The root moves as far as it goes with the joints."""
    model, rng = some_model(seed), np.random.default_rng(seed)
    guess = PoseGaussian(rng.normal(0.0, 0.3, DOFS), some_precision(seed + 2), 0.5)
    found, root = join_prediction(model, ROOT, weigh_prediction(guess, weight))
    precision, pull = model.precision.copy(), np.zeros(DOFS + 6)
    precision[:DOFS, :DOFS] += weight * guess.precision
    np.testing.assert_allclose(found.precision, precision)
    local = model.mean[1:].ravel() + model.center
    pull[:DOFS] = weight * guess.precision @ (guess.expected - local)
    step = np.linalg.solve(precision, pull)
    np.testing.assert_allclose(found.mean[1:].ravel() + found.center, local + step[:DOFS], atol=1e-9)
    np.testing.assert_allclose(root.rotation, matrix_from_rotvec(step[DOFS : DOFS + 3]) @ ROOT.rotation, atol=1e-9)
    np.testing.assert_allclose(root.position_m, ROOT.position_m + step[DOFS + 3 :], atol=1e-9)


def test_no_weight_leaves_the_local_model() -> None:
    model = some_model()
    found, root = join_prediction(model, ROOT, weigh_prediction(PoseGaussian(np.ones(DOFS), some_precision(5), 0.0), 0.0))
    np.testing.assert_allclose(root.rotation, ROOT.rotation, atol=1e-12)
    np.testing.assert_allclose(root.position_m, ROOT.position_m, atol=1e-12)
    np.testing.assert_array_equal(found.precision, model.precision)
    np.testing.assert_allclose(found.center, model.center, atol=1e-10)


def test_a_coordinate_without_weight_is_not_pulled() -> None:
    """Independent coordinates: the guess moves those that have weight only."""
    model = LocalModel(np.zeros((N_JOINTS, 3)), FULL, np.zeros(DOFS), np.eye(DOFS + 6))
    weight = np.where(np.arange(DOFS) < 6, 1.0, 0.0)
    found, _ = join_prediction(model, ROOT, weigh_prediction(PoseGaussian(np.full(DOFS, 2.0), 3.0 * np.eye(DOFS), 0.0), weight))
    assert found.center[:6] == pytest.approx(1.5) and not found.center[6:].any()
