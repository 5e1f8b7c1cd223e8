"""The leave-one-out protocol: what the database leaves out, which clips are measured, how the database is cached."""

import os
from dataclasses import replace
from pathlib import Path

import platformdirs
import pytest

from config.errors import DatabaseError
from database.build import find_left_out_ranges, parse_leave_out
from database.clips import Clip, slice_clip
from database.store import open_database, write_database
from tools.evaluate import protocol
from tools.evaluate.protocol import (
    LEAVE_OUT,
    MAIN,
    OTHERS,
    contains,
    measurable_clips,
    open_for_clip,
    open_once,
    protocol_clip,
    set_clip,
)


def test_it_is_built_once_and_the_last_used_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subject = tmp_path / "cmu" / "subjects" / "07"
    subject.mkdir(parents=True)
    (subject / "07.asf").write_text("skeleton", encoding="utf-8")
    cache, built = tmp_path / "cache", []

    def build(motion: Path, out: Path) -> None:
        built.append(out)
        out.write_bytes(b"poses")
        os.utime(out, (len(built), len(built)))

    monkeypatch.setattr(protocol, "build_protocol_database", build)
    monkeypatch.setattr(platformdirs, "user_cache_dir", lambda *args, **kwargs: str(cache))
    first = protocol.protocol_database(tmp_path)
    assert protocol.protocol_database(tmp_path) == first and built == [first]
    for length in (1, 2):
        (subject / "07_01.amc").write_text("x" * length, encoding="utf-8")
        protocol.protocol_database(tmp_path)
    # The first was opened once more, the second never.
    assert len(set(built)) == 3 and set(cache.iterdir()) == {first, built[2]}


def test_every_query_is_left_out_of_the_database() -> None:
    rules = [parse_leave_out(text) for text in LEAVE_OUT]
    for clip in (*MAIN, *OTHERS):
        ranges = find_left_out_ranges(rules, [clip.stem])
        assert any(start <= clip.start and stop > 10**6 for start, stop in ranges), clip.stem
    assert find_left_out_ranges(rules, ["14_02"])[0][0] == 2800  # what is before stays in
    assert find_left_out_ranges(rules, ["38_01"])
    assert not find_left_out_ranges(rules, ["14_01"])


def test_only_queries_of_the_protocol_are_taken() -> None:
    assert protocol_clip("14_02").start == 3000
    assert protocol_clip("38_02").behaviour == "unseen subjects"
    with pytest.raises(DatabaseError, match="07_01"):
        protocol_clip("07_01")


def test_clips_of_the_database_are_not_measured(tmp_path: Path, clip: Clip, caplog: pytest.LogCaptureFixture) -> None:
    walk, box = (slice_clip(clip, 0, 20, name) for name in ("07_08", "14_02"))
    write_database(tmp_path / "a.db", [replace(walk), replace(box), slice_clip(clip, 0, 9, "07_01")])
    database = open_database(tmp_path / "a.db")
    assert contains(database, protocol_clip("07_08")) and not contains(database, protocol_clip("16_15"))
    assert not contains(database, protocol_clip("14_02"))  # what comes before the query may stay in
    asked = measurable_clips(database, (), (*MAIN, *OTHERS))
    assert "07_08" not in {which.stem for which in asked} and len(asked) == len(MAIN) + len(OTHERS) - 1
    assert "07_08" in caplog.text
    with pytest.raises(DatabaseError, match="holds 07_08"):
        measurable_clips(database, (protocol_clip("07_08"),), ())
    assert [which.stem for which in measurable_clips(database, (protocol_clip("38_02"),), ())] == ["38_02"]


def test_a_piece_that_begins_late_is_a_query_too(tmp_path: Path, clip: Clip) -> None:
    late = slice_clip(clip, 0, 20, "14_02+2990")
    write_database(tmp_path / "a.db", [late])
    assert contains(open_database(tmp_path / "a.db"), protocol_clip("14_02"))


def test_a_tuning_clip_is_measured_without_its_person(tmp_path: Path, clip: Clip, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both sets are measured on people whom the database has not; with one's other takes in it constants are too bold."""
    monkeypatch.setattr(platformdirs, "user_cache_dir", lambda *args, **kwargs: str(tmp_path / "cache"))
    names = ("05_03", "16_01", "16_02", "HDM_bd_squat_001_120")
    write_database(tmp_path / "a.db", [slice_clip(clip, 10 * k, 10 * k + 10, name) for k, name in enumerate(names)])
    plain = open_once(tmp_path / "a.db")
    assert open_for_clip(tmp_path / "a.db", set_clip("16_15")).clip_names == ("05_03", "HDM_bd_squat_001_120")
    assert open_for_clip(tmp_path / "a.db", set_clip("01_01")).clip_names == plain.clip_names == names
    assert open_for_clip(tmp_path / "a.db", protocol_clip("16_15")).clip_names == names  # the paper's protocol
