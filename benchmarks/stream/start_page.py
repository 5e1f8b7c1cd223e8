"""The pictures of docs/start.md, and how many decisions and minutes it takes from nothing to a recorded take.

    python -m benchmarks.stream.start_page [--work DIR] [--out docs] [--size 1280x720] [--theme dark] [--earlier-rig]

Two cameras are video files in an empty folder: somebody who shows a board, then a performance that `duocap simulate` renders.
The page is opened in a headless Chromium and played through. Videos that are in DIR already are used again. With --earlier-rig
the rig is taken from its file, in place of the board.
"""

import shutil
import tempfile
import time
from pathlib import Path

import cv2
import numpy as np
from PIL import Image

from benchmarks.report import build_parser, find_chromium, parse_size, run_main, write_json
from benchmarks.stream.pictures import run_duocap
from calibration.board.pattern import board_from_text
from calibration.formats.rig_toml import read_rig_toml
from tests.support.board_scenes import Look, render_board, scene_views
from tests.support.viewer.browser import Browser
from tests.support.viewer.start_player import StartPlayer, open_start_page

BOARD = "chessboard:9x6:100"  # a metre wide: the cameras are far away
PLACES, HELD, BOARD_HZ, SHARE = 18, 14, 10.0, (0.24, 0.5)  # pictures at each place; of the picture's width
SIMULATE = ("simulate", "walk", "--markers", "all_around", "--fps", 30, "--seconds", 8, "--tpose", 8, "--baseline", 0.8)
WAIT_S = 900.0  # of a step, on a busy machine
QUALITY = 60  # of WebP


def make_videos(work: Path, earlier_rig: bool) -> Path:
    """Return the folder of the videos: left.avi and right.avi of the performance, and of a board unless the rig is known."""
    folder = work / "videos"
    work.mkdir(parents=True, exist_ok=True)
    if not (folder / "left.avi").exists():
        run_duocap(work, *SIMULATE, "--out", folder)
    if not (earlier_rig or (folder / "board-right.avi").exists()):
        _film_board(folder)
    return folder


def _film_board(folder: Path) -> None:
    """Write what the cameras of the performance see of a board, held here and there."""
    rig, board, rng = read_rig_toml(folder / "rig.toml"), board_from_text(BOARD), np.random.default_rng(0)
    poses = scene_views(board, rig, PLACES, seed=0, share=SHARE)
    for camera, name in zip(rig.cameras, ("left", "right"), strict=True):
        file, codec = folder / f"board-{name}.avi", cv2.VideoWriter.fourcc(*"MJPG")
        writer = cv2.VideoWriter(str(file), cv2.CAP_OPENCV_MJPEG, codec, BOARD_HZ, camera.size)
        for k, pose in enumerate(poses):
            grey = render_board(board, camera, pose[:3], pose[3:], Look(samples=2), seed=k)
            image = np.repeat(grey[..., None], 3, axis=2) if grey.ndim == 2 else grey
            for _ in range(HELD):
                writer.write(np.clip(image + rng.normal(0.0, 1.0, image.shape), 0, 255).astype(np.uint8))
            writer.write(np.full_like(image, 90))
        writer.release()


def main() -> None:
    """Play the page through, take pictures, print what was counted."""
    parser = build_parser(__doc__)
    parser.add_argument("--work", type=Path, help="folder for the videos; default a new one")
    parser.add_argument("--out", type=Path, default=Path("docs"))
    parser.add_argument("--size", type=parse_size, default=(1280, 720))
    parser.add_argument("--theme", default="dark")
    parser.add_argument("--earlier-rig", action="store_true", help="take the rig of a file, not by the board")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="duocap-start-") as place:
        videos, project = make_videos(options.work or Path(place), options.earlier_rig), Path(place) / "project"
        project.mkdir()
        for name in ("left.avi", "right.avi"):
            shutil.copy(videos / name, project)
        shots: dict[str, bytes] = {}
        with (
            open_start_page(project, "--theme", options.theme) as url,
            Browser(find_chromium(), options.size, 1.0) as browser,
        ):

            def look(name: str) -> None:
                time.sleep(1.5)  # until it is drawn
                shots[name] = browser.picture()
                _save(shots[name], options.out / f"start-{name}.webp")

            player = StartPlayer(browser, url, look)
            player.choose_cameras()
            if options.earlier_rig:
                player.look("rig")
                player.take_rig_file(videos / "rig.toml")
            else:
                player.type_in("Board", BOARD)
                boards = [shutil.copy(videos / f"board-{name}.avi", place) for name in ("left", "right")]
                player.type_in("Videos of the board", ", ".join(f"../{Path(board).name}" for board in boards))
                player.show_board(WAIT_S)
            player.stand_in_tpose(WAIT_S)
            player.record(WAIT_S)
            minutes, decisions = player.minutes, list(player.decisions)
            player.press("6 Send")
            player.wait_for("Send the motion to a program")
            player.look("send")
    print(f"{len(decisions)} decisions, {minutes:.1f} minutes:", *decisions, sep="\n  ")
    write_json(options.json, {"decisions": decisions, "minutes": minutes})


def _save(picture: bytes, file: Path) -> None:
    """Write a picture of the page as WebP."""
    image = cv2.imdecode(np.frombuffer(picture, np.uint8), cv2.IMREAD_COLOR)
    assert image is not None
    Image.fromarray(np.ascontiguousarray(image[..., ::-1])).save(file, quality=QUALITY)


if __name__ == "__main__":
    run_main(main)
