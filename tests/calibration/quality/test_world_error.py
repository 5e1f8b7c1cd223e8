"""How far a world is off: worked out by hand for cameras whose focal length, baseline or direction is wrong."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.calibration.truth import measure_world_error
from calibration.camera import Rig
from calibration.quality.world_error import (
    compute_distance_errors,
    compute_error_derivatives,
    list_point_pairs,
    perturb_rig,
    remeasure_points,
)
from database.geometry.rotations import matrix_from_rotvec
from tests.support.rigs import synthetic_rig


def rig() -> Rig:
    """Return two cameras 60 cm apart, the left one at the origin, that look straight ahead."""
    placed = synthetic_rig((-0.3, 0.0, 1e7), (0.3, 0.0, 1e7), (0.0, 0.0, 0.0))
    R, t = np.eye(3), np.array([-0.6, 0.0, 0.0])
    return Rig(
        (
            replace(placed.cameras[0], rotation=np.eye(3), translation=np.zeros(3)),
            replace(placed.cameras[1], rotation=R, translation=t),
        )
    )


POINTS = np.array([[0.0, -0.5, 3.0], [0.6, 0.4, 3.0], [0.3, 0.0, 3.5], [0.1, 0.6, 4.0]])


def test_a_baseline_too_long_makes_the_world_larger_by_as_much() -> None:
    longer = perturb_rig(rig(), np.array([*np.zeros(21), -0.6 * 0.03, 0.0, 0.0]))
    assert longer.baseline_m == pytest.approx(0.618)
    assert np.allclose(compute_distance_errors(POINTS, remeasure_points(POINTS, rig(), longer)), 0.03, atol=1e-6)
    assert measure_world_error(rig(), longer, POINTS) == pytest.approx(0.03, abs=1e-6)


def test_focal_lengths_too_long_stretch_depth_alone() -> None:
    f = rig().cameras[0].focal_px
    step = np.zeros(24)
    step[[0, 1, 9, 10]] = 0.02 * f
    told = remeasure_points(POINTS, rig(), perturb_rig(rig(), step))
    # The same disparity with a longer lens: 2 % further off; across, the longer lens takes back what the distance adds.
    assert np.allclose(told[:, 2], 1.02 * POINTS[:, 2], atol=1e-6) and np.allclose(told[:, :2], POINTS[:, :2], atol=1e-6)
    assert measure_world_error(rig(), perturb_rig(rig(), step), POINTS) < 0.02


def test_a_world_that_is_turned_and_shifted_is_none_the_worse() -> None:
    R, t = matrix_from_rotvec(np.array([0.2, -0.5, 0.1])), np.array([0.3, -1.0, 2.0])
    assert np.abs(compute_distance_errors(POINTS, POINTS @ R.T + t)).max() < 1e-12


def test_derivatives_are_those_of_larger_changes() -> None:
    derivatives = compute_error_derivatives(rig(), POINTS)
    assert derivatives.shape == (len(list_point_pairs(POINTS)[0]), 24)
    random = np.random.default_rng(2)
    step = random.normal(0.0, 1.0, 24) * np.array([*[0.3] * 4, *[1e-4] * 5] * 2 + [1e-4] * 3 + [1e-4] * 3)
    found = compute_distance_errors(POINTS, remeasure_points(POINTS, rig(), perturb_rig(rig(), step)))
    assert np.allclose(derivatives @ step, found, rtol=0.05, atol=0.03 * np.abs(found).max())
    # The right camera's shift along the baseline: all distances grow by 1 / 0.6 for each metre.
    assert np.allclose(derivatives[:, 21], -1.0 / 0.6, rtol=1e-4)


def test_near_pairs_do_not_count() -> None:
    i, j = list_point_pairs(np.array([[0.0, 0, 0], [0.01, 0, 0], [1.0, 0, 0]]))
    assert sorted(zip(i.tolist(), j.tolist(), strict=True)) == [(0, 2), (1, 2)]
    assert measure_world_error(rig(), rig(), np.zeros((0, 3))) == float("inf")


def test_one_camera_is_told_the_depth() -> None:
    left = rig().cameras[0]
    lone = Rig((left,))
    step = np.zeros(9)
    step[:2] = 0.05 * left.focal_px
    told = remeasure_points(POINTS, lone, perturb_rig(lone, step))
    assert np.allclose(told[:, 2], POINTS[:, 2]) and np.allclose(told[:, :2], POINTS[:, :2] / 1.05)
    assert compute_error_derivatives(lone, POINTS).shape[1] == 9
