"""The solver: the Schur complement is the whole system, the cost never rises, and the truth is found."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.optimize

from calibration.solve.adjust import (
    LAG_SHARE,
    IntrinsicsPrior,
    adjust_bundle,
    adjust_robustly,
    estimate_noise_px,
    estimate_view_noise_px,
    find_good_views,
    inflate_noise,
)
from calibration.solve.equations import CornerObservations, FreeParameters, apply_step, compute_residual_px, state_from_rig
from calibration.solve.single_camera import pack_observations
from calibration.solve.solution import FIXED, LensModel
from tests.calibration.solve.bundle_scenes import BOARD, pairs_of, small_problem, true_places, true_rig

LENSES = (LensModel(("k1", "k2")), LensModel(("k1",), square=False))


def prior_of(state_intrinsics: np.ndarray) -> IntrinsicsPrior:
    return IntrinsicsPrior(state_intrinsics[:, :9] + 1.5, np.tile([0, 0, 0.01, 0.01, 1, 1, 1, 1, 1.0], (2, 1)))


def test_it_ends_where_scipy_ends() -> None:
    """The same problem by `least_squares` on the raw residuals."""
    state, seen = small_problem(2)
    state, freedom = replace(state, form=np.zeros(4)), FreeParameters(LENSES)
    prior = prior_of(state.intrinsics)
    G = freedom.n_shared

    def residuals(step: np.ndarray) -> np.ndarray:
        at = apply_step(state, freedom, step[:G] * scale, step[G:].reshape(3, 6))
        r = np.sqrt(seen.weight)[..., None] * np.where(seen.weight[..., None] > 0, compute_residual_px(at, seen), 0.0)
        return np.concatenate([r.ravel(), (np.sqrt(prior.weight) * (at.intrinsics[:, :9] - prior.mean)).ravel()])

    scale = np.array([100, 100, 100, 1, 1, 100, 100, 100, 100, 1, *[1] * 6], float)
    theirs = scipy.optimize.least_squares(residuals, np.zeros(G + 18), xtol=1e-14, ftol=1e-14, gtol=1e-12)
    ours = adjust_bundle(state, seen, freedom, prior)
    assert ours.converged and ours.cost == pytest.approx(theirs.cost, rel=1e-6)
    at = apply_step(state, freedom, theirs.x[:G] * scale, theirs.x[G:].reshape(3, 6))
    np.testing.assert_allclose(ours.state.translation, at.translation, atol=2e-4)
    np.testing.assert_allclose(ours.state.intrinsics, at.intrinsics, rtol=2e-3, atol=2e-3)


def test_noise_is_that_of_most_corners() -> None:
    """A fifth of the corners far off move it by less than a fifth; what was fitted is taken into account."""
    rng = np.random.default_rng(1)
    distance = np.linalg.norm(rng.normal(0.0, 0.3, (4000, 2)), axis=1)
    mask = np.ones((40, 100), bool)
    freedom = FreeParameters((FIXED,), relative=False)
    assert estimate_noise_px(distance, freedom, mask) == pytest.approx(0.3, rel=0.05)
    distance[:800] += 20.0
    assert estimate_noise_px(distance, freedom, mask) == pytest.approx(0.3, rel=0.25)
    few = np.linalg.norm(rng.normal(0.0, 0.3, (20, 2)), axis=1)
    assert estimate_noise_px(few, freedom, np.ones((2, 10), bool)) == pytest.approx(
        np.median(few) / 1.1774 * np.sqrt(40 / 28), rel=1e-9
    )


def test_a_view_off_as_a_whole_is_given_the_noise_it_shows() -> None:
    distance = np.full((2, 4, 10), 1.1774 * 0.2)
    distance[1, 2] = 1.1774 * 2.0
    spread = estimate_view_noise_px(distance, np.ones((2, 4, 10), bool), np.array([0.2, 0.2]), np.zeros((2, 4)))
    assert spread[1, 2] == pytest.approx(np.sqrt(0.2**2 + 2.0**2 - 0.25**2))
    assert spread[0] == pytest.approx(0.2) and spread[1, [0, 1, 3]] == pytest.approx(0.2)


def test_views_in_motion_count_for_less_unless_the_others_tell_that_cameras_are_in_step() -> None:
    distance = np.full((2, 8, 10), 1.1774 * 0.2)
    mask, sigma, motion_px = np.ones((2, 8, 10), bool), np.array([0.2, 0.2]), np.zeros((2, 8))
    motion_px[:, 3] = 10.0
    alone = estimate_view_noise_px(distance, mask, sigma, motion_px)
    assert alone[0, 3] == pytest.approx(np.hypot(0.2, LAG_SHARE * 10.0)) and alone[0, 2] == pytest.approx(0.2)
    motion_px[:] = 10.0
    assert estimate_view_noise_px(distance, mask, sigma, motion_px) == pytest.approx(0.2)


def test_one_bad_view_is_told_from_the_good_ones() -> None:
    rig, places = true_rig(), true_places(8)
    seen = pack_observations(BOARD, pairs_of(rig, places, 0.2), False)
    px = seen.px.copy()
    px[0, 5] += np.random.default_rng(2).normal(0.0, 6.0, (54, 2))
    fit = adjust_robustly(
        state_from_rig(rig, places),
        CornerObservations(seen.points_m, px, seen.weight),
        FreeParameters((LensModel(), LensModel())),
    )
    np.testing.assert_array_equal(find_good_views(fit), np.arange(8) != 5)
    assert fit.sigma_px == pytest.approx([0.2, 0.2], rel=0.25)
    np.testing.assert_array_equal(fit.unweighted.weight, seen.weight)


def test_weights_are_taken_down_where_residuals_are_larger_than_they_say() -> None:
    """Half of the views shifted in one camera by 0.5 px as a whole: noise of most corners does not know it, chi-square does."""
    rig, places = true_rig(), true_places(10)
    seen, freedom = pack_observations(BOARD, pairs_of(rig, places, 0.2), False), FreeParameters((FIXED, FIXED))
    fit = adjust_robustly(state_from_rig(rig, places), seen, freedom)
    assert inflate_noise(fit, freedom).weight.max() > 0.8 * fit.seen.weight.max()
    too_sure = type(fit)(fit.state, type(seen)(seen.points_m, seen.px, 9.0 * fit.seen.weight), fit.mask, fit.used, fit.sigma_px)
    assert inflate_noise(too_sure, freedom).weight.max() == pytest.approx(inflate_noise(fit, freedom).weight.max(), rel=0.2)
