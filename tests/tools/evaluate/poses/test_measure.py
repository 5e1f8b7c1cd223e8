"""Tasks and their errors, the choice of trade-offs, the tables, and the command on real motion."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from config.joints import JOINT_INDEX
from database.builtin import build_person_skeleton
from database.geometry.kinematics import compute_forward_kinematics
from tests.support.commands import duocap
from tests.support.people import walk
from tools.evaluate.poses.measure import PosesRun, choose_trade_off, split_poses
from tools.evaluate.poses.mixtures import TradeOff
from tools.evaluate.poses.poses import ALL, MOVED, N_COORDINATES, columns, positions, without_rest_pose
from tools.evaluate.poses.table import PAPER, report
from tools.evaluate.poses.tasks import OBSERVED, Corrupted, Task, corrupt, mean_distance_mm, standardisation

CLIP = walk(build_person_skeleton(1.74))
POSES_M = positions(CLIP)


def test_positions_are_those_of_the_body_unrotated_at_the_origin() -> None:
    rotvec = CLIP.rotvec[3].copy()
    rotvec[0] = 0.0
    joint_m = compute_forward_kinematics(CLIP.skeleton, rotvec[None], np.zeros(3))[1][0]
    assert POSES_M.shape == (CLIP.n_frames, N_COORDINATES)
    np.testing.assert_allclose(POSES_M[3, columns(["leftToes"])], joint_m[JOINT_INDEX["leftToes"]], atol=1e-12)


def test_a_rest_pose_at_the_start_is_left_out() -> None:
    rest_m = np.tile(POSES_M[0] + 0.3, (4, 1))
    np.testing.assert_array_equal(without_rest_pose(np.concatenate([rest_m, POSES_M])), POSES_M)
    np.testing.assert_array_equal(without_rest_pose(POSES_M), POSES_M)


def test_standardised_coordinates_have_unit_variance_and_hardly_moving_ones_do_not_grow() -> None:
    still = POSES_M.copy()
    still[:, 0] = 0.2 + 1e-5 * np.arange(len(still)) / len(still)
    standardised = standardisation(still).apply(still)
    assert abs(standardised[:, 0]).max() < 0.02
    moving = still.std(axis=0) > 1e-3
    np.testing.assert_allclose(standardised[:, moving].std(axis=0), 1.0)


def test_noise_is_standard_and_strikes_whole_joints() -> None:
    poses = np.zeros((2000, N_COORDINATES))
    dense = corrupt(Task.DENSE, poses, np.random.default_rng(0))
    assert np.var(dense.observed) == pytest.approx(1.0, rel=0.02) and dense.weight.all()
    sparse = corrupt(Task.SPARSE, poses, np.random.default_rng(0)).observed.reshape(-1, len(MOVED), 3)
    struck = (sparse != 0.0).all(axis=2)
    assert (struck.sum(axis=1) == 4).all() and (struck == (sparse != 0.0).any(axis=2)).all()
    assert np.var(sparse[struck]) == pytest.approx(1.0, rel=0.05)
    assert struck.any(axis=0).all()


def test_six_joints_are_told_for_completion() -> None:
    assert sorted(OBSERVED) == ["leftHand", "leftShoulder", "leftToes", "rightHand", "rightShoulder", "rightToes"]
    given = corrupt(Task.COMPLETION, POSES_M, np.random.default_rng(0))
    seen = columns(OBSERVED)
    np.testing.assert_array_equal(given.observed[:, seen], POSES_M[:, seen])
    assert given.weight.sum() == 18 * len(POSES_M) and not np.delete(given.observed, seen, axis=1).any()


def test_halves_share_no_pose_and_both_are_standardised_by_the_first() -> None:
    poses_m = np.random.default_rng(0).normal(1.0, 0.2, (401, N_COORDINATES))
    split = split_poses(poses_m, 0)
    assert (len(split.train), len(split.test)) == (201, 200)
    np.testing.assert_allclose(split.train.mean(axis=0), 0.0, atol=1e-12)
    both = np.concatenate([split.train, split.test])
    assert len(np.unique(both.round(9), axis=0)) == 401
    other = split_poses(poses_m, 1)
    assert abs(other.train[:5] - split.train[:5]).max() > 0.1


def test_distances_are_in_millimetres_whatever_the_scale() -> None:
    true = np.zeros((2, N_COORDINATES))
    restored = true + 1.0
    scale_m = np.tile([0.003, 0.004, 0.012], len(MOVED))
    assert mean_distance_mm(restored, true, scale_m) == pytest.approx(13.0)


class Shrinking:
    """A model that multiplies."""

    def restore(self, observed: np.ndarray, weight: np.ndarray, trade_off: TradeOff) -> np.ndarray:
        """Return the product."""
        return observed * trade_off[0]


def test_the_trade_off_of_the_least_error_is_chosen() -> None:
    given = Corrupted(2.0 * POSES_M, np.ones_like(POSES_M))
    assert choose_trade_off(Shrinking(), ((0.1,), (0.4,), (0.7,)), given, POSES_M) == (0.4,)


def made_run(data: str, task: Task, model: str, seed: int, error: float) -> PosesRun:
    """Return a run of a known error."""
    return PosesRun(data, task, model, seed, (0.5,), error, 1.0, 9.0, 50, 40, 10, 0.1, 0.01)


def test_tables_give_mean_spread_the_papers_figure_and_mark_the_best() -> None:
    runs = [
        made_run("07", Task.DENSE, model, seed, error + 0.02 * seed)
        for model, error in (("gaussian", 0.10), ("pca", 0.30))
        for seed in (0, 1)
    ]
    runs.append(replace(runs[0], data=ALL, task=Task.COMPLETION, error=0.5))
    lines = list(report(runs))
    row = next(line for line in lines if line.startswith("07 walking") and "learned" not in line)
    assert row.split() == ["07", "walking", "50", "40", "1.00", "*0.1100", "±0.0100", "(0.08)", "0.3100", "±0.0100", "(0.07)"]
    assert any(line.split() == ["completion", "50", "40", "1.00", "*0.5000", "±0.0000", "(0.30)"] for line in lines)
    assert any(line.split() == ["63", "golf,", "paper", "(2.44)", "(0.41)"] for line in lines)
    assert len(PAPER) == 3 + 3 * 4


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--models", "magic"), "'magic' is no model of poses; take "),
        (("--subjects", "07,99"), "'99' is none of the subjects measured; take 07"),
        (("--tables", "5"), "there is no table '5'; take 1, 2, 3, 4"),
        (("--tables", "1", "--models", "sgplvm"), "Table 1 has no sgplvm"),
        ((), "no CMU motions"),
    ],
)
def test_what_is_unknown_or_missing_is_said(
    words: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    result = duocap(capsys, "evaluate", "poses", "--motion", tmp_path, *words)
    assert result.status == 1 and told in result.last


@pytest.mark.slow
def test_real_poses_are_restored(capsys: pytest.CaptureFixture[str], motion_dir: Path, tmp_path: Path) -> None:
    words = ("--tables", "3,4", "--subjects", "09", "--seeds", 1, "--models", "gaussian,mfa,sgplvm", "--poses", 200)
    out = tmp_path / "results.json"
    result = duocap(capsys, "evaluate", "poses", "--motion", motion_dir, *words, "--processes", 1, "--out", out)
    assert result.status == 0, result.err
    assert "Table 3" in result.out and "Table 4" in result.out and "Table 2" not in result.out
    error = {(run["model"], run["task"]): run["error"] for run in json.loads(out.read_text(encoding="utf-8"))}
    assert error["mfa", "completion"] < error["gaussian", "completion"] < 0.1
    assert error["mfa", "sparse noise"] < 0.05
