"""The folder of a session: what session.toml says comes back, names and parts, and what is refused."""

from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from config.loading import load_settings
from config.writing import settings_text
from stream.recorder import RecordingError
from stream.session import (
    SESSION,
    SessionCamera,
    SessionDatabase,
    SessionInfo,
    free_session_folder,
    is_session,
    make_session_folder,
    next_take,
    parts_of,
    read_session,
    take_of,
    write_session,
)
from tools.record import left_words

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


def test_parts_are_in_their_order_and_nothing_else_is_one(tmp_path: Path) -> None:
    for name in (
        "left.10.mkv",
        "left.mkv",
        "left.2.mkv",
        "left.1.mkv",
        "left.mkv.part",
        "right.mkv",
        "left.csv",
        "take.mcap",
        "left.x.mkv",
    ):
        (tmp_path / name).touch()
    assert [file.name for file in parts_of(tmp_path, "left", "mkv")] == ["left.mkv", "left.2.mkv", "left.10.mkv"]
    assert next_take(tmp_path).name == "take.2.mcap" and parts_of(tmp_path, "right", "mcap") == []


def test_a_folder_stands_for_its_take(tmp_path: Path) -> None:
    file = tmp_path / "walk.mcap"
    assert take_of(file) == file
    with pytest.raises(RecordingError, match=r"a folder without session\.toml"):
        take_of(tmp_path)
    write_session(tmp_path, INFO)
    with pytest.raises(RecordingError, match="recorded without poses"):
        take_of(tmp_path)
    for name in ("take.2.mcap", "take.mcap"):
        (tmp_path / name).touch()
    assert take_of(tmp_path).name == "take.mcap"


def test_folders_are_new_and_named_by_the_time(tmp_path: Path) -> None:
    when = datetime(2026, 3, 4, 15, 6, 7)
    folder = free_session_folder(tmp_path / "takes", when)
    assert folder.name == "2026-03-04 15.06.07" and make_session_folder(folder) == folder
    assert free_session_folder(tmp_path / "takes", when).name == "2026-03-04 15.06.07 2"
    with pytest.raises(RecordingError, match="exists already"):
        make_session_folder(folder)
    with pytest.raises(RecordingError, match="cannot name a recording"):
        make_session_folder(tmp_path / "con")


def test_settings_come_back_as_they_were(tmp_path: Path) -> None:
    sets = [
        "detector.k_sigma=5.1",
        "left.detector.k_sigma=4.3",
        "right.camera.exposure=-6",
        "stream.budget_ms=0.1",
        "time.offset_ms=-3.7",
    ]
    settings = load_settings(None, sets)
    file = tmp_path / "settings.toml"
    file.write_text(settings_text(settings), "utf-8")
    again = load_settings(file)
    assert again == settings and again.left.detector == {"k_sigma": 4.3} and again.time.offset_ms == -3.7


def test_how_long_a_disk_will_do() -> None:
    assert [left_words(s) for s in (40.0, 900.0, 7199.0, 7200.0, 1e12)] == ["only 0.7 min", "15 min", "120 min", "2 h", "999 h"]
