"""Choosing lenses: what is there is found, what is not there is left out, and what is held is held."""

import numpy as np

from calibration.camera import Camera, Rig
from calibration.solve.adjust import IntrinsicsPrior
from calibration.solve.equations import BundleState, FreeParameters, state_from_rig
from calibration.solve.initial_values import make_weak_prior
from calibration.solve.lens_choice import LensChoice, choose_lenses, restrict_intrinsics
from calibration.solve.single_camera import pack_observations
from calibration.solve.solution import FIXED, LEVELS, LensModel
from tests.calibration.solve.bundle_scenes import BOARD, SIZE, pairs_of, true_places, true_rig


def chosen(rig: Rig, sigma_px: float, n: int = 16) -> LensChoice:
    """Choose among views of a rig with this noise, from the truth."""
    places = true_places(n)
    seen = pack_observations(BOARD, pairs_of(rig, places, sigma_px), False)
    seen = type(seen)(seen.points_m, seen.px, seen.weight / sigma_px**2)
    prior = IntrinsicsPrior(*(np.tile(part, (2, 1)) for part in (make_weak_prior(SIZE).mean, make_weak_prior(SIZE).weight)))
    start: BundleState = state_from_rig(rig, places)
    return choose_lenses(start, seen, prior, FreeParameters((LensModel(("k1", "k2")),) * 2))


def test_each_camera_gets_the_lens_it_has() -> None:
    """The left camera has no distortion and pixels 2 % wider than high, the right one k1 and k2."""
    rig = true_rig()
    left = Camera("left", SIZE, rig.cameras[0].matrix * [[1.02, 1, 1], [1, 1, 1], [1, 1, 1]], np.zeros(5), np.eye(3), np.zeros(3))
    choice = chosen(Rig((left, rig.cameras[1])), 0.1)
    assert choice.freedom.lenses[0].coefficients == () and not choice.freedom.lenses[0].square
    assert choice.freedom.lenses[1].coefficients[:1] == ("k1",) and "k3" not in choice.freedom.lenses[1].coefficients
    assert not choice.freedom.form
    assert choice.held_out_px["no distortion"] > 1.2 * min(choice.held_out_px.values())
    assert min(choice.held_out_px.values()) < 1.1 * 0.1 * np.sqrt(2.0)


def test_few_views_get_simple_lenses() -> None:
    """Five views for at most six numbers."""
    choice = chosen(true_rig(), 0.1, 5)
    assert all(lens.n_free <= 6 for lens in choice.freedom.lenses)


def test_too_few_views_to_choose_by_keep_decentring_but_not_k3() -> None:
    """Seven views of lenses without p1 and p2: left out one by one they could not vouch for that, and real lenses have some."""
    choice = chosen(true_rig(), 0.1, 7)
    assert {lens.coefficients for lens in choice.freedom.lenses} == {("k1", "k2", "p1", "p2")}


def test_models_free_what_they_name() -> None:
    assert FIXED.directions.shape == (9, 0) and FIXED.n_free == 0
    for level in LEVELS:
        for square in (True, False):
            lens = LensModel(level, square)
            assert lens.directions.shape == (9, lens.n_free) and np.linalg.matrix_rank(lens.directions) == lens.n_free
    np.testing.assert_array_equal(LensModel(("k3",)).directions[:, 0], [1, 1, 0, 0, 0, 0, 0, 0, 0])
    np.testing.assert_array_equal(LensModel(("p2",), square=False).directions[:, -1], [0, 0, 0, 0, 0, 0, 0, 1, 0])


def test_what_a_model_does_not_have_is_set_to_nothing() -> None:
    numbers = np.array([[600.0, 610, 320, 240, 0.1, 0.2, 0.01, 0.02, 0.3]])
    np.testing.assert_array_equal(restrict_intrinsics(numbers, (LensModel(("k1",)),)), [[605, 605, 320, 240, 0.1, 0, 0, 0, 0]])
    np.testing.assert_array_equal(
        restrict_intrinsics(numbers, (LensModel(("k2", "p1"), False),)), [[600, 610, 320, 240, 0, 0.2, 0.01, 0, 0]]
    )
