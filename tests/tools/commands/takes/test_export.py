"""`duocap export`: one recording of a walk as every format, parts of it, and each kind of bad input."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from config.joints import JOINT_INDEX, JOINTS
from config.markers import MarkerSet
from database.clips import Clip
from database.files.read import read_clip
from database.geometry.kinematics import compute_forward_kinematics
from database.geometry.rotations import matrix_from_rotvec, rotation_between, rotvec_from_matrix
from database.marker_files.c3d import read_c3d
from reconstruct.pose import Pose, TrackingState
from stream.protocol.codec import decode_message, encode_message
from stream.protocol.compose import compose_pose_message, compose_rig_message, compose_skeleton_message
from stream.protocol.messages import PoseMessage
from stream.recording.recorder import Recorder
from stream.recording.recording import open_recording
from tests.support import fakes
from tests.support.commands import duocap, read_rows
from tests.support.people import person, walk

N, LOST = 120, slice(40, 44)
UP = np.array([0.28, -0.96, 0.0])
UP_SEEN = np.array([0.28, -0.96, 0.07])


def recording(file: Path, floor_known: bool = True) -> Clip:
    """Record two seconds of a walk at 60 Hz, lost for four frames, its first marker not measured in frame 3."""
    subject = person()
    clip = walk(subject.skeleton)
    if not floor_known:
        clip = turned(clip, rotation_between((0.0, 1.0, 0.0), UP))
    skeleton = compose_skeleton_message(subject)
    recorder = Recorder(file, {"subject": subject.name, "session": "s1", "when": "2025-05-04T10:00:00+02:00"})
    seen = compose_rig_message(fakes.rig(), "s1")
    if not floor_known:
        seen = replace(seen, floor_known=False, up_xyz=tuple(UP_SEEN / np.linalg.norm(UP_SEEN)))
    for message in (skeleton, seen):
        recorder.write(encode_message(message), 1)
    for k in range(N):
        t_ns = 7_000_000_000 + round(k * 1e9 / 60.0)
        recorder.write(
            encode_message(compose_pose_message(_pose(k, t_ns, clip, subject.markers), skeleton, "s1", k, t_ns + 5)), t_ns + 5, k
        )
    recorder.close()
    return clip


def turned(clip: Clip, R: np.ndarray) -> Clip:
    """Turn a motion about the origin."""
    rotvec = clip.rotvec.astype(float)
    rotvec[:, 0] = rotvec_from_matrix(R @ matrix_from_rotvec(rotvec[:, 0]))
    return Clip(clip.name, clip.skeleton, clip.fps, rotvec, np.ascontiguousarray(clip.root_m @ R.T))


def _pose(k: int, t_ns: int, clip: Clip, markers: MarkerSet) -> Pose:
    """Return the k-th pose of the walk; marker m was measured at (m, k, 0)."""
    m = len(markers.names)
    measured = np.ones(m, bool)
    measured[0] = k != 3
    point_m = np.column_stack([np.arange(m), np.full(m, 0.01 * k), np.zeros(m)]).astype(float)
    return replace(
        fakes.pose(k, t_ns, clip.root_m[k]),
        rotvec=clip.rotvec[k].astype(float),
        state=TrackingState.LOST if LOST.start <= k < LOST.stop else TrackingState.TRACKING,
        marker_m=point_m,
        measured=measured,
        residual_m=np.zeros(m),
        seen=np.ones((2, m), bool),
        point_m=point_m,
    )


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    """Run `duocap export`; give status, output and complaints."""
    result = duocap(capsys, "export", *words)
    return result.status, result.out, result.err


def test_every_format_from_one_recording(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clip = recording(tmp_path / "walk.mcap")
    formats = ("bvh", "trc", "opensim-trc", "c3d", "csv", "markers", "glb", "vrma", "angles", "mot", "gait2392")
    status, out, err = run(capsys, tmp_path / "walk.mcap", *(word for name in formats for word in ("--format", name)))
    assert (status, err.strip()) == (0, "") and out.count("120 frames, 1.98 s") == len(formats)
    names = {
        f"walk.{end}"
        for end in (
            "mcap",
            "bvh",
            "trc",
            "c3d",
            "csv",
            "markers.csv",
            "glb",
            "vrma",
            "opensim.trc",
            "angles.csv",
            "mot",
            "gait2392.mot",
        )
    }
    assert {file.name for file in tmp_path.iterdir()} == names
    points = read_c3d(tmp_path / "walk.c3d")
    expected_m = compute_forward_kinematics(clip.skeleton, clip.rotvec[:N], clip.root_m[:N])[1]
    known = np.delete(np.arange(N), LOST)
    assert not points.valid[LOST, : len(JOINTS)].any()
    np.testing.assert_allclose(points.point_m[known, : len(JOINTS)], expected_m[known], atol=2e-6)
    assert points.valid[:, len(JOINTS)].tolist() == [k != 3 for k in range(N)]
    assert points.point_m[50, len(JOINTS) + 2].tolist() == pytest.approx([2.0, 0.5, 0.0])
    rows = read_rows(tmp_path / "walk.csv")
    assert [row["state"] for row in rows[38:46]] == ["tracking"] * 2 + ["lost"] * 4 + ["tracking"] * 2 and rows[41][
        "hips.x"
    ] == ""
    marker = points.labels[len(JOINTS) + 1]
    rows = read_rows(tmp_path / "walk.markers.csv")
    assert rows[7][f"{marker}.y"] == "0.070000" and rows[3][f"{points.labels[len(JOINTS)]}.x"] == ""
    header = (tmp_path / "walk.trc").read_text(encoding="utf-8").splitlines()[0]
    assert "session=s1" in header and "recorded=2025-05-04T10:00:00+02:00" in header and "source=walk.mcap" in header


def test_bvh_of_a_recording_is_the_motion_that_was_recorded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clip = recording(tmp_path / "walk.mcap")
    assert run(capsys, tmp_path / "walk.mcap", "--out", tmp_path / "out.bvh")[0] == 0
    back = read_clip(tmp_path / "out.bvh")
    assert back.n_frames == N and back.fps == pytest.approx(60.0)
    np.testing.assert_allclose(back.skeleton.tails_m[JOINT_INDEX["head"]], clip.skeleton.tails_m[JOINT_INDEX["head"]], atol=1e-7)
    found_m = compute_forward_kinematics(back.skeleton, back.rotvec, back.root_m)[1]
    expected_m = compute_forward_kinematics(clip.skeleton, clip.rotvec[:N], clip.root_m[:N])[1]
    expected_m[LOST] = expected_m[LOST.start - 1]  # BVH knows no gaps: the last pose is held
    np.testing.assert_allclose(found_m, expected_m, atol=1e-5)


def test_parts_rates_and_places(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clip = recording(tmp_path / "walk.mcap")
    part = ("--from", 1.0, "--to", 1.5, "--fps", 30, "--in-place", "--out", tmp_path / "part.csv")
    status, out, _ = run(capsys, tmp_path / "walk.mcap", *part)
    assert status == 0 and "16 frames, 0.50 s (csv)" in out
    rows = read_rows(tmp_path / "part.csv")
    assert {(row["hips.x"], row["hips.z"]) for row in rows} == {("0.000000", "0.000000")}
    assert float(rows[5]["hips.y"]) == pytest.approx(clip.root_m[70, 1], abs=1e-5)
    assert run(capsys, tmp_path / "walk.mcap", "--smooth", 0.2, "--out", tmp_path / "smooth.csv")[0] == 0
    smooth = read_rows(tmp_path / "smooth.csv")
    assert smooth[41]["state"] == "coasting"  # bridged
    assert abs(float(smooth[41]["hips.y"]) - clip.root_m[41, 1]) < 0.005


def test_a_recording_of_before_without_a_floor_is_levelled_when_it_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clip = recording(tmp_path / "tilted.mcap", floor_known=False)
    out = [tmp_path / name for name in ("level.bvh", "level.csv", "again.mcap")]
    assert run(capsys, tmp_path / "tilted.mcap", *(word for file in out for word in ("--out", file)))[0] == 0
    known = np.delete(np.arange(N), LOST)
    level_m = csv_positions(out[1])[known]
    # The T-pose told `up` 4 degrees wrong; the feet tell better.
    level = turned(clip, rotation_between(UP, (0.0, 1.0, 0.0)))
    truth_m = compute_forward_kinematics(level.skeleton, level.rotvec[:N], level.root_m[:N])[1][known]
    assert np.abs(level_m[..., 1] - truth_m[..., 1]).max() < 0.03
    back = read_clip(out[0])
    np.testing.assert_allclose(compute_forward_kinematics(back.skeleton, back.rotvec, back.root_m)[1][known], level_m, atol=2e-5)
    opened = open_recording(tmp_path / "tilted.mcap")
    assert opened.rig is not None and opened.rig.floor_known and not opened.notes
    played = [message for _, payload in opened.payloads() if isinstance(message := decode_message(payload), PoseMessage)]
    assert [message.root_m for message in played] == [pose.root_m for pose in opened.poses]
    assert played[0].root_m[1] == pytest.approx(level_m[0, 0, 1], abs=1e-6)
    assert opened.published[0].root_m[1] == pytest.approx(clip.root_m[0, 1], abs=1e-6)


def csv_positions(file: Path) -> np.ndarray:
    """Read joint positions, (N, J, 3) [m]; NaN where there is nothing."""
    rows = [list(row.values()) for row in read_rows(file)]
    return np.array([[float(cell or "nan") for cell in row[3:]] for row in rows]).reshape(len(rows), -1, 3)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("walk.mcap", "such as `duocap export"),
        ("walk.mcap --out walk.usd", "its format is not told by its name"),
        ("walk.mcap --format usd", "--format usd: unknown"),
        ("walk.mcap --format bvh --format trc --out a.bvh", "2 formats for 1 file;"),
        ("walk.mcap --out absent/a.bvh", "cannot be written"),
        ("walk.mcap --out a.bvh --from 3", "nothing is left from 3 s on; the recording is 1.98 s long"),
        ("walk.mcap --out a.bvh --out ./a.bvh", "a.bvh: would be written twice"),
        ("walk.mcap --out walk.mcap --format bvh", "walk.mcap: is the recording itself"),
        ("walk.mcap --out a.bvh --from 1 --to 0.5", "the second after the first"),
        ("walk.mcap --out a.bvh --fps 0", "--fps 0"),
        ("walk.mcap --out a.bvh --smooth 5", "--smooth 5"),
        ("none.mcap --out a.bvh", "none.mcap"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: str, complaint: str
) -> None:
    recording(tmp_path / "walk.mcap")
    monkeypatch.chdir(tmp_path)
    status, _, err = run(capsys, *words.split())
    assert status == 1 and complaint in err and len(err.strip().splitlines()) == 1
    assert [file.name for file in tmp_path.iterdir()] == ["walk.mcap"]
