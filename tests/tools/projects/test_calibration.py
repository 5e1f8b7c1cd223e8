"""Projects of other programs as they were calibrated: which videos, which board, the times of frames."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tomli_w

from config.errors import DuocapError, FileFormatError
from tools.projects.calibration import open_board_videos
from tools.projects.frame_times import read_frame_times

CHARUCO = {"columns": 4, "rows": 5, "board_height": 11.0, "board_width": 8.5, "units": "inch", "dictionary": "DICT_4X4_1000"}
DEFINITION = "CharucoBoardDefinition(name='charuco_5x3', number_of_squares_width=5, number_of_squares_height=3)"


def videos(folder: Path, *names: str) -> None:
    folder.mkdir(parents=True)
    for name in names:
        (folder / name).touch()


def caliscope(folder: Path) -> str:
    videos(folder / "calibration" / "extrinsic", "cam_0.mp4", "cam_1.mp4", "cam_4.mp4", "timestamps.csv")
    (folder / "calibration" / "targets").mkdir()
    table = {**CHARUCO, "aruco_scale": 0.7, "square_size_cm": 5.4}
    (folder / "calibration" / "targets" / "extrinsic_charuco.toml").write_text(tomli_w.dumps(table), encoding="utf-8")
    return "charuco:3x4:54:37.8:DICT_4X4_1000"


def caliscope_of_before(folder: Path) -> str:
    """Its board is as large as the sheet allows."""
    videos(folder / "calibration" / "extrinsic", "port_0.mp4", "port_1.mp4", "port_4.mp4")
    (folder / "config.toml").write_text(tomli_w.dumps({"charuco": {**CHARUCO, "aruco_scale": 0.75}}), encoding="utf-8")
    return "charuco:3x4:53.975:40.4813:DICT_4X4_1000"


def freemocap(folder: Path) -> str:
    videos(folder / "board" / "synchronized_videos", "Camera_0.mp4", "Camera_1.mp4", "Camera_4.mp4")
    videos(folder / "synchronized_videos", "walk_0.mp4", "walk_1.mp4")
    told = {"charuco_square_size": 126, "charuco_board_object": DEFINITION, "path_to_recorded_videos": str(folder / "board")}
    (folder / "a_camera_calibration.toml").write_text(tomli_w.dumps({"metadata": told}), encoding="utf-8")
    return "charuco:4x2:126:100.8:DICT_4X4_250"


def pose2sim(folder: Path) -> str:
    for name in ("cam0", "cam1", "cam4"):
        videos(folder / "calibration" / "extrinsics" / f"ext_{name}_img", "1.png", "2.png")
    board = {"extrinsics_corners_nb": [4, 7], "extrinsics_square_size": 60}
    tables = {"calibration": {"calculate": {"extrinsics": {"extrinsics_method": "board", "board": board}}}}
    (folder / "Config.toml").write_text(tomli_w.dumps(tables), encoding="utf-8")
    return "chessboard:7x4:60"


@pytest.mark.parametrize("make", [caliscope, caliscope_of_before, pose2sim])
def test_the_board_and_its_videos_are_found(make: Callable[[Path], str], tmp_path: Path) -> None:
    board = make(tmp_path)
    project = open_board_videos(tmp_path)
    assert project is not None and project.board is not None
    assert project.board.text == board and len(project.videos) == 3
    left, right = project.choose("4, 1")
    assert left.endswith("4") and right.endswith("1") and len(project.choose(None)) == 3
    for asked, told in {"0,7": "of a camera '7'", "1,1": "twice", "best": "has no calibration"}.items():
        with pytest.raises(DuocapError, match=told):
            project.choose(asked)


def test_a_board_two_squares_high_is_none(tmp_path: Path) -> None:
    """FreeMoCap's smaller board has 4 x 2 corners."""
    freemocap(tmp_path)
    with pytest.raises(FileFormatError, match=r"does not describe a board .*4x2 inner corners.*give it with --board"):
        open_board_videos(tmp_path)


def test_a_recording_of_freemocap_names_that_of_its_calibration(tmp_path: Path) -> None:
    freemocap(tmp_path)
    file = tmp_path / "a_camera_calibration.toml"
    file.write_text(
        file.read_text(encoding="utf-8").replace("width=5", "width=7").replace("height=3", "height=5"), encoding="utf-8"
    )
    project = open_board_videos(tmp_path)
    assert project is not None and project.board is not None and project.board.text == "charuco:6x4:126:100.8:DICT_4X4_250"
    assert project.videos["Camera_1"] == tmp_path / "board" / "synchronized_videos" / "Camera_1.mp4"
    file.unlink()
    own = open_board_videos(tmp_path)
    assert own is not None and own.board is None and list(own.videos) == ["walk_0", "walk_1"]


def test_no_project(tmp_path: Path) -> None:
    assert open_board_videos(tmp_path) is None


def test_times_of_frames_in_any_order(tmp_path: Path) -> None:
    """As MultiWebCam writes them, whose frame numbers count two ways."""
    file = tmp_path / "frame_time_history.csv"
    file.write_text("sync_index,port,frame_index,frame_time\n0,3,0,37.34\n0,1,52,37.33\n1,3,1,37.50\n2,3,53,37.67\n1,1,2,37.49\n")
    times = read_frame_times(file)
    np.testing.assert_allclose(times[3], [0.01, 0.17, 0.34])
    np.testing.assert_allclose(times[1], [0.0, 0.16])
    for text, told in {"cam_id,frame_time\n0,x\n": "stamps.csv:2", "cam_id,frame_time\n0,1\n0,1\n": "one time twice"}.items():
        (tmp_path / "stamps.csv").write_text(text)
        with pytest.raises(FileFormatError, match=told):
            read_frame_times(tmp_path / "stamps.csv")
