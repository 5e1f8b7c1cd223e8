"""Chromium judges the guidance page: instructions, pictures, meters, buttons, the result; nothing from elsewhere."""

import time
from collections.abc import Iterator

import numpy as np
import pytest

from calibration.guidance.advice import Advice, Requirement
from calibration.quality.report import Finding, Grade, QualityReport
from stream.guidance.html import CameraCondition
from stream.guidance.page import GuideButton, GuidePage, PageResult
from stream.web.picture import GREEN, CameraPicture
from stream.web.server import open_server
from tests.support.ports import free_port
from tests.support.viewer.browser import Browser
from tests.support.waiting import wait_until

pytestmark = pytest.mark.judge
CAMERAS = (CameraCondition("left camera", True, "640 x 480"), CameraCondition("right camera", False, "gone"))


@pytest.fixture(scope="module")
def page(chromium: str) -> Iterator[GuidePage]:
    opened = GuidePage(open_server("127.0.0.1", free_port(), "duocap"), "<b>rig</b>")
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def browser(chromium: str, page: GuidePage) -> Iterator[Browser]:
    with Browser(chromium, (1000, 600)) as opened:
        opened.open(f"http://127.0.0.1:{page.server.get_port()}")
        opened.wait("the page", lambda: "the cameras are being opened" in opened.text())
        yield opened


def greenish(browser: Browser) -> float:
    """Return the share of pixels in the colour of covered cells."""
    r, g, b = (browser.pixels()[..., k].astype(int) for k in range(3))
    assert GREEN[1] > max(GREEN[0], GREEN[2])
    return float(((g - r > 18) & (g - b > 6)).mean())


def test_instruction_meters_cameras_and_pictures(browser: Browser, page: GuidePage) -> None:
    advice = Advice("hold <it> still", needs=(Requirement("tilt", 0.5, figure="7 of 14"),), counts="7 views")
    page.begin()
    page.show(advice, CAMERAS, ready=False)
    for text in ("hold <it> still", "7 of 14", "7 views", "left camera", "waiting", "gone"):
        browser.wait(text, lambda text=text: text in browser.text())  # type: ignore[misc]
    image = np.full((240, 320, 3), 120, np.uint8)
    for covered in (0.0, 1.0):
        cover = np.full((6, 8), covered)
        page.show_pictures([CameraPicture(name, image, (320, 240), cover=cover) for name in ("left", "right")])
        browser.wait(f"pictures covered to {covered}", lambda covered=covered: (greenish(browser) > 0.1) == bool(covered))  # type: ignore[misc]


def test_buttons_are_heard_when_they_are_enabled(browser: Browser, page: GuidePage) -> None:
    page.begin()
    page.show(Advice("go on"), CAMERAS, ready=True)
    page.asked()
    for button in (GuideButton.FINISH, GuideButton.AGAIN):
        time.sleep(0.2)  # the page enables it in a frame of its own
        browser.click("button", button.value)
        wait_until(lambda button=button: button in page.asked())  # type: ignore[misc]


def test_the_result_with_its_findings_and_picture(browser: Browser, page: GuidePage) -> None:
    report = QualityReport((Finding(Grade.PASS, "sharp"), Finding(Grade.POOR, "few views", "take more")))
    picture = np.zeros((60, 80, 3), np.uint8)
    picture[..., 0] = 255
    page.solving("adjusting", 0.5)
    browser.wait("that it is computed", lambda: "solving ..." in browser.text() and "adjusting" in browser.text())
    page.result(PageResult(report, ("written to rig.toml",), picture))
    for text in ("verdict: poor", "few views: take more", "written to rig.toml"):
        browser.wait(text, lambda text=text: text in browser.text())  # type: ignore[misc]
    browser.wait("its picture", lambda: bool((browser.pixels().astype(int) @ [1, -1, -1] > 150).mean() > 0.1))
    browser.click("button", GuideButton.CLOSE.value)
    wait_until(lambda: GuideButton.CLOSE in page.asked())
    page.result(PageResult(None, error="no camera"))
    browser.wait("why there is none", lambda: "it did not work" in browser.text() and "no camera" in browser.text())


def test_nothing_is_loaded_from_elsewhere(browser: Browser, page: GuidePage) -> None:
    own = tuple(f"{scheme}://127.0.0.1" for scheme in ("http", "ws"))
    assert browser.requests and [url for url in browser.requests if not url.startswith((*own, "data:", "blob:"))] == []
