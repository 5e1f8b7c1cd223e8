"""BVH: any names, rest pose, unit, channel order and up; joints are where plain forward kinematics puts them."""

import re
from pathlib import Path

import numpy as np
import pytest

from config.arrays import Floats
from config.errors import FileFormatError
from config.joints import JOINT_INDEX, JOINTS
from database.clips import Clip
from database.files.bvh import read_bvh
from database.files.read import read_clip
from database.geometry.kinematics import compute_forward_kinematics, local_from_charted
from tests.support.files.bvh import END, LEG, MIXAMO, MIXAMO_LIMB, OURS, Bvh, Tree, renamed, written


def assert_same_positions(clip: Clip, bvh: Bvh, ours: dict[str, str], scale: float = 0.01, world: Floats | None = None) -> None:
    """Compare positions of all joints that the file has."""
    p = compute_forward_kinematics(clip.skeleton, clip.rotvec, clip.root_m)[1]
    for n in range(len(bvh.root)):
        theirs = bvh.positions(n)
        for name, joint in ours.items():
            expected = (np.eye(3) if world is None else world) @ theirs[joint] * scale
            np.testing.assert_allclose(p[n, JOINT_INDEX[name]], expected, atol=1e-9, err_msg=f"{name}, frame {n}")


@pytest.mark.parametrize(
    ("printed", "fps"),
    [("0.0333", 30.0), ("0.033333", 30.0), ("0.00833", 120.0), ("0.033366667", 29.97003), ("0.0166833", 59.94018)],
)
def test_a_rate_is_whole_where_the_digits_allow_it(tmp_path: Path, printed: str, fps: float) -> None:
    text = Bvh(MIXAMO, 1, "ZXY").text().replace("Frame Time: 0.0083333", f"Frame Time: {printed}")
    assert read_clip(written(tmp_path, text)).fps == pytest.approx(fps, rel=2e-6)


@pytest.mark.parametrize("order", ["ZXY", "XYZ", "YXZ"])
def test_joints_are_where_the_source_puts_them(tmp_path: Path, order: str) -> None:
    bvh = Bvh(MIXAMO, 1, order)
    clip = read_clip(written(tmp_path, bvh.text()))
    assert (clip.name, clip.fps) == ("dance", 120.0)
    assert_same_positions(clip, bvh, OURS)
    tails, offsets = clip.skeleton.tails_m, clip.skeleton.offsets_m
    np.testing.assert_allclose(tails[JOINT_INDEX["leftHand"]], [0.17, 0, 0], atol=1e-9)  # the middle finger's end
    np.testing.assert_allclose(tails[JOINT_INDEX["head"]], [0, 0.18, 0.02], atol=1e-9)
    assert {name for name in JOINTS if not offsets[JOINT_INDEX[name]].any()} == {"hips"}


PREFIXED = {name: f"mixamorig:{name}" for name, _, _ in MIXAMO if name != END}
VRM = {theirs: ours for ours, theirs in OURS.items()}
ELBOWS = dict(zip(MIXAMO_LIMB, ("Collar", "Shoulder", "Elbow", "Wrist", "Hip", "Knee", "Ankle", "Foot"), strict=True))


@pytest.mark.parametrize(
    "names",
    [PREFIXED, VRM, {side + old: side + new for side in ("Left", "Right") for old, new in ELBOWS.items()} | {"Spine2": "Chest9"}],
    ids=["prefixes", "VRM's names are ours", "elbows, where shoulder is the upper arm"],
)
def test_names_of_several_makes(tmp_path: Path, names: dict[str, str]) -> None:
    bvh = Bvh(renamed(names, MIXAMO), 2)
    text = bvh.text().replace("\n", "\r\n")
    assert_same_positions(read_clip(written(tmp_path, text)), bvh, {ours: names.get(name, name) for ours, name in OURS.items()})


def test_inches_are_recognised(tmp_path: Path) -> None:
    bvh = Bvh([(name, parent, tuple(np.array(offset) / 2.54)) for name, parent, offset in MIXAMO], 3)
    assert_same_positions(read_clip(written(tmp_path, bvh.text())), bvh, OURS, 0.0254)


def test_a_rest_pose_with_arms_hanging_down_and_z_up(tmp_path: Path) -> None:
    """The same person modelled Z up and facing -Y, arms down: our rest is still a T-pose and our world Y up."""
    down = {"LeftForeArm", "LeftHand", "LeftHandMiddle1", "RightForeArm", "RightHand"}
    tree: Tree = []
    for name, parent, offset in MIXAMO:
        x, y, z = (0.0, -abs(offset[0]), offset[2]) if name in down or (name == END and "Hand" in parent) else offset
        tree.append((name, parent, (x, -z, y)))
    bvh = Bvh(tree, 3)
    clip = read_clip(written(tmp_path, bvh.text()))
    assert_same_positions(clip, bvh, OURS, 0.01, np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]]))
    offset = clip.skeleton.offsets_m
    np.testing.assert_allclose(offset[JOINT_INDEX["leftHand"]], [0.25, 0, 0], atol=1e-9)
    np.testing.assert_allclose(offset[JOINT_INDEX["rightHand"]], [-0.24, 0, 0], atol=1e-9)
    np.testing.assert_allclose(offset[JOINT_INDEX["rightToes"]], [0, -0.06, 0.14], atol=5e-3)


def test_cmu_names_fold_extra_joints_and_take_the_spine_by_order(tmp_path: Path) -> None:
    rename = {"Spine": "LowerBack", "Spine1": "Spine", "Spine2": "Spine1"}
    extra: dict[str, Tree] = {"Head": [("Neck1", "Neck", (0, 5, 0)), ("Head", "Neck1", (0, 4, 1))]}
    for side in ("Left", "Right"):
        hip = side[0] + "HipJoint"
        extra[f"{side}UpLeg"] = [(hip, "Hips", (0, 0, 0)), (f"{side}UpLeg", hip, (9 if side == "Left" else -9, -6, 0))]
    tree = [joint for old in MIXAMO for joint in extra.get(old[0], [old])]
    bvh = Bvh(renamed(rename, tree), 4, still=("LHipJoint", "RHipJoint"))
    ours = {name: rename.get(theirs, theirs) for name, theirs in OURS.items()} | {"upperNeck": "Neck1"}
    assert_same_positions(read_clip(written(tmp_path, bvh.text())), bvh, ours)


def test_missing_neck_clavicles_and_toes_are_made_up_from_what_is_there(tmp_path: Path) -> None:
    gone = {"Neck": "Spine2", "LeftShoulder": "Spine2", "LeftToeBase": "LeftFoot"}
    bvh = Bvh([(name, gone.get(parent, parent), offset) for name, parent, offset in MIXAMO if name not in gone], 7)
    clip = read_clip(written(tmp_path, bvh.text()))
    assert_same_positions(clip, bvh, {name: theirs for name, theirs in OURS.items() if theirs not in gone})
    offset, local = clip.skeleton.offsets_m, local_from_charted(clip.rotvec)
    for name in ("neck", "upperNeck", "head"):
        np.testing.assert_allclose(offset[JOINT_INDEX[name]], np.array([0, 9, 1]) / 300, atol=1e-9)
    np.testing.assert_allclose(offset[JOINT_INDEX["leftToes"]], [0, 0, 0.06], atol=3e-3)  # the end site of the foot
    for name in ("neck", "upperNeck", "leftShoulder", "leftToes"):
        np.testing.assert_allclose(local[:, JOINT_INDEX[name]], np.broadcast_to(np.eye(3), (3, 3, 3)), atol=1e-9)


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("OFFSET 28 0 0", "OFFSET 28 zero 0", "OFFSET 28 zero 0", "could not convert"),
        ("OFFSET 28 0 0", "OFFSET nan 0 0", "OFFSET nan 0 0", "three finite numbers"),
        ("CHANNELS 3 Zrotation", "CHANNELS 4 Zrotation", "CHANNELS 4 Zrotation", "expected 4 channels"),
        ("Frame Time: 0.0083333", "Frame Time: 0", "Frame Time: 0", "expected one or more"),
        ("Frames: 3", "Frames: three", "Frame Time", "Frames: count"),
        ("Frames: 3", "Frames: 5", "", "found; is the file cut short"),
        ("MOTION", "MOTIONS", "", "no MOTION"),
        ("\tJOINT LeftUpLeg", "\tBONE LeftUpLeg", "BONE", "expected ROOT"),
        ("0.0083333\n", "0.0083333\nnan ", "nan ", "finite number, found 'nan'"),
        ("0.0083333\n", "0.0083333\n1 ", "\n1 ", "numbers, one a channel, found"),
    ],
)
def test_faults_are_named_with_file_and_line(tmp_path: Path, old: str, new: str, line: str, words: str) -> None:
    text = Bvh(MIXAMO, 9).text().replace(old, new, 1)
    path = written(tmp_path, text)
    number = text[: text.index(line) + line.startswith("\n")].count("\n") + 1 if line else len(text.splitlines())
    with pytest.raises(FileFormatError, match=re.escape(f"{path}, line {number}") + "(: |, column).*" + re.escape(words)):
        read_bvh(path)


def test_what_is_no_person_is_refused(tmp_path: Path) -> None:
    legless = [joint for joint in MIXAMO if not joint[0].endswith(LEG) and not joint[1].endswith(LEG)]
    with pytest.raises(FileFormatError, match=r"no joint is recognised as leftUpperLeg, leftLowerLeg, right.*--names map\.toml"):
        read_clip(written(tmp_path, Bvh(legless, 11).text()))
    giant = [(name, parent, tuple(1e4 * np.array(offset))) for name, parent, offset in MIXAMO]
    with pytest.raises(FileFormatError, match="units tall"):
        read_clip(written(tmp_path, Bvh(giant, 12).text()))
