"""Posing: held-out poses and their queries, the arithmetic of the tables, and the command on real motion."""

import json
from pathlib import Path

import numpy as np
import pytest

from config.joints import JOINT_INDEX
from database.builtin import build_person_skeleton
from tests.support.commands import duocap
from tests.support.people import walk
from tools.evaluate.posing.cases import CAMERA, KINDS, SPLITS, held_out_poses, pose_query
from tools.evaluate.posing.measure import PosingRun, constraints
from tools.evaluate.posing.table import aim_line, means, table

CLIP = walk(build_person_skeleton(1.74))


def test_held_out_poses_stand_at_the_origin_and_show_all_sides() -> None:
    poses = held_out_poses([CLIP], 8)
    assert poses.joint_m.shape[0] == 8
    np.testing.assert_array_equal(poses.root_m[:, [0, 2]], 0.0)
    across = poses.joint_m[:, JOINT_INDEX["leftUpperLeg"]] - poses.joint_m[:, JOINT_INDEX["rightUpperLeg"]]
    facing = np.degrees(np.arctan2(across[:, 2], across[:, 0]))
    assert len(np.unique(np.round(facing / 90.0))) >= 4


def test_no_take_is_both_learned_and_pose_query() -> None:
    for split in SPLITS:
        for a in split.learned:
            for b in split.held_out:
                assert a.stem != b.stem or (a.stop is not None and b.first >= a.stop + 200)


def test_image_points_are_asked_in_one_camera_only() -> None:
    joint_m = held_out_poses([CLIP], 8).joint_m[1]
    observed = constraints(pose_query("6 image points", joint_m)).observations
    assert (observed.weight_px[0] > 0.0).all() and not observed.weight_px[1].any() and not observed.root_info.any()
    pixel = CAMERA.project(joint_m[pose_query("6 image points", joint_m).joint])
    np.testing.assert_allclose(CAMERA.undistort(pixel), observed.ideal[0], atol=1e-6)


def made_run(behaviour: str, method: str, *errors: float) -> PosingRun:
    """Return a run of known errors."""
    mm, n = np.array(errors), len(errors)
    return PosingRun(behaviour, "3 points", method, mm, mm / 10.0, mm, 1.0, 1.0, np.zeros((n, 23, 3)), np.zeros((n, 3)))


def test_tables_weigh_behaviours_alike_and_poses_within_them() -> None:
    runs = [
        made_run(name, method, *(factor * each for each in errors))
        for name, errors in {"a": (10.0, 30.0), "b": (40.0,)}.items()
        for method, factor in {"NN": 1.5, "NN+DLS": 1.0, "local": 0.7, "style": 0.9}.items()
    ]
    assert means(runs[:4], "position_mm") == pytest.approx({"NN": 30.0, "NN+DLS": 20.0, "local": 14.0, "style": 18.0})
    lines = table(runs, "position_mm")
    assert lines[1].split() == ["a", "2", "30.0", "20.0", "14.0", "18.0", "0.70", "0.90"]
    assert lines[-1].split() == ["mean", "of", "these", "3", "45.0", "30.0", "21.0", "27.0", "0.70", "0.90"]
    assert aim_line(runs) == "at most 0.75 of the error in mm of NN+DLS: local in 2 of 2, style in 0 of 2"


def test_an_unknown_behaviour_is_told_the_known_ones(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    result = duocap(capsys, "evaluate", "posing", "--motion", tmp_path, "--behaviour", "07 flying")
    assert result.status != 0
    assert "07 walking" in result.last and "'07 flying'" in result.last


@pytest.mark.slow
def test_real_poses_are_posed_and_drawn(capsys: pytest.CaptureFixture[str], motion_dir: Path, tmp_path: Path) -> None:
    words = ("--behaviour", "09 running", "--poses", 3, "--processes", 1, "--json", tmp_path / "f.json", "--plot", tmp_path / "p")
    result = duocap(capsys, "evaluate", "posing", "--motion", motion_dir, *words)
    assert result.status == 0, result.err
    assert result.out.count("09 running") == 2 * len(KINDS) + 2
    assert len(list((tmp_path / "p").glob("*.png"))) == 1 + len(KINDS)
    runs = json.loads((tmp_path / "f.json").read_text(encoding="utf-8"))[0]["runs"]
    mm = {(run["kind"], run["method"]): np.mean(run["position_mm"]) for run in runs}
    for model in ("local", "sparse", "style"):
        assert mm["6 points", model] < 0.7 * mm["6 points", "NN"], model
