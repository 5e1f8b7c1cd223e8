"""Chromium edits a take as somebody would: a span is set, trimmed, undone, made again, smoothed, kept and saved."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from stream.recording.recording import open_recording
from stream.viewer.app import App, EditedTake
from stream.viewer.takes import TakeFeed
from stream.web.server import open_server
from tests.support.ports import free_port
from tests.support.stream_messages import record
from tests.support.viewer.browser import Browser
from tests.support.viewer.pages import turned
from tests.support.viewer.walking_stream import performance

pytestmark = pytest.mark.judge
SIZE = (1280, 720)
TRIMMED_S = 0.5, 1.5


@dataclass
class EditorPage:
    """Chromium at the page of a take, with hands for it."""

    browser: Browser
    take: Path

    def wait_for(self, text: str) -> None:
        """Wait until something can be read."""
        self.browser.wait(text, lambda: text in self.browser.text())

    def seek(self, at_s: float) -> None:
        """Type a time beside the slider."""
        self.browser.tick("Time [s]")
        self.browser.evaluate("document.activeElement.select()")
        self.browser.call("Input.insertText", text=f"{at_s:g}")
        self.browser.evaluate("document.activeElement.blur()")
        self.wait_for(f"0:0{at_s:.1f} of ")

    def name(self, name: str) -> None:
        """Type the name of the file."""
        self.browser.tick("Name")
        self.browser.call("Input.insertText", text=name)
        self.browser.evaluate("document.activeElement.blur()")


@pytest.fixture
def page(chromium: str, tmp_path: Path) -> Iterator[EditorPage]:
    take = tmp_path / "walk.mcap"
    take.write_bytes(record(performance("s1", 2.0)))
    app = App(open_server("127.0.0.1", free_port(), "duocap"), TakeFeed([take]), True, 33.0, edited=EditedTake(take))
    with turned(app), Browser(chromium, SIZE) as browser:
        browser.open(f"http://127.0.0.1:{app.server.get_port()}")
        browser.wait("the editor", lambda: "of the take." in browser.text())
        browser.click("button", "Pause")
        yield EditorPage(browser, take)
        assert not browser.complaints


def test_a_take_is_trimmed_undone_smoothed_and_saved(page: EditorPage) -> None:
    before, browser = page.take.read_bytes(), page.browser
    whole = open_recording(page.take)
    for at_s, button in zip(TRIMMED_S, ("Begin here", "End here"), strict=True):
        page.seek(at_s)
        browser.click("button", button)
    page.wait_for("0:00.5 to 0:01.5 of the take.")
    browser.click("button", "Trim")
    page.wait_for("Not saved yet.")
    browser.click("button", "Undo")
    page.wait_for("undone")
    assert "Not saved yet." not in browser.text()
    browser.click("button", "Redo")
    page.wait_for("made again")
    browser.click("button", "Smooth")
    page.wait_for("keep it?")
    browser.click("button", "Keep")
    browser.wait("kept", lambda: "keep it?" not in browser.text())
    page.name("short")
    browser.click("button", "Save as new")
    page.wait_for("saved to ")
    assert "Not saved yet." not in browser.text() and page.take.read_bytes() == before
    saved = open_recording(page.take.with_name("short.mcap"))
    seconds = (saved.poses[-1].t_capture_ns - saved.poses[0].t_capture_ns) * 1e-9
    assert seconds == pytest.approx(TRIMMED_S[1] - TRIMMED_S[0], abs=0.03)
    of_whole = {pose.seq: pose for pose in whole.poses}
    turned = [np.abs(pose.rotations_xyzw - of_whole[pose.seq].rotations_xyzw).max() for pose in saved.poses]
    assert 0.0 < max(turned) < 0.2
