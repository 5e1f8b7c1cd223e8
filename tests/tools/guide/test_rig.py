"""Guided calibration with real camera processes: a board before two network cameras, files that end too early, a T-pose."""

from contextlib import ExitStack
from pathlib import Path

import cv2
import numpy as np
import pytest

from calibration.board.pattern import Board
from calibration.camera import Rig
from calibration.formats.rig_file import read_rig
from calibration.guidance.subject import HELD
from calibration.subject.subject import Subject, read_subject
from capture.sources.simulated.performer import Performer
from config.errors import CalibrationError, DuocapError, SourceError
from config.loading import load_settings
from database.default import open_default_database
from tests.support.cameras.mjpeg import MjpegServer
from tests.tools.guide.guided_movies import BOARD, HZ, PICTURES, board_movie, boards_rig, tpose_movie
from tools.calibrate.rig import RigTask
from tools.calibrate.session import PerformerPrior
from tools.calibrate.subject import SubjectTask
from tools.guide.page import open_no_page
from tools.guide.rig import calibrate_live
from tools.guide.subject import calibrate_subject_live
from tools.progress import Tell

pytestmark = pytest.mark.slow
SLOW_FPS = 0.5  # of pictures in a folder: a busy machine looks at every one


def calibrate(sources: list[str], folder: Path, board: Board = BOARD, fps: float | None = None, tell: Tell = print) -> Rig:
    """Guide and calibrate, without a page; return the rig that was written."""
    out = folder / "rig.toml"
    calibrate_live(load_settings(), sources, RigTask(board, out, None), fps, open_no_page, tell)
    return read_rig(out)


def test_a_board_before_two_cameras_until_it_is_enough(tmp_path: Path) -> None:
    told = list[str]()
    left, right = board_movie()
    with MjpegServer(left, fps=HZ) as a, MjpegServer(right, fps=HZ) as b:
        rig = calibrate([a.url, b.url], tmp_path, tell=told.append)
    assert any(line.startswith("left camera: http://") for line in told)
    assert any("views by both cameras: " in line for line in told)
    assert not any(line.startswith("not quite complete") for line in told)
    truth = boards_rig()
    assert rig.error_px < 0.2 and rig.cameras[0].size == rig.cameras[1].size == (640, 480)
    assert rig.baseline_m == pytest.approx(truth.baseline_m, rel=0.01)
    assert rig.cameras[0].focal_px == pytest.approx(truth.cameras[0].focal_px, rel=0.01)


def test_files_that_end_before_it_is_enough(tmp_path: Path) -> None:
    for side, movie in zip(("left", "right"), board_movie(3), strict=True):
        (tmp_path / side).mkdir()
        for k in range(3):
            (tmp_path / side / f"{k}.jpg").write_bytes(movie[(PICTURES + 1) * k])
    sources = [str(tmp_path / "left"), str(tmp_path / "right")]
    with pytest.raises(CalibrationError, match="only 3 good views of the board chessboard:9x6:25 by both cameras, at least 6"):
        calibrate(sources, tmp_path, fps=SLOW_FPS)


def test_another_board_is_named(tmp_path: Path) -> None:
    """A board of other counts is shown to one camera alone; it is said what is seen, and nothing is calibrated."""
    told, other = list[str](), type(BOARD)("chessboard", 7, 5, 0.025)

    def tell(line: str) -> None:
        told.append(line)
        if "9x6" in line:
            raise KeyboardInterrupt

    with (
        MjpegServer(board_movie(1)[0], fps=HZ) as server,
        pytest.raises(CalibrationError, match="only 0 good views of the board chessboard:7x5:25, at least 6"),
    ):
        calibrate([server.url], tmp_path, other, tell=tell)
    assert told[-1] == "no more views"


def test_cameras_that_cannot_be_are_refused_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="node"):
        calibrate(["node", "0"], tmp_path)
    with pytest.raises(SourceError, match="the same camera"):
        calibrate(2 * ["http://127.0.0.1:9/video"], tmp_path)
    with pytest.raises(SourceError, match=r"nowhere\.avi"):
        calibrate(["nowhere.avi"], tmp_path)


def calibrate_performer(performer: Performer, sources: list[str], folder: Path, tell: Tell = print) -> Subject:
    """Guide and fit, without a page; return the subject that was written."""
    out = folder / "subject.toml"
    task = SubjectTask("somebody", performer.rig, performer.markers, open_default_database(), PerformerPrior(), out, None)
    calibrate_subject_live(load_settings(), sources, task, None, 0.0, open_no_page, tell)
    return read_subject(out)


@pytest.mark.parametrize("n_cameras", [2, 3])
def test_a_t_pose_is_taken_by_itself_and_fitted(n_cameras: int, tmp_path: Path) -> None:
    performer, movies = tpose_movie(n_cameras)
    told = list[str]()
    with ExitStack() as servers:
        urls = [servers.enter_context(MjpegServer(movie, fps=20.0)).url for movie in movies]
        subject = calibrate_performer(performer, urls, tmp_path, told.append)
    assert any(line.endswith(HELD) for line in told)
    assert subject.skeleton.height_m == pytest.approx(performer.clip.skeleton.height_m, abs=0.08)


def test_the_rigs_picture_size_is_minded_and_one_camera_is_too_few(tmp_path: Path) -> None:
    performer, _ = tpose_movie()
    sources = []
    for side in ("left", "right"):
        (tmp_path / side).mkdir()
        for k in range(4):
            cv2.imwrite(str(tmp_path / side / f"{k}.png"), np.zeros((240, 320, 3), np.uint8))
        sources.append(str(tmp_path / side))
    with pytest.raises(DuocapError, match="320x240, but the rig was calibrated at 640x480"):
        calibrate_performer(performer, sources, tmp_path)
    with pytest.raises(CalibrationError, match="one camera cannot measure depth"):
        calibrate_performer(performer, sources[:1], tmp_path)
