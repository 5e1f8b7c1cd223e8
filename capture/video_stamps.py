"""The stamps of a recorded video: one line of CSV a picture, written and read so that a torn file is good up to its last line."""

import contextlib
from io import FileIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from config.errors import SourceError, reason

MAX_DIGITS = 18  # fewer than 64 bits hold
HEADER = "index,t_capture_ns,t_read_ns,stamp"


class StampWriter:
    """One file of stamps that is being written. Raises OSError: it is there already, or the disk is full or gone."""

    def __init__(self, file: Path) -> None:
        self._raw: FileIO = file.open("xb", buffering=0)
        self._lines = [HEADER]
        self._whole = 0

    def write(self, index: int, t_capture_ns: int, t_read_ns: int, stamp: str) -> None:
        """Take the line of one picture."""
        self._lines.append(f"{index},{t_capture_ns},{t_read_ns},{stamp}")

    def flush(self) -> None:
        """Hand all lines to the operating system. Raises OSError."""
        left = memoryview("".join(line + "\n" for line in self._lines).encode("ascii"))
        self._lines.clear()
        n = len(left)
        while left:
            left = left[self._raw.write(left) or 0 :]
        self._whole += n

    def abandon(self) -> None:
        """Close a file that cannot be written to any more, without half a line at its end."""
        with contextlib.suppress(OSError):
            self._raw.truncate(self._whole)
        self.close()

    def close(self) -> None:
        """Close the file."""
        with contextlib.suppress(OSError):
            self._raw.close()


def is_video_stamps(file: Path) -> bool:
    """Tell whether a file is one of these."""
    try:
        with file.open("rb") as stream:
            return stream.read(len(HEADER) + 1).rstrip(b"\r\n") == HEADER.encode("ascii")
    except OSError:
        return False


def read_video_stamps(file: Path) -> tuple[NDArray[np.int64], str]:
    """Give index, time of capture and of reading of every picture, (N, 3) [-, ns, ns], and what the stamps are.

    Half a line at the end, of a recording that was killed, is left out. Raises SourceError: no such file, or not of this kind.
    """
    try:
        text = file.read_text("ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"{file}: cannot read the stamps of the video ({reason(error)}); expected {HEADER}") from error
    lines = text.splitlines() if text.endswith("\n") else text.splitlines()[:-1]
    if not lines or lines[0] != HEADER:
        raise SourceError(f"{file}: begins with {(lines or [text])[0][:40]!r}, expected {HEADER!r}; is it of a session?")
    rows, kinds = [], set()
    for n, line in enumerate(lines[1:], 2):
        cells = line.split(",")
        if len(cells) != 4 or not all(cell.isdecimal() and len(cell) <= MAX_DIGITS for cell in cells[:3]):
            raise SourceError(f"{file}:{n}: expected three whole numbers and a word, got {line[:60]!r}")
        rows.append([int(cell) for cell in cells[:3]])
        kinds.add(cells[3])
    return np.array(rows, np.int64).reshape(-1, 3), ", ".join(sorted(kinds))
