"""Marker sets: presets, what a file must hold, and what is said when it does not."""

from pathlib import Path

import numpy as np
import pytest

from config.errors import FileFormatError
from config.joints import JOINT_INDEX, JOINTS, PARENTS, VRM_BONE, mirror_joint_name
from config.landmarks import LANDMARKS
from config.markers import NO_MARKERS, list_preset_names, read_marker_set

TORSO = '[a]\njoint = "leftUpperArm"\ntorso = true\n[b]\njoint = "hips"\ntorso = true\n[c]\njoint = "chest"\ntorso = true\n'


def written(tmp_path: Path, text: str) -> Path:
    """Write a marker file."""
    (tmp_path / "markers.toml").write_text(text, "utf-8")
    return tmp_path / "markers.toml"


def test_presets_are_whole_and_symmetric() -> None:
    assert set(list_preset_names()) >= {"locomotion", "boxing", "kendo", "dark_room"}
    for name in list_preset_names():
        markers = read_marker_set(name)
        assert 6 <= markers.worn.sum() <= 14 or name == NO_MARKERS
        assert markers.torso.sum() >= 3
        names = [JOINTS[joint] for joint in markers.joint]
        # A mark on one side has its twin, mirrored, on the other.
        for joint, offset in zip(names, markers.offset_m, strict=True):
            if joint.startswith("left"):
                twins = markers.offset_m[[other == mirror_joint_name(joint) for other in names]]
                assert np.any(np.all(np.isclose(twins, offset * (-1, 1, 1)), axis=1)), f"{name}: {joint}"


def test_a_file_becomes_arrays(tmp_path: Path) -> None:
    text = TORSO + '[d]\njoint = "rightHand"\noffset_m = [-0.08, 0.02, 1]\ncolor_rgb = [255, 128, 0]\n'
    markers = read_marker_set(written(tmp_path, text))
    assert markers.names == ("a", "b", "c", "d")
    assert [JOINTS[joint] for joint in markers.joint] == ["leftUpperArm", "hips", "chest", "rightHand"]
    assert markers.torso.tolist() == [True, True, True, False]
    assert markers.offset_m.tolist() == [[0, 0, 0]] * 3 + [[-0.08, 0.02, 1.0]]
    assert markers.has_color.tolist() == [False, False, False, True]
    assert markers.color_rgb[3].tolist() == [255, 128, 0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[x]\njoint = "leftWrist"\n', r"\[x\] names the unknown joint 'leftWrist'; known: hips, "),
        ('[x]\njoint = ["hips"]\n', r"names the unknown joint \['hips'\]"),
        ('[x]\njoint = "hips"\ntorso = "no"\n', "torso must be true or false, got 'no'"),
        ('[x]\njoint = "hips"\ncolor_rgb = [0, 256, 0]\n', "color_rgb must be from 0 to 255"),
        ("[x]\ntorso = true\n", r"\[x\] needs joint"),
        ("x = 3\n", r"\[x\] needs joint"),
        ('[x]\njoint = "hips"\ncolour = 3\n', r"\[x\] has the unknown key 'colour'; known: joint, torso, offset_m, color_rgb"),
        ('[x]\njoint = "hips"\noffset_m = [1, 2]\n', "offset_m must be three numbers"),
        ('[x]\njoint = "hips"\noffset_m = [80, 0, 0]\n', "offset_m is 80 m from its joint; offsets are in metres"),
        ('[x]\njoint = "hips"\noffset_m = [nan, 0, 0]\n', "offset_m is nan m"),
        ('[x]\njoint = "hips"\ntorso = true\n', "1 marker has torso = true, at least 3 are needed"),
        ("[x\n", "not valid TOML"),
    ],
)
def test_faulty_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(FileFormatError, match=message):
        read_marker_set(written(tmp_path, text))
    with pytest.raises(FileFormatError, match=r"cannot read the marker set \(no such file or folder\).*boxing"):
        read_marker_set(tmp_path / "absent.toml")


def test_joints_are_listed_parent_first_with_both_sides() -> None:
    assert PARENTS[0] == -1 and all(parent < joint for joint, parent in enumerate(PARENTS))
    for joint in JOINTS:
        assert mirror_joint_name(mirror_joint_name(joint)) == joint and mirror_joint_name(joint) in JOINT_INDEX
    assert mirror_joint_name("leftToes") == "rightToes" and mirror_joint_name("upperChest") == "upperChest"
    assert "upperNeck" not in VRM_BONE and VRM_BONE["head"] == "head"


def test_landmarks_are_markers_that_nobody_wears(tmp_path: Path) -> None:
    none = read_marker_set("none")
    assert not none.worn.any() and (none.landmark_sigma_m > 0).all()
    text = TORSO + '[d]\njoint = "rightHand"\nlandmark = "right_wrist"\nlandmark_sigma_m = 0.02\n'
    markers = read_marker_set(written(tmp_path, text))
    assert markers.worn.tolist() == [True, True, True, False] and LANDMARKS[markers.landmark[3]] == "right_wrist"
    with pytest.raises(FileFormatError, match="landmark must be one of nose, "):
        read_marker_set(written(tmp_path, text.replace("right_wrist", "sword")))
    with pytest.raises(FileFormatError, match="landmark_sigma_m must be metres"):
        read_marker_set(written(tmp_path, text.replace("0.02", "-1.0")))
