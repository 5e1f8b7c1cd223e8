"""Covariances and score tests of a calibration, against the adjustment itself: numbers, not words."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.calibration.truth import TRUE_LENS, build_true_solution, choose_lens_model, collect_observations
from calibration.quality.evidence import (
    collect_evidence,
    compute_clustered_covariance,
    compute_move_directions,
    compute_parameter_covariance,
    downweight_misfits,
    evaluate_alternative,
    evaluate_camera_moves,
    list_fixed_lens_directions,
    list_form_directions,
    measure_disagreement,
    measure_misfit,
)
from calibration.quality.suspects import find_suspects, list_unmodelled_directions
from calibration.quality.world_error import N_LENS
from calibration.solve.adjust import BundleProblem
from calibration.solve.equations import FreeParameters, state_from_rig
from calibration.solve.solution import LensModel
from numerics.least_squares import compute_shared_covariance
from tests.calibration.quality.scenes import GOOD, fitted, scene


def test_the_covariance_is_that_of_the_adjustment() -> None:
    made = scene()
    lens = choose_lens_model(made)
    state, seen = state_from_rig(made.truth, made.board_to_world), collect_observations(made)
    expected = compute_shared_covariance(BundleProblem(seen, FreeParameters((lens, lens))).linearise(state))
    found = compute_parameter_covariance(collect_evidence(build_true_solution(made)))
    n = lens.n_free
    for side in range(2):
        whole = lens.directions @ expected[side * n : side * n + n, side * n : side * n + n] @ lens.directions.T
        at = slice(side * N_LENS, (side + 1) * N_LENS)
        assert np.allclose(found[at, at], whole, rtol=1e-4, atol=1e-9 * np.abs(whole).max())
    assert np.allclose(found[18:24, 18:24], expected[2 * n :, 2 * n :], rtol=1e-4, atol=1e-12)


def test_what_is_doubted_adds_to_the_covariance_and_spread_scales_it() -> None:
    evidence = collect_evidence(fitted())
    plain = np.diag(compute_parameter_covariance(evidence))[:24]
    assert np.allclose(np.diag(compute_parameter_covariance(evidence, 4.0))[:24], 4.0 * plain, rtol=1e-6)
    doubtful = np.diag(compute_parameter_covariance(evidence, unmodelled=1e-2 * list_fixed_lens_directions(evidence, 0)))[:24]
    assert (doubtful >= plain * (1 - 1e-6)).all() and doubtful[0] > 1.001 * plain[0]
    nothing = np.diag(compute_parameter_covariance(evidence, unmodelled=1e-9 * list_fixed_lens_directions(evidence, 0)))[:24]
    assert np.allclose(nothing, plain, rtol=1e-3)


def test_places_agree_where_only_noise_is_and_differ_where_the_board_moved() -> None:
    calm = [measure_disagreement(collect_evidence(fitted(index))) for index in range(GOOD, GOOD + 3)]
    assert min(calm) > 0.8 and max(calm) < 1.4
    assert measure_disagreement(collect_evidence(fitted(GOOD, "motion"))) > 3.0


def test_a_step_of_the_score_test_is_the_refit() -> None:
    """One number more: the linear step agrees with the adjustment that is let move it."""
    without = LensModel(("k1", "k2", "p1", "p2"), square=True)
    evidence = collect_evidence(fitted(34, "strong lens", without))
    k3 = np.zeros((len(evidence.free), 2))
    k3[8, 0] = k3[N_LENS + 8, 1] = 1.0
    other = evaluate_alternative(evidence, k3)
    before, after = fitted(34, "strong lens", without), fitted(34, "strong lens")
    refit = [camera.distortions[4] for camera in after.rig.cameras]
    assert np.allclose(other.extra, refit, atol=0.15 * np.abs(refit).max())
    # How the focal length moves, too, although its own sigma is a fraction of that.
    moved = [b.focal_px - a.focal_px for a, b in zip(before.rig.cameras, after.rig.cameras, strict=True)]
    assert np.allclose(other.step[[0, N_LENS]], moved, atol=0.25 * np.abs(moved).max() + 0.1)


def test_f_is_about_one_where_nothing_speaks_for_it() -> None:
    gains = []
    for index in range(GOOD, GOOD + 3):
        evidence = collect_evidence(fitted(index))
        held = (list_fixed_lens_directions(evidence, 0), list_fixed_lens_directions(evidence, 1), list_form_directions(evidence))
        gains += [evaluate_alternative(evidence, extra).f_statistic for extra in held]
    assert 0.3 < np.median(gains) < 2.0 and max(gains) < 5.0


def test_a_bend_is_found_in_its_own_direction() -> None:
    made, evidence = scene(10, "bent board"), collect_evidence(fitted(10, "bent board"))
    other = evaluate_alternative(evidence, list_form_directions(evidence)[:, 1:])
    half_m = 0.5 * np.ptp(made.board.points_m[:, 0])
    # z = sag (1 - (x / half)^2): curvature along the rows -2 sag / half^2, none down the columns.
    assert other.f_statistic > 50.0 and other.extra[0] == pytest.approx(-2.0 * made.bend_m / half_m**2, rel=0.25)
    assert abs(other.extra[1]) < 0.3 * abs(other.extra[0])


def test_a_move_is_found_where_it_was() -> None:
    made, evidence = scene(14, "bumped"), collect_evidence(fitted(14, "bumped"))
    right = compute_move_directions(evidence, made.truth, 1)
    gains = [move.f_statistic for move in evaluate_camera_moves(evidence, range(4, len(made.moments) - 4), right)]
    assert int(np.argmax(gains)) + 4 == len(made.moments) // 2 and max(gains) > 50.0
    (other,) = evaluate_camera_moves(evidence, [len(made.moments) // 2], right)
    assert np.allclose(other.extra[:3], (0.004, -0.006, 0.003), atol=8e-4)


def test_one_spoilt_place_does_not_pass_for_a_move() -> None:
    made, solution = scene(24), fitted(24)
    residual = solution.residual_px.copy()
    residual[1, 2] += np.array([0.0, 6.0 * made.noise_px])
    evidence = collect_evidence(replace(solution, residual_px=residual))
    right = compute_move_directions(evidence, made.truth, 1)
    plain = max(move.f_statistic for move in evaluate_camera_moves(evidence, range(3, 10), right))
    calm = max(move.f_statistic for move in evaluate_camera_moves(downweight_misfits(evidence), range(3, 10), right))
    assert calm < 14.0 and calm < plain


def test_scattered_places_widen_the_covariance() -> None:
    evidence = collect_evidence(fitted(GOOD, "motion"))
    model, scattered = compute_parameter_covariance(evidence), compute_clustered_covariance(evidence)
    assert np.median(np.diag(scattered)[18:24] / np.diag(model)[18:24]) > 3.0
    calm = collect_evidence(fitted(24))
    ratio = np.diag(compute_clustered_covariance(calm))[18:24] / np.diag(compute_parameter_covariance(calm))[18:24]
    assert 0.3 < np.median(ratio) < 2.0


def test_directions_are_counted() -> None:
    evidence = collect_evidence(fitted(GOOD, lens=TRUE_LENS))
    gained, spare = measure_misfit(evidence)
    # 29 places; a board tells of at most 2 numbers of each camera beyond its pose by its outline, and a few by its inside.
    assert 29 * 6 < spare < 29 * 18 and gained == pytest.approx(spare, rel=0.3)


def test_views_that_the_adjustment_weighed_less_tell_less() -> None:
    """A view of three times the noise has a ninth of the weight, so of the information; the others tell what they told."""
    plain = fitted()
    weight = plain.used / plain.sigma_px[:, None, None] ** 2
    weight[:, 2] /= 9.0
    told, weighed = collect_evidence(plain), collect_evidence(replace(plain, weight=weight))
    assert np.allclose(weighed.information[2], told.information[2] / 9.0) and np.allclose(weighed.score[2], told.score[2] / 9.0)
    rest = np.arange(len(told.score)) != 2
    assert np.allclose(weighed.information[rest], told.information[rest])


def test_a_form_that_was_allowed_for_is_free_and_no_suspect() -> None:
    """Fitted with the board's form, the bent board is neither doubted nor accused; the price is a larger covariance."""
    flat = fitted(10, "bent board")
    formed = replace(flat, board_form=np.array([0.0, 1e-9, 0.0, 0.0]))
    with_form, without = collect_evidence(formed), collect_evidence(flat)
    assert with_form.free.shape[1] == without.free.shape[1] + 4
    assert np.linalg.matrix_rank(with_form.free) == with_form.free.shape[1]
    grown = np.diag(compute_parameter_covariance(with_form))[:24] / np.maximum(
        np.diag(compute_parameter_covariance(without))[:24], 1e-300
    )
    assert grown[0] > 1.0 and grown[18:24].min() > 0.999
    derivatives = np.zeros((1, 24))
    assert any("bent" in suspect.text for suspect in find_suspects(flat, without, derivatives))
    assert not any("board" in suspect.text for suspect in find_suspects(formed, with_form, derivatives))
    assert list_unmodelled_directions(flat, without).shape[1] == list_unmodelled_directions(formed, with_form).shape[1] + 4
