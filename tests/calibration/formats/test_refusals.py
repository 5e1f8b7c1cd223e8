"""Files that are no calibration, or an absurd one: one line says what is wrong and what to do."""

from pathlib import Path

import pytest

from calibration.camera import Camera, Rig
from calibration.formats.camera_file import ReadOptions
from calibration.formats.rig_file import read_rig, write_rig_file
from config.errors import FileFormatError
from tests.support.rig_files import a_rig, assert_alike


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.yml", "M1: [1, 2\n", "not a YAML or XML file"),
        ("a.yml", "%YAML:1.0\n---\nx: 3\n", "no camera in it"),
        ("a.yml", "%YAML:1.0\n---\nM1: 3\nimage_width: 640\nimage_height: 480\n", "R or T|lacks R|M1"),
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


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("data: [ 595.2", "data: [ -595.2", "focal length fx = -595.2"),
        ("data: [ 595.2", "data: [ 5.952e+7", "focal length"),
        ("data: [ 595.2", "data: [ .Nan", "finite"),
    ],
)
def test_absurd_numbers_are_refused(tmp_path: Path, old: str, new: str, words: str) -> None:
    """A negative, an enormous and an undefined focal length."""
    write_rig_file(tmp_path / "rig.yml", a_rig(), "opencv")
    text = (tmp_path / "rig.yml").read_text(encoding="utf-8")
    key = text[text.index("M1:") :]
    start = key.index("data: [ ") + len("data: [ ")
    number = key[start : key.index(",", start)]
    damaged = text.replace(number, new.removeprefix("data: [ "), 1)
    assert damaged != text
    (tmp_path / "rig.yml").write_text(damaged, encoding="utf-8")
    with pytest.raises(FileFormatError, match=words):
        read_rig(tmp_path / "rig.yml")


def test_millimetres_are_noticed(tmp_path: Path) -> None:
    """A baseline of hundreds of metres is one in millimetres; --unit takes it."""
    rig = a_rig()
    far = Rig(tuple(Camera(c.name, c.size, c.matrix, c.distortions, c.rotation, 1e3 * c.translation) for c in rig.cameras))
    write_rig_file(tmp_path / "rig.toml", far, "toml")
    with pytest.raises(FileFormatError, match="--unit mm"):
        read_rig(tmp_path / "rig.toml")
    assert_alike(rig, read_rig(tmp_path / "rig.toml", ReadOptions(unit_m=0.001)), 1e-12)
