"""The posing page through viser's own socket, without a browser: drags, bad requests, keys, sessions, the stream."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import msgpack
import numpy as np
import pytest
import viser
from websockets.sync.client import connect

from calibration.formats.rig_toml import write_rig_toml
from calibration.placement import make_facing_rig
from config.joints import JOINT_INDEX
from database.builtin.catalog import make_builtin_clip
from reconstruct.models.style.synthesis.synthesizer import Synthesizer
from reconstruct.posing.style import StylePoser
from stream.posing.document import Document
from stream.posing.model import PosingModel
from stream.posing.near import collect_known_poses
from stream.posing.page.app import PageOptions, PosingApp
from stream.posing.page.inbox import DragPlace
from stream.posing.picture import find_picture_camera
from stream.posing.publishing import PosePublisher, compose_posed_skeleton
from stream.posing.session import PosingSession
from stream.posing.session_file import format_posing_session
from stream.protocol.joints import compute_pose_joints
from stream.protocol.messages import Message, PoseMessage, SkeletonMessage
from stream.publish.fanout import OutputFanout
from stream.publish.publisher import Publisher
from stream.publish.subscriber import Subscriber
from stream.web.server import open_server
from tests.support.ports import free_port
from tests.support.style_posers import style_of
from tests.support.viewer.pages import updated

HAND = JOINT_INDEX["leftHand"]
IDENTITY = (1.0, 0.0, 0.0, 0.0)


@pytest.fixture(scope="module")
def model() -> PosingModel:
    styles = [style_of("wave", 3), style_of("squat", 3)]
    synthesizer = Synthesizer(styles, (0.5, 0.5))
    return PosingModel(
        "style", StylePoser(synthesizer), ("wave", "squat"), lambda shares: StylePoser(synthesizer.with_shares(shares))
    )


@pytest.fixture
def publisher(model: PosingModel) -> PosePublisher:
    stream = "tcp://127.0.0.1:0"
    return PosePublisher(lambda: OutputFanout(Publisher(stream), "pose"), compose_posed_skeleton(model.poser.skeleton))


@pytest.fixture
def app(model: PosingModel, saved: list[Document], publisher: PosePublisher) -> Iterator[PosingApp]:
    clips = [make_builtin_clip("reach", fps=10.0)]
    formats = {"bvh": ".bvh"}
    options = PageOptions(
        Path("a.json"), {"style": lambda: model}, formats=formats, publisher=publisher, known=lambda: collect_known_poses(clips)
    )
    opened = PosingApp(open_server("127.0.0.1", free_port(), "test"), PosingSession(model, save=saved.append), options)
    yield opened
    opened.close()


class Page:
    """What a browser sends, without the browser."""

    def __init__(self, app: PosingApp) -> None:
        protocol = [f"viser-v{viser.__version__}"]
        self.socket = connect(f"ws://127.0.0.1:{app.server.get_port()}", subprotocols=protocol, max_size=None)  # type: ignore[arg-type]
        camera = {"fov": 0.7, "near": 0.1, "far": 100.0, "image_height": 720, "image_width": 1280}
        directions = {"look_at": (0.0, 1.0, 0.0), "up_direction": (0.0, 1.0, 0.0)}
        self.send("ViewerCameraMessage", wxyz=IDENTITY, position=(0.0, 1.0, 4.0), **camera, **directions)

    def send(self, kind: str, **fields: Any) -> None:
        self.socket.send(msgpack.packb({"type": kind, **fields}))

    def arrows(self, phase: str, place_m: np.ndarray | None = None) -> None:
        place = {} if place_m is None else {"wxyz": IDENTITY, "position": place_m.tolist()}
        self.send(f"TransformControls{phase}Message", name="/arrows", owner="", **place)


def test_arrows_drag_the_newest_place_counts_and_a_page_that_goes_away_ends_the_drag(
    app: PosingApp, saved: list[Document]
) -> None:
    start = app.session.joints_m()[HAND]
    page = Page(app)
    updated(app, lambda: app.n_pages == 1)
    page.arrows("DragStart")
    for share in np.linspace(0.0, 1.0, 50):
        page.arrows("Update", start + share * np.array([0.1, 0.3, 0.2]))
    updated(app, lambda: bool(np.allclose(app.session.joints_m()[HAND], start + [0.1, 0.3, 0.2], atol=0.02)))
    assert app.session.dragged == "leftHand" and not app.session.can_undo
    page.socket.socket.close()  # no farewell
    updated(app, lambda: not app.session.dragged and app.n_pages == 0)
    assert app.session.can_undo and saved[-1] is app.session.document and "leftHand" in saved[-1].pins
    app.do(lambda session: session.undo())
    updated(app, lambda: "leftHand" not in app.session.document.pins)


def test_of_a_drag_that_waits_only_the_newest_place_is_posed(app: PosingApp) -> None:
    posed: list[object] = []
    drag, start = app.session.drag, app.session.joints_m()[HAND]
    app.session.drag = lambda joint, place: (posed.append(place), drag(joint, place))[1]  # type: ignore[method-assign, func-returns-value]
    for n in range(100):
        app.drag(DragPlace("leftHand", (start[0], start[1] + 0.002 * n, start[2] + 0.1), n == 99, 0))
    app.drag(DragPlace("rightHand", (-0.3, 1.2, 0.3), False, 0))
    app.update()
    assert len(posed) == 2 and app.session.dragged == "rightHand" and "leftHand" in app.session.document.pins


def test_what_cannot_be_done_is_said_and_changes_nothing(app: PosingApp, caplog: pytest.LogCaptureFixture) -> None:
    before = app.session.document
    caplog.set_level("INFO")
    app.picture.open("x.png", b"no picture")
    app.files.open_session("x.json", b"{}")
    app.files.open_session("x.json", b"\xff\xfe")
    app.motion.play()
    app.motion.delete_key()
    app.do(lambda session: session.pin("tail"))
    app.drag(DragPlace("leftHand", (np.nan, 0.0, 0.0), True, 0))
    app.do(lambda session: 1 // 0)
    app.update()
    for words in (
        "x.png: not a picture",
        "expected schema",
        "not UTF-8",
        "nothing to play",
        "no key yet",
        "is no joint",
        "a place of",
    ):
        assert words in caplog.text
    assert app.session.document is before and not app.session.can_undo


def test_keys_become_a_motion_that_plays(app: PosingApp) -> None:
    app.motion.set_key()
    app.motion.scrub(0.5)
    app.drag(DragPlace("leftHand", (0.5, 1.4, 0.3), True, 0))
    app.update()
    app.motion.set_key()
    updated(app, lambda: app.motion.motion is not None)
    motion = app.motion.motion
    assert motion is not None and len(motion.take) == 31 and (motion.begin_s, motion.end_s) == pytest.approx((0.0, 0.5))
    hand_m = motion.take.positions_m()[:, HAND]
    first, last = (key.pose for key in app.session.document.keys)
    np.testing.assert_allclose(hand_m[-1], (0.5, 1.4, 0.3), atol=0.03)
    assert np.abs(np.diff(hand_m, axis=0)).max() < 0.15 and not np.allclose(first.rotvec, last.rotvec)
    app.do(lambda session: session.mirror())
    app.motion.scrub(0.5)
    app.motion.set_key()  # in place of the last one
    updated(app, lambda: app.motion.motion is not None and app.motion.motion is not motion)
    app.do(lambda session: (session.undo(), session.undo()))
    updated(
        app, lambda: app.motion.motion is not None and bool(np.allclose(app.motion.motion.take.positions_m()[:, HAND], hand_m))
    )
    app.motion.scrub(0.25)
    updated(app, lambda: bool(np.allclose(app.session.joints_m()[HAND], hand_m[15], atol=1e-9)))
    app.motion.play()
    updated(app, lambda: not np.allclose(app.session.joints_m()[HAND], hand_m[15], atol=0.01))


def test_a_curve_is_bent_by_its_ball_and_ghosts_stand_along_it(app: PosingApp) -> None:
    app.motion.set_key()
    app.motion.scrub(1.0)
    app.drag(DragPlace("leftHand", (0.5, 1.4, 0.3), True, 0))
    app.motion.set_key()
    updated(app, lambda: app.motion.motion is not None)
    motion = app.motion.motion
    assert motion is not None
    app.motion.show_ghosts(True)
    at = motion.take.positions_m()[30, HAND] + (0.0, 0.15, 0.0)
    for share in (0.5, 1.0):
        place = tuple(float(value) for value in at - (1.0 - share) * np.array([0.0, 0.15, 0.0]))
        app.drag(DragPlace("leftHand", (place[0], place[1], place[2]), share == 1.0, 0, time_s=0.5))
        app.update()
    assert [key.time_s for key in app.session.document.keys] == [0.0, 0.5, 1.0]
    updated(app, lambda: app.motion.motion is not None and app.motion.motion is not motion)
    assert app.motion.motion is not None
    np.testing.assert_allclose(app.motion.motion.take.positions_m()[30, HAND], at, atol=0.02)


def test_a_session_of_a_page_is_opened_and_styles_are_mixed(app: PosingApp) -> None:
    app.drag(DragPlace("leftHand", (0.5, 1.4, 0.3), True, 0))
    app.update()
    text = format_posing_session(app.session.document, app.session.skeleton)
    app.do(lambda session: session.reset())
    app.files.open_session("a.json", text.encode())
    app.update()
    assert app.session.document.pins["leftHand"] == (0.5, 1.4, 0.3)
    before = app.session.joints_m()
    app.do(lambda session: session.set_shares((1.0, 0.0)))
    app.update()
    assert app.session.document.shares == (1.0, 0.0) and not np.allclose(app.session.joints_m(), before, atol=1e-4)


def test_a_picture_comes_back_with_its_session(app: PosingApp, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    noise = np.random.default_rng(1).integers(0, 255, (900, 1200, 3), np.uint8)
    app.picture.open("room.png", cv2.imencode(".png", noise)[1].tobytes())
    app.update()
    picture, board = app.session.document.picture, app.scene.board
    assert picture is not None and "room.png is large: Of its 3." in caplog.text and picture.file is not None
    camera = find_picture_camera(picture)
    assert app.picture.clicking and app.selected == "head"
    app.picture.skip()
    app.update()
    assert app.selected == "leftHand"
    text = format_posing_session(app.session.document, app.session.skeleton)
    app.picture.close()
    app.update()
    assert board.clicked_px(camera.center_m, camera.rotation[2]) is None and not app.picture.clicking
    app.files.open_session("a.json", text.encode())
    app.update()
    again = app.session.document.picture
    assert again is not None and again.file is not None and again.file.content == picture.file.content
    seen = board.clicked_px(camera.center_m, camera.rotation[2])
    np.testing.assert_allclose(np.zeros(0) if seen is None else seen, (599.5, 449.5), atol=1e-6)
    app.picture.solve()
    app.update()
    assert "0 joints are clicked in the picture; a camera needs 8 or more; or 4 for the pose as it stands" in caplog.text


def test_cameras_of_a_rig_are_chosen(app: PosingApp, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    app.picture.open("room.png", cv2.imencode(".png", np.zeros((480, 640, 3), np.uint8))[1].tobytes())
    rig = make_facing_rig((1280, 960), 60.0, 3.0, 0.8, 1.4)
    write_rig_toml(tmp_path / "rig.toml", rig)
    app.picture.open_rig("rig.toml", b"[left")
    app.picture.open_rig("rig.toml", (tmp_path / "rig.toml").read_bytes())
    app.picture.choose("right")
    app.update()
    picture = app.session.document.picture
    assert "This cannot be done: rig.toml" in caplog.text and picture is not None and picture.camera is not None
    point_m = np.array([0.2, 1.1, 0.1])
    np.testing.assert_allclose(picture.camera.project(point_m) + 0.5, 0.5 * (rig.cameras[1].project(point_m) + 0.5), atol=1e-3)
    app.picture.choose("by hand")
    app.update()
    assert app.session.document.picture is not None and app.session.document.picture.camera is None


def test_the_pose_is_published_while_that_is_wanted(app: PosingApp, publisher: PosePublisher) -> None:
    app.files.publish(True)
    updated(app, lambda: bool(publisher.address))
    assert publisher.address.startswith("tcp://127.0.0.1:")
    stream, heard = Subscriber(publisher.address), list[Message]()

    def receive() -> bool:
        heard.extend(stream.receive())
        return {SkeletonMessage, PoseMessage} <= {type(message) for message in heard}

    updated(app, receive)
    skeleton = next(message for message in heard if isinstance(message, SkeletonMessage))
    pose = next(message for message in heard if isinstance(message, PoseMessage))
    np.testing.assert_allclose(compute_pose_joints(skeleton, pose).position_m, app.session.joints_m(), atol=1e-5)
    stream.close()
    app.files.publish(False)
    updated(app, lambda: not publisher.address)
