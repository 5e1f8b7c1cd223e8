"""Examples laid on points: placements, labels, fits and the search on two levels, against slow and obvious oracles."""

import itertools

import numpy as np
import pytest

from config.arrays import Floats
from database.geometry.rotations import matrix_from_rotvec
from reconstruct.acquire.candidates import (
    compute_placement_misfit,
    find_nearest_labelled_pose,
    fit_placement,
    label_markers,
    place_by_pair,
    place_on_points,
    refine_hypotheses,
    transform_point,
    write_upright_points,
)
from reconstruct.acquire.upright import build_pose_index, compute_squared_distances

pytestmark = pytest.mark.kernels


def root_of(turn_rad: float, place_m: Floats) -> Floats:
    return np.array([np.cos(turn_rad), np.sin(turn_rad), *place_m])


def placed(pose: Floats, root: Floats) -> Floats:
    """Turn about Y and move, by the matrix."""
    turn = np.arctan2(root[1], root[0])
    return np.asarray(pose @ matrix_from_rotvec([0.0, turn, 0.0]).T + root[2:])


def poses_of(rng: np.random.Generator, n: int = 30) -> Floats:
    """Return bodies of six markers that differ by 5 cm or so."""
    body = np.array([[0.2, 1.4, 0.0], [-0.2, 1.4, 0.05], [0.12, 1.0, 0.1], [-0.1, 1.0, 0.12], [0.7, 1.3, 0.2], [-0.2, 0.1, 0.3]])
    return body + rng.normal(0.0, 0.05, (n, 6, 3))


def test_a_quarter_turn_takes_z_to_x() -> None:
    out = np.empty(3)
    transform_point(np.array([0.0, 2.0, 1.0]), root_of(np.pi / 2, np.array([10.0, 20.0, 30.0])), out)
    np.testing.assert_allclose(out, [11.0, 22.0, 30.0], atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_placements_of_pairs_labels_and_fits(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pose, root = poses_of(rng)[0], root_of(rng.uniform(-3.0, 3.0), rng.uniform(-2.0, 2.0, 3))
    points = placed(pose, root)[::-1].copy()
    found = np.empty(5)
    place_by_pair(pose[0], pose[3], points[5], points[2], found)
    np.testing.assert_allclose(found, root, atol=1e-9)
    choice = np.empty(6, np.int64)
    label_markers(points, pose, root, 0.01, choice)
    assert choice.tolist() == [5, 4, 3, 2, 1, 0]
    choice[2] = -1
    fit_placement(points, pose, choice, found)
    np.testing.assert_allclose(found, root, atol=1e-9)
    local = np.full((6, 3), 7.0)
    write_upright_points(points, choice, root, local)
    np.testing.assert_allclose(local[choice >= 0], pose[choice >= 0], atol=1e-9)
    assert (local[2] == 7.0).all()


@pytest.mark.parametrize("seed", range(4))
def test_misfit_and_fit_against_numpy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pose, root, points = poses_of(rng)[0], root_of(rng.uniform(-3.0, 3.0), rng.normal(size=3)), rng.normal(size=(7, 3))
    d2 = np.sum((placed(pose, root)[:, None] - points) ** 2, axis=2).min(axis=1)
    assert compute_placement_misfit(points, pose, root, 0.8, np.inf) == pytest.approx(np.minimum(d2, 0.8).sum())
    choice = rng.permutation(7)[:6]
    fit_placement(points, pose, choice, root)
    best = np.sum((placed(pose, root) - points[choice]) ** 2)
    for _ in range(50):
        turn = np.arctan2(root[1], root[0]) + rng.normal(0.0, 0.2)
        assert np.sum((placed(pose, root_of(turn, root[2:] + rng.normal(0.0, 0.1, 3))) - points[choice]) ** 2) >= best


def test_labels_take_the_nearest_pair_first_and_each_point_once() -> None:
    pose, root = np.array([[0.0, 0.0, 0.0], [0.1, 0.0, 0.0], [5.0, 0.0, 0.0]]), root_of(0.0, np.zeros(3))
    choice = np.empty(3, np.int64)
    label_markers(np.array([[0.09, 0.0, 0.0], [-0.15, 0.0, 0.0]]), pose, root, 0.04, choice)
    assert choice.tolist() == [1, 0, -1]


def test_nearest_pose_is_that_of_a_full_search_if_all_lists_are_searched() -> None:
    rng = np.random.default_rng(1)
    index, choice = build_pose_index(poses_of(rng, 100), 10), np.array([0, 1, -1, 3, 4, -1])
    for _ in range(10):
        local = poses_of(rng, 1)[0]
        d = np.sum((index.poses - local) ** 2, axis=2)[:, choice >= 0].sum(axis=1)
        assert find_nearest_labelled_pose(index, local, choice, 10) == np.argmin(d)
        np.testing.assert_allclose(
            compute_squared_distances(index.poses.astype(np.float32), local, choice), d, rtol=1e-4, atol=1e-6
        )


@pytest.mark.parametrize("false", [0, 3])
def test_the_true_labelling_is_among_the_best(false: int) -> None:
    """From any side, points shuffled, some of them false: laid by pairs, then refined."""
    rng = np.random.default_rng(false)
    poses = poses_of(rng, 60)
    index, pairs = build_pose_index(poses, 12), np.array(list(itertools.combinations(range(4), 2)))
    for _ in range(10):
        root = root_of(rng.uniform(-3.0, 3.0), rng.uniform(-2.0, 2.0, 3))
        points = np.concatenate([placed(poses[rng.integers(60)], root), root[2:] + rng.uniform(-1.0, 1.0, (false, 3))])
        order = rng.permutation(len(points))
        choice, roots = place_on_points(np.ascontiguousarray(points[order]), index.centers, pairs, 0.15, 0.25, 40)
        best = refine_hypotheses(points[order], index, choice, roots, (0.25, 0.2), 0.35).distinct()
        assert np.array_equal(order[best.choice[0]], np.arange(6)) and best.cost_m[0] < 0.06
        assert (np.diff(best.cost_m) >= 0).all() and len(np.unique(best.choice, axis=0)) == len(best)


def test_missing_markers_cost_more_while_points_are_left_over() -> None:
    poses = poses_of(np.random.default_rng(0), 1)
    index, root = build_pose_index(poses, 1), root_of(0.0, np.zeros(3))[None]
    for extra, expected in ((0, 0.2**2 / 6), (1, 0.35**2 / 6)):
        points = np.concatenate([poses[0][1:], np.full((extra, 3), 9.0)])
        cost = refine_hypotheses(points, index, np.array([[-1, 0, 1, 2, 3, 4]]), root, (0.2,), 0.35).cost_m
        assert cost[0] == pytest.approx(np.sqrt(expected))
