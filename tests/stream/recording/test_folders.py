"""Names of recordings and sessions: what is refused, free names by the time, the take of a session."""

from datetime import datetime
from pathlib import Path

import pytest

from capture.recording.session import list_recording_parts
from stream.recording.folders import (
    check_recording_name,
    choose_next_take,
    choose_recording_file,
    choose_session_folder,
    find_recordings_folder,
    find_take,
    make_session_folder,
)
from stream.recording.recorder import RecordingError
from stream.recording.session import write_session
from tests.stream.recording.test_session import INFO

BAD_NAMES = ["", " ", "..", "../x", "a/b", "a\\b", "C:x", ".hidden", "end.", " lead", "*"]
BAD_NAMES += ["CON", "nul.mcap", "Com1", "x\n", "x\x00", "x" * 81, "ü" * 81, "\u202e"]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_names_that_could_lead_elsewhere_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="cannot name a recording"):
        choose_recording_file(tmp_path, name, datetime(2025, 3, 4))


def test_names_of_files(tmp_path: Path) -> None:
    when = datetime(2025, 3, 4, 5, 6, 7)
    folder = tmp_path / "new" / "one"
    assert choose_recording_file(folder, "Gänge 3.1", when) == folder / "Gänge 3.1.mcap" and folder.is_dir()
    assert choose_recording_file(folder, "x.MCAP", when) == folder / "x.MCAP"
    first = choose_recording_file(folder, None, when)
    assert first == folder / "2025-03-04 05.06.07.mcap"
    first.touch()
    assert choose_recording_file(folder, None, when) == folder / "2025-03-04 05.06.07 2.mcap"
    check_recording_name("console")
    with pytest.raises(RecordingError, match="cannot be made"):
        choose_recording_file(first / "below", None, when)
    assert find_recordings_folder(str(tmp_path)) == tmp_path and find_recordings_folder("").name == "duocap"


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
    assert [file.name for file in list_recording_parts(tmp_path, "left", "mkv")] == ["left.mkv", "left.2.mkv", "left.10.mkv"]
    assert choose_next_take(tmp_path).name == "take.2.mcap" and list_recording_parts(tmp_path, "right", "mcap") == []


def test_a_folder_stands_for_its_take(tmp_path: Path) -> None:
    file = tmp_path / "walk.mcap"
    with pytest.raises(RecordingError, match="no such file or folder"):
        find_take(file)
    file.touch()
    assert find_take(file) == file
    with pytest.raises(RecordingError, match=r"a folder without session\.toml"):
        find_take(tmp_path)
    write_session(tmp_path, INFO)
    with pytest.raises(RecordingError, match="recorded without poses"):
        find_take(tmp_path)
    for name in ("take.2.mcap", "take.mcap"):
        (tmp_path / name).touch()
    assert find_take(tmp_path).name == "take.mcap"


def test_folders_are_new_and_named_by_the_time(tmp_path: Path) -> None:
    when = datetime(2026, 3, 4, 15, 6, 7)
    folder = choose_session_folder(tmp_path / "takes", when)
    assert folder.name == "2026-03-04 15.06.07" and make_session_folder(folder) == folder
    assert choose_session_folder(tmp_path / "takes", when).name == "2026-03-04 15.06.07 2"
    with pytest.raises(RecordingError, match="exists already"):
        make_session_folder(folder)
    with pytest.raises(RecordingError, match="cannot name a recording"):
        make_session_folder(tmp_path / "con")
