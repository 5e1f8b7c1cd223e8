"""Noise, weights and views that contradict themselves, on residuals made by hand."""

import numpy as np
import pytest

from calibration.bundle import Freedom, Observations
from calibration.bundle_bound import bundle_state
from calibration.bundle_robust import LAG_SHARE, good_views, noise_px, realistic, robustly_adjusted, view_spreads_px
from calibration.lens import HELD, LensModel
from calibration.solve_start import observations
from tests.bundle_scenes import BOARD, pairs_of, true_places, true_rig


def test_noise_is_that_of_most_corners() -> None:
    """A fifth of the corners far off move it by less than a fifth; what was fitted is taken into account."""
    rng = np.random.default_rng(1)
    distance = np.linalg.norm(rng.normal(0.0, 0.3, (4000, 2)), axis=1)
    mask = np.ones((40, 100), bool)
    freedom = Freedom((HELD,), relative=False)
    assert noise_px(distance, freedom, mask) == pytest.approx(0.3, rel=0.05)
    distance[:800] += 20.0
    assert noise_px(distance, freedom, mask) == pytest.approx(0.3, rel=0.25)
    few = np.linalg.norm(rng.normal(0.0, 0.3, (20, 2)), axis=1)
    assert noise_px(few, freedom, np.ones((2, 10), bool)) == pytest.approx(np.median(few) / 1.1774 * np.sqrt(40 / 28), rel=1e-9)


def test_a_view_off_as_a_whole_is_given_the_noise_it_shows() -> None:
    distance = np.full((2, 4, 10), 1.1774 * 0.2)
    distance[1, 2] = 1.1774 * 2.0
    spread = view_spreads_px(distance, np.ones((2, 4, 10), bool), np.array([0.2, 0.2]), np.zeros((2, 4)))
    assert spread[1, 2] == pytest.approx(np.sqrt(0.2**2 + 2.0**2 - 0.25**2))
    assert spread[0] == pytest.approx(0.2) and spread[1, [0, 1, 3]] == pytest.approx(0.2)


def test_views_in_motion_count_for_less_unless_the_others_tell_that_cameras_are_in_step() -> None:
    distance = np.full((2, 8, 10), 1.1774 * 0.2)
    mask, sigma, moved = np.ones((2, 8, 10), bool), np.array([0.2, 0.2]), np.zeros((2, 8))
    moved[:, 3] = 10.0
    alone = view_spreads_px(distance, mask, sigma, moved)
    assert alone[0, 3] == pytest.approx(np.hypot(0.2, LAG_SHARE * 10.0)) and alone[0, 2] == pytest.approx(0.2)
    moved[:] = 10.0
    assert view_spreads_px(distance, mask, sigma, moved) == pytest.approx(0.2)


def test_one_bad_view_is_told_from_the_good_ones() -> None:
    rig, places = true_rig(), true_places(8)
    seen = observations(BOARD, pairs_of(rig, places, 0.2), False)
    px = seen.px.copy()
    px[0, 5] += np.random.default_rng(2).normal(0.0, 6.0, (54, 2))
    fit = robustly_adjusted(
        bundle_state(rig, places), Observations(seen.points_m, px, seen.weight), Freedom((LensModel(), LensModel()))
    )
    np.testing.assert_array_equal(good_views(fit), np.arange(8) != 5)
    assert fit.sigma_px == pytest.approx([0.2, 0.2], rel=0.25)
    np.testing.assert_array_equal(fit.unweighed.weight, seen.weight)


def test_weights_are_taken_down_where_residuals_are_larger_than_they_say() -> None:
    """Half of the views shifted in one camera by 0.5 px as a whole: noise of most corners does not know it, chi-square does."""
    rig, places = true_rig(), true_places(10)
    seen, freedom = observations(BOARD, pairs_of(rig, places, 0.2), False), Freedom((HELD, HELD))
    fit = robustly_adjusted(bundle_state(rig, places), seen, freedom)
    assert realistic(fit, freedom).weight.max() > 0.8 * fit.seen.weight.max()
    too_sure = type(fit)(fit.state, type(seen)(seen.points_m, seen.px, 9.0 * fit.seen.weight), fit.mask, fit.used, fit.sigma_px)
    assert realistic(too_sure, freedom).weight.max() == pytest.approx(realistic(fit, freedom).weight.max(), rel=0.2)
