"""rig.toml: what is written is read again, and each fault has its own line."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from calibration.camera import Rig
from calibration.formats.rig_toml import read_rig_toml, write_rig_toml
from config.errors import FileFormatError
from database.geometry.rotations import matrix_from_rotvec

TEXT = """
[cam_0]
name = "port"
size = [640, 480]
matrix = [[795.5, 0.0, 293.25], [0.0, 796.5, 219.75], [0.0, 0.0, 1.0]]
distortions = [-0.03, 0.5, 0.001, -0.002]
rotation = [0.0, 0.0, 0.0]
translation = [0.0, 0.0, 0.0]

[cam_1]
name = "starboard"
size = [800, 600]
matrix = [[801.0, 0.0, 411.0], [0, 802.0, 287.0], [0, 0, 1]]
distortions = [0.01, -0.02, 0.003, 0.004, -0.05]
rotation = [0.030609442, -1.2, 2.1]
translation = [-0.36577347, -0.001014521, -0.0015]

[metadata]
adjusted = false
error = 0.2917
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "rig.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_values_end_in_their_places(tmp_path: Path) -> None:
    rig = read_rig_toml(write(tmp_path, TEXT))
    assert (rig.cameras[0].name, rig.cameras[1].name) == ("port", "starboard")
    assert (rig.cameras[0].size, rig.cameras[1].size) == ((640, 480), (800, 600))
    assert (
        rig.cameras[0].matrix[0, 0],
        rig.cameras[0].matrix[1, 1],
        rig.cameras[0].matrix[0, 2],
        rig.cameras[0].matrix[1, 2],
    ) == (795.5, 796.5, 293.25, 219.75)
    assert (len(rig.cameras[0].distortions), len(rig.cameras[1].distortions)) == (4, 5)
    np.testing.assert_array_equal(rig.cameras[1].rotation, matrix_from_rotvec([0.030609442, -1.2, 2.1]))
    assert rig.error_px == 0.2917
    assert not rig.floor_known


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("[cam_1]", "[right]", r"without a gap; expected \[cam_0\], \[cam_1\], got \[cam_0\], \[right\]"),
        ("[metadata]", "[cam_3]\n[metadata]", r"without a gap; expected \[cam_0\], \[cam_1\], \[cam_2\], got"),
        ("rotation = [0.0, 0.0, 0.0]", "rotation = [0.0, 0.0]", r"\[cam_0\] rotation must be 3 numbers"),
        ("rotation = [0.0, 0.0, 0.0]", "", r"\[cam_0\] lacks rotation; expected 3 numbers"),
        ("rotation = [0.0, 0.0, 0.0]", "rotation = [0.0, true, 0.0]", "rotation must be 3 numbers"),
        ("rotation = [0.0, 0.0, 0.0]", 'rotation = [0.0, "1", 0.0]', "rotation must be 3 numbers"),
        ("[-0.03, 0.5, 0.001, -0.002]", "[-0.03, 0.5, 0.001]", "distortions must be 1, 2, 4, 5, 8, 12 or 14 numbers"),
        ("[-0.03, 0.5, 0.001, -0.002]", "[-0.03, nan, 0.001, 0.0]", "distortions holds a number that is not finite"),
        ("795.5", "0.7955", "focal length fx = 0.7955 px, expected 128 to 19200 px"),
        ("796.5", "-796.5", "focal length fy"),
        ("293.25", "29325.0", "principal point cx"),
        ("[0, 0, 1]", "[0, 1, 1]", "matrix must be"),
        ("[640, 480]", "[640.5, 480]", "size must be width and height"),
        ("[640, 480]", "[640, 0]", "size must be width and height"),
        ("-0.36577347", "-365.77347", "366 m apart|365.7.* m apart"),
        ("-0.36577347, -0.001014521, -0.0015", "0.0, 0.0, 0.0", "0 m apart"),
        ("error = 0.2917", 'error = "low"', "error must be the reprojection RMS"),
        ("error = 0.2917", "floor_known = 1", "floor_known must be true or false"),
        ("adjusted", "adjusted =", "not valid TOML"),
        ('name = "port"', "fisheye = 1", "fisheye must be true or false"),
        ("[-0.03, 0.5, 0.001, -0.002]", "[-0.03, 0.5, 0.001, 0.0, 0.0]\nfisheye = true", "distortions must be 4 numbers"),
    ],
)
def test_each_fault_has_its_line(tmp_path: Path, old: str, new: str, expected: str) -> None:
    assert old in TEXT
    with pytest.raises(FileFormatError, match=expected) as caught:
        read_rig_toml(write(tmp_path, TEXT.replace(old, new, 1)))
    assert "\n" not in str(caught.value)
    assert "rig.toml" in str(caught.value)


def test_missing_file_and_bytes_that_are_no_text(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"no such file.*duocap simulate"):
        read_rig_toml(tmp_path / "none.toml")
    (tmp_path / "rig.toml").write_bytes(b"cam\x00")
    with pytest.raises(FileFormatError, match=r"rig\.toml:1: a byte 00, .*binary"):
        read_rig_toml(tmp_path / "rig.toml")


def test_writing_to_no_folder_says_so(tmp_path: Path) -> None:
    rig = read_rig_toml(write(tmp_path, TEXT))
    with pytest.raises(FileFormatError, match="cannot be written"):
        write_rig_toml(tmp_path / "nowhere" / "rig.toml", rig)


def test_real_rig(shared_data: Path) -> None:
    rig = read_rig_toml(shared_data / "two_webcams" / "rig.toml")
    assert rig.baseline_m == pytest.approx(0.366, abs=5e-4)
    assert rig.error_px == 0.2917


def test_the_verdict_is_kept_and_absent_where_nobody_judged(tmp_path: Path) -> None:
    rig = read_rig_toml(write(tmp_path, TEXT))
    assert rig.grade == ""
    write_rig_toml(tmp_path / "judged.toml", replace(rig, grade="poor"))
    assert read_rig_toml(tmp_path / "judged.toml").grade == "poor"
    with pytest.raises(FileFormatError, match="verdict must be a word"):
        read_rig_toml(write(tmp_path, TEXT.replace("adjusted = false", "verdict = 3")))


def test_one_camera_alone_is_written_as_one(tmp_path: Path) -> None:
    rig = read_rig_toml(write(tmp_path, TEXT))
    write_rig_toml(tmp_path / "lone.toml", Rig((rig.cameras[1],), 0.25))
    text = (tmp_path / "lone.toml").read_text(encoding="utf-8")
    assert "[cam_0]" in text and "[cam_1]" not in text
    lone = read_rig_toml(tmp_path / "lone.toml")
    assert lone.is_monocular and lone.cameras[0].name == "starboard" and lone.error_px == 0.25
