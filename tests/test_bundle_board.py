"""What is said of a board's form, edges and size."""

import pytest

from calibration.bundle import Freedom
from calibration.bundle_board import BoardForm, board_form, edge_figures, form_words, scale_words
from calibration.bundle_bound import bundle_state
from calibration.bundle_robust import robustly_adjusted
from calibration.lens import HELD
from calibration.solve_start import observations
from tests.bundle_scenes import BOARD, pairs_of, true_places, true_rig


def test_a_true_flat_board_has_no_form_to_speak_of() -> None:
    """Seen by cameras that are known: within four sigmas of nothing; edges are 30 mm along both sides."""
    rig, places = true_rig(), true_places(10)
    seen, freedom = observations(BOARD, pairs_of(rig, places, 0.05), False), Freedom((HELD, HELD))
    fit = robustly_adjusted(bundle_state(rig, places), seen, freedom)
    form = board_form(fit, freedom, None)
    assert abs(form.stretch) < 4.0 * form.stretch_sigma < 0.01 and form.bend_m < 4.0 * form.bend_sigma_m
    assert 0.0 <= form.cost_share < 0.05 and form_words(form) == ()
    figures = edge_figures(rig, fit, BOARD)
    assert figures["edge_mean_mm"] == pytest.approx(30.0, abs=0.05) and figures["edge_x_mm"] == pytest.approx(30.0, abs=0.1)
    assert 0.0 < figures["edge_sd_mm"] < 0.5


def test_words_for_a_form() -> None:
    words = form_words(BoardForm(-0.004, 0.0005, 0.0021, 0.0002, 0.3))
    assert len(words) == 2
    assert words[0][0].endswith("0.40 % higher than wide (+- 0.05 %)") and words[0][1].startswith("allowed for")
    assert words[1][0] == "the board is bent by 2.1 mm (+- 0.2 mm)"
    assert form_words(BoardForm(-0.004, 0.002, 0.0021, 0.0009, 0.3)) == (), "not sure enough to be said"
    assert form_words(BoardForm(0.001, 0.0001, 0.0003, 0.00001, 0.3)) == (), "sure, but too little to matter"


def test_words_for_a_scale() -> None:
    assert scale_words(BOARD, 0.4, 0.001, 0.402) == ()
    assert scale_words(BOARD, 0.4, 0.02, 0.42) == (), "the baseline is not known well enough to tell"
    (words,) = scale_words(BOARD, 0.4, 0.001, 0.42)
    assert "40.0 cm apart, measured were 42.0 cm" in words and "squares of 31.50 mm" in words
