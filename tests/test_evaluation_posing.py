"""Posing from few points: what the peers find, what is told of a pose, the arithmetic of the tables, and the command's words."""

import json
from pathlib import Path

import numpy as np
import pytest

from config.joints import JOINT_INDEX
from database.builtin import body
from database.kinematics import forward
from database.rotations import Floats
from tests.commands import duocap
from tests.people import walk
from tools.evaluation.posing import Run, constraints
from tools.evaluation.posing_cases import CAMERA, KINDS, SPLITS, asked, held_out, turned_about_vertical
from tools.evaluation.posing_peers import N_UNKNOWN, damped_least_squares, mean_pose, nearest, placed, residuals
from tools.evaluation.posing_table import aim_line, means, table
from tools.evaluation.scores import geodesic_errors_deg

SKELETON = body(1.74)
CLIP = walk(SKELETON)
POSES = CLIP.rotvec[:60:6]


def shown(rotvec: Floats, turn_rad: float = 2.0) -> tuple[Floats, Floats]:
    """Give a pose turned, and its joints as it stands at the origin."""
    turned = turned_about_vertical(rotvec[None], np.array([turn_rad]))[0]
    return turned, forward(SKELETON, turned, np.array([0.0, 0.95, 0.0]))[1]


@pytest.mark.parametrize("kind", KINDS)
def test_nearest_neighbour_picks_the_very_pose_wherever_it_stands(kind: str) -> None:
    true, joint_m = shown(POSES[4])
    found, root_m = nearest(SKELETON, POSES, asked(kind, joint_m))
    assert float(geodesic_errors_deg(found[None], true[None]).max()) < 1e-3
    # A turn is tried in steps of one degree where an image is all there is.
    tolerance_m = 0.05 if "image" in kind else 1e-6
    assert np.abs(forward(SKELETON, found, root_m)[1] - joint_m).max() < tolerance_m


@pytest.mark.parametrize("kind", KINDS)
def test_damped_least_squares_reaches_what_can_be_reached(kind: str) -> None:
    _, joint_m = shown(POSES[4])
    told = asked(kind, joint_m)
    at = placed(SKELETON, mean_pose(POSES)[None], told)
    pose = damped_least_squares(SKELETON, (at.rotvec[0], at.root_m[0]), told)
    before, after = (np.abs(residuals(SKELETON, *p, told)[0]).max() for p in ((at.rotvec[0], at.root_m[0]), pose))
    assert after < 1e-3 < before


def test_damped_least_squares_comes_near_to_what_is_out_of_reach() -> None:
    _, joint_m = shown(POSES[4])
    far = joint_m.copy()
    far[JOINT_INDEX["leftHand"], 1] += 5.0
    told = asked("3 points", far)
    at = placed(SKELETON, POSES[4][None], told)
    rotvec, root_m = damped_least_squares(SKELETON, (at.rotvec[0], at.root_m[0]), told)
    assert np.isfinite(rotvec).all() and np.isfinite(root_m).all()


@pytest.mark.parametrize("kind", ["3 points", "4 image points"])
def test_derivatives_of_what_is_told_are_right(kind: str) -> None:
    rotvec, joint_m = shown(POSES[2], 0.7)
    told, root_m = asked(kind, joint_m + 0.1), np.array([0.1, 0.9, -0.2])
    J, step = residuals(SKELETON, rotvec, root_m, told)[1], 1e-6
    for column in range(0, N_UNKNOWN, 7):
        by = np.zeros(N_UNKNOWN)
        by[column] = step
        ends = [residuals(SKELETON, rotvec + s * by[:-3].reshape(-1, 3), root_m + s * by[-3:], told)[0] for s in (1.0, -1.0)]
        np.testing.assert_allclose(J[:, column], (ends[1] - ends[0]) / (2.0 * step), atol=1e-6)  # missing is asked less found


def test_a_pose_is_put_in_front_of_the_camera_not_behind_it() -> None:
    _, joint_m = shown(POSES[0], 1.0)
    at = placed(SKELETON, POSES, asked("4 image points", joint_m))
    assert (CAMERA.to_camera(at.root_m[np.isfinite(at.off)])[:, 2] > 0.3).all()


def test_the_mean_of_turned_poses_is_the_mean_pose() -> None:
    spun = turned_about_vertical(POSES, np.linspace(0.0, 6.0, len(POSES)))
    np.testing.assert_allclose(mean_pose(spun), mean_pose(POSES), atol=1e-9)


def test_held_out_poses_stand_at_the_origin_and_show_all_sides() -> None:
    poses = held_out([CLIP], 8)
    assert poses.joint_m.shape[0] == 8
    np.testing.assert_array_equal(poses.root_m[:, [0, 2]], 0.0)
    across = poses.joint_m[:, JOINT_INDEX["leftUpperLeg"]] - poses.joint_m[:, JOINT_INDEX["rightUpperLeg"]]
    facing = np.degrees(np.arctan2(across[:, 2], across[:, 0]))
    assert len(np.unique(np.round(facing / 90.0))) >= 4


def test_no_take_is_both_learned_and_asked() -> None:
    for split in SPLITS:
        for a in split.learned:
            for b in split.asked:
                assert a.stem != b.stem or (a.stop is not None and b.first >= a.stop + 200)


def test_image_points_are_asked_in_one_camera_only() -> None:
    _, joint_m = shown(POSES[1])
    observed = constraints(asked("6 image points", joint_m)).observations
    assert (observed.weight_px[0] > 0.0).all() and not observed.weight_px[1].any() and not observed.root_info.any()
    pixel = CAMERA.project(joint_m[asked("6 image points", joint_m).joint])
    np.testing.assert_allclose(CAMERA.undistort(pixel), observed.ideal[0], atol=1e-6)


def made_run(behaviour: str, method: str, *errors: float) -> Run:
    """Give a run of known errors."""
    mm, n = np.array(errors), len(errors)
    return Run(behaviour, "3 points", method, mm, mm / 10.0, mm, 1.0, 1.0, np.zeros((n, 23, 3)), np.zeros((n, 3)))


def test_tables_weigh_behaviours_alike_and_poses_within_them() -> None:
    runs = [
        made_run(name, method, *(factor * each for each in errors))
        for name, errors in {"a": (10.0, 30.0), "b": (40.0,)}.items()
        for method, factor in {"DLS": 2.0, "NN": 1.5, "NN+DLS": 1.0, "ours": 0.9}.items()
    ]
    assert means(runs[:4], "position_mm") == pytest.approx({"DLS": 40.0, "NN": 30.0, "NN+DLS": 20.0, "ours": 18.0})
    lines = table(runs, "position_mm")
    assert lines[1].split() == ["a", "2", "40.0", "30.0", "20.0", "18.0", "0.45", "0.60", "0.90"]
    assert lines[-1].split() == ["mean", "of", "these", "3", "60.0", "45.0", "30.0", "27.0", "0.45", "0.60", "0.90"]
    assert aim_line(runs) == "at most half the error in mm: 2 of 2 that of DLS, 0 of 2 that of NN, 0 of 2 that of NN+DLS"


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
    assert mm["6 points", "ours"] < 0.7 * mm["6 points", "NN"]
