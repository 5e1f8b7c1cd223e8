"""Atomic writing."""

import errno
import os
import stat
from pathlib import Path

import pytest

from config.errors import FileFormatError
from config.files import atomic_open, atomic_write


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    atomic_write(file, "first\n")
    atomic_write(file, "zweites, länger\n")
    assert file.read_bytes() == "zweites, länger\n".encode()
    atomic_write(file, b"\x00\xff")
    assert file.read_bytes() == b"\x00\xff"


def test_a_failure_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    atomic_write(file, "old")
    with pytest.raises(ZeroDivisionError), atomic_open(file) as stream:
        stream.write(b"half")
        raise ZeroDivisionError
    assert file.read_text("utf-8") == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]


def test_a_full_disk_is_said_in_words(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="no space left"), atomic_open(tmp_path / "a") as stream:
        stream.write(b"half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert list(tmp_path.iterdir()) == []


def test_an_unwritable_place_is_said_in_words(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"b\.txt: cannot be written \(no such file"):
        atomic_write(tmp_path / "absent" / "b.txt", "x")
    (tmp_path / "folder").mkdir()
    with pytest.raises(FileFormatError, match="folder: cannot be written"):
        atomic_write(tmp_path / "folder", "x")
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no file mode masks")
def test_the_file_mode_follows_the_mask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        atomic_write(tmp_path / "a", "x")
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640
