"""Recordings in the viewer: two begin together, poses are shown at once, figures follow, damaged poses are left out."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from config.errors import DuocapError
from stream.protocol.codec import encode_message
from stream.recording.recorder import build_recording
from stream.take.ground import forces_from_points
from stream.take.recorded import write_recording
from stream.viewer.app import App
from stream.viewer.player import Playhead
from stream.viewer.takes import TakeFeed
from stream.viewer.view import AppSnapshot
from stream.web.server import open_server
from tests.support.files.takes import take
from tests.support.kept import Kept
from tests.support.stream_messages import record
from tests.support.viewer.walking_stream import performance


def recorded(file: Path, session: str, seconds: float) -> Path:
    file.write_bytes(record(performance(session, seconds)))
    return file


def test_two_recordings_are_laid_on_each_other_by_their_beginnings(tmp_path: Path, kept: Kept) -> None:
    feed = TakeFeed([recorded(tmp_path / "a.mcap", "a", 1.5), recorded(tmp_path / "b.mcap", "b", 0.75)])
    assert [track.title for track in feed.tracks] == ["a", "b"]
    assert feed.span.end_s == pytest.approx(89 / 60, abs=0.02) and not feed.span.grows
    late = [track.pose_at(1.4) for track in feed.tracks]
    assert late[0] is not None and late[1] is not None
    assert late[0].seq == pytest.approx(84, abs=1) and late[1].seq == 44, "the shorter one stays at its end"
    app = kept(App(open_server("127.0.0.1", 0, "test"), feed, False, 33.0))
    app.play(lambda player, span: player.paused().scrubbed(1.0, span))
    app.update()
    assert app.player.cursor_s == 1.0


def test_a_recording_is_there_at_once_and_its_figures_come_bit_by_bit(tmp_path: Path) -> None:
    feed = TakeFeed([recorded(tmp_path / "a.mcap", "a", 2.5)])
    (track,) = feed.tracks
    assert feed.span.end_s == pytest.approx(149 / 60, abs=0.02) and track.session == "a" and not track.meter.samples
    assert {run.state for run in track.history.runs} == {"tracking"}
    for t_s in (2.0, 0.5, 1.0):
        shown = track.pose_at(t_s)
        assert shown is not None and shown.seq == pytest.approx(60 * t_s, abs=1)
    for _ in range(2000):
        feed.poll(0, 0)
    assert [round(sample.t_s) for sample in track.meter.samples] == [1, 2]
    assert track.meter.samples[-1].poses_hz == pytest.approx(60.0, rel=0.05)
    assert track.meter.samples[-1].cameras_hz == {"left": 59.8, "right": 60.1}
    feed.close()


def test_poses_that_cannot_be_read_are_passed_over(tmp_path: Path) -> None:
    payloads = [(encode_message(message), t_ns, n) for n, (t_ns, message) in enumerate(performance("a", 0.5))]
    payloads[12] = (b"pose " + b"\xff" * 9, *payloads[12][1:])
    (tmp_path / "torn.mcap").write_bytes(build_recording({}, payloads))
    feed = TakeFeed([tmp_path / "torn.mcap"])
    assert len(feed.tracks[0].history) == 29
    assert all(feed.tracks[0].pose_at(n / 60) is not None for n in range(30))


def test_a_file_that_is_no_recording_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.mcap").write_bytes(b"nothing of the kind")
    with pytest.raises(DuocapError, match=r"x\.mcap"):
        TakeFeed([tmp_path / "x.mcap"])


@pytest.mark.parametrize("has_forces", [True, False])
def test_a_box_for_forces_where_there_are_some_and_charts_of_poses_without_stages(
    tmp_path: Path, kept: Kept, has_forces: bool
) -> None:
    n = 80
    forces = forces_from_points(np.full((n, 1, 3), 300.0), np.zeros((n, 1, 3)), ["rightToes"], 70.0)
    write_recording(tmp_path / "a.mcap", replace(take(n), forces=forces if has_forces else None))
    feed = TakeFeed([tmp_path / "a.mcap"])
    for _ in range(200):
        feed.poll(0, 0)
    assert feed.tracks[0].meter.samples
    app = kept(App(open_server("127.0.0.1", 0, "test"), feed, False, 33.0))
    inputs = app.server.gui._gui_input_handle_from_uuid.values()
    (box,) = (each for each in inputs if getattr(each, "label", "") == "Forces of the ground")
    view = AppSnapshot(feed.tracks, feed.span, Playhead(1.2), False, False, False, "", 33.0)
    assert not box.visible
    for panel in app._panels:
        panel.update(view)
    assert box.visible is has_forces
