"""Relative pose from five points: the true matrix is among the roots, also of a flat scene, and OpenCV finds the same ones."""

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibration.wand.essential import depths, five_point, in_front, poses_of, ransac, sampson2
from config.arrays import Floats
from database.geometry.rotations import geodesic_rad, matrix_from_rotvec, skew


def scene(seed: int, n: int, flat: bool = False) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Return pose (R, t), points (n, 3) before both cameras, and both cameras' rays, (n, 3)."""
    rng = np.random.default_rng(seed)
    R = matrix_from_rotvec(rng.uniform(-0.4, 0.4, 3))
    t = rng.normal(size=3) * (1.0, 0.5, 0.3)
    t = t / np.linalg.norm(t)
    X = rng.uniform((-1.5, -1.2, 3.0), (1.5, 1.2, 6.0), (n, 3))
    if flat:
        X[:, 2] = 4.0 + 0.3 * X[:, 0] - 0.2 * X[:, 1]
    Y = X @ R.T + t
    return R, t, X, X / X[:, 2:], Y / Y[:, 2:]


def distance(E: Floats, truth: Floats) -> Floats:
    """Return how far matrices are from the truth, the sign being open."""
    truth = truth / np.linalg.norm(truth)
    return np.minimum(np.linalg.norm(E - truth, axis=(1, 2)), np.linalg.norm(E + truth, axis=(1, 2)))


@given(st.integers(0, 10_000), st.booleans())
def test_the_true_matrix_is_among_the_roots(seed: int, flat: bool) -> None:
    R, t, _, left, right = scene(seed, 5, flat)
    found = five_point(left[None], right[None])
    assert distance(found, skew(t) @ R).min() < 1e-5


@given(st.integers(0, 10_000))
def test_every_root_is_an_essential_matrix_that_explains_the_points(seed: int) -> None:
    _, _, _, left, right = scene(seed, 5)
    for E in five_point(left[None], right[None]):
        values = np.linalg.svd(E, compute_uv=False)
        assert abs(values[0] - values[1]) < 1e-4 and values[2] < 1e-4
        assert np.abs(np.einsum("ni,ij,nj->n", right, E, left)).max() < 1e-6


@pytest.mark.parametrize("seed", range(6))
def test_opencv_finds_the_same_roots(seed: int) -> None:
    _, _, _, left, right = scene(seed + 40, 5)
    theirs, _ = cv2.findEssentialMat(left[:, :2].copy(), right[:, :2].copy(), np.eye(3))
    theirs = np.asarray(theirs).reshape(-1, 3, 3)
    ours = five_point(left[None], right[None])
    assert len(theirs) <= len(ours)
    for E in theirs:
        assert distance(ours, E).min() < 1e-4


def test_samples_are_solved_together_as_one_by_one() -> None:
    scenes = [scene(seed, 5) for seed in range(4)]
    left, right = np.stack([s[3] for s in scenes]), np.stack([s[4] for s in scenes])
    together = five_point(left, right)
    alone = np.concatenate([five_point(left[k : k + 1], right[k : k + 1]) for k in range(4)])
    assert len(together) == len(alone)
    assert all(distance(together, E).min() < 1e-6 for E in alone)


def test_only_the_true_one_of_four_poses_has_the_points_in_front() -> None:
    R, t, X, left, right = scene(3, 30)
    shares = []
    for turn, shift in poses_of(skew(t) @ R):
        s, r = depths(turn, shift, left, right)
        shares.append(((s > 0) & (r > 0)).mean())
    assert sorted(shares)[-2] < 0.5
    turn, shift, share = in_front(skew(t) @ R, left, right)
    assert share == 1.0 and geodesic_rad(turn, R) < 1e-6 and np.allclose(shift, t, atol=1e-6)
    assert np.allclose(depths(R, t, left, right)[0], X[:, 2])


def test_sampson_is_the_distance_to_first_order() -> None:
    """A point moved across its line by d in one picture alone is d away from any match; from both, d / sqrt(2) in all four."""
    R, t = np.eye(3), np.array([1.0, 0.0, 0.0])
    left = np.array([[0.1, 0.2, 1.0]])
    right = np.array([[-0.15, 0.2 + 1e-4, 1.0]])
    assert sampson2((skew(t) @ R)[None], left, right)[0, 0] == pytest.approx(0.5e-8, rel=1e-6)


def test_a_third_of_wrong_matches_does_not_matter() -> None:
    R, t, _, left, right = scene(11, 120)
    rng = np.random.default_rng(2)
    left, right = left.copy(), right.copy()
    left[:, :2] += rng.normal(0.0, 3e-4, (120, 2))
    right[:, :2] += rng.normal(0.0, 3e-4, (120, 2))
    right[:40] = right[rng.permutation(40)]
    best = ransac(left, right, 6e-4, seed=1)[0]
    assert geodesic_rad(best.rotation, R) < 0.02 and float(best.translation @ t) > 0.998
