"""What a frame of the viewer's scene costs: messages, bytes, processor time of the server, and the browser's frame rate.

`python -m benchmarks.viewer_scene [--seconds S] [--browser]` plays the demo's truth at 60 Hz to one connection: a websocket that
takes everything and throws it away, or chromium without a window (WebGL in software, so its frame rate is a lower bound). And
what a preview costs the camera's own thread, and the preview's thread, and detection with somebody looking and without.
"""

import argparse
import asyncio
import json
import os
import subprocess
import threading
import time
from collections.abc import Callable

import cv2
import numpy as np
import psutil
import viser
import websockets
from viser import _messages

from capture.detector import Detector
from capture.look import looks_of
from capture.packets import Blobs, Frame
from capture.preview import PERIOD_NS, PreviewPublisher, PreviewSubscriber
from capture.preview_picture import Wish, preview_of
from config.settings import DetectorSettings
from stream.viewer.stage import Stage, StageOptions
from stream.viewer.stage_world import WORLD, World
from tests.judges import node_modules, program
from tests.stage_motion import performer, poses_of, skeleton_and_rig

FPS = 60.0
LOOKING_TURNS, LOOKING_FRAMES = 5, 60
OPTIONS = {
    "nothing": StageOptions(body=False, markers=False, trails=False, contacts=False),
    "body": StageOptions(markers=False, trails=False, contacts=False),
    "bones": StageOptions(body=False, markers=False, trails=False, contacts=False, bones=True, joints=True),
    "default": StageOptions(),
    "everything": StageOptions(bones=True, joints=True, labels=True, opacity=0.4),
}
RATE = """
const { chromium } = require('playwright-core');
(async () => {
  const [, chrome, url, seconds] = process.argv;
  const args = ['--headless=new', '--no-sandbox', '--disable-quic', '--no-first-run', '--disable-background-networking',
    '--disable-component-update', '--disable-sync', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'];
  const browser = await chromium.launch({ executablePath: chrome, args });
  const page = await browser.newPage({ viewport: { width: 640, height: 480 } });
  await page.goto(url);
  await page.waitForTimeout(8000);
  const result = await page.evaluate(seconds => new Promise(done => {
    let n = 0; const begin = performance.now();
    const tick = () => { n++; performance.now() - begin > 1e3 * seconds ? done(n / seconds) : requestAnimationFrame(tick); };
    requestAnimationFrame(tick);
  }), +seconds);
  const heap = await page.evaluate(() => performance.memory.usedJSHeapSize / 1e6);
  console.log(JSON.stringify({ fps: result, heap_mb: heap }));
  await browser.close();
})();
"""


class Drain:
    """A connection that takes everything; n_bytes, n_messages: what came (messages of the socket, each a window of viser's)."""

    def __init__(self, port: int) -> None:
        self.n_bytes = self.n_messages = 0
        self._stop = False
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run(port)), daemon=True)
        self._thread.start()

    async def _run(self, port: int) -> None:
        protocol = websockets.Subprotocol(f"viser-v{viser.__version__}")
        async with websockets.connect(f"ws://127.0.0.1:{port}", subprotocols=[protocol], max_size=None) as socket:
            while not self._stop:
                try:
                    message = await asyncio.wait_for(socket.recv(), 0.2)
                except TimeoutError:
                    continue
                self.n_bytes += len(message)
                self.n_messages += 1

    def close(self) -> None:
        """Leave."""
        self._stop = True
        self._thread.join(2.0)


def play(stage: Stage, poses: list, seconds: float) -> float:  # type: ignore[type-arg]
    """Show poses at 60 Hz; give the processor's share of `show` alone."""
    begun, busy = time.perf_counter(), 0.0
    for n in range(round(seconds * FPS)):
        wait = begun + n / FPS - time.perf_counter()
        if wait > 0:
            time.sleep(wait)
        t0 = time.thread_time()
        stage.show(poses[n % len(poses)])
        busy += time.thread_time() - t0
    return busy / seconds


def measure_scene(seconds: float, browser: bool) -> None:
    """Print a line for each choice of what is shown."""
    person = performer()
    skeleton, _ = skeleton_and_rig(person)
    poses = poses_of(person, 4.0, min(seconds, 12.0))
    server = viser.ViserServer(host="127.0.0.1", port=0, verbose=False)
    World(server)
    stage = Stage(server.scene, f"{WORLD}/live", skeleton, atomic=server.atomic)
    counted: dict[str, int] = {}
    queue: Callable[[_messages.Message], None] = server.scene._queue_scene_message

    def note(message: _messages.Message) -> None:
        counted[type(message).__name__] = counted.get(type(message).__name__, 0) + 1
        queue(message)

    server.scene._queue_scene_message = note  # type: ignore[method-assign]
    process = psutil.Process()
    print("shown        messages/frame  bytes/frame  show() % core  process % core")
    for name, options in OPTIONS.items():
        stage.options = options
        drain = Drain(server.get_port())
        time.sleep(1.0)
        counted.clear()
        bytes_before, cpu_before = drain.n_bytes, sum(process.cpu_times()[:2])
        share = play(stage, poses, seconds)
        cpu = (sum(process.cpu_times()[:2]) - cpu_before) / seconds
        frames = seconds * FPS
        per_frame = sum(counted.values()) / frames
        print(
            f"{name:12} {per_frame:14.1f} {(drain.n_bytes - bytes_before) / frames:12.0f} {100 * share:14.1f} {100 * cpu:15.1f}"
            "  (with the drain's own share)"
        )
        drain.close()
    if browser:
        measure_browser(server, stage, poses, seconds)
    server.stop()


def measure_browser(server: viser.ViserServer, stage: Stage, poses: list, seconds: float) -> None:  # type: ignore[type-arg]
    """Print the browser's own frame rate with and without a moving body."""
    for name in ("nothing", "default", "everything"):
        stage.options = OPTIONS[name]
        words = [program("node"), "-e", RATE, program("chromium"), f"http://127.0.0.1:{server.get_port()}", str(seconds)]
        modules = node_modules("playwright-core")
        chrome = subprocess.Popen(words, env={**os.environ, "NODE_PATH": str(modules)}, stdout=subprocess.PIPE, text=True)
        process = psutil.Process()
        cpu_before, begun = sum(process.cpu_times()[:2]), time.perf_counter()
        while chrome.poll() is None:
            play(stage, poses, 0.5)
        cpu = (sum(process.cpu_times()[:2]) - cpu_before) / (time.perf_counter() - begun)
        said = json.loads(chrome.communicate()[0])
        print(
            f"browser, {name}: {said['fps']:.1f} frames/s, heap {said['heap_mb']:.0f} MB, viewer process {100 * cpu:.1f} % core"
        )


def measure_previews() -> None:
    """Print what previews cost: to the camera's thread, and to the preview's."""
    rng = np.random.default_rng(0)
    none = np.zeros(12)
    blobs = Blobs(0, 0, 0, rng.uniform(0, 480, (12, 2)), none.copy(), np.zeros((12, 3)), none.copy())
    cv2.setNumThreads(1)
    for size in ((640, 480), (1280, 720)):
        small = rng.integers(0, 255, (size[1] // 16, size[0] // 16, 3), np.uint8)
        image = np.asarray(cv2.resize(small, size, interpolation=cv2.INTER_CUBIC), np.uint8)
        image = cv2.add(image, rng.integers(0, 6, image.shape, np.uint8))
        costs = []
        for n in range(200):
            t0 = time.perf_counter()
            preview = preview_of(Frame(0, n, 0, image), blobs)
            costs.append(1e3 * (time.perf_counter() - t0))
        publisher = PreviewPublisher()
        subscriber = PreviewSubscriber(publisher.address)
        while not publisher.wanted:
            time.sleep(0.01)
        offers = []
        for n in range(40):
            frame = Frame(0, n, n * PERIOD_NS, image)
            t0 = time.perf_counter()
            publisher.offer(frame, blobs)
            offers.append(1e3 * (time.perf_counter() - t0))
            time.sleep(0.02)
            subscriber.newest()
        print(
            f"preview of {size[0]}x{size[1]}: {np.median(costs):.2f} ms (p95 {np.percentile(costs, 95):.2f}) in its own thread, "
            f"{len(preview.jpeg)} bytes; the camera's thread {np.median(offers):.4f} ms (p95 {np.percentile(offers, 95):.4f})"
        )
        subscriber.close()
        publisher.close()


def measure_looking() -> None:
    """Print what somebody who looks costs the camera's thread: detection unwatched, and with each kind of picture, in turns."""
    cv2.setNumThreads(1)
    for size in ((640, 480), (1280, 720)):
        image = np.random.default_rng(1).integers(0, 9, (size[1], size[0], 3), np.uint8)
        for n in range(14):
            cv2.circle(image, (40 + 31 * n, 60 + 23 * (n % 9)), 5, (220, 220, 220), -1, cv2.LINE_AA)
        detector = Detector(DetectorSettings())
        publisher = PreviewPublisher(looks_of(detector))
        times: dict[str, list[float]] = {"nobody": [], "picture": [], "foreground": []}
        index = 0
        for name in [*times] * LOOKING_TURNS:
            looker = None if name == "nobody" else PreviewSubscriber(publisher.address, Wish(name))
            while publisher.wanted != (looker is not None):
                time.sleep(0.01)
            for _ in range(LOOKING_FRAMES):
                frame = Frame(0, index, index * 16_666_667, image)
                t0 = time.perf_counter()
                publisher.offer(frame, detector.step(frame))
                times[name].append(1e3 * (time.perf_counter() - t0))
                index += 1
                time.sleep(max(0.0, 0.0166 - (time.perf_counter() - t0)))
            if looker is not None:
                looker.close()
        publisher.close()
        words = [f"{name} {np.median(some):.3f} (p95 {np.percentile(some, 95):.3f})" for name, some in times.items()]
        print(f"detection at {size[0]}x{size[1]}, 60 Hz, ms, watched by: {', '.join(words)}")


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--browser", action="store_true")
    chosen = parser.parse_args()
    measure_previews()
    measure_looking()
    measure_scene(chosen.seconds, chosen.browser)


if __name__ == "__main__":
    main()
