"""Chromium judges the viewer: it opens, turns, pauses, scrubs, records, loads anew while live, and asks nobody else."""

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest

from stream.recording import open_recording
from stream.viewer.app import App
from stream.viewer.feed import LiveFeed
from stream.viewer.server import open_server
from stream.viewer.service_desk import ServiceDesk
from tests.browser import Browser
from tests.judges import program
from tests.ports import free_port
from tests.viewer_stream import WalkingStream

pytestmark = [pytest.mark.judge, pytest.mark.slow]
SCENE = (40, 200, 700, 300)  # of 1280 x 720, clear of panels and notices


class Served:
    """The app in a thread of its own, on a stream of somebody who walks."""

    def __init__(self, stream: WalkingStream) -> None:
        desk = ServiceDesk(stream.service)
        self.app = App(open_server("127.0.0.1", free_port(), "duocap"), LiveFeed(stream.address, 60.0), True, 33.0, desk)
        self.url = f"http://127.0.0.1:{self.app.server.get_port()}"
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._ending.is_set():
            self.app.turn()

    def close(self) -> None:
        self._ending.set()
        self._thread.join()
        self.app.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("recordings")


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[Served]:
    with WalkingStream(recordings=folder) as stream:
        served = Served(stream)
        yield served
        served.close()


@pytest.fixture(scope="module")
def browser(served: Served) -> Iterator[Browser]:
    with Browser(program("chromium", "chromium-browser", "google-chrome")) as browser:
        browser.open(served.url)
        browser.wait("the performer", lambda: "session s1, live" in browser.text(), 90.0)
        browser.wait("the first figures", lambda: "budget 33" in browser.text())
        yield browser


def scene(browser: Browser) -> np.ndarray:
    image = cv2.imdecode(np.frombuffer(browser.picture(SCENE), np.uint8), cv2.IMREAD_COLOR)
    assert image is not None
    return image.astype(int)


def difference(one: np.ndarray, other: np.ndarray) -> float:
    """The share of pixels that differ clearly."""
    return float((np.abs(one - other).max(axis=2) > 12).mean())


def keep(browser: Browser, name: str) -> None:
    """Keep a screenshot where $DUOCAP_SCREENSHOTS says."""
    where = os.environ.get("DUOCAP_SCREENSHOTS")
    if where:
        Path(where).mkdir(parents=True, exist_ok=True)
        (Path(where) / f"{name}.png").write_bytes(browser.picture())


def press(browser: Browser, text: str) -> None:
    browser.click("button, [role=tab], label", text)


def still(browser: Browser) -> np.ndarray:
    """Give the scene once it has come to rest."""
    before = scene(browser)
    for _ in range(40):
        time.sleep(0.4)
        after = scene(browser)
        if difference(before, after) == 0.0:
            return after
        before = after
    raise AssertionError("the scene does not come to rest")


def test_the_page_moves_and_asks_nobody_else(browser: Browser, served: Served) -> None:
    browser.wait("something to see", lambda: bool(scene(browser).std() > 5.0))
    before = scene(browser)
    browser.wait("a movement", lambda: difference(before, scene(browser)) > 0.005)
    keep(browser, "live")
    host = served.url.removeprefix("http://")
    outside = [url for url in browser.requests if not url.startswith((f"http://{host}", f"ws://{host}", "data:", "blob:"))]
    assert browser.requests and outside == []


def test_a_pause_stops_the_pose_while_more_comes_and_live_goes_on(browser: Browser, served: Served) -> None:
    press(browser, "Pause")
    browser.wait("the pause", lambda: "s behind" in browser.text())
    at_rest, cursor_s, end_s = still(browser), served.app.player.cursor_s, served.app.feed.span.end_s
    time.sleep(1.0)
    assert difference(at_rest, scene(browser)) == 0.0
    assert served.app.player.cursor_s == cursor_s and served.app.feed.span.end_s > end_s + 0.5
    press(browser, "Live")
    browser.wait("the live edge", lambda: "session s1, live" in browser.text())
    browser.wait("a movement", lambda: difference(at_rest, scene(browser)) > 0.005)


def test_a_scrub_shows_another_moment(browser: Browser, served: Served) -> None:
    press(browser, "Pause")
    browser.wait("Play", lambda: "Play" in browser.text())
    before, cursor_s = still(browser), served.app.player.cursor_s
    press(browser, "−1 s")
    browser.wait("a second ago", lambda: served.app.player.cursor_s == pytest.approx(cursor_s - 1.0, abs=0.02))
    assert difference(before, still(browser)) > 0.005
    x, y, width, height = browser.evaluate(
        "(() => { const r = [...document.querySelectorAll('.mantine-Slider-track')][0].getBoundingClientRect();"
        "return [r.x, r.y, r.width, r.height]; })()"
    )
    browser.drag((x + 0.7 * width, y + height / 2), (x + 0.25 * width, y + height / 2))
    span = served.app.feed.span
    expected_s = span.begin_s + 0.25 * (span.end_s - span.begin_s)
    browser.wait("the slider's moment", lambda: abs(served.app.player.cursor_s - expected_s) < 0.15 * span.end_s)
    keep(browser, "scrubbed")
    press(browser, "Live")


def test_the_mouse_turns_the_view(browser: Browser) -> None:
    press(browser, "Pause")
    before = still(browser)
    browser.drag((500, 300), (640, 330))
    time.sleep(0.5)
    after = still(browser)
    assert difference(before, after) > 0.05, "the floor's grid, too, is seen from elsewhere"
    press(browser, "Live")


def test_a_recording_is_started_and_stopped_by_its_button(browser: Browser, folder: Path) -> None:
    press(browser, "Now")
    press(browser, "Record")
    browser.wait("the file's name", lambda: f"Recording to {folder}" in browser.text())
    browser.wait("the button", lambda: "Stop recording" in browser.text())
    keep(browser, "recording")
    press(browser, "Stop recording")
    browser.wait("the end", lambda: "Recorded:" in browser.text())
    (file,) = folder.glob("*.mcap")
    recording = open_recording(file)
    assert recording.skeleton.subject == "Ann" and len(recording.poses) > 5
    assert str(file) in browser.text(), "the page names it"


def test_the_views_and_parts_of_the_scene_change_the_picture(browser: Browser) -> None:
    press(browser, "Scene")
    press(browser, "Pause")
    seen = [still(browser)]
    for view in ("Side", "Top", "Left camera", "Front"):
        press(browser, view)
        time.sleep(0.5)
        seen.append(still(browser))
        keep(browser, view.lower().replace(" ", "-"))
        assert difference(seen[-2], seen[-1]) > 0.02, view
    press(browser, "Live")


def test_every_tab_is_readable_on_desktop_and_tablet(browser: Browser) -> None:
    """Nothing sticks out of its panel, whatever the width."""
    sticks_out = """[...document.querySelectorAll(".duo *")].filter(e => {
        const p = e.closest(".duo").parentElement.getBoundingClientRect(), r = e.getBoundingClientRect();
        return r.width > 0 && (r.right > p.right + 1 || r.left < p.left - 1);
    }).map(e => e.innerText)"""
    for width, height in ((1280, 720), (1024, 768), (768, 1024)):
        browser.resize(width, height)
        for tab in ("Now", "Scene", "Charts", "Cameras"):
            press(browser, tab)
            time.sleep(1.0)
            assert browser.evaluate(sticks_out) == [], (width, tab)
            keep(browser, f"{tab.lower()}-{width}x{height}")
    browser.resize(1280, 720)


def test_a_page_loaded_anew_while_live_shows_the_same(browser: Browser, served: Served) -> None:
    browser.evaluate("window.before = true")
    browser.open(served.url)
    browser.wait("the new page", lambda: browser.evaluate("window.before === undefined && document.body !== null"))
    browser.wait("the performer", lambda: "session s1, live" in browser.text(), 90.0)
    browser.wait("something to see", lambda: bool(scene(browser).std() > 5.0))
    before = scene(browser)
    browser.wait("a movement", lambda: difference(before, scene(browser)) > 0.005)


def test_nothing_was_complained_of(browser: Browser) -> None:
    browser.text()  # hears the last of it
    assert [words for words in browser.complaints if "favicon" not in words] == []


def test_pages_of_other_sites_are_refused(served: Served) -> None:
    from websockets.exceptions import InvalidStatus
    from websockets.sync.client import connect

    address = served.url.replace("http", "ws")
    with pytest.raises(InvalidStatus) as refused:
        connect(address, additional_headers={"Origin": "http://evil.example"}).close()
    assert refused.value.response.status_code == 403
