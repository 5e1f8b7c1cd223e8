"""`duocap calibrate subject` and `duocap replay` on one simulated recording: what they write, and each kind of bad input."""

import csv
import json
import sys
import threading
from dataclasses import dataclass, replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from calibration.formats.rig_toml import read_rig, write_rig
from calibration.subject.subject import read_subject
from capture.sources.simulated.scene import SimulatedScene
from config.joints import JOINTS
from database.builtin import body, builtin_clip
from database.files.c3d import read_c3d
from database.files.read import read_clip
from database.geometry.rotations import matrix_from_rotvec
from database.store import write_database
from database.tpose import median_skeleton, tpose_clips
from stream.protocol.messages import PoseMessage, SkeletonMessage
from stream.publish.subscriber import Subscriber
from tests.support.commands import duocap
from tests.support.people import walk
from tests.support.ports import free_address
from tools.launch import main
from tools.simulate import Simulation, simulate

FPS = 30.0
SCENE = SimulatedScene(
    motion="walk", seconds=1.2, tpose_s=0.8, markers="dark_room", fps=FPS, width_px=560, height_px=420, placement_mm=5.0, seed=4
)
N_BRIEF = 40  # frames of a recording where it does not matter what is seen of the walk


@dataclass(frozen=True)
class Session:
    """A simulated recording, a small database, a calibrated subject."""

    folder: Path
    simulation: Simulation

    def calibrate_words(self, **changed: object) -> list[object]:
        """Return the arguments of `calibrate subject`, some of them changed."""
        given: dict[str, object] = {"left": "left.avi", "right": "right.avi", "rig": "rig.toml", "markers": "markers.toml"}
        given |= {"from": 0.0, "to": 0.7, "database": "small.db", "timestamps": "timestamps.csv", "out": "new.toml"} | changed
        return ["calibrate", "subject", *self.arguments(given)]

    def replay_words(self, *more: object, **changed: object) -> list[object]:
        """Return the arguments of `replay`, some of them changed."""
        given: dict[str, object] = {"left": "left.avi", "right": "right.avi", "rig": "rig.toml", "subject": "subject.toml"}
        given |= {"database": "small.db", "timestamps": "timestamps.csv"} | changed
        return ["replay", *self.arguments(given), "--no-publish", *more]

    def arguments(self, given: dict[str, object]) -> list[object]:
        """Turn names and values into words; what names a file of the session becomes its path."""
        value = {key: self.folder / v if isinstance(v, str) and "." in v else v for key, v in given.items()}
        words: list[object] = [side for side in (value.pop("left"), value.pop("right")) if side is not None]
        for key, v in value.items():
            words += [] if v is None else [f"--{key}", v]
        return words

    def rewritten(
        self, name: str, to: Path, frames: slice = slice(None), fps: float = FPS, size: tuple[int, int] = SCENE.size
    ) -> Path:
        """Write a video anew with part of its frames, at another rate or size."""
        reader = cv2.VideoCapture(str(self.folder / name))
        images = []
        while True:
            ok, image = reader.read()
            if not ok:
                break
            images.append(image)
        writer = cv2.VideoWriter(str(to), cv2.CAP_OPENCV_MJPEG, cv2.VideoWriter.fourcc(*"MJPG"), fps, size)
        for image in images[frames]:
            writer.write(cv2.resize(image, size))
        writer.release()
        return to

    @property
    def brief(self) -> dict[str, object]:
        """Name the beginning of the recording, for `replay_words`: the T-pose and the first step."""
        return {"left": "brief_left.avi", "right": "brief_right.avi", "timestamps": None}


def refused(capsys: pytest.CaptureFixture[str], words: list[object], folder: Path) -> str:
    """Return the one line with which a command ends; it leaves `folder` as it was."""
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    result = duocap(capsys, *words)
    assert result.status == 1, (result.out, result.err)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before
    line = result.err.strip()
    assert line.startswith("duocap: ") and "\n" not in line and "Traceback" not in line, result.err
    assert result.out == ""
    return line


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """Simulate, build a small database without that walker's body, calibrate."""
    folder = tmp_path_factory.mktemp("session")
    simulation = simulate(SCENE, folder)
    bodies = [body(1.6), body(1.78, arm_ratio=1.03), body(1.85, leg_ratio=1.03)]
    clips = [walk(b, seed) for seed, b in enumerate(bodies)] + [builtin_clip("idle", bodies[0], 60.0, 3)]
    write_database(folder / "small.db", clips, tpose_clips(median_skeleton(bodies), 60.0))
    made = Session(folder, simulation)
    for name in ("left.avi", "right.avi"):
        made.rewritten(name, folder / f"brief_{name}", slice(0, N_BRIEF))
    sys.argv, before = ["duocap", *map(str, made.calibrate_words(out="subject.toml"))], sys.argv
    try:
        main()
    except SystemExit as end:
        assert end.code in (0, None), end.code
    finally:
        sys.argv = before
    return made


def test_subject_is_the_performer(session: Session) -> None:
    """T-pose markers of 0.1 px and 5 mm placement; the body's height is not in the database."""
    subject = read_subject(session.folder / "subject.toml")
    truth = session.simulation.performer
    assert abs(subject.skeleton.height_m - truth.clip.skeleton.height_m) < 0.08
    assert subject.markers.names == truth.markers.names
    assert np.linalg.norm(subject.offset_m - truth.offset_m, axis=1).max() < 0.08
    assert subject.up @ [0.0, 1.0, 0.0] > 0.99
    assert subject.residual_mm.max() < 10.0


def test_replay_writes_everything(session: Session, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {kind: tmp_path / f"motion.{kind}" for kind in ("bvh", "trc", "c3d", "csv")}
    # --trc is what it was called before --out, and still means the format whatever the file is called.
    files["trc"] = tmp_path / "motion.txt"
    wanted = [word for kind, path in files.items() for word in ("--trc" if kind == "trc" else "--out", path)]
    result = duocap(
        capsys, *session.replay_words(*wanted, "--report", tmp_path / "r.json", "--hide", "left_elbow", "--hide", "right_toe")
    )
    assert result.status == 0, result.err
    assert "tracked" in result.out and "hidden left_elbow" in result.out
    report = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    n = session.simulation.n_frames
    assert abs(report["frames"] - n) <= 1 and report["tracked"] >= 0.98
    assert report["reprojection_px"]["median"] < 2.0 and report["marker_residual_mm"]["median"] < 20.0
    assert set(report["hidden"]) == {"left_elbow", "right_toe"} and report["hidden"]["left_elbow"]["frames"] > 0.8 * n
    assert report["swaps_suspected"] <= 0.02 * n
    assert {"decode", "detect", "match", "label", "solve"} <= set(report["ms_by_stage"])

    with files["csv"].open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == report["frames"] and {row["state"] for row in rows[5:]} == {"tracking"}
    truth = np.load(session.folder / "truth.npz")
    joints = [j for j in JOINTS if f"{j}.x" in rows[0]]
    found = np.array([[[float(row[f"{j}.{axis}"]) for axis in "xyz"] for j in joints] for row in rows])
    index = [truth["joints"].tolist().index(j) for j in joints]
    offset = [int(np.argmin(np.abs(truth["seconds"] - truth["seconds"][0] - float(row["seconds"])))) for row in rows]
    error = np.linalg.norm(found - truth["joint_m"][offset][:, index], axis=2)
    # Measured: 20 mm; the skeleton is itself estimated from the T-pose.
    assert error.mean() < 0.04, error.mean()

    clip = read_clip(files["bvh"])
    assert clip.n_frames == len(rows) and clip.fps == pytest.approx(FPS, rel=0.01)
    trc = files["trc"].read_text(encoding="utf-8").splitlines()
    assert trc[0].startswith("PathFileType") and len([line for line in trc[5:] if line.strip()]) == len(rows)
    points = read_c3d(files["c3d"])
    assert len(points.valid) == len(rows) and points.labels[: len(JOINTS)] == JOINTS
    seen = dict(zip(points.labels, points.valid.mean(axis=0), strict=True))
    assert seen["left_elbow"] == 0.0 and seen["right_toe"] == 0.0
    assert max(seen[name] for name in points.labels[len(JOINTS) :]) > 0.5


def test_overlay_is_a_video_of_both_views(session: Session, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "labels.avi"
    assert duocap(capsys, *session.replay_words("--overlay", file, **session.brief)).status == 0
    video = cv2.VideoCapture(str(file))
    assert int(video.get(cv2.CAP_PROP_FRAME_COUNT)) >= N_BRIEF - 1
    ok, image = video.read()
    video.release()
    assert ok and image.shape == (2 * SCENE.height_px, 4 * SCENE.width_px, 3)
    # Skeleton and labels are drawn in colour over dark, colourless images, in either view.
    coloured = np.ptp(image.astype(int), axis=2) > 60
    assert coloured[:, : 2 * SCENE.width_px].sum() > 500 and coloured[:, 2 * SCENE.width_px :].sum() > 500
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("side", ["left", "right"])
def test_one_video_is_enough(session: Session, tmp_path: Path, capsys: pytest.CaptureFixture[str], side: str) -> None:
    words = session.replay_words(
        "--camera", side, "--csv", tmp_path / "a.csv", "--report", tmp_path / "r.json", left=f"{side}.avi", right=None
    )
    result = duocap(capsys, *words, "--overlay", tmp_path / "a.avi", "--hide", "left_elbow")
    assert result.status == 0, result.err
    report = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert report["tracked"] >= 0.98 and report["reprojection_px"]["median"] < 2.0
    assert report["marker_residual_mm"]["median"] is None and report["hidden"]["left_elbow"]["median_mm"] < 60.0
    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    truth = np.load(session.folder / "truth.npz")
    joints = [j for j in JOINTS if f"{j}.x" in rows[0]]
    found = np.array([[[float(row[f"{j}.{axis}"]) for axis in "xyz"] for j in joints] for row in rows])
    index = [truth["joints"].tolist().index(j) for j in joints]
    assert len(rows) == session.simulation.n_frames
    error = np.linalg.norm(found - truth["joint_m"][: len(rows)][:, index], axis=2)
    assert error.mean() < 0.06, error.mean()
    video = cv2.VideoCapture(str(tmp_path / "a.avi"))
    assert video.read()[1].shape == (2 * SCENE.height_px, 2 * SCENE.width_px, 3)
    video.release()


def test_one_video_and_a_rig_of_one_camera(session: Session, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (session.folder / "rig.toml").read_text(encoding="utf-8")
    alone = text.partition("[cam_1]")[0] + "[metadata]" + text.partition("[metadata]")[2]
    (tmp_path / "rig.toml").write_text(alone, encoding="utf-8")
    rig = str(tmp_path / "rig.toml")
    assert duocap(capsys, *session.replay_words("--csv", tmp_path / "a.csv", right=None, rig=rig)).status == 0
    assert "[cam_1] is missing" in refused(capsys, session.replay_words(rig=rig), session.folder)
    other = refused(capsys, session.replay_words("--camera", "right", right=None, rig=rig), session.folder)
    assert "[cam_1] is missing" in other and "[cam_0]" in other


def test_one_video_cannot_measure_a_performer(session: Session, capsys: pytest.CaptureFixture[str]) -> None:
    line = refused(capsys, session.calibrate_words(right=None), session.folder)
    assert "one camera cannot measure depth" in line and "both recordings" in line


def test_replay_publishes_as_if_live(session: Session, capsys: pytest.CaptureFixture[str]) -> None:
    address = free_address()
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
    words = [word for word in session.replay_words("--realtime", "--set", f"stream.address={address}") if word != "--no-publish"]
    result = duocap(capsys, *words)
    done.set()
    listener.join()
    assert result.status == 0, result.err
    poses = [message for message in heard if isinstance(message, PoseMessage)]
    assert any(isinstance(message, SkeletonMessage) for message in heard)
    # A subscriber may miss what was sent before it had joined, nothing after.
    assert [pose.seq for pose in poses] == list(range(poses[0].seq, poses[-1].seq + 1))
    assert len(poses) >= 0.5 * session.simulation.n_frames and poses[-1].state == "tracking"


def test_the_papers_model(session: Session, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def motion(*words: object) -> bytes:
        result = duocap(capsys, *session.replay_words("--csv", tmp_path / "a.csv", *words, **session.brief))
        assert result.status == 0, result.err
        return (tmp_path / "a.csv").read_bytes()

    paper = motion("--model", "paper")
    assert paper == motion("--set", "solve.model=paper")
    assert paper != motion("--model", "gaussian", "--set", "solve.model=paper")  # the option is the stronger
    other = duocap(capsys, *session.replay_words("--model", "papper"))
    assert other.status == 2 and "paper" in other.err


@pytest.mark.slow
def test_replay_twice_gives_the_same_bytes(session: Session, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a.csv", "b.csv"):
        assert duocap(capsys, *session.replay_words("--csv", tmp_path / name, **session.brief)).status == 0
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


@pytest.mark.parametrize("command", ["calibrate", "replay"])
@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"left": "none.avi"}, "none.avi: no such file"),
        ({"left": "rig.toml"}, "rig.toml"),
        ({"left": "right.avi", "right": "left.avi"}, "left and right are swapped"),
        ({"rig": "none.toml"}, "none.toml"),
        ({"rig": "markers.toml"}, "markers.toml"),
        ({"database": "none.db"}, "none.db"),
        ({"database": "left.avi"}, "left.avi"),
        ({"timestamps": "none.csv"}, "none.csv"),
        ({"timestamps": "rig.toml"}, "rig.toml"),
    ],
)
def test_wrong_files(
    session: Session, capsys: pytest.CaptureFixture[str], command: str, changed: dict[str, object], said: str
) -> None:
    words = (
        session.calibrate_words(**changed)
        if command == "calibrate"
        else session.replay_words("--csv", session.folder / "n.csv", **changed)
    )
    assert said in refused(capsys, words, session.folder)


def test_empty_database(session: Session, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty.db").write_bytes(b"")
    line = refused(capsys, session.replay_words(database=str(tmp_path / "empty.db")), session.folder)
    assert "empty.db" in line


def test_unknown_hidden_marker_and_subject_of_another_kind(session: Session, capsys: pytest.CaptureFixture[str]) -> None:
    line = refused(capsys, session.replay_words("--hide", "left_wing"), session.folder)
    assert "left_wing" in line and "left_elbow" in line
    assert "markers.toml" in refused(capsys, session.replay_words(subject="markers.toml"), session.folder)


def test_unknown_joint_in_the_marker_set(session: Session, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (session.folder / "markers.toml").read_text(encoding="utf-8").replace('"leftFoot"', '"leftFott"')
    (tmp_path / "m.toml").write_text(text, encoding="utf-8")
    line = refused(capsys, session.calibrate_words(markers=str(tmp_path / "m.toml")), session.folder)
    assert "unknown joint 'leftFott'" in line


def test_no_t_pose_in_the_given_time(session: Session, capsys: pytest.CaptureFixture[str]) -> None:
    end = session.simulation.performer.duration_s
    walking = refused(capsys, session.calibrate_words(**{"from": end - 0.9, "to": end}), session.folder)
    assert "no T-pose" in walking
    later = refused(capsys, session.calibrate_words(**{"from": 50.0, "to": 60.0}), session.folder)
    assert "the recording ends at" in later
    backwards = duocap(capsys, *session.calibrate_words(**{"from": 2.0, "to": 1.0}))
    assert backwards.status == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--out", "walk.fbx"), "walk.fbx: its format is not told by its name, which should end with one of .bvh, "),
        (("--out", "a.csv", "--csv", "a.csv"), "a.csv: would be written twice"),
        (("--out", "a.bvh", "--bvh", "left.avi"), "left.avi: is the recording itself"),
    ],
)
def test_files_that_cannot_be_written(
    session: Session, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(session.folder)
    assert said in refused(capsys, session.replay_words(*words), session.folder)


def test_truncated_video(session: Session, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = (session.folder / "left.avi").read_bytes()
    cut = tmp_path / "cut.avi"
    cut.write_bytes(content[: len(content) // 2])
    line = refused(capsys, session.replay_words("--csv", session.folder / "n.csv", left=str(cut)), session.folder)
    assert "cut.avi" in line


@pytest.mark.parametrize("stamps", [None, "timestamps.csv"])
def test_videos_of_different_length(
    session: Session, tmp_path: Path, capsys: pytest.CaptureFixture[str], stamps: str | None
) -> None:
    short = session.rewritten("left.avi", tmp_path / "short.avi", slice(0, 50))
    line = refused(capsys, session.replay_words(left=str(short), timestamps=stamps), session.folder)
    assert "short.avi" in line and "50" in line and str(session.simulation.n_frames) in line


def test_videos_of_different_rate(session: Session, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    slow = session.rewritten("right.avi", tmp_path / "slow.avi", fps=25.0)
    line = refused(capsys, session.replay_words(right=str(slow), timestamps=None), session.folder)
    assert "25" in line and "30" in line and "--timestamps" in line
    assert duocap(capsys, *session.replay_words(right=str(slow))).status == 0  # with stamps the announced rate does not matter


def test_videos_of_different_size(session: Session, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = session.rewritten("right.avi", tmp_path / "small.avi", size=(280, 210))
    line = refused(capsys, session.replay_words(right=str(small)), session.folder)
    assert "right images are 280x210" in line and "560x420" in line


def test_a_rig_of_other_cameras(session: Session, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rig = read_rig(session.folder / "rig.toml")
    turn = matrix_from_rotvec([np.radians(4.0), 0.0, np.radians(3.0)])
    moved = replace(rig.right, rotation=turn @ rig.right.rotation, translation=turn @ rig.right.translation)
    write_rig(tmp_path / "rig.toml", replace(rig, right=moved))
    for words in (session.replay_words(rig=str(tmp_path / "rig.toml")), session.calibrate_words(rig=str(tmp_path / "rig.toml"))):
        assert "the rig does not fit" in refused(capsys, words, session.folder)


def test_folders_of_images_do_as_well(session: Session, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("left", "right"):
        (tmp_path / name).mkdir()
        reader = cv2.VideoCapture(str(session.folder / f"{name}.avi"))
        for k in range(20):
            assert cv2.imwrite(str(tmp_path / name / f"{k:04d}.png"), reader.read()[1])
    words = session.replay_words(
        "--fps", 30, "--csv", tmp_path / "a.csv", left=tmp_path / "left", right=tmp_path / "right", timestamps=None
    )
    result = duocap(capsys, *words)
    assert result.status == 0, result.err
    assert len((tmp_path / "a.csv").read_text(encoding="utf-8").splitlines()) == 21


def test_a_place_that_cannot_be_written(session: Session, capsys: pytest.CaptureFixture[str]) -> None:
    line = refused(capsys, session.calibrate_words(out="no/folder.toml"), session.folder)
    assert "cannot be written" in line
