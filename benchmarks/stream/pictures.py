"""The moving pictures of README.md: what the cameras of the demo see, and the viewer with the same take.

    python -m benchmarks.stream.pictures [--work DIR] [--out docs]

The performance of the demo is rendered for two cameras, its performer calibrated, the videos replayed; steps whose files are in
DIR already are left out. demo.webp is the overlay of the replay; viewer.webp is `duocap view` in a headless Chromium of 1280x720,
put to one time after the other, so that a slow machine draws the same.
"""

import io
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np
from PIL import Image

from benchmarks.report import build_command, build_parser, find_chromium, run_main
from config.arrays import Bytes
from tests.support.ports import free_port
from tests.support.viewer.browser import Browser
from tests.support.viewer.start_player import CLOSE_NOTICES

TPOSE_S, SECONDS = 2.0, 14.0
SHOWN_S = (10.0, 15.0)  # of the take: a walk in a circle begins
STEP_S = 0.1
VIEW_SIZE, VIEWER_SIZE, PAGE_PX = (480, 522), (960, 540), (1280, 720)
CROP = (slice(150, 890), slice(425, 1105))  # of each view of the overlay, where the performer is: rows and columns
AWAY_PX = (700, 680)  # where the mouse shows no hint
QUALITY = 55  # of WebP; more shows no more
DRAWN_S = 0.35  # until the page has drawn the moment it was put to
START_S = 90.0
SIMULATE = ("simulate", "demo", "--markers", "all_around", "--baseline", 2, "--pixel-noise", 0.3, "--tpose", TPOSE_S)
SUBJECT = ("calibrate", "subject", "left.avi", "right.avi", "--rig", "rig.toml", "--markers", "all_around")
REPLAY = ("replay", "left.avi", "right.avi", "--rig", "rig.toml", "--subject", "subject.toml", "--timestamps", "timestamps.csv")


def run_duocap(folder: Path, *arguments: object) -> None:
    """Run a command of duocap in a folder; end with its words if it fails."""
    command = [str(Path(sys.executable).with_name("duocap")), *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"duocap {arguments[0]} failed: {done.stdout}")


def make_take(work: Path) -> Path:
    """Return the folder of the replayed performance: check.avi and take.mcap are in it."""
    folder = work / "take"
    if not (folder / "left.avi").exists():
        run_duocap(work, *SIMULATE, "--seconds", SECONDS, "--out", folder)
    if not (folder / "subject.toml").exists():
        run_duocap(folder, *SUBJECT, "--from", 0.3, "--to", TPOSE_S - 0.2, "--out", "subject.toml")
    if not (folder / "check.avi").exists():
        run_duocap(folder, *REPLAY, "--no-publish", "--out", "take.mcap", "--overlay", "check.avi")
    return folder


def read_frames(video: Path) -> list[Bytes]:
    """Return the frames of a video that are shown, RGB."""
    reader, frames = cv2.VideoCapture(str(video)), list[Bytes]()
    fps = reader.get(cv2.CAP_PROP_FPS)
    wanted = {round(t_s * fps) for t_s in list_shown_times()}
    for index in range(max(wanted) + 1):
        good, image = reader.read()
        if good and index in wanted:
            views = [cv2.resize(view[CROP], VIEW_SIZE, interpolation=cv2.INTER_AREA) for view in np.hsplit(image, 2)]
            frames.append(np.asarray(np.hstack(views)[..., ::-1], np.uint8))
    return frames


def list_shown_times() -> list[float]:
    """Return the times of the take that are shown [s]."""
    begin_s, end_s = SHOWN_S
    return [begin_s + n * STEP_S for n in range(round((end_s - begin_s) / STEP_S))]


def show_viewer(recording: Path) -> list[Bytes]:
    """Return what the viewer's page looks like at the times shown, RGB."""
    port = free_port()
    options = ("--no-browser", "--port", port, "--theme", "dark", "--at", SHOWN_S[0])
    server = subprocess.Popen(build_command("view", recording, *options), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        with Browser(find_chromium(), PAGE_PX, VIEWER_SIZE[0] / PAGE_PX[0]) as browser:
            browser.wait("the page's server", lambda: is_served(port), START_S)
            browser.open(f"http://127.0.0.1:{port}")
            browser.wait("the player", lambda: "Repeat" in browser.text(), START_S)
            time.sleep(3.0)
            browser.evaluate(CLOSE_NOTICES)
            capture_page_at(browser, SHOWN_S[1])  # the light of the scene comes up with the first pose that is drawn
            return [capture_page_at(browser, t_s) for t_s in list_shown_times()]
    finally:
        server.terminate()
        server.wait()


def is_served(port: int) -> bool:
    """Return whether a port of this machine answers."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def capture_page_at(browser: Browser, t_s: float) -> Bytes:
    """Put the player to a time and return the page, RGB."""
    browser.tick("Time [s]")
    browser.evaluate("document.activeElement.select()")
    browser.call("Input.insertText", text=f"{t_s + 0.5 * STEP_S:.2f}")  # in the middle of the tenth that the clock shows
    browser.mouse("mouseMoved", *AWAY_PX, 0)
    clock = f"0:{int(t_s + 1e-6):02d}.{round(10 * t_s) % 10} of"
    browser.wait(clock, lambda: clock in browser.text())
    time.sleep(DRAWN_S)
    return np.asarray(Image.open(io.BytesIO(browser.picture())).convert("RGB"), np.uint8)


def write_animation(file: Path, frames: Sequence[Bytes]) -> None:
    """Write frames as an animated WebP that repeats."""
    first, *others = (Image.fromarray(frame) for frame in frames)
    duration_ms = round(1e3 * STEP_S)
    first.save(file, save_all=True, append_images=others, duration=duration_ms, loop=0, quality=QUALITY, method=4)
    print(f"{file}: {len(frames)} frames, {1e-6 * file.stat().st_size:.2f} MB")


def main() -> None:
    """Make both pictures."""
    parser = build_parser(__doc__)
    parser.add_argument("--work", type=Path, help="folder for what is made on the way")
    parser.add_argument("--out", type=Path, default=Path("docs"), help="folder of the pictures")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = options.work or Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        take = make_take(work.resolve())
        write_animation(options.out / "demo.webp", read_frames(take / "check.avi"))
        write_animation(options.out / "viewer.webp", show_viewer(take / "take.mcap"))


if __name__ == "__main__":
    run_main(main)
