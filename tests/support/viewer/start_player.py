"""Somebody at the start page: what he decides is counted, and how long it takes."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.ports import free_port
from tests.support.viewer.browser import Browser

START_S = 120.0
# That drawing is slow, in words over the page.
CLOSE_NOTICES = "document.querySelectorAll('[class*=Notification-closeButton]').forEach(button => button.click())"


@contextmanager
def open_start_page(folder: Path, *words: str) -> Iterator[str]:
    """Run `duocap start` in a folder; give the page's address."""
    command = [sys.executable, "-m", "tools.launch", "start", str(folder), "--port", str(free_port()), "--no-browser", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            assert line.startswith("start page: "), line + process.stdout.read()
            yield line.split()[2]
        finally:
            process.terminate()
            process.communicate(timeout=START_S)


class StartPlayer:
    """One person, one browser. decisions: what was pressed, typed or chosen, in order."""

    def __init__(self, browser: Browser, url: str, look: Callable[[str], None] = lambda name: None) -> None:
        """Open the page. look: called with the name of each state of it, for pictures."""
        self.browser, self.decisions, self._look = browser, list[str](), look
        browser.open(url)
        self.wait_for("project folder")
        self._begun_s = time.monotonic()

    @property
    def minutes(self) -> float:
        """Time since the page was there [min]."""
        return (time.monotonic() - self._begun_s) / 60.0

    def wait_for(self, text: str, timeout_s: float = START_S) -> None:
        """Wait until something can be read on the page."""
        self.browser.wait(text, lambda: text in self.browser.text(), timeout_s)

    def look(self, name: str) -> None:
        """Let the page be looked at."""
        self.browser.evaluate(CLOSE_NOTICES)
        self.browser.mouse("mouseMoved", 2, 2, 0)  # off what was pressed, whose hint would be over the page
        self._look(name)

    def press(self, label: str) -> None:
        """Press a button."""
        self.browser.wait(f"{label} to be pressed", lambda: bool(self.browser.evaluate(_is_enabled(label))))
        self.browser.click("button", label)
        self.decisions.append(f"press {label}")

    def type_in(self, label: str, text: str) -> None:
        """Type into a field, in place of what is there."""
        self.browser.wait(f"the field {label}", lambda: self._focus(label))
        self.browser.call("Input.insertText", text=text)
        self.browser.evaluate("document.activeElement.blur()")
        time.sleep(0.3)  # it is sent a moment later
        self.decisions.append(f"type {text}")

    def _focus(self, label: str) -> bool:
        """Click a field and select what is in it; return whether it is there to be typed in."""
        self.browser.tick(label)
        return bool(self.browser.evaluate("(e => e.tagName === 'INPUT' && (e.select(), true))(document.activeElement)"))

    def choose_cameras(self) -> None:
        """Use the cameras that are ticked."""
        self.wait_for("Which cameras?")
        self.look("cameras")
        self.press("Use the ticked cameras")
        self.wait_for("Where do the cameras stand?")

    def take_rig_file(self, file: Path) -> None:
        """Take an earlier calibration."""
        self.type_in("File of a rig", str(file))
        self.press("Take the rig of a file")
        self.wait_for("Who performs, and wears what?")

    def show_board(self, timeout_s: float) -> None:
        """Begin with the board, which the cameras are shown, and look at the verdict."""
        self.look("rig")
        self.press("Begin with the board")
        self.wait_for("views by both cameras", timeout_s)
        self.look("board")
        self.wait_for("verdict: ", timeout_s)
        self.look("verdict")
        self.press("Close")
        self.wait_for("Who performs, and wears what?")

    def stand_in_tpose(self, timeout_s: float) -> None:
        """Begin with the T-pose, which the cameras are shown, and look at the verdict."""
        self.look("performer")
        self.press("Begin with the T-pose")
        self.wait_for("arms level", timeout_s)
        self.look("tpose")
        self.wait_for("verdict: ", timeout_s)
        self.look("subject")
        self.press("Close")
        self.wait_for("Record a take")

    def record(self, timeout_s: float) -> None:
        """Record until the sources end."""
        self.look("record")
        self.press("Record")
        self.wait_for("Stop", timeout_s)
        self.wait_for("tracking", timeout_s)
        self.wait_for("poses / s", timeout_s)  # the page of the run, whole
        self.look("recording")
        self.wait_for("See and edit takes", timeout_s)
        self.look("takes")


def _is_enabled(label: str) -> str:
    """Return a script that tells whether a button can be pressed."""
    return f"[...document.querySelectorAll('button')].some(e => e.innerText.trim() === {label!r} && !e.disabled)"
