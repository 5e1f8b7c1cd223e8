"""`duocap replay` of one simulated recording: all that it writes and publishes in one run, one camera, and what it refuses."""

import json
import shutil
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from calibration.formats.rig_file import read_rig, write_rig_file
from capture.recording.recording import CaptureRecording, RecordingSpec
from capture.sources.recorded_times import read_timestamps
from config.errors import DuocapError
from config.joints import JOINTS
from config.markers import read_marker_set
from config.settings import Settings
from database.files.read import read_clip
from database.marker_files.c3d import read_c3d
from stream.protocol.messages import PoseMessage, SkeletonMessage
from stream.publish.subscriber import Subscriber
from stream.recording.recording import open_recording
from tests.support.commands import Result, duocap, read_rows
from tests.support.ports import free_address
from tests.tools.commands.walked import CLIP, FPS, SCENE, Walked, ended

N = CLIP.stop - CLIP.start


@dataclass(frozen=True)
class Replayed:
    """One run that was asked for everything. files: by format; heard: what a subscriber received."""

    result: Result
    files: dict[str, Path]
    report: dict[str, Any]
    overlay: Path
    heard: list[object]

    @property
    def rows(self) -> list[dict[str, str]]:
        """The rows of the table of positions."""
        return read_rows(self.files["csv"])


@pytest.fixture(scope="module")
def replayed(walked: Walked, tmp_path_factory: pytest.TempPathFactory) -> Replayed:
    """Replay as if live; --trc is what --out was called before, and means the format whatever the file is called."""
    folder, address = tmp_path_factory.mktemp("replayed"), free_address()
    files = {kind: folder / f"motion.{kind}" for kind in ("bvh", "c3d", "csv")} | {"trc": folder / "motion.txt"}
    words = [word for kind, path in files.items() for word in ("--trc" if kind == "trc" else "--out", path)]
    words += ["--report", folder / "r.json", "--overlay", folder / "labels.avi", "--hide", "left_elbow", "--hide", "right_toe"]
    heard: list[object] = []
    done = threading.Event()

    def listen() -> None:
        subscriber = Subscriber(address, ("skeleton", "pose"))
        while not done.is_set():
            heard.extend(subscriber.receive(20))
        heard.extend(subscriber.receive(200))
        subscriber.close()

    listener = threading.Thread(target=listen)
    listener.start()
    result = ended(walked.replay_words(*words, "--realtime", "--set", f"stream.address={address}"))
    done.set()
    listener.join()
    assert result.status == 0, result.err
    assert {path.name for path in folder.iterdir()} == {*(path.name for path in files.values()), "r.json", "labels.avi"}
    report = json.loads((folder / "r.json").read_text(encoding="utf-8"))
    return Replayed(result, files, report, folder / "labels.avi", heard)


def mean_error_m(walked: Walked, rows: list[dict[str, str]]) -> float:
    """Return how far joints are from the truth [m]."""
    truth = np.load(walked.folder / "truth.npz")
    joints = [j for j in JOINTS if f"{j}.x" in rows[0]]
    found = np.array([[[float(row[f"{j}.{axis}"]) for axis in "xyz"] for j in joints] for row in rows])
    seconds = truth["seconds"] - truth["seconds"][CLIP.start]
    nearest = [int(np.argmin(np.abs(seconds - float(row["seconds"])))) for row in rows]
    index = [truth["joints"].tolist().index(j) for j in joints]
    return float(np.linalg.norm(found - truth["joint_m"][nearest][:, index], axis=2).mean())


def test_the_walk_is_tracked_and_reported(walked: Walked, replayed: Replayed) -> None:
    report, rows = replayed.report, replayed.rows
    assert "tracked" in replayed.result.out and "hidden left_elbow" in replayed.result.out
    assert abs(report["frames"] - N) <= 1 and report["tracked"] >= 0.98
    assert report["reprojection_px"]["median"] < 2.0 and report["marker_residual_mm"]["median"] < 20.0
    assert set(report["hidden"]) == {"left_elbow", "right_toe"} and report["hidden"]["left_elbow"]["frames"] > 0.8 * N
    assert report["swaps_suspected"] <= 0.02 * N
    assert {"decode", "detect", "match", "label", "solve"} <= set(report["ms_by_stage"])
    assert len(rows) == report["frames"] and {row["state"] for row in rows[5:]} == {"tracking"}
    assert mean_error_m(walked, rows) < 0.04  # measured: 20 mm; the skeleton is itself estimated from the T-pose


def test_every_file_holds_every_frame(replayed: Replayed) -> None:
    n, clip = len(replayed.rows), read_clip(replayed.files["bvh"])
    assert clip.n_frames == n and clip.fps == pytest.approx(FPS, rel=0.01)
    trc = replayed.files["trc"].read_text(encoding="utf-8").splitlines()
    assert trc[0].startswith("PathFileType") and len([line for line in trc[5:] if line.strip()]) == n
    points = read_c3d(replayed.files["c3d"])
    assert len(points.valid) == n and points.labels[: len(JOINTS)] == JOINTS
    seen = dict(zip(points.labels, points.valid.mean(axis=0), strict=True))
    assert seen["left_elbow"] == 0.0 and seen["right_toe"] == 0.0
    assert max(seen[name] for name in points.labels[len(JOINTS) :]) > 0.5


def test_the_overlay_is_a_video_of_both_views(replayed: Replayed) -> None:
    video = cv2.VideoCapture(str(replayed.overlay))
    assert int(video.get(cv2.CAP_PROP_FRAME_COUNT)) >= N - 1
    ok, image = video.read()
    video.release()
    assert ok and image.shape == (2 * SCENE.height_px, 4 * SCENE.width_px, 3)
    # Skeleton and labels are drawn in colour over dark, colourless images, in either view.
    coloured = np.ptp(image.astype(int), axis=2) > 60
    assert coloured[:, : 2 * SCENE.width_px].sum() > 500 and coloured[:, 2 * SCENE.width_px :].sum() > 500


def test_what_is_recorded_has_the_times_of_capture(walked: Walked, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """However fast it is processed; so that it plays, and is exported, in its own time."""
    file, csv_file = tmp_path / "again.mcap", tmp_path / "again.csv"
    streams = ("--set", f"stream.address={free_address()}", "--set", "stream.service=")
    result = ended(walked.replay_words("--record", file, "--out", csv_file, *streams))
    assert result.status == 0, result.err
    recording = open_recording(file)
    begun_ns = recording.poses[0].t_capture_ns
    stamps_s = np.array([(pose.t_capture_ns - begun_ns) * 1e-9 for pose in recording.poses])
    assert stamps_s == pytest.approx([float(row["seconds"]) for row in read_rows(csv_file)], abs=1e-6)
    assert all(pose.t_publish_ns > pose.t_capture_ns for pose in recording.poses)
    for ending in ("bvh", "trc", "c3d"):
        exported = duocap(capsys, "export", file, "--out", tmp_path / f"again.{ending}")
        assert exported.status == 0, exported.err
    clip, points = read_clip(tmp_path / "again.bvh"), read_c3d(tmp_path / "again.c3d")
    for seconds in (clip.n_frames / clip.fps, len(points.valid) / points.fps):
        assert seconds - 1 / FPS == pytest.approx(stamps_s[-1], abs=1 / FPS)


@pytest.mark.slow
def test_a_project_of_another_program_opens_as_it_is(walked: Walked, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a rig file and the names of videos; the walk is the same."""
    write_rig_file(tmp_path / "camera_array.toml", read_rig(walked.folder / "rig.toml"), "caliscope")
    (tmp_path / "recordings" / "walk").mkdir(parents=True)
    times = ["sync_index,port,frame_index,frame_time"]
    for n, side in enumerate(("left", "right")):
        shutil.copy(walked.folder / f"clip_{side}.avi", tmp_path / "recordings" / "walk" / f"{side}_{n}.avi")
        times += [f"{k},{n},{k},{900.0 + row:.6f}" for k, row in enumerate(read_timestamps(walked.folder / "clip.csv")[:, n])]
    (tmp_path / "recordings" / "walk" / "frame_time_history.csv").write_text("\n".join(times) + "\n", encoding="utf-8")
    (tmp_path / "camera_array.toml").write_text(
        (tmp_path / "camera_array.toml")
        .read_text(encoding="utf-8")
        .replace('"left"', '"left_0"')
        .replace('"right"', '"right_1"'),
        encoding="utf-8",
    )
    known = ("--subject", walked.folder / "ann.toml", "--database", walked.folder / "small.db", "--no-publish")
    result = duocap(capsys, "replay", tmp_path, *known, "--out", tmp_path / "walk.csv")
    assert result.status == 0 and "camera_array.toml: left_0 (left_0.avi), right_1 (right_1.avi)" in result.out
    rows = read_rows(tmp_path / "walk.csv")
    assert mean_error_m(walked, rows) < 0.04
    stamps_s = read_timestamps(walked.folder / "clip.csv")
    assert float(rows[-1]["seconds"]) == pytest.approx(stamps_s[-1, 0] - stamps_s[0, 0], abs=1e-4)
    told = duocap(capsys, "replay", tmp_path, *known, "--cameras", "left_0,top")
    assert told.status == 1 and "no video of a camera 'top'; it has left_0, right_1" in told.last
    best = duocap(capsys, "replay", tmp_path, *known, "--cameras", "best")
    assert best.status == 0 and "best pair: 1.00 m apart" in best.out


THREE = {"third": "clip_third.avi", "rig": "three.toml", "timestamps": "three.csv"}


def test_three_videos_give_one_take_and_an_overlay_of_all(
    walked: Walked, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = ("--out", tmp_path / "a.csv", "--report", tmp_path / "r.json", "--overlay", tmp_path / "a.avi")
    result = duocap(capsys, *walked.replay_words(*files, "--no-publish", **THREE))
    assert result.status == 0, result.err
    report = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert abs(report["frames"] - N) <= 1 and report["tracked"] >= 0.98
    assert mean_error_m(walked, read_rows(tmp_path / "a.csv")) < 0.04
    video = cv2.VideoCapture(str(tmp_path / "a.avi"))
    assert video.read()[1].shape == (2 * SCENE.height_px, 6 * SCENE.width_px, 3)
    video.release()


@pytest.mark.parametrize(
    ("words", "changed", "said"),
    [
        ((), {"third": None}, "a rig of 3 cameras (left, right, third), but 2 were given"),
        (("--cameras", "left,right"), {}, "3 views for the cameras left, right"),
        (("--cameras", "left,left,third"), {}, "each once, of left, right, third"),
        (("--cameras", "third,left,right"), {"timestamps": "clip.csv"}, "2 columns of times for 3 cameras"),
    ],
)
def test_videos_and_cameras_that_do_not_go_together(
    walked: Walked, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], changed: dict[str, object], said: str
) -> None:
    result = duocap(capsys, *walked.replay_words("--no-publish", *words, **(THREE | changed)))
    assert result.status == 1 and said in result.last and len(result.err.strip().splitlines()) == 1


def test_cameras_of_a_rig_are_chosen_by_name(walked: Walked, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The second and the third of three, and their columns of the stamps."""
    chosen = THREE | {"left": "clip_right.avi", "right": "clip_third.avi", "third": None}
    words = ("--cameras", "right,third", "--out", tmp_path / "a.csv", "--no-publish")
    result = duocap(capsys, *walked.replay_words(*words, **chosen))
    assert result.status == 0, result.err
    assert mean_error_m(walked, read_rows(tmp_path / "a.csv")) < 0.05


def test_poses_are_published_as_if_live(replayed: Replayed) -> None:
    poses = [message for message in replayed.heard if isinstance(message, PoseMessage)]
    assert any(isinstance(message, SkeletonMessage) for message in replayed.heard)
    # A subscriber may miss what was sent before it had joined, nothing after.
    assert [pose.seq for pose in poses] == list(range(poses[0].seq, poses[-1].seq + 1))
    assert len(poses) >= 0.5 * N and poses[-1].state == "tracking"


def test_the_default_database_is_the_one_that_was_chosen(
    walked: Walked, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DUOCAP_DATABASES", str(tmp_path))
    rows: dict[object, str] = {}
    chosen = duocap(capsys, "database", "use", walked.folder / "small.db")
    assert chosen.status == 0, chosen.err
    for database in (None, "small.db", "builtin"):
        if database == "builtin":
            assert duocap(capsys, "database", "use", "builtin").status == 0
        given = database if database == "small.db" else None
        out = tmp_path / f"{database}.csv"
        result = duocap(capsys, *walked.replay_words("--out", out, "--no-publish", "--no-style", database=given))
        assert result.status == 0, result.err
        assert result.err.count("duocap database get") == (database == "builtin")  # once, and only where it helps
        rows[database] = out.read_text("utf-8")
    assert rows[None] == rows["small.db"] != rows["builtin"]


def test_one_video_is_enough(walked: Walked, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = ("--out", tmp_path / "a.csv", "--report", tmp_path / "r.json", "--overlay", tmp_path / "a.avi")
    words = walked.replay_words(
        *files, "--camera", "right", "--no-publish", "--hide", "left_elbow", left="clip_right.avi", right=None
    )
    result = duocap(capsys, *words)
    assert result.status == 0, result.err
    report = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert report["tracked"] >= 0.98 and report["reprojection_px"]["median"] < 2.0
    assert report["marker_residual_mm"]["median"] is None and report["hidden"]["left_elbow"]["median_mm"] < 60.0
    rows = read_rows(tmp_path / "a.csv")
    assert len(rows) == N and mean_error_m(walked, rows) < 0.06
    video = cv2.VideoCapture(str(tmp_path / "a.avi"))
    assert video.read()[1].shape == (2 * SCENE.height_px, 2 * SCENE.width_px, 3)
    video.release()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"left": "none.avi"}, "none.avi: no such file"),
        ({"left": "rig.toml"}, "rig.toml"),
        ({"left": "clip_right.avi", "right": "clip_left.avi"}, "left and right are swapped"),
        ({"rig": "none.toml"}, "none.toml"),
        ({"rig": "markers.toml"}, "markers.toml"),
        ({"database": "none.db"}, "none.db"),
        ({"database": "left.avi"}, "left.avi"),
        ({"timestamps": "none.csv"}, "none.csv"),
        ({"timestamps": "rig.toml"}, "rig.toml"),
        ({"subject": "markers.toml"}, "markers.toml"),
        ({"hide": "left_wing"}, "left_wing: the subject has no such marker; it has: "),
        ({"out": "walk.obj"}, "walk.obj: its format is not told by its name, which should end with one of .bvh, "),
        ({"out": "a.csv", "csv": "a.csv"}, "a.csv: would be written twice"),
        ({"bvh": "clip_left.avi"}, "clip_left.avi: is the recording itself"),
        ({"out": "no folder/a.bvh"}, "cannot be written"),
    ],
)
def test_what_cannot_be_is_one_line_and_no_file(
    walked: Walked, capsys: pytest.CaptureFixture[str], changed: dict[str, object], said: str
) -> None:
    before = {path: path.stat().st_mtime_ns for path in walked.folder.rglob("*")}
    result = duocap(capsys, *walked.replay_words("--no-publish", **({"out": "n.csv"} | changed)))
    assert result.status == 1 and said in result.last and result.out == "", (result.out, result.err)
    assert len(result.err.strip().splitlines()) == 1
    assert {path: path.stat().st_mtime_ns for path in walked.folder.rglob("*")} == before


@pytest.mark.parametrize(
    "words", [("--model", "papper"), ("--vmc", "--no-publish"), ("--record", "x.mcap", "--no-publish"), ("--video",)]
)
def test_wrong_usage(walked: Walked, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    result = duocap(capsys, *walked.replay_words(*words))
    assert result.status == 2 and words[0] in result.err


def test_an_unknown_local_model_is_named_before_any_work(walked: Walked, capsys: pytest.CaptureFixture[str]) -> None:
    result = duocap(capsys, *walked.replay_words("--set", "solve.model=papper"))
    assert result.status == 1 and "solve.model = 'papper': no such local model; expected one of gaussian, paper" in result.last


def opened(walked: Walked, left: Path, right: Path, stamps: bool = True) -> CaptureRecording:
    """Open two videos as a replay does."""
    spec = RecordingSpec((str(left), str(right)), walked.folder / "clip.csv" if stamps else None)
    return CaptureRecording(spec, Settings().detector, read_marker_set(walked.folder / "markers.toml"))


def test_what_is_assumed_of_videos_is_said(walked: Walked, tmp_path: Path) -> None:
    """Another length, another rate: without stamps both are taken to begin together; stamps have to be those of the longest."""
    left, right = (walked.folder / f"clip_{side}.avi" for side in ("left", "right"))
    assert opened(walked, left, right, stamps=False).notes == []
    short = walked.cut("clip_left.avi", tmp_path / "short.avi", slice(0, 40))
    [words] = opened(walked, short, right, stamps=False).notes
    assert "short.avi 40" in words and f"right.avi {N}" in words and "begin at one time" in words
    with pytest.raises(DuocapError, match=rf"{N} time stamps for 40 frames of .*short\.avi"):
        opened(walked, short, short)
    slow = walked.cut("clip_right.avi", tmp_path / "slow.avi", slice(None), fps=25.0)
    recording = opened(walked, left, slow, stamps=False)
    [words] = recording.notes
    assert "slow.avi 25" in words and "the fastest is the clock" in words and recording.fps == pytest.approx(FPS)
    assert opened(walked, left, slow).notes == []


def test_a_video_that_ends_early_leaves_the_others_to_go_on(walked: Walked, tmp_path: Path) -> None:
    files = [walked.folder / f"clip_{name}.avi" for name in ("left", "right")]
    short = walked.cut("clip_third.avi", tmp_path / "third.avi", slice(0, 20))
    spec = RecordingSpec((*map(str, files), str(short)))
    recording = CaptureRecording(spec, Settings().detector, read_marker_set(walked.folder / "markers.toml"))
    present = [[blobs.camera for blobs in views.present] for views, _, _ in recording.pairs()]
    assert present[1:20] == [[0, 1, 2]] * 19 and present[-10:] == [[0, 1]] * 10 and len(present) >= N - 2


def test_a_video_that_breaks_off_or_is_of_another_size(
    walked: Walked, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = (walked.folder / "clip_left.avi").read_bytes()
    (tmp_path / "torn.avi").write_bytes(content[: len(content) // 2])
    assert "torn.avi" in duocap(capsys, *walked.replay_words("--no-publish", left=str(tmp_path / "torn.avi"))).last
    small = walked.cut("clip_right.avi", tmp_path / "small.avi", slice(None), size=(280, 210))
    line = duocap(capsys, *walked.replay_words("--no-publish", right=str(small))).last
    assert "right images are 280x210" in line and "560x420" in line
