"""Curves of error against dimensions, on poses whose answers are known."""

import numpy as np

from config.arrays import Floats, Ints
from tools.evaluate.dimensionality.curves import best_mixture, clusters, curve, global_pca, local_model, mixture, projected

ALL = np.ones(6, bool)


def planes(n: int, seed: int = 0) -> tuple[Floats, Ints]:
    """Return points of two far planes of two dimensions each, turned differently in six, and which plane each is of."""
    rng = np.random.default_rng(seed)
    bases = [np.linalg.qr(rng.normal(size=(6, 2)))[0] for _ in range(2)]
    offsets = [np.full(6, -4.0), np.array([5.0, 0.0, 3.0, 0.0, 4.0, 1.0])]
    side = rng.integers(0, 2, n)
    return np.array([offsets[s] + bases[s] @ rng.normal(size=2) for s in side]), side


def nearest(poses: Floats, tests: Floats, count: int) -> Ints:
    """Return the rows of the nearest poses to each test, nearest first."""
    distance = np.linalg.norm(tests[:, None] - poses, axis=2)
    return np.argsort(distance, axis=1)[:, :count]


def test_errors_by_hand() -> None:
    # Residuals of 3 and -4 degrees in two angles that move; what stands still does not count.
    residuals = np.radians(np.array([[[3.0, -4.0, 90.0]], [[0.0, 0.5, 90.0]]]))
    found = curve("a", np.array([1, 4]), residuals, np.array([True, True, False]))
    np.testing.assert_allclose(found.mean_deg, [3.5, 0.25])
    np.testing.assert_allclose(found.rms_deg, [np.sqrt(12.5), np.sqrt(0.125)])
    assert (found.dimensions_under(), found.dimensions_under(0.1)) == (4, None)


def test_projected_takes_one_direction_after_the_other() -> None:
    left = projected(np.array([[2.0, -3.0, 5.0]]), np.eye(3)[:, [2, 0]], 3)
    np.testing.assert_array_equal(left[:, 0], [[2.0, -3.0, 0.0], [0.0, -3.0, 0.0], [0.0, -3.0, 0.0]])


def test_global_pca_needs_the_dimensions_of_both_planes() -> None:
    poses, _ = planes(200)
    tests, _ = planes(30, seed=0)
    found = global_pca(poses, tests, 6, ALL)
    # Two planes and the line between them.
    assert found.mean_deg[3] > 0.1
    np.testing.assert_allclose(found.mean_deg[4:], 0.0, atol=1e-9)


def test_clusters_find_the_planes() -> None:
    poses, side = planes(300)
    centres, member = clusters(poses, 2)
    assert len(centres) == 2
    assert len(np.unique(member[side == 0])) == len(np.unique(member[side == 1])) == 1
    np.testing.assert_allclose(centres[member[0]], poses[member == member[0]].mean(axis=0), atol=1e-5)


def test_clusters_of_fewer_poses_than_asked_for() -> None:
    centres, member = clusters(np.repeat([[0.0, 1.0], [2.0, 0.5]], 4, axis=0), 5)
    assert len(np.unique(member)) == 2 and np.isfinite(centres).all()


def test_a_mixture_and_the_local_model_need_two_dimensions() -> None:
    poses, _ = planes(400)
    tests = poses[:40]
    assert mixture(poses, tests, 4, 2, ALL).dimensions_under() == 2
    assert best_mixture(poses, tests, 4, (1, 2), ALL).note == "2 clusters"
    found = local_model(poses[40:], tests, nearest(poses[40:], tests, 30), (10, 30), 4, ALL)
    assert found.dimensions_under() == 2
    np.testing.assert_allclose(found.mean_deg[1:], 0.0, atol=1e-9)
