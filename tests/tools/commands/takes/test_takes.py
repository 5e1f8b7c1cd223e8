"""Motion files are takes: each command that takes one takes BVH, AMC, glTF animations and recordings."""

from pathlib import Path

import numpy as np
import pytest

from config.errors import DuocapError
from database.files.read import read_clip
from database.geometry.kinematics import compute_forward_kinematics
from database.store import open_database
from stream.recording.recording import open_recording
from stream.take.read import find_recording, read_take
from stream.take.recorded import write_recording
from tests.support.commands import duocap
from tests.support.files.bvh import MIXAMO, renamed, small, written
from tools.pose import PoseTask, open_posing_page, prepare_posing, sort_files_by_kind


def test_a_motion_is_exported_with_what_was_found_of_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file, out = written(tmp_path, small(MIXAMO, 3).text()), tmp_path / "walk.glb"
    result = duocap(capsys, "export", file, "--out", out, "--smooth", 0.1)
    assert result.status == 0, result.err
    assert "24 frames at 120 Hz, 1.74 m tall, taken as centimetres, Y up; joints within 0.0 mm" in result.out
    result = duocap(capsys, "export", out, "--out", tmp_path / "again.bvh")
    assert result.status == 0, result.err
    before, after = read_clip(file), read_clip(tmp_path / "again.bvh")
    p, q = (compute_forward_kinematics(clip.skeleton, clip.rotvec, clip.root_m)[1] for clip in (before, after))
    assert np.abs(p[5:-5] - q[5:-5]).max() < 0.01  # smoothed over 0.1 s


def test_what_is_said_of_a_motion_counts(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    names = {name: name.replace("Left", "Xa").replace("Right", "Xb") for name, _, _ in MIXAMO if name.endswith("Leg")}
    file = written(tmp_path, small(renamed(names, MIXAMO), 3).text())
    table = tmp_path / "names.toml"
    table.write_text(
        'leftUpperLeg = "XaUpLeg"\nleftLowerLeg = "XaLeg"\nrightUpperLeg = "XbUpLeg"\nrightLowerLeg = "XbLeg"\n', "utf-8"
    )
    words = ("--names", table, "--unit", "in", "--up", "z", "--rate", 30)
    result = duocap(capsys, "export", file, "--out", tmp_path / "out.bvh", *words)
    assert result.status == 0, result.err
    assert "24 frames at 30 Hz, 4.41 m tall, inches as given, Z up as given" in result.out
    for wrong, said in (("leftThigh", "XaUpLeg"), ("leftUpperLeg", "XaThigh"), ("leftUpperArm", "")):
        table.write_text(f'{wrong} = "{said}"\n', "utf-8")
        result = duocap(capsys, "export", file, "--out", tmp_path / "out.bvh", "--names", table)
        assert result.status == 1 and wrong in result.last and said in result.last


def test_a_motion_is_shown_as_a_recording(tmp_path: Path) -> None:
    said = list[str]()
    file = written(tmp_path, small(MIXAMO, 4).text())
    found = find_recording(file, tmp_path, tell=said.append)
    recording = open_recording(found)
    assert found.name == "dance.mcap" and len(recording.poses) == 24 and len(said) == 1
    assert find_recording(found, tmp_path) == found
    assert find_recording(file, tmp_path).name == "dance 2.mcap"  # two of one name, side by side


def test_a_file_of_another_kind_is_told_what_is_read(tmp_path: Path) -> None:
    file = tmp_path / "walk.fbx"
    file.write_bytes(b"Kaydara FBX Binary  ")
    with pytest.raises(DuocapError, match=r"cannot be read as motion; give a motion \(\.amc, \.bvh"):
        find_recording(file, tmp_path)


def test_a_database_takes_all_kinds(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = tmp_path / "motions"
    folder.mkdir()
    file = written(folder, small(MIXAMO, 5, n_frames=60).text())
    for name in ("other.glb", "third.bvh"):
        assert duocap(capsys, "export", written(tmp_path, small(MIXAMO, len(name)).text()), "--out", folder / name).status == 0
    (folder / "chair.glb").write_bytes(b"glTF without a motion")
    write_recording(tmp_path / "recorded.mcap", read_take(file))
    out = tmp_path / "all.duodb"
    words = ("--out", out, "--fps", 30, "--no-graph", "--processes", 1)
    result = duocap(capsys, "database", "build", folder, tmp_path / "recorded.mcap", *words)
    assert result.status == 0, result.err
    assert {"dance", "other", "third", "recorded"} <= set(open_database(out).clip_names)


def test_posing_begins_with_a_take(tmp_path: Path) -> None:
    file = written(tmp_path, small(MIXAMO, 6, n_frames=120).text().replace("0.0083333", "0.0333333"))
    given = sort_files_by_kind([file])
    assert given.take == file and given.session is None
    from config.settings import Settings

    task = PoseTask(Settings(), model="local", take=given.take, browser=False)
    app, _ = open_posing_page(prepare_posing(task, lambda line: None), task.settings.viewer)
    try:
        keys = app.session.document.keys
        assert len(keys) == 16 and keys[1].time_s == pytest.approx(0.25, abs=0.02)
    finally:
        app.close()
