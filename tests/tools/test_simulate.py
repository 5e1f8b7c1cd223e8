"""`duocap simulate`: what it writes, and that it writes all of it or nothing."""

import csv
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

import tools.simulate as tool
from calibration.formats.rig_toml import read_rig_toml
from capture.sources.recorded_times import read_timestamps
from capture.sources.simulated.camera import SimulatedCamera
from capture.sources.simulated.scene import SimulatedScene
from capture.sources.source import VideoFile
from config.errors import DuocapError, FileFormatError
from config.joints import JOINTS
from config.markers import read_marker_set
from database.files.read import read_clip
from tests.support.commands import duocap
from tools.simulate import simulate_recording

SCENE = SimulatedScene(
    motion="wave", seconds=0.3, tpose_s=0.2, width_px=160, height_px=120, fps=30.0, markers="boxing", skew_ms=6.0, seed=2
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Simulate a short lit session, lossless."""
    out = tmp_path_factory.mktemp("simulated") / "new" / "session"
    calls: list[tuple[int, int]] = []
    result = simulate_recording(
        replace(SCENE, look="lit", empty_s=0.1), out, "ffv1", lambda done, total: calls.append((done, total))
    )
    assert result.tpose_s == (0.1, pytest.approx(0.3))
    assert calls[-1] == (2 * result.n_frames, 2 * result.n_frames)
    assert len(calls) == 2 * result.n_frames
    return out


def test_all_files_are_there_and_nothing_else(folder: Path) -> None:
    names = {file.name for file in folder.iterdir()}
    expected = {"left.avi", "right.avi", "timestamps.csv", "rig.toml", "markers.toml", "scene.toml"}
    assert names == expected | {"truth.npz", "truth.csv", "truth.bvh"}
    assert [file.name for file in folder.parent.iterdir()] == ["session"]


def test_videos_hold_what_the_cameras_saw_when_the_stamps_say(folder: Path) -> None:
    stamps = read_timestamps(folder / "timestamps.csv")
    assert stamps[:, 1] - stamps[:, 0] == pytest.approx(np.full(len(stamps), 0.006))
    scene = replace(SCENE, look="lit", empty_s=0.1)
    for side, name in enumerate(("left.avi", "right.avi")):
        video = VideoFile(folder / name, side)
        assert video.size == (160, 120)
        assert video.fps == pytest.approx(30.0)
        camera = SimulatedCamera(scene, side)
        assert camera.times_s[: len(stamps)] == pytest.approx(stamps[:, side], abs=1e-9)
        for _ in range(len(stamps)):
            recorded, drawn = video.read(), camera.read()
            assert recorded is not None
            assert drawn is not None
            # FFV1 keeps every bit of what it is given, which OpenCV converts to YUV and back in some builds.
            assert np.abs(recorded.image.astype(int) - drawn.image).mean() < 2.0
        assert video.read() is None


def test_a_camera_for_each_view(tmp_path: Path) -> None:
    """The first two stand where they stand without the others; a lone one has a column of stamps of its own."""
    rigs = {}
    for n in (1, 2, 4):
        simulate_recording(replace(SCENE, views=n, seconds=0.1, tpose_s=0.1), tmp_path / str(n))
        rigs[n] = read_rig_toml(tmp_path / str(n) / "rig.toml")
        stamps = read_timestamps(tmp_path / str(n) / "timestamps.csv")
        assert stamps.shape[1:] == (n,) and len(list((tmp_path / str(n)).glob("*.avi"))) == n == len(rigs[n])
    for n in (1, 4):
        assert rigs[n].cameras[0].center_m == pytest.approx(rigs[2].cameras[0].center_m)
    assert [camera.name for camera in rigs[4].cameras] == ["left", "right", "third", "fourth"]
    side, behind = (camera.center_m for camera in rigs[4].cameras[2:])
    assert side[0] > 1.0 and abs(side[2]) < 1e-9 and behind[2] < -1.0 and abs(behind[0]) < 1e-9
    assert stamps[0] == pytest.approx([0.0, 0.006, 0.003, 0.0015])


def test_truth_agrees_with_itself(folder: Path) -> None:
    truth = np.load(folder / "truth.npz")
    stamps, rig = read_timestamps(folder / "timestamps.csv"), read_rig_toml(folder / "rig.toml")
    n = len(stamps)
    assert truth["seconds"] == pytest.approx(stamps.mean(axis=1), abs=1e-9)
    assert truth["joint_m"].shape == (n, len(JOINTS), 3)
    assert list(truth["joints"]) == list(JOINTS)
    assert truth["visible"].shape == (2, n, 9)
    # The image points are those of each camera's own moment; half the skew earlier and later they are a little aside.
    for side, camera in enumerate(rig.cameras):
        away = np.linalg.norm(camera.project(truth["marker_m"]) - truth["image_px"][side], axis=-1)
        assert away.max() < 1.5
    still = stamps.mean(axis=1) < 0.28  # in the T-pose nothing moves
    away = rig.cameras[0].project(truth["marker_m"][still]) - truth["image_px"][0][still]
    assert np.abs(away).max() < 1e-5


def test_truth_is_exported_like_a_replay(folder: Path) -> None:
    truth = np.load(folder / "truth.npz")
    with (folder / "truth.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(truth["seconds"])
    assert [row["state"] for row in rows[:3]] == ["lost"] * 3
    assert rows[-1]["state"] == "tracking"
    hand = [float(rows[-1][f"leftHand.{axis}"]) for axis in "xyz"]
    assert hand == pytest.approx(truth["joint_m"][-1, JOINTS.index("leftHand")], abs=1e-5)
    clip = read_clip(folder / "truth.bvh")
    assert clip.n_frames == len(rows)
    assert clip.fps == pytest.approx(30.0, rel=1e-4)


def test_markers_file_names_the_colours_that_were_drawn(folder: Path) -> None:
    markers = read_marker_set(folder / "markers.toml")
    assert markers.names == read_marker_set("boxing").names
    assert np.array_equal(markers.joint, read_marker_set("boxing").joint)
    assert np.array_equal(markers.torso, read_marker_set("boxing").torso)
    assert markers.has_color.all()


def test_motion_jpeg_and_a_given_folder(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    (tmp_path / "left.avi").write_bytes(b"old")
    result = simulate_recording(SCENE, tmp_path)
    assert (tmp_path / "notes.txt").read_text(encoding="utf-8") == "mine"
    video = cv2.VideoCapture(str(tmp_path / "left.avi"))
    assert int(video.get(cv2.CAP_PROP_FRAME_COUNT)) == result.n_frames
    drawn = SimulatedCamera(SCENE, 0).frame_at(0).image
    ok, image = video.read()
    assert ok
    assert np.abs(image.astype(int) - drawn).mean() < 2.0
    assert not read_marker_set(tmp_path / "markers.toml").has_color.any()


def test_lost_frames_leave_both_videos_equally_long(tmp_path: Path) -> None:
    result = simulate_recording(replace(SCENE, drop=0.3, seconds=1.0), tmp_path)
    stamps = read_timestamps(tmp_path / "timestamps.csv")
    assert len(stamps) == result.n_frames
    assert not np.allclose(np.diff(stamps[:, 0]), np.diff(stamps[:, 0])[0])
    for name in ("left.avi", "right.avi"):
        assert int(cv2.VideoCapture(str(tmp_path / name)).get(cv2.CAP_PROP_FRAME_COUNT)) == result.n_frames


def test_a_failure_on_the_way_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise FileFormatError("the disk is full")

    monkeypatch.setattr(tool, "write_bvh", fails)
    with pytest.raises(FileFormatError, match="full"):
        simulate_recording(SCENE, tmp_path / "session")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("size", ["640", "640x", "ax4", "640x480x3", "-640x480"])
def test_what_is_no_size(size: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "--size" in duocap(capsys, "simulate", "wave", "--out", tmp_path / "x", f"--size={size}").last


@pytest.mark.parametrize(
    ("scene", "out", "codec", "word"),
    [
        (SCENE, "session", "h264", "codec"),
        (replace(SCENE, motion="nowhere.bvh"), "session", "mjpg", "nowhere.bvh"),
        (replace(SCENE, motion="moonwalk"), "session", "mjpg", "moonwalk"),
        (replace(SCENE, markers="moonset"), "session", "mjpg", "moonset"),
        (replace(SCENE, rig="norig.toml"), "session", "mjpg", "norig.toml"),
        (SCENE, "taken", "mjpg", "is a file"),
    ],
)
def test_faults_are_named_and_leave_nothing(tmp_path: Path, scene: SimulatedScene, out: str, codec: str, word: str) -> None:
    (tmp_path / "taken").write_text("a file", encoding="utf-8")
    with pytest.raises(DuocapError, match=word):
        simulate_recording(scene, tmp_path / out, codec)
    assert [file.name for file in tmp_path.iterdir()] == ["taken"]


def test_the_command_ends_as_promised(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "session"
    small = ("--size", "96x64", "--fps", "20", "--tpose", "0.2", "--seconds", "0.2", "--turn", "-30")
    done = duocap(capsys, "simulate", "wave", "--out", out, *small)
    assert done.status == 0, done.err
    assert (out / "truth.npz").exists() and "T-pose from 0 to 0.2 s" in done.out


def test_real_walking_fits_into_the_view(motion_dir: Path) -> None:
    scene = replace(SCENE, motion=str(motion_dir / "cmu" / "subjects" / "07" / "07_08.amc"), seconds=0.0, look="lit")
    camera = SimulatedCamera(scene, 0)
    seen = [camera.frame_with_truth(index) for index in range(20, len(camera.times_s), 25)]
    assert len(seen) > 3
    for _, image_px, shown in seen:
        assert np.all((image_px > 0) & (image_px < (160, 120)))
        assert shown.mean() > 0.5
