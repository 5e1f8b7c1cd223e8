"""Chromium judges the viewer: it moves, pauses, scrubs, records, tunes, loads again while live, and asks nobody else."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from capture.packets import Blobs, Frame
from capture.process.control import TuneOrder
from capture.process.preview import PreviewPublisher
from config.loading import load_settings
from config.per_camera import add_tuned_values
from config.settings import CAMERA_NAMES
from stream.publish.tuning import TuningState
from stream.recording.recording import open_recording
from stream.viewer.app import App
from stream.viewer.feed import LiveFeed
from stream.viewer.requests import ServiceRequests
from stream.web.server import open_server
from tests.support.ports import free_port
from tests.support.viewer.browser import Browser
from tests.support.viewer.pages import turned
from tests.support.viewer.walking_stream import WalkingStream
from tests.support.waiting import wait_until

pytestmark = pytest.mark.judge
SIZE = (1100, 640)
SCENE = (40, 160, 560, 260)  # clear of panels and notices
N_MARKERS = 12


class Cameras(threading.Thread):
    """Two cameras that send previews of some markers while they are sending; n: how many each sees.

    Each preview changes the scene, and it takes software long to draw it: whoever looks at the scene has none sent.
    """

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.n = dict.fromkeys(CAMERA_NAMES[:2], N_MARKERS)
        self.publishers = {name: PreviewPublisher() for name in CAMERA_NAMES[:2]}
        self.sending, self._ending = threading.Event(), threading.Event()
        self.start()

    def run(self) -> None:
        index = 0
        while not self._ending.wait(0.25):
            if not self.sending.is_set():
                continue
            index += 1
            for camera, (name, publisher) in enumerate(self.publishers.items()):
                n = self.n[name]
                points, ones = np.stack([20.0 + 22.0 * np.arange(n), np.full(n, 120.0)], 1), np.ones(n)
                frame = Frame(camera, index, index * 100_000_000, np.full((240, 320, 3), 40, np.uint8))
                publisher.offer(frame, Blobs(camera, index, frame.t_capture_ns, points, 50 * ones, np.zeros((n, 3)), 0.1 * ones))

    def close(self) -> None:
        self._ending.set()
        self.join()
        for publisher in self.publishers.values():
            publisher.close()


@dataclass
class Served:
    """A viewer of a stream of somebody who walks, with cameras to be tuned."""

    app: App
    stream: WalkingStream
    cameras: Cameras
    tuned: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.app.server.get_port()}"


@pytest.fixture(scope="module")
def served(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("recordings")
    tuned = folder / "tuned.toml"
    settings = add_tuned_values(load_settings(None, [f"capture.tuned={tuned}"]), ("one", "two"), lambda text: None)
    cameras = Cameras()
    told = {name: {"preview": cameras.publishers[name].address} for name in CAMERA_NAMES[:2]}
    with WalkingStream(recordings=folder, hz=20, tuning=TuningState(settings, 2), cameras=told) as stream:
        service = ServiceRequests(stream.service)
        server = open_server("127.0.0.1", free_port(), "duocap")
        with turned(App(server, LiveFeed(stream.address, 60.0), True, 33.0, service)) as app:
            yield Served(app, stream, cameras, tuned)
    cameras.close()


@pytest.fixture(scope="module")
def browser(chromium: str, served: Served) -> Iterator[Browser]:
    with Browser(chromium, SIZE) as browser:
        browser.open(served.url)
        browser.wait("the performer", lambda: "session s1, live" in browser.text(), 90.0)
        browser.wait("the first figures", lambda: "budget 33" in browser.text())
        yield browser


def scene(browser: Browser) -> np.ndarray:
    return browser.pixels(SCENE).astype(int)


def difference(one: np.ndarray, other: np.ndarray) -> float:
    """Return the share of pixels that differ clearly."""
    return float((np.abs(one - other).max(axis=2) > 12).mean())


def wait_for_change(browser: Browser, before: np.ndarray, share: float) -> None:
    browser.wait("a change of the scene", lambda: difference(before, scene(browser)) > share)


def press(browser: Browser, text: str) -> None:
    browser.click("button, [role=tab], label", text)


def still(browser: Browser) -> np.ndarray:
    """Return the scene once two pictures of it are equal."""
    pictures = [scene(browser)]

    def rests() -> bool:
        pictures.append(scene(browser))
        return difference(pictures[-2], pictures[-1]) == 0.0

    browser.wait("the scene at rest", rests)
    return pictures[-1]


def test_the_page_moves_and_asks_nobody_else(browser: Browser, served: Served) -> None:
    browser.wait("something to see", lambda: bool(scene(browser).std() > 5.0))
    wait_for_change(browser, scene(browser), 0.005)
    host = served.url.removeprefix("http://")
    outside = [url for url in browser.requests if not url.startswith((f"http://{host}", f"ws://{host}", "data:", "blob:"))]
    assert browser.requests and outside == []


def test_a_pause_stops_the_pose_while_more_comes_scrubs_and_goes_live(browser: Browser, served: Served) -> None:
    press(browser, "Pause")
    browser.wait("the pause", lambda: "s behind" in browser.text())
    at_rest, cursor_s, end_s = still(browser), served.app.player.cursor_s, served.app.feed.span.end_s
    wait_until(lambda: served.app.feed.span.end_s > end_s + 0.5)
    assert difference(at_rest, scene(browser)) == 0.0 and served.app.player.cursor_s == cursor_s
    press(browser, "−1 s")
    wait_until(lambda: abs(served.app.player.cursor_s - max(cursor_s - 1.0, 0.0)) < 0.02)
    wait_for_change(browser, at_rest, 0.005)
    x, y, width, height = browser.evaluate(
        "(() => { const r = [...document.querySelectorAll('.mantine-Slider-track')][0].getBoundingClientRect();"
        "return [r.x, r.y, r.width, r.height]; })()"
    )
    browser.drag((x + 0.7 * width, y + height / 2), (x + 0.25 * width, y + height / 2), steps=4)
    span = served.app.feed.span
    expected_s = span.begin_s + 0.25 * (span.end_s - span.begin_s)
    wait_until(lambda: abs(served.app.player.cursor_s - expected_s) < 0.15 * span.end_s)
    before = still(browser)
    press(browser, "Live")
    browser.wait("the live edge", lambda: "session s1, live" in browser.text())
    wait_for_change(browser, before, 0.005)


def test_mouse_and_views_change_the_viewpoint(browser: Browser) -> None:
    press(browser, "Pause")
    before = still(browser)
    browser.drag((400, 260), (520, 290), steps=4)
    wait_for_change(browser, before, 0.05)  # the floor's grid, too
    press(browser, "Scene")
    for view in ("Top", "Left"):
        before = still(browser)
        press(browser, view)
        wait_for_change(browser, before, 0.02)
    press(browser, "Live")


def test_a_recording_is_started_and_stopped_by_its_button(browser: Browser, served: Served) -> None:
    press(browser, "Now")
    press(browser, "Record")
    browser.wait("the file's name", lambda: f"Recording to {served.tuned.parent}" in browser.text())
    browser.wait("the button", lambda: "Stop recording" in browser.text())
    press(browser, "Stop recording")
    browser.wait("the end", lambda: "Recorded:" in browser.text())
    (file,) = served.tuned.parent.glob("*.mcap")
    assert open_recording(file).skeleton.subject == "Ann" and str(file) in browser.text()


def in_column(title: str, needed: str, then: str) -> str:
    """Return a script on the `box` around a camera's column: the smallest around its title that holds what is needed.

    Views of the scene have the same titles, in boxes that hold the columns as well.
    """
    return (
        "(() => { const boxes = [...document.querySelectorAll('*')]"
        f".filter(e => e.children.length === 0 && e.textContent.trim() === {title!r})"
        f".map(e => {{ let box = e; while (box && !box.querySelector({needed!r})) box = box.parentElement; return box; }})"
        ".filter(box => box).sort((a, b) => a.querySelectorAll('*').length - b.querySelectorAll('*').length);"
        f"const box = boxes[0]; if (!box) return null; {then} }})()"
    )


SLIDER = in_column(
    "Left camera",
    "[role=slider]",
    "const thumb = box.querySelector('[role=slider]'), t = thumb.getBoundingClientRect();"
    "const r = thumb.parentElement.getBoundingClientRect();"
    "return [t.x + t.width / 2, t.y + t.height / 2, r.x + r.width, t.y + t.height / 2];",
)
RESET = in_column(
    "Left camera",
    "[role=slider]",
    "[...box.querySelectorAll('button')].find(b => b.innerText.trim() === 'Reset').click(); return true;",
)


def test_a_slider_tunes_its_camera_alone_and_what_was_tuned_is_saved(browser: Browser, served: Served) -> None:
    def column(title: str) -> str:
        return str(browser.evaluate(in_column(title, "[role=slider]", "return box.innerText;")))

    asks: list[object] = []

    def asked(key: str, value: float) -> bool:
        asks.extend(ask.order for ask in served.stream.fanout.asks() if ask.process == "left")
        return any(isinstance(order, TuneOrder) and order.settings.get(key) == value for order in asks)

    served.cameras.sending.set()
    press(browser, "Cameras")
    press(browser, "Tune the cameras")
    for title in ("Left camera", "Right camera"):
        browser.wait(f"all markers of the {title}", lambda title=title: f"{N_MARKERS} markers" in column(title))  # type: ignore[misc]

    def dragged() -> bool:
        """Drag the slider to its end, unless that was heard already: columns may still move while they open."""
        if not asked("detector.min_area_px", 60.0):
            x, y, end_x, end_y = browser.evaluate(SLIDER)
            browser.drag((x, y), (end_x + 20, end_y))
        return asked("detector.min_area_px", 60.0)

    browser.wait("the request of the slider", dragged)
    served.cameras.n["left"] = 8  # as the camera's process would do
    browser.wait("fewer markers", lambda: "8 markers" in column("Left camera"))
    assert f"{N_MARKERS} markers" in column("Right camera")
    press(browser, "Save for these cameras")
    browser.wait("where it is saved", lambda: "tuned.toml" in browser.text())
    assert "min_area_px = 60.0" in served.tuned.read_text("utf-8")
    asks.clear()
    browser.evaluate(RESET)
    wait_until(lambda: asked("detector.min_area_px", 3.0))
    press(browser, "Close tuning")
    browser.wait("the columns gone", lambda: "Room" not in browser.text())
    served.cameras.sending.clear()


def test_every_tab_fits_into_its_panel_on_desktop_and_tablet(browser: Browser) -> None:
    sticks_out = """[...document.querySelectorAll(".duo *")].filter(e => {
        const p = e.closest(".duo").parentElement.getBoundingClientRect(), r = e.getBoundingClientRect();
        return r.width > 0 && (r.right > p.right + 1 || r.left < p.left - 1);
    }).map(e => e.innerText)"""
    for size in ((768, 1024), SIZE):
        browser.resize(*size)
        for tab in ("Scene", "Charts", "Cameras", "Now"):
            press(browser, tab)
            browser.wait(f"a page where nothing sticks out: {tab}", lambda: browser.evaluate(sticks_out) == [])


def test_a_page_loaded_again_while_live_shows_the_same(browser: Browser, served: Served) -> None:
    browser.evaluate("window.before = true")
    browser.open(served.url)
    browser.wait("the new page", lambda: browser.evaluate("window.before === undefined && document.body !== null"))
    browser.wait("the performer", lambda: "session s1, live" in browser.text(), 90.0)
    browser.wait("something to see", lambda: bool(scene(browser).std() > 5.0))
    wait_for_change(browser, scene(browser), 0.005)


def test_nothing_was_complained_of(browser: Browser) -> None:
    browser.text()  # hears the last of it
    # What the server's library logs where a part of a column is closed while updates for it are on their way.
    known = ("favicon", "WebSocket", "non-existent component")
    assert [text for text in browser.complaints if not any(part in text for part in known)] == []


def test_pages_of_other_sites_are_refused(served: Served) -> None:
    from websockets.exceptions import InvalidStatus
    from websockets.sync.client import connect

    with pytest.raises(InvalidStatus) as refused:
        connect(served.url.replace("http", "ws"), additional_headers={"Origin": "http://evil.example"}).close()
    assert refused.value.response.status_code == 403
