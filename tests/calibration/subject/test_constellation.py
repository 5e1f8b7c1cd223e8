"""Finding a constellation: random placements with clutter, gaps, noise and scale; assignment against trying all."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibration.subject.constellation import (
    assign_points,
    place_constellation,
    score_marker_placement,
)
from config.arrays import Floats
from database.geometry.rotations import compute_geodesic_rad
from tests.support.compiled import limit_examples
from tests.support.people import random_rotation

MODEL = np.array(
    [[0.2, 1.4, 0.0], [-0.21, 1.43, 0.05], [0.02, 1.3, 0.2], [0.1, 0.95, 0.15], [-0.12, 0.9, 0.1], [0.6, 1.35, -0.1]]
)


def cheapest_by_trying_all(d2: Floats, gate2: float) -> float:
    """Return the least summed cost over all one-to-one assignments, `gate2` for each marker without a point."""
    m, p = d2.shape
    options = [range(-1, p)] * m
    best = math.inf
    for choice in itertools.product(*options):
        used = [c for c in choice if c >= 0]
        if len(set(used)) == len(used):
            best = min(best, sum(gate2 if c < 0 else d2[k, c] for k, c in enumerate(choice)))
    return best


@limit_examples(40)
@given(st.integers(1, 4), st.integers(0, 5), st.integers(0, 10_000), st.floats(0.1, 2.0))
def test_assignment_against_trying_all(m: int, p: int, seed: int, gate_m: float) -> None:
    rng = np.random.default_rng(seed)
    expected, points = rng.uniform(-0.5, 0.5, (m, 3)), rng.uniform(-0.5, 0.5, (p, 3))
    choice = assign_points(points, expected, gate_m)
    used = choice[choice >= 0]
    assert len(set(used.tolist())) == len(used)
    d2 = np.sum((expected[:, None] - points[None]) ** 2, axis=2)
    cost = sum(gate_m**2 if c < 0 else d2[k, c] for k, c in enumerate(choice))
    assert cost == pytest.approx(cheapest_by_trying_all(d2, gate_m**2))
    assert all(d2[k, c] < gate_m**2 for k, c in enumerate(choice) if c >= 0)


@pytest.mark.parametrize("seed", range(8))
def test_random_placements_with_clutter_gaps_and_noise(seed: int) -> None:
    rng = np.random.default_rng(seed)
    R, t = random_rotation(rng), rng.uniform(-3.0, 3.0, 3)
    placed = MODEL @ R.T + t + rng.normal(0.0, 0.004, MODEL.shape)
    missing = int(rng.integers(len(MODEL)))
    clutter = t + R @ [0.0, 1.0, 0.0] + rng.uniform(-1.0, 1.0, (4, 3))
    points = np.concatenate([np.delete(placed, missing, axis=0), clutter])
    order = rng.permutation(len(points))
    best = place_constellation(points[order], MODEL, slack_m=0.05, gate_m=0.08)[0]
    truth = np.argsort(order)[: len(MODEL) - 1]
    found = np.delete(best.point_of_marker, missing)
    assert found.tolist() == truth.tolist()
    assert compute_geodesic_rad(best.rotation, R) < 0.06  # 4 mm over an arm of 0.3 m, three sigmas
    assert np.linalg.norm(best.apply(MODEL) - (MODEL @ R.T + t), axis=1).max() < 0.03
    assert best.scale == 1.0


@pytest.mark.parametrize("scale", [0.8, 1.0, 1.2])
def test_scale_is_found_within_its_range_only(scale: float) -> None:
    rng = np.random.default_rng(11)
    R, t = random_rotation(rng), np.array([1.0, -2.0, 0.5])
    points = scale * MODEL @ R.T + t
    best = place_constellation(points, MODEL, scale_range=(0.75, 1.3), slack_m=0.05)[0]
    assert best.scale == pytest.approx(scale, abs=1e-9)
    assert best.point_of_marker.tolist() == list(range(len(MODEL)))
    np.testing.assert_allclose(best.apply(MODEL), points, atol=1e-9)
    assert best.cost_m == pytest.approx(0.0, abs=1e-9)
    fixed = place_constellation(points, MODEL, slack_m=0.05, gate_m=0.05)
    assert (len(fixed) > 0 and fixed[0].cost_m < 1e-6) == (scale == 1.0)


def test_a_mirrored_constellation_is_another() -> None:
    points = MODEL * [-1.0, 1.0, 1.0]
    assert place_constellation(points, MODEL, slack_m=0.05)[0].cost_m > 0.03


@pytest.mark.parametrize(("n_points", "n_model"), [(0, 6), (2, 6), (6, 2)])
def test_too_few_points_or_markers_give_nothing(n_points: int, n_model: int) -> None:
    assert place_constellation(MODEL[:n_points], MODEL[:n_model]) == []


def test_points_of_another_shape_do_not_fit() -> None:
    assert place_constellation(np.arange(15.0).reshape(5, 3) * 10.0, MODEL, slack_m=0.05) == []


def test_score_against_numpy() -> None:
    rng = np.random.default_rng(2)
    points, R = rng.uniform(-1.0, 1.0, (5, 3)), random_rotation(rng)
    center, target, gate2 = rng.normal(size=3), rng.normal(size=3) * 0.3, 0.4
    placed = 1.1 * (MODEL - center) @ R.T + target
    d2 = np.sum((placed[:, None] - points[None]) ** 2, axis=2).min(axis=1)
    assert (d2 > gate2).any() and (d2 < gate2).any()
    score = score_marker_placement(points, MODEL, R, center, target, 1.1, gate2)
    assert score == pytest.approx(np.minimum(d2, gate2).sum())
