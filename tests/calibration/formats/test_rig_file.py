"""Rig files of all formats: nothing is lost on the way there and back, by the library and by the command."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from calibration.camera import Rig, compute_relative_pose
from calibration.formats.camera_file import ReadOptions
from calibration.formats.rig_file import FORMATS, find_format, read_camera_file, read_rig, write_rig_file
from config.errors import FileFormatError
from tests.support.rig_files import NAMES, WITH_K3, a_rig, assert_alike, four_cameras
from tools.commands.calibrate.group import app

angle, place = st.floats(-3.0, 3.0), st.tuples(*[st.floats(-5.0, 5.0)] * 3)


@pytest.mark.parametrize("form", WITH_K3)
@given(left=st.tuples(angle, angle, angle), right=st.tuples(angle, angle, angle), place_m=place)
@settings(max_examples=12, deadline=None)
def test_a_rig_comes_back_from_every_format(
    form: str,
    left: tuple[float, ...],
    right: tuple[float, ...],
    place_m: tuple[float, ...],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Written and read, a rig is the same to 1e-12; written once more it is the same file, byte by byte."""
    rig = a_rig(left, right, (place_m, tuple(np.add(place_m, (0.4, 0.02, -0.1)))))
    folder = tmp_path_factory.mktemp("formats")
    written = write_rig_file(folder / NAMES[form], rig, form)
    back = read_rig(folder / NAMES[form])
    assert_alike(rig, back, 1e-12)
    assert back.baseline_m == pytest.approx(rig.baseline_m, rel=1e-12)
    if form not in ("easymocap", "qualisys"):
        assert back.error_px == rig.error_px
    if form != "easymocap":  # its files cannot say so
        assert back.floor_known
    again = folder / f"again_{NAMES[form]}"
    rewritten = write_rig_file(again, back, form)
    if form != "qualisys":  # the place of a camera goes by way of its translation
        assert [file.read_bytes() for file in rewritten] == [file.read_bytes() for file in written]
    assert_alike(back, read_rig(again), 1e-12)


@pytest.mark.parametrize("form", FORMATS)
def test_four_cameras_come_back_from_every_format_and_some_by_name(form: str, tmp_path: Path) -> None:
    rig, file = four_cameras(), tmp_path / NAMES[form]
    written = write_rig_file(file, rig, form)
    back = read_rig(file)
    if form == "kalibr":  # its world is the first camera
        poses = [compute_relative_pose(rig.cameras[0], camera) for camera in rig.cameras]
        cameras = zip(rig.cameras, poses, strict=True)
        rig = Rig(tuple(replace(c, distortions=c.distortions[:4], rotation=R, translation=t) for c, (R, t) in cameras))
    assert_alike(rig, back, 1e-11)
    names = [camera.name for camera in back.cameras]
    assert names == (["cam0", "cam1", "cam2", "cam3"] if form == "kalibr" else ["view0", "view1", "view2", "view3"])
    rewritten = write_rig_file(tmp_path / f"again_{NAMES[form]}", back, form)
    if form not in ("qualisys", "kalibr"):  # a place goes by way of a translation there
        assert [each.read_bytes() for each in rewritten] == [each.read_bytes() for each in written]
    some = read_rig(file, ReadOptions(names=(names[3], names[0], names[2])))
    assert [camera.name for camera in some.cameras] == [names[3], names[0], names[2]]
    with pytest.raises(FileFormatError, match=f"camera '{names[1]}' was named twice"):
        read_rig(file, ReadOptions(names=(names[0], names[1], names[1])))


@pytest.mark.parametrize("form", FORMATS)
def test_nine_cameras_are_too_many_unless_eight_are_named(form: str, tmp_path: Path) -> None:
    file = tmp_path / NAMES[form]
    write_rig_file(file, four_cameras(9), form)
    with pytest.raises(FileFormatError, match=r"9 cameras \(.*\), expected 1 to 8 of different names|\[cam_0\] to \[cam_7\]"):
        read_rig(file)
    names = tuple(camera.name for camera in read_camera_file(file).cameras)
    assert len(read_rig(file, ReadOptions(names=names[1:]))) == 8


def test_a_real_calibration_of_four_cameras_is_read_whole(shared_data: Path) -> None:
    rig = read_rig(shared_data / "walk_four_cameras" / "calibration" / "Calib.qca.txt")
    assert [camera.name for camera in rig.cameras] == ["cam01", "cam02", "cam03", "cam04"] and rig.floor_known
    assert rig.baseline_m == pytest.approx(6.689, abs=1e-3)


@pytest.mark.parametrize("form", FORMATS)
def test_fisheyes_come_back_where_there_is_a_place_for_them(form: str, tmp_path: Path) -> None:
    """One camera of two, so that it is told of each; Kalibr's world is the left camera."""
    rig = a_rig()
    wide = replace(rig.cameras[0], distortions=np.array([-0.021, 0.0064, -0.0031, 0.0007]), fisheye=True)
    rig = replace(rig, cameras=(wide, replace(rig.cameras[1], distortions=rig.cameras[1].distortions[:4].copy())))
    if form in ("easymocap", "qualisys"):
        with pytest.raises(FileFormatError, match="no place for fisheye lenses; write toml"):
            write_rig_file(tmp_path / NAMES[form], rig, form)
        return
    write_rig_file(tmp_path / NAMES[form], rig, form)
    back = read_rig(tmp_path / NAMES[form])
    assert [camera.fisheye for camera in back.cameras] == [True, False]
    point_m = np.array([0.1, 1.2, 1.7])
    at = rig.cameras[0].to_camera(point_m) if form == "kalibr" else point_m
    for one, other in zip(rig.cameras, back.cameras, strict=True):
        np.testing.assert_allclose(other.project(at), one.project(point_m), atol=1e-9)
    if form == "kalibr":
        with pytest.raises(FileFormatError, match=r"k3 = -2.4, for which Kalibr has no place"):
            write_rig_file(tmp_path / "other.yaml", a_rig(), form)


def test_a_world_with_z_up_is_turned(tmp_path: Path) -> None:
    """What is up in the file is up in ours, and going back gives the file's own numbers."""
    rig = a_rig()
    write_rig_file(tmp_path / "rig.toml", rig, "toml")
    turned = read_rig(tmp_path / "rig.toml", ReadOptions(up="z"))
    point = np.array([0.3, -0.2, 1.7])  # with z up
    np.testing.assert_allclose(turned.cameras[0].project([0.3, 1.7, 0.2]), rig.cameras[0].project(point), atol=1e-9)
    assert turned.floor_known


@pytest.mark.parametrize("form", WITH_K3)
def test_no_format_makes_up_a_floor(form: str, tmp_path: Path) -> None:
    """A rig whose floor is not known comes back as one."""
    write_rig_file(tmp_path / NAMES[form], replace(a_rig(), floor_known=False), form)
    assert not read_rig(tmp_path / NAMES[form]).floor_known


def test_names_say_formats(tmp_path: Path) -> None:
    """By suffix; what none has is refused with the list."""
    assert [find_format(Path(name)) for name in ("a.toml", "a.YML", "a.xml", "a.qca.txt", "calib")] == [
        "toml",
        "opencv",
        "opencv",
        "qualisys",
        "easymocap",
    ]
    with pytest.raises(FileFormatError, match="--format"):
        find_format(Path("a.png"))
    with pytest.raises(FileFormatError, match="no such file"):
        read_camera_file(tmp_path / "nowhere")


def test_the_command_converts_there_and_back(tmp_path: Path) -> None:
    """Ours to EasyMocap with Z up and back again: nothing is lost; a bad choice ends with one line and status 1."""
    runner = CliRunner()
    write_rig_file(tmp_path / "rig.toml", a_rig(), "toml")
    there = ["rig.toml", "--out", "calib", "--out-up", "z"]
    back = ["calib", "--up", "z", "--out", "back.toml"]
    for words in (there, back):
        result = runner.invoke(app, ["convert", *(str(tmp_path / w) if w[:4] in ("rig.", "cali", "back") else w for w in words)])
        assert result.exit_code == 0, result.output
    assert "mm apart" in result.output
    assert_alike(a_rig(), read_rig(tmp_path / "back.toml"), 1e-12)
    assert read_rig(tmp_path / "back.toml").floor_known
    result = runner.invoke(app, ["convert", str(tmp_path / "calib"), "--out", str(tmp_path / "rig.png")])
    assert isinstance(result.exception, FileFormatError) and "--format" in str(result.exception)
