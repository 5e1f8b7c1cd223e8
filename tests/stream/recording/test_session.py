"""The folder of a session: what session.toml says comes back, names and parts, and what is refused."""

from dataclasses import replace
from pathlib import Path

import pytest

from capture.recording.session import SESSION, is_session
from stream.recording.recorder import RecordingError
from stream.recording.session import SessionCamera, SessionDatabase, SessionInfo, read_session, write_session
from tools.run.record import format_time_left

INFO = SessionInfo(
    session="a1b2",
    when="2026-03-04T05:06:07.089+01:00",
    when_ns=123_456_789_012,
    cameras=(
        SessionCamera("HD Webcam", "usb-1", 640, 480, 59.94, "driver", {"exposure": -6, "focus": "auto", "gain": 1.5}),
        SessionCamera("http://10.0.0.7/video"),
    ),
    subject='Ann "the cat"',
    markers=("left_hand", "waist"),
    budget_ns=10_000_000,
    database=SessionDatabase("C:\\motion\\all.db", 305_972, 4_000_000_001),
    end={"when": "later", "poses": 7},
)


def test_what_is_written_comes_back(tmp_path: Path) -> None:
    write_session(tmp_path, INFO)
    assert read_session(tmp_path) == INFO and is_session(tmp_path)
    bare = replace(INFO, database=None, end={})
    write_session(tmp_path, bare)
    assert read_session(tmp_path) == bare


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("format = 1", "format = 9"), "format 9 of another duocap"),
        (("when_ns", "when_no"), "is damaged"),
        (("[", "{"), "cannot be read"),
        (("fps = 59.94", 'fps = "fast"'), r"is damaged \(TypeError\(.*fps = 'fast'"),
        (("fps = 59.94", "fps = inf"), "is damaged"),
    ],
)
def test_what_is_no_session_is_said(tmp_path: Path, change: tuple[str, str], words: str) -> None:
    write_session(tmp_path, INFO)
    file = tmp_path / SESSION
    file.write_text(file.read_text("utf-8").replace(*change), "utf-8")
    with pytest.raises(RecordingError, match=words):
        read_session(tmp_path)


def test_how_long_a_disk_will_do() -> None:
    assert [format_time_left(s) for s in (40.0, 900.0, 7199.0, 7200.0, 1e12)] == [
        "only 0.7 min",
        "15 min",
        "120 min",
        "2 h",
        "999 h",
    ]
