"""The Gaussian local model: products of Gaussians against numpy, thin examples."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from config.arrays import Floats
from reconstruct.models.local.gaussian import local_gaussian
from reconstruct.models.local.model import DOFS
from reconstruct.models.local.motion import MotionPrior
from tests.support.compiled import limit_examples


def examples(k: int, seed: int = 0) -> Floats:
    """Return K poses with very different spreads by coordinate."""
    rng = np.random.default_rng(seed)
    return rng.normal(0.0, 1.0, (k, DOFS)) * np.geomspace(0.01, 0.5, DOFS) + rng.normal(0.0, 0.3, DOFS)


def some_background(seed: int = 9) -> Floats:
    """Return a covariance that is not diagonal, (D, D)."""
    half = np.random.default_rng(seed).normal(0.0, 0.02, (DOFS, DOFS))
    return half @ half.T


def test_gaussian_is_the_product_of_examples_and_motion() -> None:
    poses, rng = examples(30), np.random.default_rng(1)
    weights, expected = rng.uniform(0.2, 1.0, 30), poses[3] + rng.normal(0.0, 0.1, DOFS)
    floor_rad, shrinkage, background = 0.05, 0.2, some_background()
    motion = MotionPrior(expected, some_background(2) + 0.01 * np.eye(DOFS))
    model = local_gaussian(poses, weights, motion, background, floor_rad=floor_rad, shrinkage=shrinkage)
    share = weights / weights.sum()
    mean = share @ poses
    C = sum(w * np.outer(q - mean, q - mean) for w, q in zip(share, poses, strict=True))
    C = (1 - shrinkage) * C + shrinkage * np.diag(np.diag(C)) + floor_rad**2 * np.eye(DOFS) + background
    precision = np.linalg.inv(C) + np.linalg.inv(motion.covariance)
    place = np.linalg.solve(precision, np.linalg.solve(C, mean) + np.linalg.solve(motion.covariance, expected))
    np.testing.assert_allclose(model.precision, precision, rtol=1e-8, atol=1e-8 * np.abs(precision).max())
    found = model.mean + model.directions @ model.center
    np.testing.assert_allclose(found[1:].ravel(), place, atol=1e-10)
    assert np.all(found[0] == 0.0)


def test_gaussian_without_motion_is_that_of_the_examples() -> None:
    poses = examples(20)
    model = local_gaussian(poses, np.ones(20), None, some_background(), floor_rad=0.03, shrinkage=0.1)
    assert not model.center.any()
    np.testing.assert_allclose(model.mean[1:].ravel(), poses.mean(axis=0), atol=1e-12)


@limit_examples(20)
@given(st.integers(1, 12), st.booleans(), st.integers(0, 100))
def test_gaussian_is_proper_for_any_number_of_examples(k: int, alike: bool, seed: int) -> None:
    """K below the dimension, one pose, or the same pose again and again: positive definite through the floor."""
    poses = np.repeat(examples(1, seed), k, axis=0) if alike else examples(k, seed)
    motion = MotionPrior(poses[0] + 0.2, 0.01 * np.eye(DOFS))
    model = local_gaussian(poses, np.ones(k), motion, np.zeros((DOFS, DOFS)), floor_rad=0.03, shrinkage=0.1)
    assert np.linalg.eigvalsh(model.precision).min() > 0.0
    if alike or k == 1:
        # Only the floor is left: w = 0.2 s / (s + f), s = 1 / 0.1^2, f = 1 / 0.03^2.
        expected = 0.2 * 100.0 / (100.0 + 1.0 / 0.0009)
        np.testing.assert_allclose(model.center, expected, rtol=1e-6)


def test_weights_matter_by_ratio_only() -> None:
    poses, weights, background = examples(10), np.linspace(0.1, 1.0, 10), some_background()
    one = local_gaussian(poses, weights, None, background, floor_rad=0.03, shrinkage=0.1)
    other = local_gaussian(poses, 1e-6 * weights, None, background, floor_rad=0.03, shrinkage=0.1)
    np.testing.assert_allclose(other.precision, one.precision, rtol=1e-8)
    only = local_gaussian(poses, np.eye(10)[4], None, background, floor_rad=0.03, shrinkage=0.1)
    np.testing.assert_allclose(only.mean[1:].ravel(), poses[4], atol=1e-12)
