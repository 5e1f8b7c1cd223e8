"""Atomic writing, and caches that keep the last used files."""

import errno
import os
import stat
from pathlib import Path

import pytest

from config.errors import DatabaseError, FileFormatError
from config.files import mark_used, open_atomically, remove_least_used, write_atomically, write_together


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    write_atomically(file, "first\n")
    write_atomically(file, "zweites, länger\n")
    assert file.read_bytes() == "zweites, länger\n".encode()
    write_atomically(file, b"\x00\xff")
    assert file.read_bytes() == b"\x00\xff"


def test_a_failure_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    write_atomically(file, "old")
    with pytest.raises(ZeroDivisionError), open_atomically(file) as stream:
        stream.write(b"half")
        raise ZeroDivisionError
    assert file.read_text("utf-8") == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]


def test_files_written_together_are_all_new_or_all_old(tmp_path: Path) -> None:
    a, b, folder = tmp_path / "a.txt", tmp_path / "b.txt", tmp_path / "folder"
    write_atomically(a, "old")
    with pytest.raises(ZeroDivisionError), write_together():
        write_atomically(a, "new")
        with write_together():
            write_atomically(b, "new")
        raise ZeroDivisionError
    folder.mkdir()
    with pytest.raises(DatabaseError, match="folder: cannot be written"), write_together():
        write_atomically(a, "new")
        with open_atomically(folder, DatabaseError) as stream:
            stream.write(b"new")
    assert a.read_text("utf-8") == "old" and sorted(entry.name for entry in tmp_path.iterdir()) == ["a.txt", "folder"]
    with write_together():
        write_atomically(a, "new")
        write_atomically(b, "new")
        assert a.read_text("utf-8") == "old"
    assert a.read_text("utf-8") == b.read_text("utf-8") == "new"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a.txt", "b.txt", "folder"]


def test_a_full_disk_and_an_unwritable_place_are_errors_of_the_user(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError, match="no space left"), open_atomically(tmp_path / "a", DatabaseError) as stream:
        stream.write(b"half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with pytest.raises(FileFormatError, match=r"b\.txt: cannot be written \(no such file"):
        write_atomically(tmp_path / "absent" / "b.txt", "x")
    (tmp_path / "folder").mkdir()
    with pytest.raises(FileFormatError, match="folder: cannot be written"):
        write_atomically(tmp_path / "folder", "x")
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no file mode masks")
def test_the_file_mode_follows_the_mask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_atomically(tmp_path / "a", "x")
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


def aged(folder: Path, *names: str) -> None:
    """Make files, each used a second after the one before, long ago."""
    for second, name in enumerate(names):
        (folder / name).write_bytes(b"x")
        os.utime(folder / name, (second, second))


def test_the_last_used_are_kept_and_nothing_else_is_touched(tmp_path: Path) -> None:
    aged(tmp_path, "a-1.db", "b-1.db", "a-2.db", "a-3.db", "a-4.db", ".a-5.db.part")
    mark_used(tmp_path / "a-2.db")
    remove_least_used(tmp_path, "a-*.db", 2)
    assert {file.name for file in tmp_path.iterdir()} == {"a-2.db", "a-4.db", "b-1.db", ".a-5.db.part"}
    remove_least_used(tmp_path, "a-*.db", 3)
    remove_least_used(tmp_path / "absent", "a-*.db", 0)
    mark_used(tmp_path / "absent")
    assert len(list(tmp_path.iterdir())) == 4


def test_what_killed_processes_left_half_written_goes_after_an_hour(tmp_path: Path) -> None:
    aged(tmp_path, ".a-1.db.x1y2.part", ".b-1.db.x1y2.part")
    (tmp_path / ".a-2.db.x3y4.part").write_bytes(b"x")
    remove_least_used(tmp_path, "a-*.db", 1)
    assert {file.name for file in tmp_path.iterdir()} == {".a-2.db.x3y4.part", ".b-1.db.x1y2.part"}


def test_a_file_in_use_stays_and_stops_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    aged(tmp_path, "a-1.db", "a-2.db", "a-3.db")
    unlink = Path.unlink

    def as_on_windows(file: Path, missing_ok: bool = False) -> None:
        if file.name == "a-2.db":
            raise PermissionError(13, "the process cannot access the file because it is being used by another process")
        unlink(file, missing_ok)

    monkeypatch.setattr(Path, "unlink", as_on_windows)
    remove_least_used(tmp_path, "a-*.db", 1)
    assert {file.name for file in tmp_path.iterdir()} == {"a-2.db", "a-3.db"}
