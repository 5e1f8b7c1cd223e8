"""Chromium driven over its own DevTools protocol: open a page, look, click, drag, and hear what it asks for and complains of."""

import base64
import json
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from websockets.sync.client import connect

ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--remote-debugging-port=0",
    "--remote-allow-origins=*",
)
START_S = 30.0
ANSWER_S = 300.0
STILL = 4  # pictures in a row without a change
LOADED_ANEW = "Inspected target navigated or closed"


class Browser:
    """One page. requests: all URLs it asked for; complaints: errors on its console, and what it threw.

    scale: drawn pixels to those of the layout; scenes are drawn by software, so that fewer pixels are faster.
    """

    def __init__(self, program: str, size: tuple[int, int] = (1280, 720), scale: float = 0.5) -> None:
        self._scale = scale
        self._folder = tempfile.TemporaryDirectory(prefix="duocap-browser-", ignore_cleanup_errors=True)
        arguments = [*ARGUMENTS, f"--user-data-dir={self._folder.name}", f"--window-size={size[0]},{size[1]}", "about:blank"]
        self.process = subprocess.Popen([program, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._socket = connect(self._page_address(), max_size=None, open_timeout=START_S, ping_interval=None)
        self._number = 0
        self.requests: list[str] = []
        self.complaints: list[str] = []
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.resize(*size)

    def __enter__(self) -> "Browser":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        self.process.kill()
        self.process.wait()
        self._folder.cleanup()

    def _page_address(self) -> str:
        file, deadline = Path(self._folder.name) / "DevToolsActivePort", time.monotonic() + START_S
        while not file.exists() or "\n" not in file.read_text(encoding="utf-8"):
            assert time.monotonic() < deadline and self.process.poll() is None, "chromium did not start"
            time.sleep(0.05)
        port = file.read_text(encoding="utf-8").split()[0]
        while True:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list") as answer:
                pages = [page for page in json.load(answer) if page["type"] == "page"]
            if pages:
                return str(pages[0]["webSocketDebuggerUrl"])
            assert time.monotonic() < deadline, "chromium has no page"
            time.sleep(0.05)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Have the browser do something; gives its answer, an empty result where the page was loaded anew meanwhile."""
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv(timeout=ANSWER_S))
            if message.get("id") == self._number:
                if message.get("error", {}).get("message") == LOADED_ANEW:
                    return {"result": {}}
                assert "error" not in message, message
                answer: dict[str, Any] = message["result"]
                return answer
            self._hear(message)

    def _hear(self, message: dict[str, Any]) -> None:
        method, parameters = message.get("method"), message.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method == "Network.webSocketCreated":
            self.requests.append(parameters["url"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(str(parameters["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and parameters["type"] == "error":
            self.complaints.append(" ".join(str(argument.get("value")) for argument in parameters["args"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.complaints.append(parameters["entry"]["text"])

    def open(self, url: str) -> None:
        self.call("Page.navigate", url=url)

    def resize(self, width: int, height: int) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=self._scale, mobile=False)

    def evaluate(self, script: str) -> Any:
        """Return the value of a script in the page; promises are waited for."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def text(self) -> str:
        """Return what can be read on the page."""
        return str(self.evaluate("document.body ? document.body.innerText : ''") or "")

    def wait(self, what: str, condition: Callable[[], bool], timeout_s: float = 300.0) -> None:
        """Wait until something is so."""
        deadline = time.monotonic() + timeout_s
        while not condition():
            assert time.monotonic() < deadline, f"waited in vain for: {what}; the page reads: {self.text()[:2000]}"
            time.sleep(0.1)

    def click(self, selector: str, text: str) -> None:
        """Click the element of a kind that reads so."""
        x, y = self._middle(selector, text)
        self.mouse("mousePressed", x, y, 1)
        self.mouse("mouseReleased", x, y, 0)

    def _middle(self, selector: str, text: str) -> tuple[float, float]:
        script = (
            f"(() => {{ const e = [...document.querySelectorAll({json.dumps(selector)})]"
            f".find(e => e.innerText.trim() === {json.dumps(text)}); if (!e) return null; e.scrollIntoView({{block: 'nearest'}});"
            "const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        self.wait(f"{selector} {text!r}", lambda: self.evaluate(script) is not None)
        x, y = self.evaluate(script)
        return x, y

    def click_at(self, x: float, y: float) -> None:
        """Click a point of the page [px]."""
        self.mouse("mouseMoved", x, y, 0)
        self.mouse("mousePressed", x, y, 1)
        self.mouse("mouseReleased", x, y, 0)

    def press(self, text: str) -> None:
        """Click the innermost element that reads so, of whatever kind."""
        self._click_found(
            f"const text = {json.dumps(text)};"
            "const e = [...document.querySelectorAll('*')].filter(e => e.innerText?.trim() === text).pop();"
        )

    def tick(self, label: str) -> None:
        """Click the box, list or number beside a label."""
        self._click_found(_beside(label))

    def choose(self, label: str, option: str) -> None:
        """Choose from a list by its label."""
        chosen = f"(() => {{ {_beside(label)} return e?.value; }})()"
        options = "[...document.querySelectorAll('[role=option]')].filter(e => e.offsetHeight).map(e => e.innerText.trim())"
        self.tick(label)
        self.wait(f"{option!r} in the list", lambda: option in self.evaluate(options))
        self.press(option)
        self.wait(f"{option!r} chosen", lambda: self.evaluate(chosen) == option)

    def upload(self, accepted: str, file: Path) -> None:
        """Choose a file in the upload button in sight that accepts such."""
        button = f"[...document.querySelectorAll('input[type=file]')].find(e => e.accept.includes({json.dumps(accepted)}))"
        self.wait(f"a button that takes {accepted}", lambda: bool(self.evaluate(f"!!({button})")))
        found = self.call("Runtime.evaluate", expression=button)["result"]["objectId"]
        self.call("DOM.setFileInputFiles", files=[str(file)], objectId=found)

    def _click_found(self, find: str) -> None:
        """Click the middle of the element `e` that a script finds."""
        script = (
            f"(() => {{ {find} if (!e) return null; e.scrollIntoView({{block: 'nearest'}}); const r = e.getBoundingClientRect();"
            "return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        self.wait(find, lambda: self.evaluate(script) is not None)
        self.click_at(*self.evaluate(script))

    def mouse(self, kind: str, x: float, y: float, buttons: int) -> None:
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=buttons, clickCount=1)

    def press_key(self, key: str, modifiers: int = 0) -> None:
        """Press a letter's key; modifiers: 2 is Ctrl, 10 Ctrl and Shift."""
        code = {"key": key, "code": f"Key{key.upper()}", "windowsVirtualKeyCode": ord(key.upper())}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, modifiers=modifiers, **code)

    def type_number(self, label: str, number: float) -> None:
        """Type a number into the box beside a label, and leave the box."""
        self.tick(label)
        self.evaluate("document.activeElement.select()")
        self.call("Input.insertText", text=str(number))
        self.evaluate("document.activeElement.blur()")

    def drag(self, begin: tuple[float, float], end: tuple[float, float], steps: int = 12) -> None:
        self.mouse("mousePressed", *begin, 1)
        for n in range(1, steps + 1):
            x, y = (b + (e - b) * n / steps for b, e in zip(begin, end, strict=True))
            self.mouse("mouseMoved", x, y, 1)
            time.sleep(0.02)
        self.mouse("mouseReleased", *end, 0)

    def picture(self, clip: tuple[int, int, int, int] | None = None) -> bytes:
        """Return a screenshot as PNG, of x, y, width, height if that is given."""
        options: dict[str, Any] = {"format": "png"}
        if clip is not None:
            options["clip"] = dict(zip(("x", "y", "width", "height"), clip, strict=True), scale=1)
        return base64.b64decode(self.call("Page.captureScreenshot", **options)["data"])

    def pixels(self, clip: tuple[int, int, int, int] | None = None) -> "np.ndarray[Any, Any]":
        """Return a screenshot as an RGB array."""
        image = cv2.imdecode(np.frombuffer(self.picture(clip), np.uint8), cv2.IMREAD_COLOR)
        assert image is not None
        return np.asarray(image[..., ::-1])

    @contextmanager
    def redrawn(self, clip: tuple[int, int, int, int]) -> Iterator[None]:
        """Do what the block does, and wait until a part of the page, x, y, width, height, looks otherwise and stays so."""
        before = self._wait_still(clip)
        yield
        self.wait("something else", lambda: not np.array_equal(self.pixels(clip), before))
        self._wait_still(clip)

    def _wait_still(self, clip: tuple[int, int, int, int]) -> "np.ndarray[Any, Any]":
        """Return how a part of the page looks once it stays so in STILL pictures."""
        seen = [self.pixels(clip)]

        def look() -> bool:
            image = self.pixels(clip)
            seen[:] = [*seen, image] if np.array_equal(seen[-1], image) else [image]
            return len(seen) >= STILL

        self.wait("a page that stays as it is", look)
        return seen[-1]

    def frames_hz(self, seconds: float) -> float:
        """Return the frames a second that the page draws."""
        script = (
            "new Promise(done => { let n = 0; const t0 = performance.now(); const f = () => { n++; const t = performance.now();"
            f"t - t0 > {1000 * seconds} ? done(1000 * n / (t - t0)) : requestAnimationFrame(f); }}; requestAnimationFrame(f); }})"
        )
        return float(self.evaluate(script))


def _beside(label: str) -> str:
    """Return a script that finds the last input beside a label, `e`."""
    return (
        f"const label = {json.dumps(label)};"
        "let p = [...document.querySelectorAll('label, div')].filter(e => e.innerText?.trim() === label).pop();"
        "while (p && !p.querySelector('input')) p = p.parentElement;"
        "const e = p && [...p.querySelectorAll('input:not([type=hidden])')].pop();"
    )
