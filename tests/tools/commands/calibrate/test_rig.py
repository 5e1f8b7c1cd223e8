"""`duocap calibrate rig` from beginning to end on rendered pictures: what it writes, and each kind of bad input in one line."""

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import pytest

from calibration.board.pattern import Board
from calibration.camera import Rig
from calibration.formats.rig_toml import read_monocular_rig, read_rig, write_rig
from capture.recording.video import VideoWriter
from capture.sources.timestamps import StampWriter
from config.arrays import Image
from tests.support.board_scenes import Look, Placed, render, render_board, scene_views, usual_rig
from tests.support.commands import Result, duocap

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

    def run(*words: str | Path, board: str = TEXT) -> Result:
        return duocap(capsys, "calibrate", "rig", *words, "--out", tmp_path / "rig.toml", "--board", board)

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


def refused(result: Result, tmp_path: Path) -> str:
    """Check that nothing was written and give the one line."""
    assert result.status == 1, result.out + result.err
    assert not (tmp_path / "rig.toml").exists()
    return result.last


def test_two_folders_become_the_rig(pictures: Pictures, calibrate: Calibrate, tmp_path: Path) -> None:
    result = calibrate(*both(tmp_path, pictures.left, pictures.right), "--distance", "1.6", "--baseline", "350")
    assert result.status == 0, result.out + result.err
    assert f"left: {N} of {N} pictures show the board" in result.out and "squares are as large as said" in result.out
    rig, truth = read_rig(tmp_path / "rig.toml"), pictures.rig
    assert rig.grade in ("pass", "poor") and f"verdict: {rig.grade}" in result.out
    assert rig.baseline_m == pytest.approx(truth.baseline_m, rel=0.01) and rig.error_px < 0.2
    for ours, true in zip(rig.cameras, truth.cameras, strict=True):
        assert ours.focal_px == pytest.approx(true.focal_px, rel=0.01) and ours.size == SIZE
    picture = cv2.imread(str(tmp_path / "rig.png"))
    assert picture is not None and picture.std() > 10.0


def test_one_folder_of_both_cameras_and_pictures_without_partner(
    pictures: Pictures, calibrate: Calibrate, tmp_path: Path
) -> None:
    """left01 and right01 belong together even where right04 is missing and left02 is damaged; the words say so."""
    together = folder(tmp_path / "both", pictures.left, "left")
    folder(together, pictures.right, "right")
    (together / "right04.png").unlink()
    (together / "left02.png").write_bytes(b"no picture")
    result = calibrate(together, "--no-picture")
    assert result.status == 0, result.out + result.err
    assert "1 have no partner of the same number" in result.out
    assert "cannot be decoded as images: left02.png" in result.out
    assert f"both cameras see it together in {N - 2}" in result.out
    assert not (tmp_path / "rig.png").exists()


def test_one_camera_alone(pictures: Pictures, calibrate: Calibrate, tmp_path: Path) -> None:
    result = calibrate(folder(tmp_path / "some", pictures.left))
    assert result.status == 0, result.out + result.err
    camera = read_monocular_rig(tmp_path / "rig.toml").left
    assert camera.focal_px == pytest.approx(pictures.rig.left.focal_px, rel=0.01)


def test_lenses_from_earlier_are_held_or_refined(pictures: Pictures, calibrate: Calibrate, tmp_path: Path) -> None:
    write_rig(tmp_path / "before.toml", pictures.rig)
    sources = both(tmp_path, pictures.left, pictures.right)
    held = calibrate(*sources, "--intrinsics", tmp_path / "before.toml", "--no-picture")
    assert held.status == 0, held.out + held.err
    np.testing.assert_array_equal(read_rig(tmp_path / "rig.toml").left.matrix, pictures.rig.left.matrix)
    refined = calibrate(*sources, "--intrinsics", tmp_path / "before.toml", "--refine", "--no-picture")
    assert refined.status == 0 and "in the rig that was in" in refined.out
    assert read_rig(tmp_path / "rig.toml").left.focal_px == pytest.approx(pictures.rig.left.focal_px, rel=0.01)
    assert "lenses known from earlier" in calibrate(*sources, "--refine").last


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
    assert blind.status == 1 or read_rig(tmp_path / "rig.toml").grade != "pass"
    for words in (("--unsynchronised",), ("--offset", "0.3333")):
        result = calibrate(left, right, *words, "--no-picture")
        assert result.status == 0, result.out + result.err
        assert read_rig(tmp_path / "rig.toml").baseline_m == pytest.approx(pictures.rig.baseline_m, rel=0.02)
        if "--offset" not in words:
            late = re.search(r"stamps are (?:about )?([\d.]+) ", result.out)
            assert late is not None and float(late[1]) == pytest.approx(333.0, abs=15.0)
    assert "two videos only" in calibrate(folder(tmp_path / "some", pictures.left), "--unsynchronised").last


@pytest.mark.slow
def test_a_video(pictures: Pictures, calibrate: Calibrate, tmp_path: Path) -> None:
    """A moment in every quarter of a second is looked at."""
    filmed(tmp_path / "left.avi", pictures.left)
    filmed(tmp_path / "right.avi", pictures.right)
    result = calibrate(tmp_path / "left.avi", tmp_path / "right.avi", "--no-picture")
    assert result.status == 0, result.out + result.err
    assert "moments looked at show the board" in result.out
    assert read_rig(tmp_path / "rig.toml").baseline_m == pytest.approx(pictures.rig.baseline_m, rel=0.02)


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
    assert read_rig(tmp_path / "rig.toml").baseline_m == pytest.approx(pictures.rig.baseline_m, rel=0.02)
    assert "give it alone" in calibrate(session, session).last


def test_wrong_square_size_is_told_by_a_tape(pictures: Pictures, calibrate: Calibrate, tmp_path: Path) -> None:
    sources = both(tmp_path, pictures.left, pictures.right)
    baseline_mm = 1e3 * pictures.rig.baseline_m
    line = refused(calibrate(*sources, "--baseline", f"{baseline_mm:.0f}", board="7x4:25"), tmp_path)
    said = re.search(r"squares of ([\d.]+) mm would fit, not 25 mm", line)
    assert said is not None and float(said[1]) == pytest.approx(30.0, rel=0.005)
    assert (tmp_path / "rig.png").is_file()


def test_the_rig_that_is_replaced_tells_a_wrong_square_size(pictures: Pictures, calibrate: Calibrate, tmp_path: Path) -> None:
    sources = both(tmp_path, pictures.left, pictures.right)
    write_rig(tmp_path / "rig.toml", pictures.rig)
    result = calibrate(*sources, "--no-picture", board="7x4:25")
    assert "0.833 times: if no camera was moved, one of the two was given a wrong square size" in result.out


def test_left_and_right_swapped(pictures: Pictures, calibrate: Calibrate, tmp_path: Path) -> None:
    line = refused(calibrate(*both(tmp_path, pictures.right, pictures.left)), tmp_path)
    assert "swap" in line


def test_sizes_that_differ_are_named(pictures: Pictures, calibrate: Calibrate, tmp_path: Path) -> None:
    odd = [*pictures.left[:4], cv2.resize(pictures.left[4], (320, 240)), *pictures.left[5:]]
    line = refused(calibrate(*both(tmp_path, odd, pictures.right)), tmp_path)
    assert "05.png is 320x240" in line and "01.png and 8 others 400x300" in line


def test_numbers_of_pictures_that_differ(pictures: Pictures, calibrate: Calibrate, tmp_path: Path) -> None:
    left, right = folder(tmp_path / "left", pictures.left), folder(tmp_path / "right", pictures.right[:7], first=31)
    line = refused(calibrate(left, right), tmp_path)
    assert f"has {N} pictures" in line and "7, and their names share no numbers" in line


def test_too_few_and_identical_views(pictures: Pictures, calibrate: Calibrate, tmp_path: Path) -> None:
    assert "3 views of the board" in refused(calibrate(*both(tmp_path, pictures.left[:3], pictures.right[:3])), tmp_path)
    shutil.rmtree(tmp_path / "left")
    shutil.rmtree(tmp_path / "right")
    same = [[images[0]] * 8 for images in (pictures.left, pictures.right)]
    result = calibrate(*both(tmp_path, *same))
    refused(result, tmp_path)
    assert "7 views left out that are nearly the same as others" in result.out


def test_absurd_lenses_from_earlier(pictures: Pictures, calibrate: Calibrate, tmp_path: Path) -> None:
    sources = both(tmp_path, pictures.left, pictures.right)
    write_rig(tmp_path / "before.toml", pictures.rig)
    text = (tmp_path / "before.toml").read_text(encoding="utf-8")
    focal = repr(float(pictures.rig.left.matrix[0, 0]))
    for wrong in ("-350.0", "3.5"):
        (tmp_path / "wrong.toml").write_text(text.replace(focal, wrong), encoding="utf-8")
        assert "focal length" in refused(calibrate(*sources, "--intrinsics", tmp_path / "wrong.toml"), tmp_path)
    other = usual_rig((640, 480))
    write_rig(tmp_path / "other.toml", other)
    assert "640x480" in refused(calibrate(*sources, "--intrinsics", tmp_path / "other.toml"), tmp_path)


def test_things_that_are_not_there(calibrate: Calibrate, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert "no images in this folder" in refused(calibrate(tmp_path / "empty"), tmp_path)
    assert "no such file or folder" in refused(calibrate(tmp_path / "none.avi", tmp_path / "none.avi"), tmp_path)
    (tmp_path / "bad.avi").write_bytes(b"x" * 400)
    assert "cannot be read as a video" in refused(calibrate(tmp_path / "bad.avi", tmp_path / "bad.avi"), tmp_path)
    assert "both cameras must be given in one way" in refused(calibrate(tmp_path / "empty", tmp_path / "bad.avi"), tmp_path)
    assert "does not name a board" in refused(calibrate(tmp_path / "empty", board="9by6"), tmp_path)


def without_board(pictures: Pictures, change: Callable[[Image], Image]) -> tuple[list[Image], list[Image]]:
    """Spoil four pictures of both cameras."""
    return [np.ascontiguousarray(change(image)) for image in pictures.left[:4]], pictures.right[:4]


def grey(image: Image) -> Image:
    return np.full_like(image, 110)


def half(image: Image) -> Image:
    """Cover all but the left part of the board, whose middle is that of the dark and light squares."""
    ok, corners = cv2.findChessboardCornersSB(image, (7, 4), None, cv2.CALIB_CB_EXHAUSTIVE)
    assert ok
    covered = image.copy()
    covered[:, int(np.median(np.asarray(corners).reshape(-1, 2)[:, 0])) :] = 110
    return covered


BOARDLESS = {
    "nothing": (grey, ("no board",)),
    "half": (half, ("part", "half", "whole")),
    "blurred": (lambda image: cv2.GaussianBlur(image, (0, 0), 12.0), ("blur", "sharp", "focus")),
}


@pytest.mark.parametrize("kind", BOARDLESS)
def test_pictures_without_the_board_say_what_they_show(
    kind: str, pictures: Pictures, calibrate: Calibrate, tmp_path: Path
) -> None:
    change, words = BOARDLESS[kind]
    line = refused(calibrate(*both(tmp_path, *without_board(pictures, change))), tmp_path)
    assert "left: none of 4 pictures shows the board chessboard:7x4:30" in line
    assert any(word in line.lower() for word in words), line


def test_views_that_are_too_soft_to_use(pictures: Pictures, calibrate: Calibrate, tmp_path: Path) -> None:
    soft = [cv2.GaussianBlur(image, (0, 0), 4.0) for image in pictures.left]
    line = refused(calibrate(*both(tmp_path, soft, pictures.right)), tmp_path)
    assert "left: 0 of" in line and "blurred by more than" in line


def test_mirrored_pictures(pictures: Pictures, calibrate: Calibrate, tmp_path: Path) -> None:
    """A chessboard and its mirror image look alike: it is the other camera that gives a mirrored one away."""
    mirrored = [np.ascontiguousarray(image[:, ::-1]) for image in pictures.left]
    line = refused(calibrate(*both(tmp_path, mirrored, pictures.right)), tmp_path)
    assert "agree on where the cameras stand" in line


def test_wrong_rows_and_columns_name_what_was_seen(pictures: Pictures, calibrate: Calibrate, tmp_path: Path) -> None:
    sources = both(tmp_path, pictures.left[:4], pictures.right[:4])
    line = refused(calibrate(*sources, board="9x6:30"), tmp_path)
    assert "7x4" in line.split("shows the board", 1)[1]


def test_two_boards(pictures: Pictures, calibrate: Calibrate, tmp_path: Path) -> None:
    """Two boards of one kind beside each other in every picture: which one is meant?"""
    camera = pictures.rig.left
    shift = np.array([0.30, 0.0, 0.0])
    pose = scene_views(BOARD, pictures.rig, 1, seed=3, share=(0.3, 0.35), tilt_rad=0.2)[0]
    one = Placed(BOARD, pose[:3], pose[3:] - 0.5 * shift)
    image = render([one, Placed(BOARD, pose[:3], pose[3:] + 0.5 * shift)], camera, Look(clutter=0))
    result = calibrate(folder(tmp_path / "two", [image] * 4))
    assert "two boards" in refused(result, tmp_path)


def test_a_mistyped_folder_beside_a_real_one_is_no_camera(pictures: Pictures, calibrate: Calibrate, tmp_path: Path) -> None:
    left = folder(tmp_path / "left", pictures.left[:1])
    assert "no such file or folder" in refused(calibrate(left, "rihgt"), tmp_path)


def test_an_offset_that_is_no_number(calibrate: Calibrate, tmp_path: Path) -> None:
    result = calibrate(tmp_path, tmp_path, "--offset", "nan")
    assert result.status == 2 and "--offset" in result.err and not (tmp_path / "rig.toml").exists()


def test_the_same_pictures_twice(pictures: Pictures, calibrate: Calibrate, tmp_path: Path) -> None:
    left = folder(tmp_path / "left", pictures.left)
    assert "their pictures are the same" in refused(calibrate(left, left, "--no-picture"), tmp_path)
