"""Chromium judges the guide's page: pictures, words, meters, the verdict with its picture, starting again."""

import ctypes
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest

from calibration.rig_toml import read_rig
from config.errors import DuocapError
from config.loading import load_settings
from config.settings import Settings
from database.default import default_database
from stream.guidance.picture import GREEN
from tests.browser import Browser
from tests.camera_server import MjpegServer, Play
from tests.guided_movies import BOARD, HZ, board_movie, boards_rig, empty_movie, tpose_movie
from tests.judges import program
from tests.ports import free_port
from tools.calibrate_live_tpose import Outcome, watch_tpose
from tools.calibrate_rig import RigTask
from tools.calibrate_rig_live import calibrate_live
from tools.subject_session import subject_from_pairs

pytestmark = [pytest.mark.judge, pytest.mark.slow]
T0_S = time.perf_counter()
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


class Guided(threading.Thread):
    """A guided calibration in a thread of its own. told: what the terminal would show; error: what it ended with."""

    def __init__(self, work: Callable[[Settings, Callable[[str], None]], object]) -> None:
        super().__init__(daemon=True)
        self.told: list[str] = []
        self.error: DuocapError | None = None
        self._work = work
        self.settings = load_settings(None, [f"viewer.port={free_port()}", "viewer.theme=dark"])
        self.start()

    def run(self) -> None:
        try:
            self._work(self.settings, self.told.append)
        except DuocapError as error:
            self.error = error

    def interrupt(self) -> None:
        """Press Ctrl-C in this thread, and wait until it has ended its camera processes."""
        assert self.ident is not None
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self.ident), ctypes.py_object(KeyboardInterrupt))
        self.join(20.0)
        assert not self.is_alive()

    @property
    def url(self) -> str:
        """Where the page is, once it is."""
        deadline = time.monotonic() + 60.0
        while time.monotonic() < deadline:
            for line in self.told:
                if line.startswith("guidance: "):
                    return line.removeprefix("guidance: ")
            time.sleep(0.05)
        raise AssertionError(self.told)


def later(movie: tuple[bytes, ...], fps: float) -> MjpegServer:
    """Give a camera that shows an empty room until `moved` is set, then a movie."""
    return MjpegServer(play=Play(empty_movie(), fps, moved=movie, t0_s=T0_S))


@pytest.fixture
def browser() -> Iterator[Browser]:
    with Browser(program(*CHROMIUM), (1440, 860)) as opened:
        yield opened


def look(browser: Browser, guided: Guided) -> None:
    browser.open(guided.url)
    browser.wait("the page", lambda: "What to do" in browser.text(), 60.0)
    browser.evaluate("document.querySelectorAll('.mantine-Notification-root button').forEach(b => b.click())")


def keep(browser: Browser, name: str) -> np.ndarray:
    """Give a screenshot, and keep it where $DUOCAP_SCREENSHOTS says."""
    png = browser.picture()
    where = os.environ.get("DUOCAP_SCREENSHOTS")
    if where:
        Path(where).mkdir(parents=True, exist_ok=True)
        (Path(where) / f"{name}.png").write_bytes(png)
    image = cv2.imdecode(np.frombuffer(png, np.uint8), cv2.IMREAD_COLOR)
    assert image is not None
    return np.asarray(image[..., ::-1])


def greenish(image: np.ndarray) -> float:
    """The share of pixels that are tinted in the colour of covered cells."""
    r, g, b = (image[..., k].astype(int) for k in range(3))
    assert GREEN[1] > max(GREEN[0], GREEN[2])
    return float(((g - r > 18) & (g - b > 6)).mean())


def views(browser: Browser) -> int:
    found = re.search(r"(\d+) views? by both cameras|(\d+) of 14", browser.text())
    return int(found[1] or found[2]) if found else 0


def test_a_board_is_guided_to_a_verdict(browser: Browser, tmp_path: Path) -> None:
    out = tmp_path / "rig.toml"
    task = RigTask(BOARD, out, out.with_suffix(".png"))
    left, right = board_movie()
    with later(left, HZ) as a, later(right, HZ) as b:
        guided = Guided(lambda settings, tell: calibrate_live(settings, [a.url, b.url], task, None, True, tell))
        look(browser, guided)
        browser.wait("both cameras", lambda: browser.text().count("live") >= 2, 120.0)
        browser.wait("words for nothing", lambda: "show the board to the cameras" in browser.text())
        before = greenish(keep(browser, "guide_empty"))
        for server in (a, b):
            server.set(moved=True)
        browser.wait("three views", lambda: views(browser) >= 3, 60.0)
        assert greenish(keep(browser, "guide_views")) > before + 0.02
        assert "left picture" in browser.text() and "tilt" in browser.text()
        browser.click("button", "Start again")
        browser.wait("all forgotten", lambda: "starting again: all views are forgotten" in guided.told)
        browser.wait("views again", lambda: 1 <= views(browser) <= 4, 60.0)
        browser.wait("views that would do", lambda: views(browser) >= 10 or "verdict:" in browser.text(), 180.0)
        if "verdict:" not in browser.text():
            browser.click("button", "Finish now")
        browser.wait("the verdict", lambda: "verdict:" in browser.text(), 60.0)
        time.sleep(2.0)
        keep(browser, "guide_verdict")
        assert "pass" in browser.text() or "poor" in browser.text()
        browser.click("button", "Close")
        guided.join(20.0)
        assert not guided.is_alive()
    assert guided.error is None
    assert read_rig(out).baseline_m == pytest.approx(boards_rig().baseline_m, rel=0.01)
    assert [
        request
        for request in browser.requests
        if not request.startswith(("http://127.0.0.1", "ws://127.0.0.1", "data:", "blob:"))
    ] == []


def test_one_camera_sees_nothing_and_another_goes(browser: Browser, tmp_path: Path) -> None:
    task = RigTask(BOARD, tmp_path / "rig.toml", None)
    left, _ = board_movie()
    with MjpegServer(left, fps=HZ) as a, MjpegServer(empty_movie(), fps=HZ) as b:
        guided = Guided(lambda settings, tell: calibrate_live(settings, [a.url, b.url], task, None, True, tell))
        look(browser, guided)
        browser.wait("what is wrong", lambda: "both cameras must see it" in browser.text(), 120.0)
        keep(browser, "guide_one_sees")
        a.set(stalled=True)
        browser.wait("the camera that is gone", lambda: "the left camera:" in browser.text(), 40.0)
        keep(browser, "guide_lost")
        a.set(stalled=False)
        browser.wait("it is back", lambda: "the left camera:" not in browser.text(), 60.0)
        browser.wait("what is wrong", lambda: "both cameras must see it" in browser.text(), 60.0)
        guided.interrupt()
    assert guided.error is not None and "view" in str(guided.error)
    assert not (tmp_path / "rig.toml").exists()


def test_a_t_pose_is_guided(browser: Browser) -> None:
    performer, (left, right) = tpose_movie()
    database = default_database()

    def work(settings: Settings, tell: Callable[[str], None]) -> None:
        def finish(pairs, progress):  # type: ignore[no-untyped-def]
            result = subject_from_pairs("somebody", pairs, performer.rig, performer.markers, database, settings)
            return Outcome(result.verdict)

        watch_tpose(
            settings, [a.url, b.url], performer.rig, performer.markers, database.skeletons, finish, browser=True, tell=tell
        )

    with later(left, 20.0) as a, later(right, 20.0) as b:
        guided = Guided(work)
        look(browser, guided)
        browser.wait("both cameras", lambda: browser.text().count("live") >= 2, 120.0)
        keep(browser, "guide_tpose_nobody")
        b.set(moved=True)
        time.sleep(2.0)
        keep(browser, "guide_tpose_one")
        a.set(moved=True)
        browser.wait("the countdown", lambda: "hold it" in browser.text(), 60.0)
        keep(browser, "guide_tpose_hold")
        browser.wait("the verdict", lambda: "verdict:" in browser.text(), 120.0)
        time.sleep(1.0)
        keep(browser, "guide_tpose_verdict")
        browser.click("button", "Close")
        guided.join(20.0)
    assert guided.error is None
