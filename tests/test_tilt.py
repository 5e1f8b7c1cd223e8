"""The root's tilt from the poses nearby: drawn to theirs by how much they agree, heading left alone."""

import numpy as np
import pytest

from database.rotations import geodesic_rad, matrix_from_rotvec
from reconstruct.solve import RootPrior
from reconstruct.tilt import FLOOR_RAD, with_tilt

UP = np.array([0.0, 1.0, 0.0])
HEADING = matrix_from_rotvec(np.array([0.0, 0.7, 0.0]))
LEANING = HEADING @ matrix_from_rotvec(np.array([0.3, 0.0, 0.0]))
WEIGHTS = np.array([1.0, 2.0, 1.0])


def up_of(*rotations: np.ndarray) -> np.ndarray:
    """Give the vertical in the frames of roots, (K, 3)."""
    return np.array([R.T @ UP for R in rotations])


def test_neighbours_that_agree_draw_the_tilt_to_theirs() -> None:
    drawn = with_tilt(RootPrior(HEADING, np.ones(3), 1.0, 0.1), up_of(*[LEANING] * 3), WEIGHTS)
    assert geodesic_rad(drawn.rotation, LEANING) < 0.01  # their heading is the same here
    assert drawn.tilt_sigma_rad == pytest.approx(FLOOR_RAD, rel=0.01)
    assert (drawn.sigma_rad, drawn.sigma_m, drawn.position_m.tolist()) == (1.0, 0.1, [1.0, 1.0, 1.0])


def test_a_sure_prediction_is_hardly_moved_and_disagreement_is_weak() -> None:
    sure = with_tilt(RootPrior(HEADING, np.zeros(3), 0.005, 0.1), up_of(*[LEANING] * 3), WEIGHTS)
    assert geodesic_rad(sure.rotation, HEADING) < 0.005
    apart = [LEANING, HEADING @ matrix_from_rotvec(np.array([-0.9, 0.0, 0.0])), HEADING]
    torn = with_tilt(RootPrior(HEADING, np.zeros(3), 0.05, 0.1), up_of(*apart), WEIGHTS)
    assert geodesic_rad(torn.rotation, HEADING) < 0.02
    assert torn.tilt_sigma_rad is not None and 0.045 < torn.tilt_sigma_rad < 0.05


def test_heading_is_not_taken_from_neighbours() -> None:
    turned = matrix_from_rotvec(np.array([0.0, 2.0, 0.0]))
    prior = with_tilt(RootPrior(HEADING, np.zeros(3), 0.1, 0.1), up_of(turned, turned, turned), WEIGHTS)
    assert np.allclose(prior.rotation, HEADING)
    precision = prior.precision()
    assert precision[0] == precision[2] > precision[1] == pytest.approx(100.0)


def test_neighbours_upside_down_or_without_a_common_tilt_give_numbers() -> None:
    fallen = matrix_from_rotvec(np.array([np.pi, 0.0, 0.0]))
    for ups in (up_of(fallen, fallen, fallen), up_of(fallen, np.eye(3), fallen)):
        prior = with_tilt(RootPrior(np.eye(3), np.zeros(3), 0.1, 0.1), ups, WEIGHTS)
        assert np.isfinite(prior.rotation).all() and prior.tilt_sigma_rad is not None
