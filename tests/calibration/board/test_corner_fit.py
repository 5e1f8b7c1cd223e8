"""Fitted corners: as exact as the noise allows, whatever the slant of the squares; derivatives against differences."""

import numpy as np

from calibration.board.corner_fit import compute_corner_model, fit_corners, is_crossing
from calibration.board.pattern import board_from_text, find_light_squares
from tests.support.board_scenes import Look, render_board, scene_views, true_corners, usual_rig

BOARD = board_from_text("5x4:30")


def test_derivatives_agree_with_differences() -> None:
    rng = np.random.default_rng(4)
    offset = rng.uniform(-5.0, 5.0, (2, 60, 2))
    grey, weight = rng.uniform(20.0, 200.0, (2, 60)), (rng.random((2, 60)) > 0.2).astype(float)
    values = np.array(
        [[0.3, -0.2, 0.1, 1.5, -0.2, 0.3, 100.0, 1.0, -2.0, 60.0], [-0.4, 0.1, 0.9, 2.8, 0.2, -0.4, 90.0, 0.5, 0.7, -50.0]]
    )
    _, J = compute_corner_model(values, grey, offset, weight)
    for k in range(values.shape[1]):
        step = np.zeros(values.shape[1])
        step[k] = 1e-5
        ahead, behind = (compute_corner_model(values + sign * step, grey, offset, weight)[0] for sign in (1.0, -1.0))
        np.testing.assert_allclose(J[..., k], (ahead - behind) / 2e-5, atol=2e-4, err_msg=str(k))


def test_the_fit_is_as_good_as_it_says_and_finds_the_blur() -> None:
    """Errors divided by the sigma that the fit gives have a spread of about one, and little bias."""
    rig = usual_rig((400, 300))
    scores, blurs = [], []
    for number, pose in enumerate(scene_views(BOARD, rig, 2, seed=2, first=4)):
        image = render_board(BOARD, rig.cameras[0], pose[:3], pose[3:], Look(blur_px=1.0, noise=3.0, samples=4), seed=number)
        truth = true_corners(BOARD, rig.cameras[0], pose)
        grid = truth.reshape(4, 5, 2)
        steps = np.stack([np.gradient(grid, axis=1), np.gradient(grid, axis=0)], axis=2).reshape(-1, 2, 2)
        light = find_light_squares(BOARD, False)
        start = truth + np.random.default_rng(number).uniform(-0.8, 0.8, truth.shape)
        fit = fit_corners(image, start, steps, BOARD, light)
        assert is_crossing(fit, light).all()
        scores.append((fit.corners_px - truth) / fit.sigma_px[:, None])
        blurs.append(np.median(fit.blur_px))
    scores_all = np.concatenate(scores)
    assert 0.7 < np.sqrt((scores_all**2).mean()) < 1.4
    assert np.abs(scores_all.mean(axis=0)).max() < 0.35
    # A pixel's own width and the outer squares' slant add a little to the lens's.
    assert 0.95 < np.mean(blurs) < 1.15


def test_rims_and_wrong_colours_are_no_crossings() -> None:
    rig = usual_rig((400, 300))
    pose = scene_views(BOARD, rig, 1, seed=7, first=4)[0]
    image = render_board(BOARD, rig.cameras[0], pose[:3], pose[3:])
    grid = true_corners(BOARD, rig.cameras[0], pose).reshape(4, 5, 2)
    steps = np.stack([np.gradient(grid, axis=1), np.gradient(grid, axis=0)], axis=2)
    light = find_light_squares(BOARD, False)
    swapped = fit_corners(image, grid.reshape(-1, 2), steps.reshape(-1, 2, 2), BOARD, ~light)
    assert not is_crossing(swapped, ~light).any()
    rim = 2.0 * grid[0] - grid[1]
    at = np.concatenate([grid.reshape(-1, 2), rim])
    shades = np.concatenate([light, ~light[:5]])
    fit = fit_corners(image, at, np.concatenate([steps.reshape(-1, 2, 2), steps[0]]), BOARD, shades)
    found = is_crossing(fit, shades)
    assert found[:20].all() and not found[20:].any()
