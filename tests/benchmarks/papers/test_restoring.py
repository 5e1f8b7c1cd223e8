"""Poses to be restored, tasks and their errors, the choice of trade-offs."""

import numpy as np
import pytest

pytest.importorskip("sklearn", reason='needs scikit-learn: pip install "duocap[benchmarks]"')

from benchmarks.papers.restoring import RestoringCell, choose_trade_off, restore_poses
from benchmarks.papers.restoring_models import TradeOff
from benchmarks.papers.restoring_poses import (
    MOVED,
    OBSERVED,
    Corrupted,
    Halves,
    Task,
    compute_distance_mm,
    corrupt_poses,
    drop_rest_pose,
    place_joints,
    split_poses,
)
from config.joints import JOINT_INDEX
from database.builtin import build_person_skeleton
from database.geometry.kinematics import compute_forward_kinematics
from tests.support.people import walk

CLIP = walk(build_person_skeleton(1.74))
POSES_M = place_joints(CLIP)
N_COORDINATES = 3 * len(MOVED)


def columns(*joints: str) -> list[int]:
    """Return the columns of some moved joints."""
    return [3 * MOVED.index(name) + axis for name in joints for axis in range(3)]


def test_positions_are_those_of_the_body_unrotated_at_the_origin() -> None:
    rotvec = CLIP.rotvec[3].copy()
    rotvec[0] = 0.0
    joint_m = compute_forward_kinematics(CLIP.skeleton, rotvec[None], np.zeros(3))[1][0]
    assert POSES_M.shape == (CLIP.n_frames, N_COORDINATES)
    np.testing.assert_allclose(POSES_M[3, columns("leftToes")], joint_m[JOINT_INDEX["leftToes"]], atol=1e-12)


def test_a_rest_pose_at_the_start_is_left_out() -> None:
    rest_m = np.tile(POSES_M[0] + 0.3, (4, 1))
    np.testing.assert_array_equal(drop_rest_pose(np.concatenate([rest_m, POSES_M])), POSES_M)
    np.testing.assert_array_equal(drop_rest_pose(POSES_M), POSES_M)


def test_standardised_coordinates_have_unit_variance_and_hardly_moving_ones_do_not_grow() -> None:
    still = np.random.default_rng(0).normal(1.0, 0.2, (400, N_COORDINATES))
    still[:, 0] = 0.2 + 1e-5 * np.arange(len(still)) / len(still)
    standardised = split_poses([still], Halves.POSES, 0).train
    assert abs(standardised[:, 0]).max() < 0.02
    np.testing.assert_allclose(standardised[:, 1:].std(axis=0), 1.0)


def test_noise_is_standard_and_strikes_whole_joints() -> None:
    poses = np.zeros((2000, N_COORDINATES))
    dense = corrupt_poses(Task.DENSE, poses, np.random.default_rng(0))
    assert np.var(dense.observed) == pytest.approx(1.0, rel=0.02) and dense.weight.all()
    sparse = corrupt_poses(Task.SPARSE, poses, np.random.default_rng(0)).observed.reshape(-1, len(MOVED), 3)
    struck = (sparse != 0.0).all(axis=2)
    assert (struck.sum(axis=1) == 4).all() and (struck == (sparse != 0.0).any(axis=2)).all()
    assert np.var(sparse[struck]) == pytest.approx(1.0, rel=0.05)
    assert struck.any(axis=0).all()


def test_six_joints_are_told_for_completion() -> None:
    assert sorted(OBSERVED) == ["leftHand", "leftShoulder", "leftToes", "rightHand", "rightShoulder", "rightToes"]
    given = corrupt_poses(Task.COMPLETION, POSES_M, np.random.default_rng(0))
    seen = columns(*OBSERVED)
    np.testing.assert_array_equal(given.observed[:, seen], POSES_M[:, seen])
    assert given.weight.sum() == 18 * len(POSES_M) and not np.delete(given.observed, seen, axis=1).any()


def test_halves_share_no_pose_and_both_are_standardised_by_the_first() -> None:
    poses_m = np.random.default_rng(0).normal(1.0, 0.2, (401, N_COORDINATES))
    split = split_poses([poses_m[:150], poses_m[150:]], Halves.POSES, 0)
    assert (len(split.train), len(split.test)) == (201, 200)
    np.testing.assert_allclose(split.train.mean(axis=0), 0.0, atol=1e-12)
    both = np.concatenate([split.train, split.test])
    assert len(np.unique(both.round(9), axis=0)) == 401
    other = split_poses([poses_m], Halves.POSES, 1)
    assert abs(other.train[:5] - split.train[:5]).max() > 0.1


def test_held_out_takes_are_whole_and_so_are_those_that_choose_trade_offs() -> None:
    takes = [np.full((80 + k, N_COORDINATES), float(k)) + 0.01 * np.random.default_rng(k).normal(size=1) for k in range(6)]
    for seed in range(4):
        split = split_poses(takes, Halves.TAKES, seed)
        tuning, learned, tests = (set(part[:, 0]) for part in (split.train[split.tuning], split.train[~split.tuning], split.test))
        assert len(tuning) == 1 and learned and tests and not (tuning & learned or tuning & tests or learned & tests)


def test_distances_are_in_millimetres_whatever_the_scale() -> None:
    true = np.zeros((2, N_COORDINATES))
    restored = true + 1.0
    scale_m = np.tile([0.003, 0.004, 0.012], len(MOVED))
    assert compute_distance_mm(restored, true, scale_m) == pytest.approx(13.0)


class Shrinking:
    """A model that multiplies."""

    def restore(self, observed: np.ndarray, weight: np.ndarray, trade_off: TradeOff) -> np.ndarray:
        """Return the product."""
        return observed * trade_off[0]


def test_the_trade_off_of_the_least_error_is_chosen() -> None:
    given = Corrupted(2.0 * POSES_M, np.ones_like(POSES_M))
    assert choose_trade_off(Shrinking(), ((0.1,), (0.4,), (0.7,)), given, POSES_M) == (0.4,)


def test_a_model_is_learned_from_one_half_and_restores_the_other() -> None:
    rng = np.random.default_rng(1)
    flat = rng.normal(size=(400, 3)) @ rng.normal(size=(3, N_COORDINATES))
    cell = RestoringCell("07", (Task.COMPLETION,), Halves.POSES, "gaussian", 0)
    (row,) = restore_poses(cell, split_poses([0.1 * flat], Halves.POSES, 0), count=50)
    assert (row["train"], row["tests"], row["task"]) == (200, 50, "completion")
    assert row["error"] < 0.01 < 0.5 < row["as given"]
