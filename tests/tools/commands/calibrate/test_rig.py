"""`duocap calibrate rig` from beginning to end on rendered pictures: what it writes, and each kind of bad input in one line."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import pytest
import tomli_w

from calibration.board.pattern import Board
from calibration.camera import Rig
from calibration.formats.rig_toml import read_rig_toml, write_rig_toml
from capture.recording.video import VideoWriter
from capture.sources.recorded_times import StampWriter
from config.arrays import Image
from tests.support.board_scenes import Look, render_board, scene_views, usual_rig
from tests.support.commands import Result, duocap
from tests.zoo.walks import write_mkv

BOARD = Board("chessboard", 7, 4, 0.030)
TEXT = "chessboard:7x4:30"
SIZE = (400, 300)
N = 10


@dataclass(frozen=True)
class Pictures:
    """Rendered pictures of both cameras and the rig that took them."""

    rig: Rig
    left: list[Image]
    right: list[Image]


@pytest.fixture(scope="module")
def pictures() -> Pictures:
    rig = usual_rig(SIZE)
    poses = scene_views(BOARD, rig, N, seed=12, share=(0.3, 0.7))
    taken = [
        [render_board(BOARD, c, p[:3], p[3:], Look(noise=1.5, clutter=4, samples=2), seed=k) for k, p in enumerate(poses)]
        for c in rig.cameras
    ]
    return Pictures(rig, *taken)


Calibrate = Callable[..., Result]


@pytest.fixture
def calibrate(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Calibrate:
    """Return a function that runs `duocap calibrate rig` in this process, writing to tmp_path/rig.toml."""

    def run(*words: str | Path) -> Result:
        return duocap(capsys, "calibrate", "rig", "--out", tmp_path / "rig.toml", "--board", TEXT, *words)

    return run


def folder(path: Path, images: list[Image], stem: str = "", first: int = 1) -> Path:
    """Write pictures as a folder."""
    path.mkdir(exist_ok=True)
    for number, image in enumerate(images, first):
        cv2.imwrite(str(path / f"{stem}{number:02d}.png"), image)
    return path


def both(tmp_path: Path, left: list[Image], right: list[Image]) -> tuple[Path, Path]:
    """Write both cameras' folders."""
    return folder(tmp_path / "left", left), folder(tmp_path / "right", right)


def test_two_folders_become_the_rig(pictures: Pictures, calibrate: Calibrate, tmp_path: Path) -> None:
    result = calibrate(*both(tmp_path, pictures.left, pictures.right), "--distance", "1.6", "--baseline", "350")
    assert result.status == 0, result.out + result.err
    assert f"left: {N} of {N} pictures show the board" in result.out and "squares are as large as said" in result.out
    rig, truth = read_rig_toml(tmp_path / "rig.toml"), pictures.rig
    assert rig.grade in ("pass", "poor") and f"verdict: {rig.grade}" in result.out
    assert rig.baseline_m == pytest.approx(truth.baseline_m, rel=0.01) and rig.error_px < 0.2
    for ours, true in zip(rig.cameras, truth.cameras, strict=True):
        assert ours.focal_px == pytest.approx(true.focal_px, rel=0.01) and ours.size == SIZE
    picture = cv2.imread(str(tmp_path / "rig.png"))
    assert picture is not None and picture.std() > 10.0


def test_one_camera_alone(pictures: Pictures, calibrate: Calibrate, tmp_path: Path) -> None:
    result = calibrate(folder(tmp_path / "some", pictures.left))
    assert result.status == 0, result.out + result.err
    camera = read_rig_toml(tmp_path / "rig.toml").cameras[0]
    assert camera.focal_px == pytest.approx(pictures.rig.cameras[0].focal_px, rel=0.01)


def test_lenses_from_earlier_are_held_and_the_rig_before_is_compared(
    pictures: Pictures, calibrate: Calibrate, tmp_path: Path
) -> None:
    for name in ("before", "rig"):
        write_rig_toml(tmp_path / f"{name}.toml", pictures.rig)
    sources = both(tmp_path, pictures.left, pictures.right)
    held = calibrate(*sources, "--intrinsics", tmp_path / "before.toml", "--no-picture")
    assert held.status == 0 and "in the rig that was in" in held.out, held.out + held.err
    np.testing.assert_array_equal(read_rig_toml(tmp_path / "rig.toml").cameras[0].matrix, pictures.rig.cameras[0].matrix)
    assert not (tmp_path / "rig.png").exists()


def filmed(file: Path, images: list[Image], early: int = 0) -> Path:
    """Film boards that rest for 8 to 14 of 30 frames a second each; early: frames by which this camera was started earlier."""
    writer = cv2.VideoWriter(str(file), cv2.VideoWriter.fourcc(*"MJPG"), 30.0, SIZE)
    for k, image in enumerate(images):
        for _ in range(8 + k * k % 7 + (early if k == 0 else 0)):
            writer.write(cv2.cvtColor(image, cv2.COLOR_GRAY2BGR))
    writer.release()
    return file


@pytest.mark.slow
def test_videos_that_were_started_by_hand(pictures: Pictures, calibrate: Calibrate, tmp_path: Path) -> None:
    """The right camera ran for 10 frames when the left one began: its stamps are a third of a second late."""
    left, right = filmed(tmp_path / "left.avi", pictures.left), filmed(tmp_path / "right.avi", pictures.right, early=10)
    blind = calibrate(left, right, "--no-picture")
    assert blind.status == 1 or read_rig_toml(tmp_path / "rig.toml").grade != "pass"
    for words in (("--unsynchronised",), ("--offset", "0.3333")):
        result = calibrate(left, right, *words, "--no-picture")
        assert result.status == 0, result.out + result.err
        assert "moments looked at show the board" in result.out
        assert read_rig_toml(tmp_path / "rig.toml").baseline_m == pytest.approx(pictures.rig.baseline_m, rel=0.02)
        if "--offset" not in words:
            late = re.search(r"stamps are (?:about )?([\d.]+) ", result.out)
            assert late is not None and float(late[1]) == pytest.approx(333.0, abs=15.0)


def test_a_session(pictures: Pictures, calibrate: Calibrate, tmp_path: Path) -> None:
    """A session's folder alone gives both cameras; the right one's pictures were taken 12 ms later and once not at all."""
    session = tmp_path / "walk_3"
    session.mkdir()
    (session / "session.toml").write_text("", encoding="utf-8")
    for side, images, late_ns in (("left", pictures.left, 0), ("right", pictures.right, 12_000_000)):
        video, stamps = VideoWriter(session / f"{side}.mkv", SIZE, 30.0), StampWriter(session / f"{side}.csv")
        for k, image in enumerate(image for image in images for _ in range(8)):
            if side == "right" and k == 21:
                continue
            t_ns = 5_000_000_000 + k * 33_333_333 + late_ns
            video.write(cv2.imencode(".jpg", image)[1].tobytes(), t_ns)
            stamps.write(k, t_ns, t_ns + 4_000_000, "driver")
        stamps.flush()
        stamps.close()
        video.close()
    result = calibrate(session, "--no-picture")
    assert result.status == 0, result.out + result.err
    assert read_rig_toml(tmp_path / "rig.toml").baseline_m == pytest.approx(pictures.rig.baseline_m, rel=0.02)


def test_pictures_without_the_board_say_what_they_show(pictures: Pictures, calibrate: Calibrate, tmp_path: Path) -> None:
    grey = [np.full_like(image, 110) for image in pictures.left[:4]]
    line = calibrate(*both(tmp_path, grey, pictures.right[:4])).last
    assert "left: none of 4 pictures shows the board chessboard:7x4:30: no board" in line
    assert not (tmp_path / "rig.toml").exists()


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("empty",), 1, "no images in this folder"),
        (("none.avi", "none.avi"), 1, "no such file or folder"),
        (("bad.avi", "worse.avi"), 1, "cannot be read as a video"),
        (("empty", "bad.avi"), 1, "all cameras must be given in one way"),
        (("empty", "rihgt"), 1, "no such file or folder"),  # a mistyped folder beside a real one is no camera
        (("session", "empty"), 1, "give it alone"),
        (("empty", "--unsynchronised"), 1, "two videos only"),
        (("empty", "--refine"), 1, "lenses known from earlier"),
        (("empty", "other", "--intrinsics", "wrong.toml"), 1, "focal length"),
        (("empty", "--board", "9by6"), 1, "does not name a board"),
        (("empty", "other", "--offset", "nan"), 2, "--offset"),
        (("empty", "other", "session", "--offset", "0.1"), 2, "--offset"),
        (("empty", "other", "empty"), 1, "empty: given twice; give each camera once"),
        (("empty",) * 9, 1, "9 cameras; expected at most 8"),
        (("a/one.avi", "b/one.avi", "a/two.avi"), 1, "names that repeat"),
    ],
)
def test_what_cannot_be(
    calibrate: Calibrate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], status: int, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("empty", "other", "session", "a", "b"):
        Path(name).mkdir()
    Path("session/session.toml").touch()
    for name in ("bad.avi", "worse.avi", "a/one.avi", "b/one.avi", "a/two.avi"):
        Path(name).write_bytes(b"x" * 400)
    rig = usual_rig(SIZE)
    write_rig_toml(Path("wrong.toml"), rig)
    text = Path("wrong.toml").read_text(encoding="utf-8").replace(repr(float(rig.cameras[0].matrix[0, 0])), "-350.0")
    Path("wrong.toml").write_text(text, encoding="utf-8")
    result = calibrate(*words)
    assert result.status == status and said in (result.last if status == 1 else result.err)
    assert not Path("rig.toml").exists()


def test_a_project_of_pose2sim_names_its_board(pictures: Pictures, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Its sides are counted rows first; --board is stronger than what it says."""
    place = tmp_path / "project" / "calibration" / "extrinsics"
    place.mkdir(parents=True)
    for side, images in (("cam01", pictures.left), ("cam02", pictures.right)):
        folder(place / f"ext_{side}_img", images)
    board = {"extrinsics_corners_nb": [4, 7], "extrinsics_square_size": 30}
    tables = {"calibration": {"calculate": {"extrinsics": {"board": board}}}}
    (tmp_path / "project" / "Config.toml").write_text(tomli_w.dumps(tables), encoding="utf-8")
    words = ("calibrate", "rig", tmp_path / "project", "--out", tmp_path / "rig.toml", "--distance", "1.6")
    result = duocap(capsys, *words)
    assert result.status == 0 and "cam01 (ext_cam01_img), cam02 (ext_cam02_img), board of Config.toml" in result.out
    assert read_rig_toml(tmp_path / "rig.toml").baseline_m == pytest.approx(pictures.rig.baseline_m, rel=0.01)
    larger = duocap(capsys, *words, "--cameras", "1,2", "--board", "chessboard:7x4:60")
    assert larger.status == 0 and "board: chessboard:7x4:60" in larger.out
    assert read_rig_toml(tmp_path / "rig.toml").baseline_m == pytest.approx(2.0 * pictures.rig.baseline_m, rel=0.01)
    assert duocap(capsys, "calibrate", "rig", place, "--cameras", "1,2", "--out", tmp_path / "rig.toml").status == 2


@pytest.mark.slow
def test_a_project_of_another_program_with_its_board_and_frame_times(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """As caliscope has it; its second camera began half a second later and lost pictures, which its list of times tells."""
    place, rig = tmp_path / "project" / "calibration" / "extrinsic", usual_rig((720, 540))
    place.mkdir(parents=True)
    board = Board("charuco", 6, 4, 0.030, 0.021, "DICT_4X4_250")
    table = {"columns": 7, "rows": 5, "square_size_overide_cm": 3.0, "aruco_scale": 0.7, "dictionary": board.dictionary}
    (tmp_path / "project" / "charuco.toml").write_text(tomli_w.dumps(table), encoding="utf-8")
    poses = scene_views(board, rig, N + 4, seed=12, share=(0.3, 0.7))
    times = ["cam_id,frame_time"]
    for number, camera in enumerate(rig.cameras):
        kept = [k for k in range(5 * len(poses)) if number == 0 or (k >= 5 and k % 7)]
        images = [render_board(board, camera, p[:3], p[3:], Look(noise=1.5, samples=2), seed=k) for k, p in enumerate(poses)]
        write_mkv(place / f"cam_{number}.mkv", [images[k // 5] for k in kept], 0.1 * np.arange(len(kept)), 10.0)
        times += [f"{number},{500.0 + 0.1 * k + 0.01 * number:.4f}" for k in kept]
    (place / "timestamps.csv").write_text("\n".join(times) + "\n", encoding="utf-8")
    result = duocap(capsys, "calibrate", "rig", tmp_path / "project", "--out", tmp_path / "rig.toml", "--distance", "1.6")
    assert result.status == 0, result.out + result.err
    assert "board: charuco:6x4:30:21:DICT_4X4_250" in result.out and "board of charuco.toml" in result.out
    assert read_rig_toml(tmp_path / "rig.toml").baseline_m == pytest.approx(rig.baseline_m, rel=0.02)
    told = duocap(capsys, "calibrate", "rig", tmp_path / "project", "--cameras", "0,3", "--out", tmp_path / "rig.toml")
    assert told.status == 1 and "no video of the board of a camera '3'" in told.last
