"""Text files of any program."""

from pathlib import Path

import pytest

from config.errors import FileFormatError
from config.text import read_lines, read_text

TEXT = "names Müller, Łukasz\n\t1 2\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("end", ["", "\x1a", "\x1a\x1a", "\x1a\0\0\r\n"])
def test_text_of_any_encoding_and_line_end_is_the_same(tmp_path: Path, encoding: str, line_end: str, end: str) -> None:
    file = tmp_path / "text.txt"
    file.write_bytes((TEXT.replace("\n", line_end) + end).encode(encoding))
    assert read_text(file) == TEXT
    assert read_lines(file) == ["names Müller, Łukasz", "\t1 2"]


def test_big_endian_text_is_read(tmp_path: Path) -> None:
    file = tmp_path / "text.txt"
    file.write_bytes(("\ufeff" + TEXT).encode("utf-16-be"))
    assert read_text(file) == TEXT


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_text_that_is_not_utf8_is_latin1(tmp_path: Path, mark: bytes) -> None:
    file = tmp_path / "text.txt"
    file.write_bytes(mark + "Müller\n".encode("latin-1"))
    assert read_text(file) == "Müller\n"


@pytest.mark.parametrize("content", [b"name\x85cut\nb\n", "name\u2028cut\nb\n".encode(), b"name\x0ccut\nb"])
def test_only_line_ends_end_a_line(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "text.txt"
    file.write_bytes(content)
    lines = read_lines(file)
    assert len(lines) == 2
    assert lines[1] == "b"


def test_an_empty_file_is_empty_text(tmp_path: Path) -> None:
    file = tmp_path / "text.txt"
    file.touch()
    assert read_text(file) == ""


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 2),
        (b"a\nb\nc\0\0\0", 3),
        (b"a\r\nb\x1amore", 2),
        (b"\x02P" + bytes(3_000_000), 1),
    ],
)
def test_a_binary_file_is_refused_with_the_line(tmp_path: Path, content: bytes, line: int) -> None:
    file = tmp_path / "text.txt"
    file.write_bytes(content)
    with pytest.raises(FileFormatError, match=rf"text\.txt:{line}: a byte .*binary or damaged"):
        read_text(file)


def test_damaged_text_of_a_mark_is_refused_with_the_byte(tmp_path: Path) -> None:
    file = tmp_path / "text.txt"
    file.write_bytes("\ufeffabc".encode("utf-16-le") + b"\x00\xdc")
    with pytest.raises(FileFormatError, match="damaged at byte 8"):
        read_text(file)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"cannot read the rig \(no such file or folder\)"):
        read_text(tmp_path / "none.txt", what="the rig")
