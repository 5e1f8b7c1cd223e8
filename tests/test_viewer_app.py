"""The viewer's app against a real stream: it waits, shows, outlives the stream's end and a new session, and is served safely."""

import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from config.errors import DuocapError
from database.rotations import matrix_from_rotvec
from stream.codec import encode
from stream.messages import EventMessage
from stream.recorder import Recorder
from stream.viewer.app import App
from stream.viewer.feed import SILENT_NS, LiveFeed
from stream.viewer.framing import LEFT_CAMERA, TOP, camera_look, distance_m, first_look, in_the_way, look_from
from stream.viewer.history import History
from stream.viewer.player import Span
from stream.viewer.scenery import Scenery
from stream.viewer.server import ViewerError, free_port, is_own_page, open_server, url_of
from stream.viewer.stage_level import Level
from stream.viewer.stage_world import WORLD
from stream.viewer.takes import TakeFeed
from stream.viewer.track import Track
from tests.ports import free_port as any_free_port
from tests.test_codec import POSE, SKELETON
from tests.viewer_stream import WalkingStream, performance, pose, rig, skeleton
from tools.dark import is_dark


@pytest.fixture
def port() -> int:
    return any_free_port()


def turned(app: App, condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20.0
    while not condition():
        assert time.monotonic() < deadline
        app.turn()


@pytest.fixture
def silent_feed(port: int) -> Iterator[LiveFeed]:
    feed = LiveFeed(f"tcp://127.0.0.1:{port}", 60.0)
    yield feed
    feed.close()


def test_the_app_waits_shows_and_goes_on_with_a_new_session(port: int) -> None:
    address = f"tcp://127.0.0.1:{port}"
    app = App(open_server("127.0.0.1", 0, "test"), LiveFeed(address, 60.0), True, 33.0)
    try:
        for _ in range(3):
            app.turn()
        assert len(app.feed.tracks[0].history) == 0
        for session in ("one", "two"):
            with WalkingStream(address, session):
                turned(app, lambda session=session: app.feed.tracks[0].session == session)  # type: ignore[misc]
                turned(app, lambda: app.feed.tracks[0].shown(app.player.cursor_s) is not None and app.feed.span.end_s > 0.3)
            for _ in range(5):
                app.turn()
            assert app.player.live and app.player.cursor_s == app.feed.span.end_s, "the last pose stays"
        assert app.feed.tracks[0].rig is not None
    finally:
        app.close()


def test_a_pause_holds_while_the_stream_goes_on(port: int) -> None:
    with WalkingStream() as stream:
        app = App(open_server("127.0.0.1", port, "test"), LiveFeed(stream.address, 60.0), True, 33.0)
        try:
            turned(app, lambda: app.feed.span.end_s > 0.3)
            app.play(lambda player, span: player.paused())
            held_s, end_s = app.player.cursor_s, app.feed.span.end_s
            turned(app, lambda: app.feed.span.end_s > end_s + 0.3)
            assert app.player.cursor_s == held_s
            app.play(lambda player, span: player.at_edge(span))
            app.turn()
            assert app.player.cursor_s == app.feed.span.end_s
        finally:
            app.close()


def test_a_new_session_shows_with_its_first_pose_and_not_before(silent_feed: LiveFeed) -> None:
    feed = silent_feed
    feed.take(SKELETON, 0)
    feed.take(replace(POSE, session="a"), 10)
    first = feed.track
    assert not feed.take(EventMessage("b", 5, "process", "begun"), 20) and feed.track is first
    assert feed.take(replace(POSE, session="b"), 30) and feed.track is not first
    assert [news.text for news in feed.track.news] == ["begun"] and feed.track.skeleton is SKELETON


def test_poses_stand_at_the_times_of_their_publishing_however_late_they_are_heard(silent_feed: LiveFeed) -> None:
    for n in range(3):
        silent_feed.take(replace(POSE, seq=n, t_publish_ns=10**9 + n * 16_000_000), 77 * 10**9)
    assert silent_feed.span == Span(0.0, pytest.approx(0.032), grows=True)


def test_silence_is_told_by_the_listener_s_clock(silent_feed: LiveFeed) -> None:
    assert silent_feed.is_silent(0)
    silent_feed.take(POSE, 100)
    assert not silent_feed.is_silent(100 + SILENT_NS) and silent_feed.is_silent(101 + SILENT_NS)


def record(file: Path, session: str, seconds: float) -> Path:
    recorder = Recorder(file, {"subject": "Ann"})
    for t_ns, message in performance(session, seconds):
        recorder.write(encode(message), t_ns)
        time.sleep(0.0005)
    recorder.close()
    return file


def test_two_recordings_are_laid_on_each_other_by_their_beginnings(tmp_path: Path) -> None:
    feed = TakeFeed([record(tmp_path / "a.mcap", "a", 1.5), record(tmp_path / "b.mcap", "b", 0.75)])
    assert [track.title for track in feed.tracks] == ["a", "b"]
    assert feed.span.end_s == pytest.approx(89 / 60, abs=0.02) and not feed.span.grows
    late = [track.shown(1.4) for track in feed.tracks]
    assert late[0] is not None and late[1] is not None
    assert late[0].seq == pytest.approx(84, abs=1) and late[1].seq == 44, "the shorter one stays at its end"
    app = App(open_server("127.0.0.1", 0, "test"), feed, False, 33.0)
    try:
        app.play(lambda player, span: player.paused().scrubbed(1.0, span))
        app.turn()
        assert app.player.cursor_s == 1.0
    finally:
        app.close()


def test_a_recording_is_there_at_once_and_its_figures_come_bit_by_bit(tmp_path: Path) -> None:
    feed = TakeFeed([record(tmp_path / "a.mcap", "a", 2.5)])
    (track,) = feed.tracks
    assert feed.span.end_s == pytest.approx(149 / 60, abs=0.02) and track.session == "a" and not track.meter.samples
    assert {run.state for run in track.history.runs} == {"tracking"}
    for t_s in (2.0, 0.5, 1.0):
        shown = track.shown(t_s)
        assert shown is not None and shown.seq == pytest.approx(60 * t_s, abs=1)
    for _ in range(2000):
        feed.poll(0, 0)
    assert [round(sample.t_s) for sample in track.meter.samples] == [1, 2]
    assert track.meter.samples[-1].poses_hz == pytest.approx(60.0, rel=0.05)
    assert track.meter.samples[-1].cameras_hz == {"left": 59.8, "right": 60.1}
    feed.close()


def test_poses_that_cannot_be_read_are_passed_over(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "torn.mcap", {"subject": "Ann"})
    for n, (t_ns, message) in enumerate(performance("a", 0.5)):
        recorder.write(b"pose " + b"\xff" * 9 if n == 12 else encode(message), t_ns)
    recorder.close()
    feed = TakeFeed([tmp_path / "torn.mcap"])
    assert len(feed.tracks[0].history) == 29
    assert all(feed.tracks[0].shown(n / 60) is not None for n in range(30))


def test_a_file_that_is_no_recording_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.mcap").write_bytes(b"nothing of the kind")
    with pytest.raises(DuocapError, match=r"x\.mcap"):
        TakeFeed([tmp_path / "x.mcap"])


def test_a_taken_port_gives_the_next_and_a_foreign_address_is_named(port: int) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", port))
        taken.listen()
        assert free_port("127.0.0.1", port) > port
    with pytest.raises(ViewerError, match=r"203\.0\.113\.1.*--host"):
        free_port("203.0.113.1", 8080)


def test_only_own_pages_are_answered() -> None:
    assert is_own_page(None, "127.0.0.1:8080", loopback=True), "no page at all"
    assert is_own_page("http://127.0.0.1:8080", "127.0.0.1:8080", loopback=True)
    assert is_own_page("http://localhost:8080", "localhost:8080", loopback=True)
    assert not is_own_page("http://evil.example", "127.0.0.1:8080", loopback=True)
    assert not is_own_page("http://127.0.0.1:9999", "127.0.0.1:8080", loopback=True), "another program of this machine"
    assert not is_own_page("http://evil.example:8080", "evil.example:8080", loopback=True), "a name made to point here"
    assert not is_own_page(None, None, loopback=True)
    assert is_own_page("http://192.0.2.7:8080", "192.0.2.7:8080", loopback=False)


def test_what_a_browser_opens() -> None:
    assert url_of("127.0.0.1", 8080) == "http://127.0.0.1:8080"
    assert url_of("0.0.0.0", 81) == "http://127.0.0.1:81" and url_of("::1", 81) == "http://[::1]:81"


def test_the_first_look_has_all_of_the_performer_in_the_picture() -> None:
    """Project the corners of a performer with arms spread into pictures wide and narrow."""
    root = np.array([0.4, 0.95, -0.3])
    for aspect in (2.0, 1.3, 0.45):
        look = first_look(root, rig("s"), Level(), aspect)
        forward = look.look_at - look.position
        forward /= np.linalg.norm(forward)
        right = np.cross(forward, look.up)
        right /= np.linalg.norm(right)
        up = np.cross(right, forward)
        for corner in ([-0.85, 1.4, 0], [0.85, 1.4, 0], [0, 1.8, 0], [0.15, 0.0, 0]):
            ray = np.array(corner) + [root[0], 0, root[2]] - look.position
            depth, half = ray @ forward, np.tan(look.fov_rad / 2)
            assert depth > 1.0 and abs(ray @ up) < depth * half and abs(ray @ right) < depth * half * aspect
        assert look.position[2] > root[2], "from where the cameras are"


def test_no_camera_stands_before_the_eye_at_first() -> None:
    """Four metres before the performer, as most rigs are: the eye itself would be just behind the cameras."""
    root, places = np.array([0.0, 0.95, 0.0]), [np.array([-1.0, 1.2, 4.5]), np.array([1.0, 1.2, 4.5])]
    look = first_look(root, rig("s"), Level(), 1.33)
    assert not any(in_the_way(look, place, 1.33) for place in places)
    assert in_the_way(look, look.position + 0.2 * (look.look_at - look.position), 1.33)
    assert not in_the_way(look, look.look_at, 1.33) and not in_the_way(look, 2 * look.position - look.look_at, 1.33)


def test_the_world_goes_along_with_a_performer_who_walks_away(port: int) -> None:
    server = open_server("127.0.0.1", port, "test")
    scenery, track = Scenery(server, True), Track("t", History(60.0), skeleton=skeleton(), rig=rig("s"))
    try:
        for n in range(120):
            walking = replace(pose("s", n, 10**9 + n * 16_000_000), root_m=(0.02 * n, 0.95, 0.0))
            track.take(walking, walking.t_publish_ns)
        scenery.set_tracks((track,))
        scenery.show(0.0)
        for n in range(120):
            scenery.show(n * 0.016)
        placed = server.scene.get_handle_by_name(WORLD)
        assert placed is not None
        assert 0.0 < 2.38 + placed.position[0] < 0.7, "in the scene the performer is near the middle"
        assert placed.position[1] == 0.0 and placed.position[2] == pytest.approx(0.0)
        scenery.follow = False
        before = tuple(placed.position)
        scenery.show(0.0)
        assert tuple(placed.position) == before
    finally:
        server.stop()


def test_a_narrow_picture_is_taken_from_farther_away() -> None:
    assert distance_m(0.5, 2.0, 2.0) == pytest.approx(2.0 * distance_m(1.0, 2.0, 2.0)) and distance_m(
        1.5, 2.0, 2.0
    ) == distance_m(1.0, 2.0, 2.0)


def test_a_camera_s_view_is_where_the_camera_is() -> None:
    left = rig("s").cameras[0]
    look = look_from(LEFT_CAMERA, np.zeros(3), rig("s"), Level())
    assert np.allclose(look.position, [-1.0, 1.2, 4.5]) or np.allclose(look.position, [1.0, 1.2, 4.5])
    world_to_camera = matrix_from_rotvec(left.rotation)
    assert np.allclose(world_to_camera @ look.position + left.translation, 0.0), "the centre of the camera"
    assert np.allclose(world_to_camera @ (look.look_at - look.position), [0, 0, 3.0]) and np.allclose(look.up, [0, 1, 0])
    assert look.fov_rad == pytest.approx(2 * np.arctan(360 / 900))
    assert np.allclose(camera_look(left, Level()).position, look.position)
    assert look_from(TOP, np.zeros(3), None, Level()).position[1] > 4.0


def test_dark_as_the_system_says() -> None:
    assert is_dark("linux", "'prefer-dark'\n") and is_dark("linux", "'default'\n") and is_dark("linux", None)
    assert not is_dark("linux", "'prefer-light'\n")
    assert is_dark("darwin", "Dark\n") and not is_dark("darwin", None)


def test_the_stream_of_these_tests_is_one_that_a_client_could_read() -> None:
    assert pose("s", 3).hash == skeleton().hash
