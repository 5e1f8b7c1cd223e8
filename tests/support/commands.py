"""Run commands of duocap in this process, as its entry point does, and read what they write."""

import csv
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tools.launch import main


@dataclass(frozen=True)
class Result:
    """How a command ended."""

    status: int
    out: str
    err: str

    @property
    def last(self) -> str:
        """The one line that says what is wrong."""
        lines = [line for line in self.err.splitlines() if line.startswith("duocap:")]
        assert len(lines) == 1, self.err
        assert "Traceback" not in self.err
        return lines[0]


def run_main(words: Sequence[object]) -> int:
    """Run `duocap WORDS`; return its exit status."""
    before = sys.argv
    sys.argv = ["duocap", *map(str, words)]
    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        sys.argv = before
    return 0


def duocap(capsys: pytest.CaptureFixture[str], *words: object) -> Result:
    """Run `duocap WORDS`; what was printed before does not count."""
    capsys.readouterr()
    status = run_main(words)
    written = capsys.readouterr()
    return Result(status, written.out, written.err)


def read_rows(file: Path) -> list[dict[str, str]]:
    """Read a CSV file with a header."""
    with file.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))
