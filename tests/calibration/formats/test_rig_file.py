"""Rig files of other programs: what they mean, and that nothing is lost on the way there and back; aniposelib, which nobody here
wrote, sees points where we do.
"""

import json
import subprocess
import tomllib
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from calibration.camera import Camera, Rig
from calibration.formats.camera_file import ReadOptions
from calibration.formats.rig_file import (
    FORMATS,
    format_of,
    read_camera_file,
    read_cameras,
    read_one_camera,
    read_rig,
    write_rig_file,
)
from config.errors import FileFormatError
from database.geometry.rotations import matrix_from_rotvec
from tests.support.judges import python_with
from tools.commands.calibrate.group import app

NAMES = {
    "toml": "rig.toml",
    "caliscope": "camera_array.toml",
    "opencv": "rig.yml",
    "kalibr": "camchain.yaml",
    "easymocap": "calib",
    "qualisys": "rig.qca.txt",
}

WITH_K3 = [form for form in FORMATS if form != "kalibr"]


def a_rig(
    left_turn: tuple[float, ...] = (3.0, 0.1, -0.2),
    right_turn: tuple[float, ...] = (2.9, -0.2, 0.15),
    places_m: tuple[tuple[float, ...], ...] = ((-0.21, 1.3, 3.7), (0.33, 1.4, 3.9)),
) -> Rig:
    """Return a rig in which nothing is alike: two sizes, two lenses, two places."""
    cameras = []
    for name, size, turn, place in zip(
        ("left", "right"), ((640, 480), (1280, 720)), (left_turn, right_turn), places_m, strict=True
    ):
        f = 0.93 * size[0]
        K = np.array([[f, 0.0, 0.5 * size[0] - 7.3], [0.0, 1.01 * f, 0.5 * size[1] + 3.1], [0.0, 0.0, 1.0]])
        lens = np.array([-0.031, 0.5, 0.00089, -0.0026, -2.4]) * (1.0 if name == "left" else -0.7)
        R = matrix_from_rotvec(np.array(turn))
        cameras.append(Camera(name, size, K, lens, R, -R @ np.array(place)))
    return Rig(cameras[0], cameras[1], error_px=0.2917, floor_known=True)


def assert_alike(a: Rig, b: Rig, tolerance: float) -> None:
    """Check that two rigs are the same to the last bits."""
    for one, other in zip(a.cameras, b.cameras, strict=True):
        assert one.size == other.size
        for what in ("matrix", "distortions", "rotation", "translation"):
            np.testing.assert_allclose(getattr(other, what), getattr(one, what), rtol=tolerance, atol=tolerance, err_msg=what)


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
def test_fisheyes_come_back_where_there_is_a_place_for_them(form: str, tmp_path: Path) -> None:
    """One camera of two, so that it is told of each; Kalibr's world is the left camera."""
    rig = a_rig()
    wide = replace(rig.left, distortions=np.array([-0.021, 0.0064, -0.0031, 0.0007]), fisheye=True)
    rig = replace(rig, left=wide, right=replace(rig.right, distortions=rig.right.distortions[:4].copy()))
    if form in ("easymocap", "qualisys"):
        with pytest.raises(FileFormatError, match="no place for fisheye lenses; write toml"):
            write_rig_file(tmp_path / NAMES[form], rig, form)
        return
    write_rig_file(tmp_path / NAMES[form], rig, form)
    back = read_rig(tmp_path / NAMES[form])
    assert [camera.fisheye for camera in back.cameras] == [True, False]
    point_m = np.array([0.1, 1.2, 1.7])
    at = rig.left.to_camera(point_m) if form == "kalibr" else point_m
    for one, other in zip(rig.cameras, back.cameras, strict=True):
        np.testing.assert_allclose(other.project(at), one.project(point_m), atol=1e-9)
    if form == "kalibr":
        with pytest.raises(FileFormatError, match=r"k3 = -2.4, for which Kalibr has no place"):
            write_rig_file(tmp_path / "other.yaml", a_rig(), form)


KALIBR = """cam0:
  cam_overlaps: [1]
  camera_model: pinhole
  distortion_coeffs: [-0.294, 0.082, 0.0002, -0.0001]
  distortion_model: radtan
  intrinsics: [461.487, 460.155, 362.673, 246.317]
  resolution: [752, 480]
  rostopic: /cam0/image_raw
cam1:
  T_cn_cnm1:
  - [0.0, 1.0, 0.0, -0.11]
  - [-1.0, 0.0, 0.0, 0.01]
  - [0.0, 0.0, 1.0, 0.02]
  - [0.0, 0.0, 0.0, 1.0]
  camera_model: omni
  distortion_model: radtan
"""


def test_a_chain_of_kalibr(tmp_path: Path) -> None:
    """T_cn_cnm1 takes points of the camera before to the next; models that we do not have are named."""
    file = tmp_path / "camchain.yaml"
    file.write_text(
        KALIBR.replace("omni\n  distortion_model: radtan", KALIBR[KALIBR.index("pinhole") : KALIBR.index("cam1")].strip())
    )
    rig = read_rig(file)
    np.testing.assert_allclose(rig.right.to_camera([0.3, -0.2, 2.0]), [-0.31, -0.29, 2.02])
    assert rig.left.size == (752, 480) and rig.left.matrix[1, 2] == 246.317 and rig.left.distortions[1] == 0.082
    file.write_text(KALIBR)
    with pytest.raises(FileFormatError, match="cam1 is of the model omni-radtan; expected pinhole-radtan"):
        read_rig(file)
    assert read_cameras(file, ReadOptions(names=("cam0",))).is_monocular


def test_matrices_come_back_from_opencv_bit_by_bit(tmp_path: Path) -> None:
    """Every digit is written."""
    rig = a_rig()
    for name in ("rig.yml", "rig.xml", "rig.yaml"):
        write_rig_file(tmp_path / name, rig, "opencv")
        back = read_rig(tmp_path / name)
        for one, other in zip(rig.cameras, back.cameras, strict=True):
            for what in ("matrix", "distortions", "rotation", "translation"):
                assert np.array_equal(getattr(one, what), getattr(other, what)), what
        assert (back.left.name, back.right.name, back.floor_known) == ("left", "right", True)


def test_opencv_itself_reads_what_is_written_for_it(tmp_path: Path) -> None:
    """A point seen by OpenCV's own reading of M1, R, T is where our cameras see it."""
    rig = a_rig()
    write_rig_file(tmp_path / "rig.yml", rig, "opencv")
    store = cv2.FileStorage(str(tmp_path / "rig.yml"), cv2.FILE_STORAGE_READ)
    M2, D2, R, T = (store.getNode(name).mat() for name in ("M2", "D2", "R", "T"))
    point_m = np.array([0.2, 1.1, 0.3])
    in_left = rig.left.to_camera(point_m)
    seen, _ = cv2.projectPoints(in_left[None, None], cv2.Rodrigues(R)[0], T, M2, D2)
    np.testing.assert_allclose(seen.ravel(), rig.right.project(point_m), atol=1e-9)


def test_files_of_the_stereo_sample_are_read_together(tmp_path: Path) -> None:
    """The two files of OpenCV's stereo sample make one rig; the size they lack is asked for."""
    for name, values in (
        ("intrinsics.yml", {"M1": [[500, 0, 310], [0, 501, 250], [0, 0, 1]], "D1": [[0.1, 0, 0, 0, 0]]}),
        ("extrinsics.yml", {"R": np.eye(3).tolist(), "T": [[-0.3], [0.01], [0.0]]}),
    ):
        store = cv2.FileStorage(str(tmp_path / name), cv2.FILE_STORAGE_WRITE)
        for key, value in values.items():
            store.write(key, np.array(value, float))
            if key in ("M1", "D1"):
                store.write(key.replace("1", "2"), np.array(value, float) * [[1.0]])
        store.release()
    with pytest.raises(FileFormatError, match="--size"):
        read_rig(tmp_path / "intrinsics.yml")
    for asked in (tmp_path / "intrinsics.yml", tmp_path / "extrinsics.yml", tmp_path):
        rig = read_rig(asked, ReadOptions(size=(640, 480)))
        assert rig.baseline_m == pytest.approx(np.hypot(0.3, 0.01))
        assert rig.right.center_m == pytest.approx([0.3, -0.01, 0.0])
        assert rig.left.matrix[0, 2] == 310


def test_a_lone_camera_of_opencv(tmp_path: Path) -> None:
    """camera_matrix of one camera is a rig of one; where two are needed that is said."""
    rig = a_rig()
    lone = Rig(rig.left, rig.left, 0.31)
    write_rig_file(tmp_path / "one.yml", lone, "opencv")
    back = read_cameras(tmp_path / "one.yml")
    assert back.is_monocular and back.left.name == "left" and back.error_px == 0.31
    assert np.array_equal(back.left.matrix, rig.left.matrix)
    with pytest.raises(FileFormatError, match="one camera"):
        read_rig(tmp_path / "one.yml")


QCA = """<?xml version="1.0" encoding="UTF-8"?>
<calibration calibrated="true" source="" type="regular">
 <cameras>
  <camera active="1" calibrated="true" avg-residual="0.4" serial="{serial}" model="Oqus Video" viewrotation="0">
   <fov_video left="{left}" top="0" right="1295" bottom="1023"/>
   <fov_video_max left="0" top="0" right="1295" bottom="1023"/>
   <transform x="2000.0" y="0.0" z="1500.0" r11="0" r12="1" r13="0" r21="0" r22="0" r23="1" r31="1" r32="0" r33="0"/>
   <intrinsic focallength="24.5" sensorMinU="0.0" sensorMaxU="82943.0" sensorMinV="0.0" sensorMaxV="65535.0"
     focalLengthU="112000.0" focalLengthV="111360.0" centerPointU="41472.0" centerPointV="32768.0" skew="0.0"
     radialDistortion1="-0.15" radialDistortion2="0.18" radialDistortion3="0.0" tangentalDistortion1="0.001"
     tangentalDistortion2="-0.0007"/>
  </camera>
  <camera active="1" calibrated="false" serial="9"/>
 </cameras>
</calibration>
"""


def test_a_qualisys_camera_looks_where_it_looks(tmp_path: Path) -> None:
    """At x = 2 m, 1.5 m high, looking along -x with z up: in our world it stands at (2, 1.5, 0) and its image is upright."""
    (tmp_path / "a.qca.txt").write_text(QCA.format(serial=7, left=0), encoding="utf-8")
    camera = read_cameras(tmp_path / "a.qca.txt").left
    assert camera.size == (1296, 1024)
    assert camera.center_m == pytest.approx([2.0, 1.5, 0.0])
    assert camera.rotation[2] == pytest.approx([-1.0, 0.0, 0.0])  # ahead
    assert camera.rotation[1] == pytest.approx([0.0, -1.0, 0.0])  # down the image
    assert camera.matrix[0, 0] == 1750.0 and camera.matrix[1, 1] == 1740.0 and camera.matrix[0, 2] == 648.0
    assert camera.distortions == pytest.approx([-0.15, 0.18, 0.001, -0.0007, 0.0])
    origin_px = camera.project([0.0, 1.5, 0.0])
    assert origin_px == pytest.approx([648.0, 512.0])
    assert camera.project([0.0, 1.9, 0.0])[1] < 512.0 - 300.0  # what is higher is higher in the image
    assert camera.project([0.0, 1.5, -0.3])[0] > 648.0  # its right is Qualisys' +y, our -z


def test_a_cropped_qualisys_view_shifts_the_centre(tmp_path: Path) -> None:
    """The principal point counts from the first column that is sent."""
    (tmp_path / "a.qca.txt").write_text(QCA.format(serial=7, left=100), encoding="utf-8")
    camera = read_cameras(tmp_path / "a.qca.txt").left
    assert camera.size == (1196, 1024) and camera.matrix[0, 2] == 548.0


def test_a_world_with_z_up_is_turned(tmp_path: Path) -> None:
    """What is up in the file is up in ours, and going back gives the file's own numbers."""
    rig = a_rig()
    write_rig_file(tmp_path / "rig.toml", rig, "toml")
    turned = read_rig(tmp_path / "rig.toml", ReadOptions(up="z"))
    point = np.array([0.3, -0.2, 1.7])  # with z up
    np.testing.assert_allclose(turned.left.project([0.3, 1.7, 0.2]), rig.left.project(point), atol=1e-9)
    assert turned.floor_known


def test_tables_by_any_name_and_a_choice_of_cameras(tmp_path: Path) -> None:
    """Pose2Sim names tables as its cameras; of three cameras two are chosen by name."""
    write_rig_file(tmp_path / "rig.toml", a_rig(), "toml")
    text = (
        (tmp_path / "rig.toml")
        .read_text(encoding="utf-8")
        .replace("[cam_0]", "[int_cam1_img]")
        .replace("[cam_1]", "[int_cam2_img]")
    )
    pose2sim = tmp_path / "Calib.toml"
    pose2sim.write_text(text, encoding="utf-8")
    assert_alike(a_rig(), read_rig(pose2sim), 1e-12)
    third = text + text[text.index("[int_cam2_img]") : text.index("[metadata]")].replace("cam2_img", "cam3_img").replace(
        '"right"', '"third"'
    )
    pose2sim.write_text(third, encoding="utf-8")
    with pytest.raises(FileFormatError, match=r"3 cameras \(left, right, third\)"):
        read_rig(pose2sim)
    assert read_rig(pose2sim, ReadOptions(names=("third", "left"))).left.name == "third"
    with pytest.raises(FileFormatError, match="no camera 'top'; it has left, right, third"):
        read_rig(pose2sim, ReadOptions(names=("top", "left")))


def test_caliscope_holds_what_is_needed(tmp_path: Path) -> None:
    """Tables [cameras.N] with the keys that program reads; ignored cameras are left out."""
    write_rig_file(tmp_path / "camera_array.toml", a_rig(), "caliscope")
    tables = tomllib.loads((tmp_path / "camera_array.toml").read_text(encoding="utf-8"))["cameras"]
    assert list(tables) == ["0", "1"] and {"size", "matrix", "distortions", "rotation", "translation", "rotation_count"} <= set(
        tables["0"]
    )
    text = (tmp_path / "camera_array.toml").read_text(encoding="utf-8")
    (tmp_path / "turned.toml").write_text(text.replace("rotation_count = 0", "rotation_count = 1", 1), encoding="utf-8")
    with pytest.raises(FileFormatError, match="90 degrees"):
        read_rig(tmp_path / "turned.toml")


def test_cameras_that_are_not_chosen_may_be_of_no_use(tmp_path: Path) -> None:
    """Of caliscope's camera 1 the images are rotated, and 4 is not calibrated; EasyMocap's camera right has no position."""
    array = tmp_path / "camera_array.toml"
    write_rig_file(array, a_rig(), "caliscope")
    tables = tomllib.loads(array.read_text(encoding="utf-8"))
    left, right = tables["cameras"].values()
    unknown = {**left, "name": "4", "matrix": "null", "distortions": "null", "rotation": "null", "translation": "null"}
    cameras = {"0": left, "1": {**right, "name": "1", "rotation_count": 1}, "2": right, "4": unknown}
    array.write_text(tomli_w.dumps({**tables, "cameras": cameras}), encoding="utf-8")
    assert read_rig(array, ReadOptions(names=("left", "right"))).right.name == "right"
    refused = {("left", "1"): "90 degrees", ("left", "4"): r"\[4\] is not calibrated", ("left", "left"): "named twice"}
    for names, told in refused.items():
        with pytest.raises(FileFormatError, match=told):
            read_rig(array, ReadOptions(names=names))
    write_rig_file(tmp_path / "calib", a_rig(), "easymocap")
    extri = tmp_path / "calib" / "extri.yml"
    extri.write_text(extri.read_text(encoding="utf-8").replace("T_right", "T_unknown"), encoding="utf-8")
    assert read_cameras(tmp_path / "calib", ReadOptions(names=("left",))).is_monocular


def test_easymocap_without_sizes_asks_for_them(tmp_path: Path) -> None:
    """Many such files do not say how large images are, and give six digits of the matrix: the vector counts then."""
    write_rig_file(tmp_path / "calib", a_rig(), "easymocap")
    intri = tmp_path / "calib" / "intri.yml"
    text = intri.read_text(encoding="utf-8")
    intri.write_text("\n".join(line for line in text.splitlines() if not line.startswith(("H_", "W_"))) + "\n", encoding="utf-8")
    with pytest.raises(FileFormatError, match="--size"):
        read_rig(tmp_path / "calib")
    extri = tmp_path / "calib" / "extri.yml"
    extri.write_text(extri.read_text(encoding="utf-8").replace("Rot_left", "Rot_unused"), encoding="utf-8")
    rig = read_rig(intri, ReadOptions(size=(640, 480)))
    np.testing.assert_allclose(rig.left.rotation, a_rig().left.rotation, atol=1e-14)
    (tmp_path / "calib" / "extri.yml").unlink()
    with pytest.raises(FileFormatError, match=r"extri\.yml is missing"):
        read_rig(tmp_path / "calib")


def test_millimetres_are_noticed(tmp_path: Path) -> None:
    """A baseline of hundreds of metres is one in millimetres; --unit takes it."""
    rig = a_rig()
    far = Rig(*(Camera(c.name, c.size, c.matrix, c.distortions, c.rotation, 1e3 * c.translation) for c in rig.cameras))
    write_rig_file(tmp_path / "rig.toml", far, "toml")
    with pytest.raises(FileFormatError, match="--unit mm"):
        read_rig(tmp_path / "rig.toml")
    assert_alike(rig, read_rig(tmp_path / "rig.toml", ReadOptions(unit_m=0.001)), 1e-12)


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
        ("a.png", "x", "not valid TOML|cannot read"),
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


@pytest.mark.parametrize("form", WITH_K3)
def test_no_format_makes_up_a_floor(form: str, tmp_path: Path) -> None:
    """A rig whose floor is not known comes back as one."""
    write_rig_file(tmp_path / NAMES[form], replace(a_rig(), floor_known=False), form)
    assert not read_rig(tmp_path / NAMES[form]).floor_known


@pytest.mark.parametrize("form", WITH_K3)
def test_either_camera_can_be_taken_alone(form: str, tmp_path: Path) -> None:
    """The left or the right one of any file, for what one camera alone saw."""
    write_rig_file(tmp_path / NAMES[form], a_rig(), form)
    for which, size in enumerate(((640, 480), (1280, 720))):
        rig = read_one_camera(tmp_path / NAMES[form], which)
        assert rig.is_monocular and rig.left.size == size


def test_names_say_formats(tmp_path: Path) -> None:
    """By suffix; what none has is refused with the list."""
    assert [format_of(Path(name)) for name in ("a.toml", "a.YML", "a.xml", "a.qca.txt", "calib")] == [
        "toml",
        "opencv",
        "opencv",
        "qualisys",
        "easymocap",
    ]
    with pytest.raises(FileFormatError, match="--format"):
        format_of(Path("a.png"))
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


SCRIPT = """
import json, sys
import numpy as np
from aniposelib.cameras import CameraGroup
group = CameraGroup.load(sys.argv[1])
points = np.array(json.loads(sys.argv[2]))
px = group.project(points)
back = group.triangulate(px.reshape(len(group.cameras), -1, 2))
group.dump(sys.argv[3])
print(json.dumps({"px": px.reshape(len(group.cameras), -1, 2).tolist(), "back": back.tolist(), "names": group.get_names()}))
"""


@pytest.mark.judge
def test_aniposelib_sees_points_where_we_do(tmp_path: Path) -> None:
    """Projections agree to 1e-6 px, its triangulation gives the points back, and its own file is the same rig."""
    python = python_with("aniposelib")
    rig = a_rig()
    write_rig_file(tmp_path / "rig.toml", rig, "toml")
    points = np.array([[0.05, 1.5, 1.7], [-0.12, 1.2, 1.2], [0.11, 1.31, 0.9]])
    arguments = [str(tmp_path / "rig.toml"), json.dumps(points.tolist()), str(tmp_path / "theirs.toml")]
    done = subprocess.run([python, "-c", SCRIPT, *arguments], capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["names"] == ["left", "right"]
    for camera, px in zip(rig.cameras, told["px"], strict=True):
        seen = camera.project(points)
        assert np.isfinite(seen).all()
        np.testing.assert_allclose(px, seen, atol=1e-6)
    np.testing.assert_allclose(told["back"], points, atol=1e-4)
    assert_alike(rig, read_rig(tmp_path / "theirs.toml"), 1e-12)
