"""Chromium plays the start page through: from two videos in an empty folder to a recorded take that the viewer shows."""

import shutil
from pathlib import Path

import pytest

from capture.sources.simulated.scene import SimulatedScene
from stream.recording.session import read_session
from tests.support.judges import program
from tests.support.viewer.browser import Browser
from tests.support.viewer.start_player import StartPlayer, open_start_page
from tools.project_file import read_project_file
from tools.simulate import simulate_recording

pytestmark = [pytest.mark.judge, pytest.mark.slow, pytest.mark.timeout(3000)]
SCENE = SimulatedScene(motion="walk", markers="all_around", fps=20.0, tpose_s=8.0, seconds=4.0, width_px=480, height_px=360)
WAIT_S = 900.0  # of a step, on a busy machine


def test_from_nothing_to_a_recorded_take(tmp_path: Path) -> None:
    chromium = program("chromium", "chromium-browser", "google-chrome")
    simulate_recording(SCENE, tmp_path / "videos")
    project = tmp_path / "project"
    project.mkdir()
    for name in ("left.avi", "right.avi"):
        shutil.copy(tmp_path / "videos" / name, project)
    with open_start_page(project) as url, Browser(chromium, (1280, 720)) as browser:
        player = StartPlayer(browser, url)
        player.choose_cameras()
        player.take_rig_file(tmp_path / "videos" / "rig.toml")
        player.stand_in_tpose(WAIT_S)
        player.record(WAIT_S)
        player.press("See it")
        player.wait_for("recording, ")
        player.press("Back to the steps")
        player.wait_for("See and edit takes")
        player.press("Pose it")
        player.wait_for("drag a joint: the body follows", WAIT_S)
        player.press("Back to the steps")
        player.wait_for("See and edit takes")
        player.press("Write the file")
        player.wait_for("written: takes/take-1.bvh", WAIT_S)
        assert not [request for request in browser.requests if "127.0.0.1" not in request and request.startswith("http")]
    kept = read_project_file(project)
    assert kept is not None and kept.cameras == ("left.avi", "right.avi") and kept.has_rig and kept.has_subject
    (take,) = kept.list_takes()
    assert (project / "takes" / "take-1.bvh").stat().st_size > 10_000
    assert take.name == "take-1" and int(read_session(take).end["poses"]) > 40
