"""Look at the stage without the app: `python -m tests.look_at_stage FOLDER` saves pictures of it, dark and light.

It starts viser with a body, cameras with pictures and a floor, plays a part of the demo, and has chromium without a window take
pictures. Needs chromium and playwright-core (tests/support/judges.py).
"""

import argparse
import os
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import viser

from capture.detection.detector import Detector
from capture.process.preview import PreviewPublisher
from capture.sources.simulated.camera import SimulatedCamera
from config.settings import DetectorSettings
from reconstruct.pose import TrackingState
from stream.protocol.messages import StatusMessage
from stream.viewer.scene.cameras import Cameras
from stream.viewer.scene.colors import SECOND_BODY
from stream.viewer.scene.stage import Stage, StageOptions
from stream.viewer.scene.world import WORLD, World
from tests.support.judges import node_modules, program
from tests.support.stage_motion import as_state, performer, poses_of, skeleton_and_rig

EYE_M, TARGET_M = (5.2, 1.8, 4.6), (0.35, 0.85, 1.2)
SHOOT = """
const { chromium } = require('playwright-core');
(async () => {
  const [, , chrome, url, file, width, height, wait] = process.argv;
  const args = ['--headless=new', '--no-sandbox', '--disable-quic', '--no-first-run', '--disable-background-networking',
    '--disable-component-update', '--disable-sync', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'];
  const browser = await chromium.launch({ executablePath: chrome, args });
  const page = await browser.newPage({ viewport: { width: +width, height: +height } });
  page.on('console', message => { if (message.type() === 'error') console.log('console: ' + message.text()); });
  page.on('pageerror', error => console.log('page: ' + error.message));
  await page.goto(url);
  await page.waitForTimeout(+wait);
  await page.screenshot({ path: file, timeout: 60000 });
  await browser.close();
})();
"""


def shoot(server: viser.ViserServer, file: Path, size: tuple[int, int] = (1280, 720), wait_s: float = 20.0) -> str:
    """Take a picture of what a browser shows; give what its console complained of."""
    script = ["-e", SHOOT.replace("[, , chrome", "[, chrome"), program("chromium"), f"http://127.0.0.1:{server.get_port()}"]
    modules = node_modules("playwright-core")
    words = [program("node"), *script, str(file), *map(str, size), str(round(wait_s * 1e3))]
    done = subprocess.run(
        words, env={**os.environ, "NODE_PATH": str(modules)}, capture_output=True, text=True, timeout=120, check=True
    )
    return done.stdout


def status(addresses: tuple[str, str]) -> StatusMessage:
    """Return a status that tells where previews are."""
    cameras = {name: {"preview": address} for name, address in zip(("left", "right"), addresses, strict=True)}
    return StatusMessage("truth", 0, "tracking", {}, {}, {}, {}, cameras)


def main() -> None:
    """Take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--first", type=float, default=11.0)
    chosen = parser.parse_args()
    chosen.folder.mkdir(parents=True, exist_ok=True)
    person = performer()
    skeleton, rig = skeleton_and_rig(person)
    poses = poses_of(person, chosen.first, 2.2)
    server = viser.ViserServer(host="127.0.0.1", port=0, verbose=False)
    world = World(server)
    camera = server.initial_camera
    camera.position, camera.look_at, camera.fov = EYE_M, TARGET_M, 0.72
    cameras = Cameras(server.scene, f"{WORLD}/cameras", rig, server.atomic)
    stage = Stage(server.scene, f"{WORLD}/live", skeleton, atomic=server.atomic)
    publishers = (PreviewPublisher(), PreviewPublisher())
    cameras.update_status(status((publishers[0].address, publishers[1].address)))
    cameras.pictures = True
    time.sleep(0.3)
    for n, publisher in enumerate(publishers):
        camera = SimulatedCamera(person.scene, n, person)
        frame = camera.frame_at(round((chosen.first + 2.2) * 60) - 1)
        publisher.offer(frame, Detector(DetectorSettings()).step(frame))
    for pose in poses:
        stage.show(pose)
    deadline = time.monotonic() + 3.0
    while not all(cameras.picture(n) is not None for n in (0, 1)) and time.monotonic() < deadline:
        cameras.update()
        time.sleep(0.02)
    bones = StageOptions(bones=True, joints=True, opacity=0.3)
    scenes = {
        "body": (StageOptions(), poses[-1]),
        "bones": (replace(bones, labels=True), poses[-1]),
        "skeleton": (StageOptions(body=False, bones=True, joints=True), poses[-1]),
        "coasting": (StageOptions(markers=False), as_state(poses[-1], TrackingState.COASTING)),
        "lost": (StageOptions(), as_state(poses[-1], TrackingState.LOST)),
    }
    second: Stage | None = None
    for dark in (True, False):
        world.set_dark(dark)
        server.gui.configure_theme(dark_mode=dark)
        stage.set_ground(world.ground)
        for name, (options, pose) in scenes.items():
            file = chosen.folder / f"{name}_{'dark' if dark else 'light'}.png"
            if chosen.only and chosen.only not in file.name:
                continue
            stage.options = options
            stage.show(pose)
            print(file, shoot(server, file))
    if not chosen.only or chosen.only in "two":
        second = Stage(server.scene, f"{WORLD}/other", skeleton, StageOptions(color=SECOND_BODY, offset_x_m=1.2), server.atomic)
        second.show(poses[-40])
        stage.options = StageOptions()
        stage.show(poses[-1])
        print(shoot(server, chosen.folder / "two_light.png"))
    for publisher in publishers:
        publisher.close()
    cameras.remove()
    server.stop()


if __name__ == "__main__":
    main()
