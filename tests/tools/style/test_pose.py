"""From what a file asks for to a take and its words, with a poser that bends no joint."""

import tomllib
from dataclasses import replace

import numpy as np
import pytest

from config.joints import JOINT_INDEX
from reconstruct.models.style.synthesis.synthesizer import Synthesis
from tests.support.style_posers import T_POSE, FakePoser, plain_style
from tools.style.constraints import build_constraints
from tools.style.file import parse_request
from tools.style.pose import solve_request
from tools.style.report import compute_acceleration_m_s2, format_pose_warning, measure_constraint_residuals
from tools.style.values import PoseFileError

CAMERA = "[camera]\nsize = [640, 480]\nfov_deg = 60\nposition_m = [0, 1, 4]\nlook_at_m = [0, 1, 0]\n"


def t_pose(root_m: tuple[float, float, float] = (0.0, 1.0, 0.0)) -> Synthesis:
    """Return a T-pose."""
    none = np.zeros(0)
    return Synthesis(T_POSE, np.array(root_m), (np.zeros(2),), 0.0, 0.0, 0.2, none, np.zeros((2, 0)), True, True)


def found_off(text: str, pose: Synthesis) -> dict[str, str]:
    """Return how far a pose is off each thing a text asks for."""
    request, rig = parse_request("c.toml", tomllib.loads(text), 1)
    style = plain_style()
    constraints = build_constraints(request.poses[0], style.skeleton, style, rig)
    return {off.name: off.words for off in measure_constraint_residuals(pose, request.poses[0], constraints, style.skeleton, rig)}


def test_every_kind_of_constraint_is_measured_in_its_own_unit() -> None:
    text = CAMERA + '[[point]]\njoint = "hips"\nposition_m = [0, 1.02, 0]\n[[image_point]]\njoint = "hips"\npx = [319.5, 249.5]\n'
    text += '[[orientation]]\njoint = "head"\nrotvec_deg = [0, 30, 0]\n[[fixed]]\njoint = "neck"\n'
    text += (
        '[[fixed]]\njoint = "leftLowerArm"\nrotvec_deg = [0, -90, 0]\n[root]\nposition_m = [0, 1, 0.5]\nrotvec_deg = [0, 10, 0]\n'
    )
    assert found_off(text, t_pose()) == {
        "hips": "20 mm",
        "hips in the picture": "10.0 px",
        "head turned": "30.0 degrees",
        "neck held": "0.0 degrees",
        "leftLowerArm held": "90.0 degrees",
        "root": "50 cm",
        "root turned": "10.0 degrees",
    }


def test_a_point_behind_the_camera_is_said_to_be_there_and_not_reached() -> None:
    request, rig = parse_request("c.toml", tomllib.loads(CAMERA + '[[image_point]]\njoint = "hips"\npx = [320, 240]\n'), 1)
    style, pose = plain_style(), t_pose((0.0, 1.0, 9.0))
    off = measure_constraint_residuals(
        pose, request.poses[0], build_constraints(request.poses[0], style.skeleton, style, rig), style.skeleton, rig
    )
    assert [each.words for each in off] == ["behind the camera"]
    assert format_pose_warning("pose 1", pose, off) == "pose 1: cannot reach hips in the picture (behind the camera off)"


def test_handles_are_at_their_offsets_and_held_joints_in_their_charts() -> None:
    text = '[[point]]\njoint = "leftHand"\nend = true\nposition_m = [1, 1, 1]\n[[fixed]]\njoint = "leftUpperArm"\n'
    style = plain_style()
    constraints = build_constraints(parse_request("c.toml", tomllib.loads(text), 1)[0].poses[0], style.skeleton, style)
    np.testing.assert_array_equal(constraints.handles.offset_m[0], style.skeleton.tails_m[JOINT_INDEX["leftHand"]])
    np.testing.assert_allclose(constraints.fixed.rotvec[0], T_POSE[JOINT_INDEX["leftUpperArm"]], atol=1e-12)
    np.testing.assert_allclose(constraints.observations.root_info[0], np.eye(3) / 0.001)


def test_image_points_are_weighed_in_pixels_in_their_camera() -> None:
    request, rig = parse_request(
        "c.toml", tomllib.loads(CAMERA + '[[image_point]]\njoint = "head"\npx = [319.5, 239.5]\nsigma_px = 2\n'), 1
    )
    style = plain_style()
    seen = build_constraints(request.poses[0], style.skeleton, style, rig).observations
    np.testing.assert_allclose(seen.ideal[0, 0], [0.0, 0.0], atol=1e-12)
    np.testing.assert_array_equal(seen.weight_px, [[0.25], [0.0]])
    assert not seen.root_info.any()


def test_poses_become_frames_and_what_is_missed_is_named() -> None:
    text = '[[pose]]\n[[pose.point]]\njoint = "hips"\nposition_m = [0, 1, 0]\n'
    text += '[[pose]]\n[[pose.point]]\njoint = "leftFoot"\nposition_m = [0, 0, 0]\n'
    text += '[[pose.point]]\njoint = "head"\nposition_m = [0, 3, 0]\n'
    request, rig = parse_request("c.toml", tomllib.loads(text), 1)
    result = solve_request(FakePoser(), request, rig, 25.0)
    assert len(result.take) == 2 and result.take.seconds[1] == pytest.approx(0.04)
    np.testing.assert_allclose(result.take.root_m[0], [0.0, 1.0, 0.0])
    assert result.lines[0] == "pose 1: the style knows poses like it (80%)"
    assert len(result.warnings) == 1 and result.warnings[0].startswith("pose 2: cannot reach ")


def test_a_motion_is_told_of_as_a_whole() -> None:
    text = '[[curve]]\njoint = "hips"\ntimes_s = [1.0, 2.0]\npositions_m = [[0, 1, 0], [0, 1, 1]]\n'
    text += '[[curve]]\njoint = "head"\ntimes_s = [1.0, 1.2]\npositions_m = [[0, 3, 0], [0, 3, 1]]\n'
    request, rig = parse_request("c.toml", tomllib.loads(text), 1)
    result = solve_request(FakePoser(), request, rig, 60.0)
    assert len(result.take) == 61 and result.take.seconds[-1] == pytest.approx(1.0)
    assert result.lines[0].startswith("61 frames, 1.00 s")
    assert result.warnings[0].startswith("7 of 31 frames are off what is asked, most at ") and len(result.warnings) == 1


def test_frames_of_a_motion_that_are_not_the_best_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    text = '[[curve]]\njoint = "hips"\ntimes_s = [0.0, 0.1]\npositions_m = [[0, 1, 0], [0, 1, 0]]\n'
    request, rig = parse_request("c.toml", tomllib.loads(text), 1)
    found = [t_pose(), replace(t_pose(), converged=False), replace(t_pose(), reached=False), replace(t_pose(), variance=2.0)]
    monkeypatch.setattr("tools.style.pose.follow_constraints", lambda *_: found)
    result = solve_request(FakePoser(), request, rig, 30.0)
    assert result.lines[0].startswith("4 frames, 0.10 s: far from the poses the style was learned of")
    assert len(result.warnings) == 2 and all("in 1 of 4 frames" in words for words in result.warnings)


def test_shares_over_time_need_a_motion() -> None:
    request, rig = parse_request("c.toml", tomllib.loads("[[style_share]]\ntime_s = 0\nshares = [1]\n"), 1)
    with pytest.raises(PoseFileError, match="about a motion over time"):
        solve_request(FakePoser(), request, rig, 30.0)


def test_the_words_for_what_contradicts_or_did_not_converge() -> None:
    assert format_pose_warning("pose 1", t_pose(), []) is None
    assert "cannot be had together" in str(format_pose_warning("pose 1", replace(t_pose(), reached=False), []))
    assert "ended before its minimum" in str(format_pose_warning("pose 1", replace(t_pose(), converged=False), []))


def test_acceleration_of_a_fall() -> None:
    t = np.arange(10)[:, None, None] / 30.0
    fall = np.concatenate([np.zeros_like(t), -0.5 * 9.81 * t**2, t], axis=2)
    assert compute_acceleration_m_s2(np.repeat(fall, 4, axis=1), 30.0) == pytest.approx(9.81)
    assert compute_acceleration_m_s2(fall[:2], 30.0) == 0.0
