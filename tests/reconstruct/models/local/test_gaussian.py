"""The neighbours' Gaussians: poses against numpy, thin examples, steps and bends inside their clips."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from config.arrays import Floats
from config.settings import SolveSettings
from reconstruct.models.local.gaussian import GaussianFitter, fit_local_gaussian
from reconstruct.models.local.model import DOFS, Neighbours
from reconstruct.models.local.motion import compute_bend_covariance, compute_drift_shape
from reconstruct.search.examples import Examples, RootsInPlace
from tests.support.compiled import limit_examples

S = SolveSettings()


def examples(k: int, seed: int = 0) -> Floats:
    """Return K poses with very different spreads by coordinate."""
    rng = np.random.default_rng(seed)
    return rng.normal(0.0, 1.0, (k, DOFS)) * np.geomspace(0.01, 0.5, DOFS) + rng.normal(0.0, 0.3, DOFS)


def some_background(seed: int = 9) -> Floats:
    """Return a covariance that is not diagonal, (D, D)."""
    half = np.random.default_rng(seed).normal(0.0, 0.02, (DOFS, DOFS))
    return half @ half.T


def test_gaussian_is_that_of_the_examples_widened() -> None:
    poses, rng = examples(30), np.random.default_rng(1)
    weights, floor_rad, shrinkage, background = rng.uniform(0.2, 1.0, 30), 0.05, 0.2, some_background()
    model = fit_local_gaussian(poses, weights, background, floor_rad=floor_rad, shrinkage=shrinkage)
    share = weights / weights.sum()
    mean = share @ poses
    C = sum(w * np.outer(q - mean, q - mean) for w, q in zip(share, poses, strict=True))
    C = (1 - shrinkage) * C + shrinkage * np.diag(np.diag(C)) + floor_rad**2 * np.eye(DOFS) + background
    precision = np.linalg.inv(C)
    np.testing.assert_allclose(model.precision, precision, rtol=1e-8, atol=1e-8 * np.abs(precision).max())
    assert not model.center.any() and not model.mean[0].any()
    np.testing.assert_allclose(model.mean[1:].ravel(), mean, atol=1e-10)


@limit_examples(20)
@given(st.integers(1, 12), st.booleans(), st.integers(0, 100))
def test_gaussian_is_proper_for_any_number_of_examples(k: int, alike: bool, seed: int) -> None:
    """K below the dimension, one pose, or the same pose again and again: positive definite through the floor."""
    poses = np.repeat(examples(1, seed), k, axis=0) if alike else examples(k, seed)
    model = fit_local_gaussian(poses, np.ones(k), np.zeros((DOFS, DOFS)), floor_rad=0.03, shrinkage=0.1)
    assert np.linalg.eigvalsh(model.precision).min() > 0.0
    if alike or k == 1:
        np.testing.assert_allclose(model.precision, np.eye(DOFS) / 0.03**2, rtol=1e-6, atol=1e-6)


def test_weights_matter_by_ratio_only() -> None:
    poses, weights, background = examples(10), np.linspace(0.1, 1.0, 10), some_background()
    one = fit_local_gaussian(poses, weights, background, floor_rad=0.03, shrinkage=0.1)
    other = fit_local_gaussian(poses, 1e-6 * weights, background, floor_rad=0.03, shrinkage=0.1)
    np.testing.assert_allclose(other.precision, one.precision, rtol=1e-8)
    only = fit_local_gaussian(poses, np.eye(10)[4], background, floor_rad=0.03, shrinkage=0.1)
    np.testing.assert_allclose(only.mean[1:].ravel(), poses[4], atol=1e-12)


def neighbours_of(table: Examples, rows: list[int]) -> Neighbours:
    """Return examples as neighbours that count alike."""
    return Neighbours(np.array(rows), table.pose[np.array(rows)], np.ones(len(rows)))


def test_steps_stay_inside_their_clip() -> None:
    """Clips of three and two poses of one coordinate: steps of -0.5, 0.2, 0, 0 and 0.1, and too few bends to count."""
    pose = np.array([[0.0], [0.1], [0.3], [5.0], [4.5]], np.float32)
    table = Examples(pose, np.zeros((5, 3), np.float32), np.array([4, 4, 4, 7, 7], np.int32), 60.0)
    background = np.array([[0.5]])
    near = neighbours_of(table, [4, 2, 3, 0, 1])
    found = GaussianFitter(table, background, S).fit(near, near.poses[0])
    far2 = S.familiar**2
    steps = np.array([-0.5, 0.2, 0.0, 0.0, 0.1])
    np.testing.assert_allclose(found.velocity, 60.0 * np.append(steps.mean(), np.zeros(6)), rtol=1e-5)
    spread = S.step_spread * steps.var() + S.step_drift_rad**2 * compute_drift_shape(background)
    np.testing.assert_allclose(found.velocity_covariance[:1, :1], far2 * 60.0**2 * spread, rtol=1e-5)
    assert not found.acceleration.any()
    np.testing.assert_allclose(
        found.noise, far2 * 60.0**3 * S.bend_noise * S.bend_share * compute_bend_covariance(table), rtol=1e-5
    )


def test_a_motion_that_bends_is_accelerated() -> None:
    """q = t^2 / 2 at 60 Hz: velocity t at the middle of the steps, acceleration 1; a root that moves likewise, along its own X.

    The body looks along the world's X, so that its own X is the world's -Z.
    """
    t = np.arange(30.0) / 60.0
    pose = (0.5 * t**2)[:, None].astype(np.float32)
    root_m, rotvec = np.zeros((30, 3), np.float32), np.tile(np.float32([0.0, np.pi / 2.0, 0.0]), (30, 1))
    root_m[:, 2] = -pose[:, 0]
    roots = RootsInPlace(rotvec, root_m, False)
    table = Examples(pose, np.zeros((30, 3), np.float32), np.zeros(30, np.int32), 60.0, None, roots)
    rows = list(range(5, 25))
    near = neighbours_of(table, rows)
    found = GaussianFitter(table, np.array([[0.1]]), S).fit(near, near.poses[0])
    for line in (0, 4):  # the joint, and the root's shift along X
        np.testing.assert_allclose(found.velocity[line], t[rows].mean() - 0.5 / 60.0, rtol=1e-3)
        np.testing.assert_allclose(found.acceleration[line], 1.0, rtol=0.02)
    others = [1, 2, 3, 5, 6]
    np.testing.assert_allclose(found.velocity[others], 0.0, atol=1e-5)


def test_neighbours_know_less_of_a_strange_pose() -> None:
    """A pose 0.2 rad from the nearest: all deviations are by 0.2 `by_strangeness` more of what neighbours say."""
    pose = np.linspace(0.0, 0.1, 30)[:, None].astype(np.float32)
    table = Examples(pose, np.zeros((30, 3), np.float32), np.zeros(30, np.int32), 60.0)
    near, fitter = neighbours_of(table, list(range(5, 25))), GaussianFitter(table, np.array([[0.1]]), S)
    one_of_them, strange = fitter.fit(near, near.poses[0]), fitter.fit(near, near.poses[0] - 0.2)
    scale2 = ((S.familiar + 0.2 * S.by_strangeness) / S.familiar) ** 2
    for what in ("pose_covariance", "velocity_covariance", "noise"):
        np.testing.assert_allclose(getattr(strange, what), scale2 * getattr(one_of_them, what), rtol=1e-5)
    for what in ("pose", "velocity", "acceleration"):
        np.testing.assert_array_equal(getattr(strange, what), getattr(one_of_them, what))
