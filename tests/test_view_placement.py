"""Placing bodies on the blobs of one view: scores against numpy, the best of all placements, what to place by."""

import numpy as np
import pytest

from database.rotations import matrix_from_rotvec
from reconstruct.view_placement import GATE_M, _keep, _nearest_pose, _score, _search, diverse, wide_pairs


def test_score_is_the_plain_mean() -> None:
    rng = np.random.default_rng(2)
    blobs, y, t = rng.uniform(-0.3, 0.3, (5, 2)), rng.normal(0.0, 0.4, (7, 3)), np.array([0.1, -0.1, 3.0])
    x = y + t
    d2 = (x[:, None, 2] ** 2) * ((x[:, None, :2] / x[:, None, 2:] - blobs[None]) ** 2).sum(axis=2)
    wanted = np.minimum(d2, 0.04).min(axis=1).mean() + np.minimum(d2, 0.04).min(axis=0).mean()
    assert 0.0 < wanted < 0.08
    assert _score(blobs, y, t, 0.04, np.empty(5)) == pytest.approx(wanted)


def test_the_best_are_kept_one_for_each_body() -> None:
    best, kept = np.full(2, np.inf), np.full((2, 4), -1.0)
    for score, body in ((0.5, 0), (0.3, 1), (0.4, 0), (0.6, 0), (0.2, 2), (0.35, 0)):
        _keep(score, body, np.array([score, 2.0, 3.0]), best, kept)
    order = np.argsort(best)
    np.testing.assert_allclose(best[order], [0.2, 0.3])
    np.testing.assert_allclose(kept[order], [[2.0, 0.2, 2.0, 3.0], [1.0, 0.3, 2.0, 3.0]])


@pytest.mark.parametrize("seed", range(3))
def test_the_body_that_is_seen_is_placed_where_it_is(seed: int) -> None:
    rng = np.random.default_rng(seed)
    bodies, t = rng.normal(0.0, 0.4, (4, 6, 3)), np.array([0.3, -0.2, 3.5])
    seen = bodies[2] + t
    blobs = rng.permutation(seen[:, :2] / seen[:, 2:])
    pairs, best, kept = wide_pairs(bodies, 4), np.full(3, np.inf), np.zeros((3, 4))
    _search(blobs, bodies, pairs, np.array([1.0, 8.0]), 0.05, best, kept)
    first = int(np.argmin(best))
    assert best[first] < 1e-12
    np.testing.assert_allclose(kept[first], [2.0, *t], atol=1e-6)


def test_the_nearest_pose_is_told_whatever_its_turn() -> None:
    rng = np.random.default_rng(7)
    bodies, R, t = rng.normal(0.0, 0.4, (5, 6, 3)), matrix_from_rotvec(np.array([0.2, 0.9, -0.3])), np.array([0.1, 0.2, 4.0])
    seen = bodies[3] @ R.T + t
    assert _nearest_pose(seen[:, :2] / seen[:, 2:], bodies, R, t, GATE_M**2) == 3
    assert _nearest_pose(seen[:, :2] / seen[:, 2:], bodies, R, np.array([0.0, 0.0, -9.0]), GATE_M**2) == -1


def test_diverse_rows_and_wide_pairs_by_hand() -> None:
    assert diverse(np.array([[0.0], [1.0], [10.0], [4.0]]), 3).tolist() == [0, 2, 3]
    assert len(diverse(np.zeros((2, 1)), 5)) == 2
    markers = np.array([[[0.0, 0, 0], [1.0, 0, 0], [5.0, 0, 0], [5.5, 0, 0]]])
    assert wide_pairs(markers, 3).tolist() == [[0, 3], [0, 2], [1, 3]]
