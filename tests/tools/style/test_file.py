"""Files of constraints: what they may say, and what is said of those that say something else."""

import math
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibration.formats.rig_file import write_rig_file
from config.errors import DuocapError
from config.joints import JOINT_INDEX, JOINTS
from config.markers import read_marker_set
from tests.support.rigs import synthetic_rig
from tools.style.file import FILE_KEYS, POSE_KEYS, parse_request, read_request
from tools.style.request import PoseRequest

CAMERA = """
[camera]
size = [640, 480]
fov_deg = 60
position_m = [0.0, 1.2, 4.0]
look_at_m = [0.0, 1.0, 0.0]
"""
POINT = '[[point]]\njoint = "leftHand"\nposition_m = [0.4, 1.2, 0.3]\n'


RIG = synthetic_rig((-0.5, 1.2, 4.0), (0.5, 1.2, 4.0), (0.0, 1.0, 0.0))


def asked(text: str, n_styles: int = 1) -> PoseRequest:
    """Read a text."""
    return parse_request("c.toml", tomllib.loads(text), n_styles)[0]


def test_points_by_joint_by_end_and_by_marker() -> None:
    text = 'markers = "boxing"\n' + POINT + "sigma_m = 0.02\noffset_m = [0.1, 0.0, 0.0]\n"
    text += '[[point]]\njoint = "head"\nend = true\nposition_m = [0, 1.7, 0]\n'
    text += '[[point]]\nmarker = "left_hand"\nposition_m = [0.4, 1.2, 0.3]\n'
    hand, head, wrist = asked(text).poses[0].points
    assert (hand.handle.joint, hand.sigma_m) == (JOINT_INDEX["leftHand"], 0.02)
    np.testing.assert_array_equal(hand.handle.offset_m, [0.1, 0.0, 0.0])
    assert head.handle.offset_m is None and head.handle.name == "end of head" and head.sigma_m == 0.001
    boxing = read_marker_set("boxing")
    row = boxing.names.index("left_hand")
    assert wrist.handle.joint == boxing.joint[row]
    np.testing.assert_array_equal(wrist.handle.offset_m, boxing.offset_m[row])


def test_image_points_in_a_camera_placed_by_hand() -> None:
    request, rig = parse_request("c.toml", tomllib.loads(CAMERA + '[[image_point]]\njoint = "head"\npx = [319.5, 100]\n'), 1)
    point = request.poses[0].image_points[0]
    assert rig is not None and rig.is_monocular and (point.camera, point.sigma_px) == (0, 0.3)
    np.testing.assert_allclose(rig.cameras[0].project([[0.0, 1.0, 0.0]]), [[319.5, 239.5]], atol=1e-9)  # looks there


def test_image_points_in_the_cameras_of_a_rig(tmp_path: Path) -> None:
    write_rig_file(tmp_path / "rig.toml", RIG, "toml")
    table = tomllib.loads('[[image_point]]\njoint = "head"\npx = [10, 20]\ncamera = "right"\n')
    request, rig = parse_request("c.toml", table, 1, tmp_path / "rig.toml")
    assert rig is not None and request.poses[0].image_points[0].camera == 1
    del table["image_point"][0]["camera"]
    with pytest.raises(DuocapError, match=r"image_point 1: names no camera; .*left"):
        parse_request("c.toml", table, 1, tmp_path / "rig.toml")


def test_orientations_held_joints_and_the_root() -> None:
    text = '[[orientation]]\njoint = "head"\nrotvec_deg = [0, 90, 0]\n'
    text += '[[orientation]]\njoint = "hips"\nquaternion_xyzw = [0, 0, 0, 1]\nsigma_deg = 10\n'
    text += '[[fixed]]\njoint = "neck"\n[[fixed]]\njoint = "spine"\nas = "mean"\n[[fixed]]\njoint = "chest"\nas = 4\n'
    text += "[root]\nposition_m = [1, 0.9, 2]\nsigma_m = 0.3\n"
    pose = asked(text).poses[0]
    np.testing.assert_allclose(pose.orientations[0].rotation @ [0, 0, 1], [1, 0, 0], atol=1e-12)  # faces the left
    assert pose.orientations[1].sigma_rad == pytest.approx(math.radians(10.0))
    rest, mean, fourth = pose.fixed
    np.testing.assert_array_equal(rest.rotation, np.eye(3))
    assert (mean.rotation, mean.pose, fourth.pose) == (None, None, 4)
    assert pose.root is not None and (pose.root.sigma_m, pose.root.sigma_rad) == (0.3, math.inf)


def test_several_poses_have_what_stands_outside_in_common() -> None:
    text = 'shares = [1, 3]\n[[fixed]]\njoint = "neck"\n'
    text += '[[pose]]\n[[pose.point]]\njoint = "leftHand"\nposition_m = [0, 1, 0]\n[[pose]]\nshares = [1, 0]\n'
    first, second = asked(text, 2).poses
    assert [len(first.points), len(second.points)] == [1, 0]
    assert len(first.fixed) == len(second.fixed) == 1
    assert (first.shares, second.shares) == ((0.25, 0.75), (1.0, 0.0))


def test_curves_and_shares_over_time() -> None:
    text = '[[curve]]\njoint = "leftFoot"\ntimes_s = [0, 1]\npositions_m = [[0, 0, 0], [0, 0, 1]]\nbetween = "smooth"\n'
    text += "[[style_share]]\ntime_s = 0\nshares = [1, 0]\n[[style_share]]\ntime_s = 1\nshares = [0, 1]\n"
    request = asked(text, 2)
    assert request.curves[0].curve.way == "smooth" and request.shares is not None
    np.testing.assert_array_equal(request.shares.shares, np.eye(2))


CURVE = '[[curve]]\njoint = "leftHand"\ntimes_s = [0, 1]\npositions_m = [[0, 1, 0], [0, 1, 1]]\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (POINT.replace("position_m", "postion_m"), r"point 1: unknown key 'postion_m' \(did you mean 'position_m'\?\)"),
        (POINT.replace("leftHand", "LeftHnd"), r"point 1: unknown joint 'LeftHnd' \(did you mean 'leftHand'\?\); known: hips, "),
        ("pint = 3", r"c.toml: unknown key 'pint' \(did you mean 'point'\?\); known: "),
        ("[point]\njoint = 'head'", r"write \[\[point\]\] with two brackets"),
        ("point = [3]", r"point 1 must be a table"),
        (POINT.replace("[0.4, 1.2, 0.3]", "[0.4, 1.2]"), r"position_m must be 3 numbers, got \[0.4, 1.2\]"),
        (POINT.replace("1.2", "nan"), r"position_m holds a number that is not finite"),
        (POINT.replace("1.2", "true"), r"position_m must be 3 numbers"),
        (POINT.replace("1.2", "1200.0"), r"at most 50 in size; lengths are in metres"),
        (POINT + "sigma_m = -0.01", r"sigma_m must be a number above 1e-06"),
        (POINT + "sigma_m = 0", r"sigma_m must be a number above 1e-06"),
        (POINT + "sigma_m = 1e-200", r"sigma_m must be a number above 1e-06"),
        (POINT + "sigma_m = nan", r"sigma_m must be a number above 1e-06"),
        (POINT + 'marker = "left_hand"', r"a joint or a marker, one of them"),
        (POINT.replace("joint", "marker"), r"a marker needs its set"),
        ('markers = "boxing"\n' + POINT.replace('joint = "leftHand"', 'marker = "hand_left"'), r"unknown marker 'hand_left'"),
        ("markers = 3", r"markers must name a preset"),
        ('markers = "none.toml"', r"none.toml: cannot read the marker set"),
        (POINT + "end = true\noffset_m = [0, 0, 0]", r"end and offset_m"),
        (POINT + "end = 1", r"end must be true or false"),
        ('[[image_point]]\njoint = "head"\npx = [1, 2]', r"needs its camera; give --rig rig.toml, or a \[camera\]"),
        (CAMERA + '[[image_point]]\njoint = "head"\npx = [700, 2]', r"outside of the camera's picture of 640 x 480"),
        (CAMERA + '[[image_point]]\njoint = "head"\npx = [7, 2]\ncamera = "right"', r"unknown camera 'right'"),
        (CAMERA.replace("fov_deg = 60", ""), r"either fov_deg \(horizontal\) or focal_px"),
        (CAMERA.replace("fov_deg = 60", "focal_px = 3"), r"focal_px must be a number above 128"),
        (CAMERA.replace("fov_deg = 60", "fov_deg = 170"), r"camera\]: a field of view of 170"),
        (CAMERA.replace("[0.0, 1.0, 0.0]", "[0.0, 1.2, 4.0]"), r"the same point"),
        (CAMERA.replace("[0.0, 1.0, 0.0]", "[0.0, 0.0, 4.0]"), r"straight up or down"),
        (CAMERA.replace("640, 480", "640, 0"), r"size must be width and height"),
        ('[[orientation]]\njoint = "head"', r"orientation 1 lacks its rotation"),
        ('[[orientation]]\njoint = "head"\nquaternion_xyzw = [1, 1, 0, 0]', r"length 1.41421"),
        ('[[orientation]]\njoint = "head"\nquaternion_xyzw = [1, 0, 0, 0]\nrotvec_deg = [0, 0, 0]', r"give one of them"),
        ('[[fixed]]\njoint = "hips"', r"hips turns in the world"),
        ('[[fixed]]\njoint = "head"\nas = "men"', r"unknown as 'men' \(did you mean 'mean'\?\)"),
        ('[[fixed]]\njoint = "head"\nas = -1', r"as = -1: give the number of a training pose"),
        ('[[fixed]]\njoint = "head"\nas = "mean"\nrotvec_deg = [0, 0, 0]', r"give one of them"),
        ("[root]\nsigma_m = 1", r"\[root\] lacks position_m"),
        ("shares = [1, 2]", r"shares must be 1 numbers"),
        ("shares = [-1]", r"at least 0 and not all 0"),
        (CURVE.replace("[0, 1]", "[1, 1]", 1), r"curve 1 \(leftHand\): the times do not rise"),
        (CURVE.replace("[0, 1]", "[0, 1, 2]", 1), r"curve 1 \(leftHand\): 3 times and 2 places"),
        (CURVE.replace("[0, 1]", "[0]").replace(", [0, 1, 1]", ""), r"two keys or more, this has 1"),
        (CURVE.replace("[0, 1]", "[0, nan]", 1), r"times_s holds a number that is not finite"),
        (CURVE.replace("[[0, 1, 0]", "[[0, 1]"), r"positions_m, key 1, must be 3 numbers"),
        (CURVE + 'between = "bezier"', r"unknown between 'bezier'.* known: monotone, smooth, linear"),
        (CURVE + "[[pose]]", r"\[\[pose\]\] and \[\[curve\]\] in one file"),
        ("[[style_share]]\ntime_s = 0\nshares = [1]\n[[style_share]]\ntime_s = 0\nshares = [1]", r"do not rise"),
        ("[[style_share]]\nshares = [1]", r"style_share 1 time_s must be 1 numbers, got \[None\]"),
        ("[[pose]]\n[[pose.curve]]", r"pose 1: unknown key 'curve'"),
    ],
)
def test_one_line_says_what_is_wrong_and_where(text: str, words: str) -> None:
    with pytest.raises(DuocapError, match=words) as error:
        asked(text)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "no such file"),
        (b"[[point", "not valid TOML"),
        (b"a = 1\0", "a byte 00, .*binary"),
        (b"x = " + b"[" * 9000, "not valid TOML"),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, content: bytes | None, words: str) -> None:
    if content is not None:
        (tmp_path / "c.toml").write_bytes(content)
    with pytest.raises(DuocapError, match=words):
        read_request(tmp_path / "c.toml", 1)


def test_a_camera_twice_is_refused(tmp_path: Path) -> None:
    write_rig_file(tmp_path / "rig.toml", RIG, "toml")
    with pytest.raises(DuocapError, match=r"a \[camera\] in the file and --rig"):
        parse_request("c.toml", tomllib.loads(CAMERA), 1, tmp_path / "rig.toml")


NAMED = st.sampled_from([*JOINTS, "mean", "rest", "left", "boxing", ""])
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), NAMED, st.text())
LISTS = ["position_m", "times_s", "positions_m", "rotvec_deg", "quaternion_xyzw", "size", "px"]
WORDS = ["joint", "marker", "sigma_m", "as", *LISTS]
KEYS = st.sampled_from([*FILE_KEYS, *POSE_KEYS, *WORDS, "fov_deg", "look_at_m", "time_s", "x"])
TREES: Any = st.recursive(
    LEAVES | st.lists(st.floats(-2, 2), min_size=3, max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=25,
)


@given(st.dictionaries(KEYS, TREES, max_size=5))
def test_whatever_a_file_says_it_is_read_or_refused_in_words(table: dict[str, Any]) -> None:
    try:
        request, _ = parse_request("c.toml", table, 2)
    except DuocapError as error:
        assert str(error)
    else:
        assert isinstance(request, PoseRequest) and len(request.poses) >= 1
