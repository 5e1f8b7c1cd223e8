"""Guided calibration with real camera processes: a board before two network cameras, files that end too early, a T-pose."""

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from calibration.guidance.subject import HELD
from calibration.solve.rig import solve_rig
from capture.packets import Views
from config.errors import CalibrationError, DuocapError, SourceError
from config.loading import load_settings
from database.default import open_default_database
from tests.support.cameras.mjpeg import MjpegServer
from tests.tools.guide.guided_movies import BOARD, HZ, PICTURES, board_movie, boards_rig, tpose_movie
from tools.calibrate.session import fit_subject_to_pairs
from tools.guide.rig import CollectedViews, GuideOutcome, Progress, watch_boards
from tools.guide.subject import TposeWatch, watch_tpose

pytestmark = pytest.mark.slow
SLOW_FPS = 0.5  # of pictures in a folder: a busy machine looks at every one


def no_finish(collected: object, progress: Progress) -> GuideOutcome:
    raise AssertionError("there is nothing to calibrate with")


def test_a_board_before_two_cameras_until_it_is_enough() -> None:
    told, got = list[str](), list[CollectedViews]()

    def finish(collected: CollectedViews, progress: Progress) -> GuideOutcome:
        got.append(collected)
        progress("halfway", 0.5)
        return GuideOutcome(lines=("all is well",))

    left, right = board_movie()
    with MjpegServer(left, fps=HZ) as a, MjpegServer(right, fps=HZ) as b:
        outcome = watch_boards(load_settings(), [a.url, b.url], BOARD, finish, tell=told.append)
    assert outcome.lines == ("all is well",)
    assert any(line.startswith("left camera: http://") for line in told)
    assert any("views by both cameras: " in line for line in told)
    assert not any(line.startswith("not quite complete") for line in told)
    [collected] = got
    assert collected.sizes == ((640, 480), (640, 480))
    assert sum(pair.n_shared > 0 for pair in collected.moments) >= 14
    truth, solution = boards_rig(), solve_rig(BOARD, collected.moments, ((640, 480), (640, 480)))
    assert solution.rms_px < 0.2
    assert solution.rig.baseline_m == pytest.approx(truth.baseline_m, rel=0.01)
    assert solution.rig.cameras[0].focal_px == pytest.approx(truth.cameras[0].focal_px, rel=0.01)


def test_files_that_end_before_it_is_enough(tmp_path: Path) -> None:
    for side, movie in zip(("left", "right"), board_movie(3), strict=True):
        (tmp_path / side).mkdir()
        for k in range(3):
            (tmp_path / side / f"{k}.jpg").write_bytes(movie[(PICTURES + 1) * k])
    sources = [str(tmp_path / "left"), str(tmp_path / "right")]
    with pytest.raises(CalibrationError, match="only 3 good views of the board chessboard:9x6:25 by both cameras, at least 6"):
        watch_boards(load_settings(), sources, BOARD, no_finish, fps=SLOW_FPS)


def test_another_board_is_named() -> None:
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
        watch_boards(load_settings(), [server.url], other, no_finish, tell=tell)
    assert told[-1] == "no more views"


def test_cameras_that_cannot_be_are_refused_before_anything_starts() -> None:
    with pytest.raises(SourceError, match="node"):
        watch_boards(load_settings(), ["node", "0"], BOARD, no_finish)
    with pytest.raises(SourceError, match="the same camera"):
        watch_boards(load_settings(), 2 * ["http://127.0.0.1:9/video"], BOARD, no_finish)
    with pytest.raises(SourceError, match=r"nowhere\.avi"):
        watch_boards(load_settings(), ["nowhere.avi"], BOARD, no_finish)


@pytest.mark.parametrize("n_cameras", [2, 3])
def test_a_t_pose_is_taken_by_itself_and_fitted(n_cameras: int) -> None:
    performer, movies = tpose_movie(n_cameras)
    database, told, heights = open_default_database(), list[str](), list[float]()
    settings = load_settings()

    def finish(pairs: list[Views], progress: Progress) -> GuideOutcome:
        result = fit_subject_to_pairs("somebody", pairs, performer.rig, performer.markers, database, settings)
        heights.append(result.subject.skeleton.height_m)
        return GuideOutcome(result.report)

    with ExitStack() as servers:
        urls = [servers.enter_context(MjpegServer(movie, fps=20.0)).url for movie in movies]
        watch = TposeWatch(urls, performer.rig, performer.markers, database.skeletons)
        watch_tpose(settings, watch, finish, told.append)
    assert any(line.endswith(HELD) for line in told)
    assert heights == [pytest.approx(performer.clip.skeleton.height_m, abs=0.08)]


def test_the_rigs_picture_size_is_minded_and_one_camera_is_too_few(tmp_path: Path) -> None:
    performer, _ = tpose_movie()
    settings, skeletons = load_settings(), open_default_database().skeletons
    sources = []
    for side in ("left", "right"):
        (tmp_path / side).mkdir()
        for k in range(4):
            cv2.imwrite(str(tmp_path / side / f"{k}.png"), np.zeros((240, 320, 3), np.uint8))
        sources.append(str(tmp_path / side))
    watch = TposeWatch(sources, performer.rig, performer.markers, skeletons)
    with pytest.raises(DuocapError, match="320x240, but the rig was calibrated at 640x480"):
        watch_tpose(settings, watch, no_finish, lambda words: None)
    with pytest.raises(CalibrationError, match="one camera cannot measure depth"):
        watch_tpose(settings, replace(watch, sources=sources[:1]), no_finish)
