"""The viewer's app against a real stream: it waits, shows, outlives the stream's end and a new session, and is served safely."""

from dataclasses import replace

import pytest

from stream.viewer.app import FRAME_S, LATE_FRAME_S, App
from stream.viewer.feed import SILENT_NS, LiveFeed
from stream.web.server import open_server
from tests.support.kept import Kept
from tests.support.stream_messages import POSE, STATUS
from tests.support.viewer.pages import updated
from tests.support.viewer.walking_stream import WalkingStream
from tools.viewer import read_dark_preference


def test_the_app_waits_shows_and_goes_on_with_a_new_session(port: int, kept: Kept) -> None:
    address = f"tcp://127.0.0.1:{port}"
    app = kept(App(open_server("127.0.0.1", 0, "test"), LiveFeed(address, 60.0), True, 33.0))
    for _ in range(3):
        app.update()
    assert len(app.feed.tracks[0].history) == 0
    for session in ("one", "two"):
        with WalkingStream(address, session):
            updated(app, lambda session=session: app.feed.tracks[0].session == session)  # type: ignore[misc]
            updated(app, lambda: app.feed.tracks[0].pose_at(app.player.cursor_s) is not None and app.feed.span.end_s > 0.3)
        for _ in range(5):
            app.update()
        assert app.player.live and app.player.cursor_s == app.feed.span.end_s, "the last pose stays"
    assert app.feed.tracks[0].rig is not None


def test_a_pause_holds_while_the_stream_goes_on(port: int, kept: Kept) -> None:
    with WalkingStream() as stream:
        app = kept(App(open_server("127.0.0.1", port, "test"), LiveFeed(stream.address, 60.0), True, 33.0))
        updated(app, lambda: app.feed.span.end_s > 0.3)
        app.play(lambda player, span: player.paused())
        held_s, end_s = app.player.cursor_s, app.feed.span.end_s
        updated(app, lambda: app.feed.span.end_s > end_s + 0.3)
        assert app.player.cursor_s == held_s
        app.play(lambda player, span: player.at_edge(span))
        app.update()
        assert app.player.cursor_s == app.feed.span.end_s


def test_the_page_leaves_the_machine_to_the_reconstruction_while_that_is_late(port: int, kept: Kept) -> None:
    waits: list[float] = []
    feed = LiveFeed(f"tcp://127.0.0.1:{port}", 60.0)
    app = kept(App(open_server("127.0.0.1", 0, "test"), feed, True, 33.0))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("stream.viewer.app.now_ns", lambda: 10)
        patch.setattr("stream.viewer.app.time.monotonic", lambda: 5.0)
        patch.setattr("stream.viewer.app.time.sleep", waits.append)
        for resting in ((), ("style",), ()):
            feed.add(replace(STATUS, resting=resting), 10)
            feed.add(POSE, 10)
            app.update()
        feed.add(replace(STATUS, resting=("style",)), 10)
        patch.setattr("stream.viewer.app.now_ns", lambda: 20 + SILENT_NS)  # the run has ended
        app.update()
    assert waits == [FRAME_S, LATE_FRAME_S, FRAME_S, FRAME_S]


def test_dark_as_the_system_says() -> None:
    assert (
        read_dark_preference("linux", "'prefer-dark'\n")
        and read_dark_preference("linux", "'default'\n")
        and read_dark_preference("linux", None)
    )
    assert not read_dark_preference("linux", "'prefer-light'\n")
    assert read_dark_preference("darwin", "Dark\n") and not read_dark_preference("darwin", None)
