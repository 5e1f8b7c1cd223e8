"""Chromium judges the posing page: a dragged ball, which the body follows, the keyboard, arrows, a curve that is bent,
the latent plane, near poses, a picture and its camera, a browser that dies."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import ArrayLike

from calibration.placement import intrinsics_from_fov, make_camera_looking_at
from config.joints import JOINT_INDEX
from database.builtin.catalog import make_builtin_clip
from database.geometry.rotations import matrix_from_quaternion
from reconstruct.models.style.synthesis.synthesizer import Synthesis, Synthesizer
from reconstruct.posing.style import StylePoser
from stream.posing.document import create_document
from stream.posing.model import PosingModel
from stream.posing.near import collect_known_poses
from stream.posing.page.app import PageOptions, PosingApp
from stream.posing.page.picture import FOLLOWS_FROM, IN_TURN
from stream.posing.page.scene import BALLS, MOVE, TURN
from stream.posing.session import PosingSession
from stream.web.server import open_server
from tests.support import waiting
from tests.support.ports import free_port
from tests.support.style_posers import style_of
from tests.support.viewer.browser import Browser
from tests.support.viewer.pages import turned

pytestmark = pytest.mark.judge
SIZE = (1280, 720)
wait_until = partial(waiting.wait_until, seconds=300.0)  # a busy machine draws a page for tens of seconds
SCENE = (200, 190, 750, 350)  # of the page: the body with its tools, between panels and notices


@contextmanager
def open_page(chromium: str) -> Iterator[tuple[PosingApp, Browser]]:
    """Open a page in a browser, once the body is drawn."""
    model = PosingModel("style", StylePoser(Synthesizer([style_of("wave", 3)])))
    clips = [make_builtin_clip(name, fps=10.0) for name in ("reach", "squat")]
    options = PageOptions(
        Path("a.json"), {"style": lambda: model}, formats={"bvh": ".bvh"}, known=lambda: collect_known_poses(clips)
    )
    server = open_server("127.0.0.1", free_port(), "duocap pose")
    with turned(PosingApp(server, PosingSession(model), options)) as app, Browser(chromium, SIZE) as browser:
        browser.open(f"http://127.0.0.1:{server.get_port()}")
        browser.wait("the page", lambda: "2 joints are held" in browser.text())
        browser.wait("the body", lambda: bool(browser.pixels((350, 120, 300, 300)).std() > 15.0))
        yield app, browser


@pytest.fixture(scope="module")
def page(chromium: str) -> Iterator[tuple[PosingApp, Browser]]:
    """Open the page that all tests share but the one that kills its browser; those with a picture are the last."""
    with open_page(chromium) as opened:
        yield opened


@pytest.fixture
def app(page: tuple[PosingApp, Browser]) -> PosingApp:
    """Begin again with the first pose, without keys and picture, with the tools of a new page."""
    app, browser = page
    first = create_document(app.session.skeleton)

    def begin() -> None:
        app.motion.go_to(0.0)
        app.session.open(first)
        app.selected, app.scene.tool = "leftHand", BALLS
        app.scene.set_axis("")

    app.put(begin)
    wait_until(lambda: app.session.document.pose is first.pose and not app.motion.motion)
    browser.press("Pose")
    browser.wait("the first pose", lambda: "2 joints are held" in browser.text())
    return app


@pytest.fixture
def browser(page: tuple[PosingApp, Browser]) -> Browser:
    return page[1]


def on_screen(browser: Browser, app: PosingApp, joint: str) -> tuple[float, float]:
    """Return where a page draws a joint [px]."""
    return place_on_screen(browser, app, app.session.joints_m()[JOINT_INDEX[joint]])


def place_on_screen(browser: Browser, app: PosingApp, at_m: ArrayLike) -> tuple[float, float]:
    """Return where a page draws a place, (3,) [m], in px."""
    (client,) = app.server.get_clients().values()
    rotation = matrix_from_quaternion(np.roll(client.camera.wxyz, -1))
    x, y, z = rotation.T @ (np.asarray(at_m) - client.camera.position)
    width, height = browser.evaluate(
        "(() => { const c = document.querySelector('canvas'); return [c.clientWidth, c.clientHeight]; })()"
    )
    focal_px = 0.5 * height / np.tan(0.5 * client.camera.fov)
    return float(0.5 * width + focal_px * x / z), float(0.5 * height + focal_px * y / z)


def test_a_ball_is_dragged_and_the_keyboard_works(browser: Browser, app: PosingApp) -> None:
    x, y = on_screen(browser, app, "rightHand")
    browser.drag((x, y), (x - 50, y - 150), steps=8)
    browser.wait("the hold", lambda: "3 joints are held" in browser.text())
    assert app.selected == "rightHand" and app.session.joints_m()[JOINT_INDEX["rightHand"], 1] > 1.2
    np.testing.assert_allclose(on_screen(browser, app, "rightHand"), (x - 50, y - 150), atol=12.0)
    held = app.session.document
    browser.press_key("m")
    wait_until(lambda: "leftHand" in app.session.document.pins)
    browser.press_key("z", modifiers=2)
    wait_until(lambda: app.session.document is held)
    browser.click("button", "Let all go")
    wait_until(lambda: not app.session.document.pins)


def test_keys_of_other_programs_lock_axes_and_show_tools_with_the_ball_in_front(browser: Browser, app: PosingApp) -> None:
    row = JOINT_INDEX["rightHand"]
    x, y = on_screen(browser, app, "rightHand")
    browser.drag((x, y), (x - 40, y - 80))
    wait_until(lambda: not app.session.dragged and "rightHand" in app.session.document.pins)
    with browser.redrawn(SCENE):
        browser.press_key("g")
        wait_until(lambda: app.scene.tool == MOVE)
    x, y = on_screen(browser, app, "rightHand")
    first = app.session.document
    browser.drag((x, y), (x - 40, y - 30))
    wait_until(lambda: not app.session.dragged and app.session.document is not first)
    np.testing.assert_allclose(on_screen(browser, app, "rightHand"), (x - 40, y - 30), atol=12.0)
    with browser.redrawn(SCENE):
        browser.press_key("g")
        browser.press_key("x")
        wait_until(lambda: app.scene.axis == "x" and app.scene.tool == BALLS)
    before, begin_m = app.session.document, app.session.joints_m()[row]
    x, y = on_screen(browser, app, "rightHand")
    browser.drag((x, y), (x + 60, y + 60))
    wait_until(lambda: not app.session.dragged and app.session.document is not before)
    moved_m = np.array(app.session.document.pins["rightHand"]) - begin_m
    assert moved_m[0] > 0.05 and np.abs(moved_m[1:]).max() < 0.02
    browser.press_key("z", modifiers=2)
    wait_until(lambda: app.session.document is before)
    browser.press_key("r")
    wait_until(lambda: app.scene.tool == TURN)


def test_a_curve_is_bent_and_the_plane_holds_its_point_by_their_balls(browser: Browser, app: PosingApp) -> None:
    with browser.redrawn(SCENE):
        browser.tick("Latent plane")
        wait_until(lambda: app._plane._board is not None)
    board = app._plane._board
    assert board is not None
    x, y = place_on_screen(browser, app, board._ball.position)
    browser.drag((x, y), (x + 40, y - 40))
    wait_until(lambda: isinstance(app.session.found, Synthesis) and not app.session.dragged and app.session.can_undo)
    found = app.session.found
    assert isinstance(found, Synthesis)
    at = (np.array(place_on_screen(browser, app, board._ball.position)) - (x, y)) / (40, -40)
    assert (at > 0.7).all() and (at < 1.3).all() and not app.session.unmet()  # both feet are held
    on_plane = board.plane.latent(board.plane.at(found.latent[0]))
    np.testing.assert_allclose(found.latent[0], on_plane, atol=1e-9)  # the point is held while what is held is met
    browser.tick("Latent plane")
    app.do(lambda session: session.reset())
    app.motion.set_key()
    app.motion.scrub(1.0)
    x, y = on_screen(browser, app, "leftHand")
    browser.drag((x, y), (x + 20, y - 120))
    wait_until(lambda: not app.session.dragged and "leftHand" in app.session.document.pins)
    with browser.redrawn(SCENE):
        app.motion.set_key()
        browser.wait("the motion", lambda: "2 keys, 1.00 s" in browser.text())
    motion = app.motion.motion
    assert motion is not None
    x, y = place_on_screen(browser, app, motion.take.positions_m()[30, JOINT_INDEX["leftHand"]])
    browser.drag((x, y), (x + 60, y))
    browser.wait("a key there", lambda: "3 keys, 1.00 s" in browser.text())
    assert [key.time_s for key in app.session.document.keys] == [0.0, 0.5, 1.0]
    np.testing.assert_allclose(on_screen(browser, app, "leftHand"), (x + 60, y), atol=12.0)


def test_joints_are_placed_by_clicking_the_picture_from_the_sixth_click_on(browser: Browser, app: PosingApp) -> None:
    image = cv2.imencode(".png", np.full((480, 640, 3), 210, np.uint8))[1].tobytes()
    app.picture.open("room.png", image)
    browser.wait("the picture", lambda: bool(browser.pixels((500, 20, 200, 60)).mean() > 150.0))
    wait_until(lambda: app.selected == IN_TURN[0])
    before = app.session.joints_m()
    wanted = {joint: np.add(on_screen(browser, app, joint), (40.0, 10.0)) for joint in IN_TURN[:FOLLOWS_FROM]}
    for n, (joint, (x, y)) in enumerate(wanted.items()):
        wait_until(lambda joint=joint: app.selected == joint)
        np.testing.assert_array_equal(app.session.joints_m(), before, err_msg=f"{n} clicks")
        browser.mouse("mousePressed", x, y, 1)
        browser.mouse("mouseReleased", x, y, 0)
        wait_until(lambda joint=joint: joint in app.session.document.image_points)
    browser.wait(
        "the head where it was clicked",
        lambda: bool(np.hypot(*np.subtract(on_screen(browser, app, "head"), wanted["head"])) < 15.0),
    )


def test_a_near_pose_is_taken_and_the_camera_solved_from_clicks_in_turn(browser: Browser, app: PosingApp, tmp_path: Path) -> None:
    first = app.session.document.pose
    browser.press("Near")
    browser.press("Find near poses")
    browser.wait("the poses", lambda: " cm" in browser.text())
    browser.press("2")
    browser.press("Take it")
    wait_until(lambda: app.session.document.pose is not first)
    taken, joint_m, size = app.session.document.pose, app.session.joints_m(), (640, 480)
    true = make_camera_looking_at("true", size, intrinsics_from_fov(size, 60.0), (1.5, 1.4, 2.4), (0.0, 0.9, 0.0))
    file = tmp_path / "room.png"
    cv2.imwrite(str(file), np.full((480, 640, 3), 210, np.uint8))
    browser.press("Picture")
    browser.upload("image/png", file)
    browser.wait("the first joint to click", lambda: f"(0 of {len(IN_TURN)})" in browser.text())
    browser.tick("Body follows")
    canvas = browser.evaluate("(() => { const c = document.querySelector('canvas'); return [c.clientWidth, c.clientHeight]; })()")
    scale = min(canvas[0] / size[0], canvas[1] / size[1])
    for n, name in enumerate(IN_TURN):
        browser.wait(name, lambda n=n: f"({n} of {len(IN_TURN)})" in browser.text())  # type: ignore[misc]
        off = true.project(joint_m[JOINT_INDEX[name]]) - 0.5 * (np.array(size) - 1.0)
        browser.click_at(*(0.5 * np.array(canvas) + scale * off).tolist())
    browser.wait("all clicks", lambda: f"{len(IN_TURN)} joints are clicked" in browser.text())
    assert app.session.document.pose is taken
    browser.press("Solve the camera")
    browser.wait("the camera", lambda: "The camera is solved" in browser.text())
    picture = app.session.document.picture
    assert picture is not None and picture.camera is not None
    np.testing.assert_allclose(picture.camera.project(joint_m), true.project(joint_m), atol=6.0)
    hand_px = picture.camera.project(joint_m[JOINT_INDEX["leftHand"]])
    expected = 0.5 * np.array(canvas) + scale * (hand_px - 0.5 * (np.array(size) - 1.0))
    browser.wait("the view", lambda: bool(np.hypot(*np.subtract(on_screen(browser, app, "leftHand"), expected)) < 5.0))


def test_a_browser_that_dies_in_a_drag_leaves_the_pose(chromium: str) -> None:
    with open_page(chromium) as (app, browser):
        x, y = on_screen(browser, app, "leftHand")
        browser.mouse("mousePressed", x, y, 1)
        for n in range(1, 9):
            browser.mouse("mouseMoved", x + 5 * n, y - 12 * n, 1)
        wait_until(lambda: app.session.dragged == "leftHand")
        browser.process.kill()
        wait_until(lambda: not app.session.dragged)
        assert "leftHand" in app.session.document.pins and app.session.can_undo
