"""Text files of any program: byte order marks, Latin-1, a closing Ctrl-Z and any line ends are taken as they come."""

import codecs
import re
from pathlib import Path

from config.errors import FileFormatError, describe_reason

# The longer mark first: that of UTF-32 begins like that of UTF-16.
MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Bytes that no text has: all controls but tab, line ends, vertical tab, form feed and escape.
NO_TEXT = re.compile("[\0-\x08\x0e-\x1a\x1c-\x1f]")
DOS_END = re.compile("\x1a[\x1a\0\\s]*\\Z")
START = 65536  # bytes that tell a large binary file before all of it is read


def read_text(path: Path, what: str = "the file") -> str:
    """Return the text of a file, with `\\n` as its only line end, and no byte order mark.

    Text of no mark is UTF-8, or Latin-1 where it is not. What DOS programs put after the last line, a Ctrl-Z, is left out.

    Args:
        path: the file.
        what: what the file is, for the message of an error.
    Raises: FileFormatError: no such file, or a binary one.
    """
    try:
        with path.open("rb") as stream:
            start = stream.read(START)
            if _find_mark(start)[1] or not _find_control(start):
                start += stream.read()
    except OSError as error:
        raise FileFormatError(f"{path}: cannot read {what} ({describe_reason(error)})") from error
    text = DOS_END.sub("", _decode_bytes(path, start))
    control = NO_TEXT.search(text)
    if control:
        line = len(re.findall("\r\n?|\n", text[: control.start()])) + 1
        raise FileFormatError(f"{path}:{line}: a byte {ord(control[0]):02x}, which no text has: a binary or damaged file")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_lines(path: Path, what: str = "the file") -> list[str]:
    """Return the lines of a text file; unlike `str.splitlines`, other separators do not end a line, such as those in a name.

    what: what the file is, for the message of an error. Raises FileFormatError: no such file, or a binary one.
    """
    return read_text(path, what).removesuffix("\n").split("\n")


def _find_mark(data: bytes) -> tuple[bytes, str]:
    """Return the byte order mark that data begin with and its encoding, empty if there is none."""
    return next(((mark, encoding) for mark, encoding in MARKS if data.startswith(mark)), (b"", ""))


def _find_control(data: bytes) -> bool:
    """Return whether data of no mark cannot be text; a Ctrl-Z may be the end of one."""
    return NO_TEXT.search(data.decode("latin-1").split("\x1a", 1)[0]) is not None


def _decode_bytes(path: Path, data: bytes) -> str:
    """Return data as text. Raises FileFormatError: damaged text of an encoding that its mark names."""
    mark, encoding = _find_mark(data)
    try:
        return data[len(mark) :].decode(encoding or "utf-8")
    except UnicodeDecodeError as error:
        if encoding not in ("", "utf-8"):
            raise FileFormatError(f"{path}: its text is damaged at byte {error.start + len(mark)}; save it again") from error
        return data[len(mark) :].decode("latin-1")
