"""Files that are no calibration, or an absurd one: one line says what is wrong and what to do."""

from pathlib import Path

import pytest

from calibration.camera import Camera, Rig
from calibration.formats.camera_file import ReadOptions
from calibration.formats.rig_file import read_rig, write_rig_file
from config.errors import FileFormatError
from tests.support.rig_files import a_rig, assert_alike

ONE = "%YAML:1.0\n---\nimage_width: 640\nimage_height: 480\n"


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.yml", "M1: [1, 2\n", "not a YAML or XML file"),
        ("a.yml", "%YAML:1.0\n---\nx: 3\n", "no camera in it"),
        ("a.yml", "%YAML:1.0\n---\nM1: 3\nimage_width: 640\nimage_height: 480\n", "R or T|lacks R|M1"),
        ("a.yml", f"{ONE}camera_matrix: [[.Nan, 0, 320], [0, 500, 240], [0, 0, 1]]\n", "3 x 3 finite numbers"),
        ("a.yml", f"{ONE}camera_matrix: [[5.e7, 0, 320], [0, 500, 240], [0, 0, 1]]\n", "focal length fx = 5e"),
        ("a.qca.txt", "<calibration>", "not valid XML"),
        ("a.qca.txt", "<calibration><cameras/></calibration>", "no calibrated camera"),
        ("a.qca.txt", "<!DOCTYPE a [<!ENTITY b 'c'>]><calibration/>", "not a calibration of Qualisys"),
        ("a.qca.txt", "<calibration><cameras><camera serial='3'/></cameras></calibration>", "camera 3: lacks <intrinsic>"),
        ("a.toml", "x = 3\n", "no camera in it"),
        ("a.toml", "x = \n", "not valid TOML"),
        ("a.png", "x", "of no program that is read; expected TOML"),
    ],
)
def test_what_is_no_calibration_is_told_in_one_line(tmp_path: Path, name: str, text: str, words: str) -> None:
    """Every bad file gives one line that names it."""
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(FileFormatError, match=words) as caught:
        read_rig(tmp_path / name)
    assert "\n" not in str(caught.value) and name in str(caught.value)


def test_millimetres_are_noticed(tmp_path: Path) -> None:
    """A baseline of hundreds of metres is one in millimetres; --unit takes it."""
    rig = a_rig()
    far = Rig(tuple(Camera(c.name, c.size, c.matrix, c.distortions, c.rotation, 1e3 * c.translation) for c in rig.cameras))
    write_rig_file(tmp_path / "rig.toml", far, "toml")
    with pytest.raises(FileFormatError, match="--unit mm"):
        read_rig(tmp_path / "rig.toml")
    assert_alike(rig, read_rig(tmp_path / "rig.toml", ReadOptions(unit_m=0.001)), 1e-12)
