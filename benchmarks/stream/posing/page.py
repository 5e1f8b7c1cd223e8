"""`duocap pose` in a process of its own, and a Chromium that shows it."""

import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

import numpy as np

from benchmarks.report import build_command, find_chromium
from config.arrays import Floats
from stream.posing.page.picture import IN_TURN
from stream.posing.page.scene import AT_THE_BODY
from stream.viewer.scene.framing import FOV_RAD
from tests.support.ports import free_port
from tests.support.viewer.browser import Browser

SIZE = (1280, 720)
START_S = 180.0


class PosePage:
    """One page.

    Args:
        arguments: of `duocap pose`.
        script: runs in the page before its own.
        scale: drawn pixels to those of the layout.
        size, theme: of the page.
    """

    def __init__(
        self,
        arguments: Sequence[object],
        script: str = "",
        scale: float = 1.0,
        size: tuple[int, int] = SIZE,
        theme: str = "dark",
    ) -> None:
        command = build_command("pose", "--no-browser", "--port", free_port(), "--theme", theme, *arguments)
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self._server = subprocess.Popen(command, stdout=self._log, stderr=subprocess.STDOUT)
        self.browser = Browser(find_chromium(), size, scale)
        if script:
            self.browser.call("Page.addScriptToEvaluateOnNewDocument", source=script)

    def __enter__(self) -> "PosePage":
        url, deadline = "", time.monotonic() + START_S
        while not url:
            self._log.seek(0)
            text = self._log.read()
            url = "".join(re.findall(r"^pose: (http://\S+)", text, re.M))
            if time.monotonic() > deadline or self._server.poll() is not None:
                sys.exit(f"duocap pose did not start: {text}")
            time.sleep(0.2)
        self.browser.open(url)
        self.browser.wait("the page", lambda: "held" in self.browser.text(), START_S)
        time.sleep(2.0)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.browser.__exit__()
        self._server.terminate()
        self._server.wait()

    def canvas(self) -> tuple[float, float]:
        """Return width and height of the scene [px]."""
        script = "(() => { const c = document.querySelector('canvas'); return [c.clientWidth, c.clientHeight]; })()"
        width, height = self.browser.evaluate(script)
        return float(width), float(height)

    def find_point(self, at_m: Floats) -> tuple[float, float]:
        """Return where the page, whose view nobody has turned yet, draws a place (3,) [m], in px of the page."""
        seen = AT_THE_BODY
        ahead = (seen.look_at - seen.position) / np.linalg.norm(seen.look_at - seen.position)
        right = np.cross(ahead, seen.up) / np.linalg.norm(np.cross(ahead, seen.up))
        x, y, z = np.stack([right, np.cross(ahead, right), ahead]) @ (at_m - seen.position)
        width, height = self.canvas()
        focal_px = 0.5 * height / np.tan(0.5 * FOV_RAD)
        return float(0.5 * width + focal_px * x / z), float(0.5 * height + focal_px * y / z)

    def click_joints(self, at_px: Floats, begin: int = 0, end: int = len(IN_TURN)) -> None:
        """Click some of the joints that the page asks for.

        Args:
            at_px: where all of them are, (P, 2) [px of the page].
            begin: the first.
            end: the one after the last.
        """
        for n in range(begin, end):
            self.browser.click_at(*at_px[n].tolist())
            said = f"({n + 1} of {len(IN_TURN)})" if n + 1 < len(IN_TURN) else f"{len(IN_TURN)} joints are clicked"
            self.browser.wait(said, lambda said=said: said in self.browser.text())  # type: ignore[misc]

    def save_picture(self, file: Path) -> None:
        """Save what the page looks like."""
        file.write_bytes(self.browser.picture())
