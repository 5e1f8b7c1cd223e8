"""The TypeScript client, compiled and run: in Node over ZeroMQ, in a browser through the relay; places agree with ours."""

import asyncio
import functools
import http.server
import json
import shutil
import subprocess
import threading
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from capture.sockets.endpoints import KeySettings
from stream.publish.publisher import Publisher
from stream.publish.relay import Relay, StreamReader
from tests.support import judges
from tests.support.clients import check_places, publish_until
from tests.support.kept import Kept

pytestmark = pytest.mark.judge
FOLDER = Path(__file__).resolve().parents[2] / "clients" / "typescript"

NODE_PROGRAM = """
import { jointTransforms } from "./dist/index.js";
import { listen } from "./dist/node.js";
await listen((skeleton, pose) => {
  const places = [...jointTransforms(skeleton, pose)].map(([name, joint]) => [name, joint.position_m]);
  console.log(JSON.stringify({ seq: pose.seq, state: pose.state, marker: pose.markers[0], places }));
}, process.argv[2]);
"""

PAGE = """<!doctype html><title>test</title>
<script type="importmap">{"imports": {"@msgpack/msgpack": "/node_modules/@msgpack/msgpack/dist.esm/index.mjs"}}</script>
<script type="module">
import { connect, jointTransforms } from "/dist/index.js";
const url = new URLSearchParams(location.search).get("relay");
connect((skeleton, pose) => {
  window.told = [...jointTransforms(skeleton, pose)].map(([name, joint]) => [name, joint.position_m]);
}, url);
</script>
"""

BROWSER_PROGRAM = """
import { chromium } from "playwright-core";
const [program, page_url, profile] = process.argv.slice(2);
const flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const browser = await chromium.launchPersistentContext(profile, { executablePath: program, args: flags });
const page = await browser.newPage();
await page.goto(page_url);
await page.waitForFunction(() => window.told, null, { timeout: 30000 });
console.log(JSON.stringify(await page.evaluate(() => window.told)));
await browser.close();
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile a copy of the client."""
    modules = judges.node_modules("typescript", "zeromq", "@msgpack/msgpack")
    folder = tmp_path_factory.mktemp("typescript") / "client"
    shutil.copytree(FOLDER, folder)
    (folder / "node_modules").symlink_to(modules.resolve(), target_is_directory=True)
    command = [judges.program("node"), str(modules / "typescript" / "bin" / "tsc")]
    compiled = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert compiled.returncode == 0, compiled.stdout
    return folder


def test_node_hears_the_stream(built: Path, publisher: Publisher) -> None:
    (built / "hear.mjs").write_text(NODE_PROGRAM, encoding="utf-8")
    node = subprocess.Popen([judges.program("node"), "hear.mjs", publisher.address], cwd=built, stdout=subprocess.PIPE, text=True)
    lines: list[str] = []
    try:
        assert node.stdout is not None
        reader = threading.Thread(target=lambda: lines.extend(line for line in node.stdout or ()), daemon=True)
        reader.start()
        publish_until(publisher, lambda: len(lines) >= 20)
    finally:
        node.kill()
        node.wait()
        reader.join()
        assert node.stdout is not None
        node.stdout.close()
    heard = [json.loads(line) for line in lines[:20]]
    assert np.all(np.diff([pose["seq"] for pose in heard]) == 1)
    assert heard[0]["state"] == "tracking" and heard[0]["marker"]["xyz"] == [1.0, 2.0, 3.0]
    assert heard[0]["marker"]["cameras"] == [0, 1, 2, 3]
    check_places(heard[-1]["places"])


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    """Serves files without a word."""

    extensions_map: ClassVar = {**http.server.SimpleHTTPRequestHandler.extensions_map, ".mjs": "text/javascript"}

    def log_message(self, format: str, *args: object) -> None:
        pass


def test_a_browser_hears_the_stream_through_the_relay(built: Path, publisher: Publisher, tmp_path: Path, kept: Kept) -> None:
    judges.node_modules("playwright-core")
    chromium = judges.program("chromium", "google-chrome", "chromium-browser")
    (built / "page.html").write_text(PAGE, encoding="utf-8")
    (built / "drive.mjs").write_text(BROWSER_PROGRAM, encoding="utf-8")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(QuietHandler, directory=str(built)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    ready, stop = threading.Event(), threading.Event()
    ports: list[int] = []

    async def relay() -> None:
        opened = Relay()
        ports.append(await opened.open("127.0.0.1", 0))
        reader = StreamReader(publisher.address, KeySettings(), opened, asyncio.get_running_loop())
        ready.set()
        while not stop.is_set():
            await asyncio.sleep(0.05)
        reader.close()
        await opened.close()

    thread = threading.Thread(target=lambda: asyncio.run(relay()))
    thread.start()
    assert ready.wait(10)
    url = f"http://127.0.0.1:{server.server_port}/page.html?relay=ws://127.0.0.1:{ports[0]}"
    command = [judges.program("node"), "drive.mjs", chromium, url, str(tmp_path / "profile")]
    browser = kept.process(subprocess.Popen(command, cwd=built, stdout=subprocess.PIPE, text=True))
    try:
        publish_until(publisher, lambda: browser.poll() is not None, 60)
        told = browser.communicate()[0]
        assert browser.returncode == 0
    finally:
        browser.kill()
        browser.wait()
        stop.set()
        thread.join()
        server.shutdown()
        server.server_close()
    check_places(json.loads(told))
