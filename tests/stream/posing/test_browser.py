"""Chromium judges the posing page: a dragged ball, which the body follows, the keyboard, near poses, a picture and its camera, a
browser that dies."""

import threading
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest

from calibration.placement import intrinsics_from_fov, make_camera_looking_at
from config.joints import JOINT_INDEX
from database.builtin.catalog import make_builtin_clip
from database.geometry.rotations import matrix_from_quaternion
from reconstruct.models.style.synthesis.synthesizer import Synthesizer
from reconstruct.posing.style import StylePoser
from stream.posing.model import PosingModel
from stream.posing.near import collect_known_poses
from stream.posing.page.app import PageOptions, PosingApp
from stream.posing.page.picture import FOLLOWS_FROM, IN_TURN
from stream.posing.session import PosingSession
from stream.web.server import open_server
from tests.support.ports import free_port
from tests.support.style_posers import style_of
from tests.support.viewer.browser import Browser
from tests.support.waiting import wait_until

pytestmark = pytest.mark.judge
SIZE = (1280, 720)


@pytest.fixture
def app(chromium: str) -> Iterator[PosingApp]:
    model = PosingModel("style", StylePoser(Synthesizer([style_of("wave", 3)])))
    clips = [make_builtin_clip(name, fps=10.0) for name in ("reach", "squat")]
    options = PageOptions(
        Path("a.json"), {"style": lambda: model}, formats={"bvh": ".bvh"}, known=lambda: collect_known_poses(clips)
    )
    opened, ending = (
        PosingApp(open_server("127.0.0.1", free_port(), "duocap pose"), PosingSession(model), options),
        threading.Event(),
    )

    def turn() -> None:
        while not ending.is_set():
            opened.update()

    thread = threading.Thread(target=turn, daemon=True)
    thread.start()
    yield opened
    ending.set()
    thread.join()
    opened.close()


@pytest.fixture
def browser(chromium: str, app: PosingApp) -> Iterator[Browser]:
    with Browser(chromium, SIZE) as browser:
        browser.open(f"http://127.0.0.1:{app.server.get_port()}")
        browser.wait("the page", lambda: "2 joints are held" in browser.text(), 90.0)
        browser.wait("the body", lambda: bool(browser.pixels((350, 120, 300, 300)).std() > 15.0))
        yield browser


def on_screen(browser: Browser, app: PosingApp, joint: str) -> tuple[float, float]:
    """Return where a page draws a joint [px]."""
    (client,) = app.server.get_clients().values()
    rotation = matrix_from_quaternion(np.roll(client.camera.wxyz, -1))
    x, y, z = rotation.T @ (app.session.joints_m()[JOINT_INDEX[joint]] - client.camera.position)
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


def test_a_browser_that_dies_in_a_drag_leaves_the_pose(browser: Browser, app: PosingApp) -> None:
    x, y = on_screen(browser, app, "leftHand")
    browser.mouse("mousePressed", x, y, 1)
    for n in range(1, 9):
        browser.mouse("mouseMoved", x + 5 * n, y - 12 * n, 1)
    wait_until(lambda: app.session.dragged == "leftHand")
    browser.process.kill()
    wait_until(lambda: not app.session.dragged)
    assert "leftHand" in app.session.document.pins and app.session.can_undo


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
