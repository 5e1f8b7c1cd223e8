"""The pictures of docs/posing.md, by the clicks that they show.

    python -m benchmarks.stream.posing.screenshots [--work DIR] [--out docs] [--views DIR] [--only models,picture,solved,styles]

`duocap pose` in a headless Chromium of 1280x720: dark, the styles' page light. --views: all of them in both themes, also at
1600x900, into a folder each, to be looked at; no picture of docs is made.
"""

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import cv2
import numpy as np

from benchmarks.report import build_parser, run_main
from benchmarks.stream.posing.page import SIZE, PosePage
from benchmarks.stream.posing.pictures import draw_picture
from calibration.placement import intrinsics_from_fov, make_camera_looking_at
from config.arrays import Floats
from config.joints import JOINT_INDEX
from database.builtin.catalog import make_builtin_clip
from reconstruct.models.style.features import build_training_poses, subsample_poses
from reconstruct.models.style.file import write_style
from reconstruct.models.style.learn.train import LearnOptions, fit_style
from stream.posing.document import StoredPose, compute_joint_positions_m, create_document
from stream.posing.page.picture import FOLLOWS_FROM, IN_TURN
from stream.posing.session_file import read_posing_session, write_posing_session
from tests.support.viewer.start_player import CLOSE_NOTICES

SCALE = 0.75  # drawn pixels to those of the page
SIZES = (SIZE, (1600, 900))
PHOTO_SIZE, PHOTO_FOV_DEG = (1280, 960), 50.0
POSED = ("wave", 1.2)  # motion and time [s] of the person in the picture
FRONT_M, ABOVE_M, TARGET_M = (0.0, 1.2, 4.0), (-0.9, 2.6, 2.6), (0.0, 0.9, 0.0)
STYLES, STYLE_POSES, STYLE_ACTIVE = ("walk", "reach"), 150, 60
SHOWN_S = 0.4  # of the motion between keys
AWAY_PX = (30.0, 200.0)
SETTLED_S, SAVED_S = 3.0, 1.5  # until the page has drawn, which a machine without a graphics card does slowly, and has saved


@dataclass(frozen=True)
class Look:
    """How pages are shown. out: folder of their pictures; theme, size: of the page; shots: whether all pictures are kept, not
    those of docs alone."""

    out: Path
    theme: str = "dark"
    size: tuple[int, int] = SIZE
    shots: bool = False


def keep_picture(page: PosePage, look: Look, name: str) -> None:
    """Save what a page looks like once it is drawn, with the mouse away from all buttons.

    Args:
        page: the page.
        look: how it is shown.
        name: of the picture.
    """
    page.browser.mouse("mouseMoved", *AWAY_PX, 0)
    time.sleep(SETTLED_S)
    page.save_picture(look.out / f"{name}.png")


def show_models(look: Look, work: Path) -> None:
    """Show dragged hands, keys and near poses, by the models that answer where no file is given."""
    session = work / "session.json"
    clip = make_builtin_clip("idle")
    write_posing_session(session, create_document(clip.skeleton), clip.skeleton)

    def find_joint(joint: str) -> tuple[float, float]:
        time.sleep(SAVED_S)
        joint_m = compute_joint_positions_m(clip.skeleton, read_posing_session(session).pose)
        return page.find_point(joint_m[JOINT_INDEX[joint]])

    def drag(joint: str, way_px: tuple[float, float], n_held: int) -> None:
        x, y = find_joint(joint)
        page.browser.drag((x, y), (x + way_px[0] * look.size[1] / SIZE[1], y + way_px[1] * look.size[1] / SIZE[1]))
        said = f"{n_held} joints are held"
        page.browser.wait(said, lambda: said in page.browser.text())
        time.sleep(SETTLED_S)

    with open_page([session], look) as page:
        browser = page.browser
        browser.evaluate(CLOSE_NOTICES)
        browser.press("Set key")
        browser.wait("a key", lambda: "1 key" in browser.text())
        drag("rightHand", (-80.0, -120.0), 3)
        drag("leftHand", (30.0, -60.0), 4)
        browser.press_key("g")
        keep_picture(page, look, "posing")
        if look.shots:
            browser.click_at(*find_joint("rightFoot"))
            browser.press_key("r")
            keep_picture(page, look, "posing-rings")
        browser.press("Balls")
        browser.type_number("Time [s]", 1.5)
        time.sleep(SAVED_S)
        browser.press("Set key")
        browser.wait("the motion", lambda: "2 keys, 1.50 s" in browser.text())
        browser.tick("Ghosts")
        browser.press("Play")
        browser.wait("playing", lambda: "Pause" in browser.text())
        browser.press("Pause")
        browser.type_number("Time [s]", SHOWN_S)
        keep_picture(page, look, "posing-keys")
        browser.tick("Ghosts")
        browser.press("Near")
        browser.press("Find near poses")
        browser.wait("near poses", lambda: " cm" in browser.text())
        browser.press("3")
        keep_picture(page, look, "posing-near")


def open_page(files: list[Path], look: Look) -> PosePage:
    """Return the page of files in the look that is asked for."""
    return PosePage(files, scale=SCALE, size=look.size, theme=look.theme)


def show_picture(look: Look, work: Path) -> None:
    """Show clicks in a picture of a camera that stands where one set by hand does."""
    with open_picture(look, work, FRONT_M) as (page, clicks):
        page.click_joints(clicks, 0, FOLLOWS_FROM)
        keep_picture(page, look, "posing-clicks")
        page.click_joints(clicks, FOLLOWS_FROM)
        keep_picture(page, look, "posing-picture")


def show_solved(look: Look, work: Path) -> None:
    """Show a camera that was solved with the pose, of a picture from above."""
    with open_picture(look, work, ABOVE_M) as (page, clicks):
        page.click_joints(clicks)
        page.browser.press("Solve the camera")
        page.browser.wait("the camera", lambda: "Camera and pose are solved" in page.browser.text())
        keep_picture(page, look, "posing-solved")


@contextmanager
def open_picture(look: Look, work: Path, eye_m: tuple[float, float, float]) -> Iterator[tuple[PosePage, Floats]]:
    """Open a page with a picture of a person; give the page, and where the joints that it asks for are, (P, 2) [px of the page].

    Args:
        look: how the page is shown.
        work: folder of intermediate files.
        eye_m: where the camera stands [m].
    """
    name, time_s = POSED
    clip, photo, session = make_builtin_clip(name), work / "photo.png", work / "picture.json"
    row = round(time_s * clip.fps)
    pose = StoredPose(clip.rotvec[row], clip.root_m[row] * [0.0, 1.0, 0.0])
    matrix = intrinsics_from_fov(PHOTO_SIZE, PHOTO_FOV_DEG)
    camera = make_camera_looking_at("photo", PHOTO_SIZE, matrix, eye_m, TARGET_M)
    cv2.imwrite(str(photo), draw_picture(clip.skeleton, (pose.rotvec, pose.root_m), camera, 1))
    write_posing_session(session, create_document(clip.skeleton), clip.skeleton)
    with open_page([session], look) as page:
        page.browser.evaluate(CLOSE_NOTICES)
        page.browser.press("Picture")
        page.browser.upload("image/png", photo)
        page.browser.wait("the picture", lambda: f"(0 of {len(IN_TURN)})" in page.browser.text())
        time.sleep(SETTLED_S)
        canvas = np.array(page.canvas())
        joint_m = compute_joint_positions_m(clip.skeleton, pose)[[JOINT_INDEX[joint] for joint in IN_TURN]]
        at_px = camera.project(joint_m) - 0.5 * (np.array(PHOTO_SIZE) - 1.0)
        yield page, 0.5 * canvas + float((canvas / PHOTO_SIZE).min()) * at_px


def show_styles(look: Look, work: Path) -> None:
    """Show two styles with the latent plane, and what the page says to a motion without keys."""
    files = []
    for name in STYLES:
        files.append(work / f"{name}.style")
        if not files[-1].is_file():
            clip = make_builtin_clip(name)
            poses = subsample_poses(build_training_poses([clip]), STYLE_POSES)
            write_style(files[-1], fit_style(poses, clip.skeleton, name, LearnOptions(active=STYLE_ACTIVE)))
    session = work / "styles.json"
    write_posing_session(session, create_document(make_builtin_clip(STYLES[0]).skeleton), make_builtin_clip(STYLES[0]).skeleton)
    with open_page([*files, session], look) as page:
        browser = page.browser
        browser.evaluate(CLOSE_NOTICES)
        browser.tick("Latent plane")
        time.sleep(SETTLED_S)
        browser.press("Play")
        browser.wait("what cannot be done", lambda: "nothing to play" in browser.text())
        keep_picture(page, look, "posing-styles")


# What is shown, in the order of the page.
SHOWN: Mapping[str, Callable[[Look, Path], None]] = {
    "models": show_models,
    "picture": show_picture,
    "solved": show_solved,
    "styles": show_styles,
}


def main() -> None:
    """Make the pictures."""
    parser = build_parser(__doc__)
    parser.add_argument("--work", type=Path, help="folder for what is made on the way")
    parser.add_argument("--out", type=Path, default=Path("docs"), help="folder of the pictures")
    parser.add_argument("--views", type=Path, help="folder for all pictures in both themes and sizes, instead")
    parser.add_argument("--only", default=",".join(SHOWN))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = options.work or Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        for name in options.only.split(","):
            for look in list_looks(name, options.out, options.views):
                look.out.mkdir(parents=True, exist_ok=True)
                SHOWN[name](look, work)
                print(f"{name}: {look.theme}, {look.size[0]}x{look.size[1]}, in {look.out}", flush=True)


def list_looks(name: str, out: Path, views: Path | None) -> list[Look]:
    """Return how pages are shown.

    Args:
        name: what is shown.
        out: folder of the pictures of docs.
        views: folder for all looks, or None for that of docs.
    """
    if views is None:
        return [Look(out, "light" if name == "styles" else "dark")]
    return [
        Look(views / f"{theme}-{size[0]}x{size[1]}", theme, size, shots=True) for theme, size in product(("dark", "light"), SIZES)
    ]


if __name__ == "__main__":
    run_main(main)
