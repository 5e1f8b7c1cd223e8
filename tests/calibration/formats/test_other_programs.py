"""Rig files as other programs write and read them: what they mean; OpenCV and aniposelib see points where we do."""

import json
import subprocess
import tomllib
from pathlib import Path

import cv2
import numpy as np
import pytest
import tomli_w

from calibration.camera import Rig
from calibration.formats.camera_file import ReadOptions
from calibration.formats.rig_file import read_cameras, read_rig, write_rig_file
from config.errors import FileFormatError
from tests.support.judges import python_with
from tests.support.rig_files import a_rig, assert_alike

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
    np.testing.assert_allclose(rig.cameras[1].to_camera([0.3, -0.2, 2.0]), [-0.31, -0.29, 2.02])
    assert rig.cameras[0].size == (752, 480) and rig.cameras[0].matrix[1, 2] == 246.317 and rig.cameras[0].distortions[1] == 0.082
    file.write_text(KALIBR)
    with pytest.raises(FileFormatError, match="cam1 is of the model omni-radtan; expected pinhole-radtan"):
        read_rig(file)
    assert read_cameras(file, ReadOptions(names=("cam0",))).is_monocular


def test_opencv_itself_reads_what_is_written_for_it(tmp_path: Path) -> None:
    """A point seen by OpenCV's own reading of M1, R, T is where our cameras see it."""
    rig = a_rig()
    write_rig_file(tmp_path / "rig.yml", rig, "opencv")
    store = cv2.FileStorage(str(tmp_path / "rig.yml"), cv2.FILE_STORAGE_READ)
    M2, D2, R, T = (store.getNode(name).mat() for name in ("M2", "D2", "R", "T"))
    point_m = np.array([0.2, 1.1, 0.3])
    in_left = rig.cameras[0].to_camera(point_m)
    seen, _ = cv2.projectPoints(in_left[None, None], cv2.Rodrigues(R)[0], T, M2, D2)
    np.testing.assert_allclose(seen.ravel(), rig.cameras[1].project(point_m), atol=1e-9)


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
        assert rig.cameras[1].center_m == pytest.approx([0.3, -0.01, 0.0])
        assert rig.cameras[0].matrix[0, 2] == 310


def test_a_lone_camera_of_opencv(tmp_path: Path) -> None:
    """camera_matrix of one camera is a rig of one; where two are needed that is said."""
    rig = a_rig()
    lone = Rig((rig.cameras[0],), 0.31)
    write_rig_file(tmp_path / "one.yml", lone, "opencv")
    back = read_cameras(tmp_path / "one.yml")
    assert back.is_monocular and back.cameras[0].name == "left" and back.error_px == 0.31
    assert np.array_equal(back.cameras[0].matrix, rig.cameras[0].matrix)
    with pytest.raises(FileFormatError, match=r"a rig of 1 camera \(left\), but 2 were given"):
        read_rig(tmp_path / "one.yml", n_views=2)


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
    camera = read_cameras(tmp_path / "a.qca.txt").cameras[0]
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
    camera = read_cameras(tmp_path / "a.qca.txt").cameras[0]
    assert camera.size == (1196, 1024) and camera.matrix[0, 2] == 548.0


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
    with pytest.raises(FileFormatError, match="right and third are 0 m apart"):
        read_rig(pose2sim)
    assert read_rig(pose2sim, ReadOptions(names=("third", "left"))).cameras[0].name == "third"
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
    assert read_rig(array, ReadOptions(names=("left", "right"))).cameras[1].name == "right"
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
    np.testing.assert_allclose(rig.cameras[0].rotation, a_rig().cameras[0].rotation, atol=1e-14)
    (tmp_path / "calib" / "extri.yml").unlink()
    with pytest.raises(FileFormatError, match=r"extri\.yml is missing"):
        read_rig(tmp_path / "calib")


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
