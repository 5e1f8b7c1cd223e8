"""`duocap pose` in a process of its own, and a Chromium that shows it, driven by text on the page and by the mouse."""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from tests.support.ports import free_port
from tests.support.viewer.browser import Browser

SIZE = (1280, 720)
START_S = 180.0


class PosePage:
    """One page, 1280x720. arguments: of `duocap pose`; script: runs in the page before its own."""

    def __init__(self, arguments: Sequence[object], script: str = "", scale: float = 1.0) -> None:
        chromium = shutil.which("chromium") or shutil.which("google-chrome") or sys.exit("chromium is not installed")
        command = [sys.executable, "-m", "tools.launch", "pose", "--no-browser", "--port", str(free_port()), "--theme", "dark"]
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self._server = subprocess.Popen([*command, *map(str, arguments)], stdout=self._log, stderr=subprocess.STDOUT)
        self.browser = Browser(chromium, SIZE, scale)
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

    def press(self, text: str) -> None:
        """Click the innermost element that reads so."""
        script = (
            f"(() => {{ const text = {json.dumps(text)};"
            "const e = [...document.querySelectorAll('*')].filter(e => e.innerText?.trim() === text).pop();"
            "if (!e) return null; e.scrollIntoView({block: 'nearest'}); const r = e.getBoundingClientRect();"
            "return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        self.browser.wait(text, lambda: self.browser.evaluate(script) is not None)
        self.click(*self.browser.evaluate(script))

    def click(self, x: float, y: float) -> None:
        """Click at a point of the page [px]."""
        self.browser.mouse("mouseMoved", x, y, 0)
        self.browser.mouse("mousePressed", x, y, 1)
        self.browser.mouse("mouseReleased", x, y, 0)

    def choose(self, label: str, option: str) -> None:
        """Choose from a list by its label."""
        script = (
            f"(() => {{ const label = {json.dumps(label)};"
            "const e = [...document.querySelectorAll('label, div')].filter(e => e.innerText?.trim() === label).pop();"
            "let p = e; while (p && !p.querySelector('input')) p = p.parentElement;"
            "const r = p.querySelector('input').getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        self.click(*self.browser.evaluate(script))
        time.sleep(0.5)
        self.press(option)

    def upload(self, accepted: str, file: Path) -> None:
        """Give a file to the upload button of the open tab that accepts such."""
        expression = f"[...document.querySelectorAll('input[type=file]')].find(e => e.accept.includes({json.dumps(accepted)}))"
        self.browser.wait("the upload button", lambda: bool(self.browser.evaluate(f"!!({expression})")))
        button = self.browser.call("Runtime.evaluate", expression=expression)["result"]["objectId"]
        self.browser.call("DOM.setFileInputFiles", files=[str(file)], objectId=button)

    def canvas(self) -> tuple[float, float]:
        """Return width and height of the scene [px]."""
        script = "(() => { const c = document.querySelector('canvas'); return [c.clientWidth, c.clientHeight]; })()"
        width, height = self.browser.evaluate(script)
        return float(width), float(height)

    def save_picture(self, file: Path) -> None:
        """Save what the page looks like."""
        file.write_bytes(self.browser.picture())
