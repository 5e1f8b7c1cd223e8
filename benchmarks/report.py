"""What benchmarks share: a command line with --json, the database, processor time, percentiles, tables and a run in one line."""

import argparse
import math
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from config.errors import DuocapError
from database.default import find_default_database_path, open_default_database
from database.store import PoseDatabase, open_database
from tools.evaluate.figures import write_figures
from tools.evaluate.protocol import protocol_database, set_clip

ROOT = Path(__file__).resolve().parents[1]  # of the sources, where commands are run
# Windows counts processor time in steps of 16 ms.
CLOCK_NS = time.process_time_ns if time.get_clock_info("process_time").resolution < 1e-5 else time.perf_counter_ns
Row = dict[str, Any]  # a value for each column, by its name; what no column names is written as JSON only


def build_parser(doc: str | None) -> argparse.ArgumentParser:
    """Return a parser with --json, described by a module's docstring."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="F", help="write all figures")
    return parser


def build_motion_parser(doc: str | None, seconds: float | None = None) -> argparse.ArgumentParser:
    """Return a parser that also asks for the motions, and for how much of each clip."""
    parser = build_parser(doc)
    parser.add_argument("--motion", type=Path, required=True, metavar="DIR", help="unpacked CMU motions, for sets HDM05's too")
    if seconds is not None:
        parser.add_argument("--seconds", type=float, default=seconds, help=f"of each clip (default {seconds:g})")
    return parser


def run_main(main: Callable[[], object]) -> None:
    """Run a benchmark; what a user can cause ends it with one line."""
    try:
        main()
    except DuocapError as error:
        raise SystemExit(f"error: {error}") from error


def build_command(*words: object) -> list[str]:
    """Return a command of duocap, of the sources in the folder that it is run in."""
    return [sys.executable, "-m", "tools.launch", *map(str, words)]


def find_chromium() -> str:
    """Return the browser; end the program without one."""
    return shutil.which("chromium") or shutil.which("google-chrome") or sys.exit("chromium is not installed")


def write_json(file: Path | None, figures: object) -> None:
    """Write figures where a file is wanted."""
    if file is not None:
        write_figures(file, figures)


def parse_size(text: str) -> tuple[int, int]:
    """Return width and height [px] of a text such as 640x480."""
    width, _, height = text.partition("x")
    return int(width), int(height)


def find_database_file(given: Path | None) -> Path:
    """Return a database, by default the built-in one, which is made if need be."""
    if given is None:
        open_default_database()
    return given or find_default_database_path()


def open_set_database(motion: Path, stems: Iterable[str]) -> PoseDatabase:
    """Open the database of the motions that clips of the sets are measured with. Raises DuocapError."""
    return open_database(protocol_database(motion, None, [set_clip(stem) for stem in stems]))


def compute_percentiles(values: ArrayLike, *shares: float) -> tuple[float, ...]:
    """Return percentiles, by default the 50th, 95th and 99th; NaN of nothing."""
    shares = shares or (50.0, 95.0, 99.0)
    some = np.asarray(values, float)
    return tuple(np.percentile(some, shares).tolist()) if some.size else (math.nan,) * len(shares)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table. digits: of its numbers after the point, None: text, by which rows are told apart."""

    name: str
    digits: int | None = None

    def format_cell(self, row: Row) -> str:
        """Return a row's value as text, a dash where it has none."""
        value = row.get(self.name)
        if value is None or (isinstance(value, float) and not np.isfinite(value)):
            return "-"
        return str(value) if self.digits is None else f"{value:.{self.digits}f}"


def text_columns(*names: str) -> tuple[Column, ...]:
    """Return columns of text."""
    return tuple(Column(name) for name in names)


def number_columns(digits: int, *names: str) -> tuple[Column, ...]:
    """Return columns of numbers with some digits after the point."""
    return tuple(Column(name, digits) for name in names)


def format_line(cells: Iterable[str]) -> str:
    """Return a line of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def format_heads(heads: Sequence[str]) -> list[str]:
    """Return the first two lines of a Markdown table."""
    return [format_line(heads), "|---" * len(heads) + "|"]


def format_grid(grid: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table, its first row the head, with columns of equal width."""
    width = [max(len(row[k]) for row in grid) for k in range(len(grid[0]))]
    text = [format_line(cell.ljust(w) for cell, w in zip(row, width, strict=True)) for row in grid]
    return [text[0], "|" + "|".join("-" * (w + 2) for w in width) + "|", *text[1:]]


def format_table(columns: Sequence[Column], rows: Iterable[Row]) -> list[str]:
    """Return the lines of a Markdown table of rows."""
    return format_grid([[column.name for column in columns], *([column.format_cell(row) for column in columns] for row in rows)])


class TablePrinter:
    """Prints rows as they are measured, as a Markdown table. rows: all that were printed as measured ones."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self.columns, self.rows = columns, list[Any]()
        print(*format_heads([column.name for column in columns]), sep="\n", flush=True)

    def add(self, row: Any) -> None:
        """Print a measured row, a mapping or a dataclass, and keep it."""
        self.rows.append(row)
        self.show(row)

    def show(self, row: Any) -> None:
        """Print a row that is only of the table, such as a mean."""
        values = asdict(row) if is_dataclass(row) and not isinstance(row, type) else row
        print(format_line(column.format_cell(values) for column in self.columns), flush=True)


def group_rows(rows: Iterable[Any], *names: str) -> Iterator[list[Any]]:
    """Yield the rows, dataclasses or dictionaries, that are alike in some fields, in the order of the first of each."""
    groups: dict[tuple[Any, ...], list[Any]] = {}
    for row in rows:
        key = (row.get(name) if isinstance(row, dict) else getattr(row, name) for name in names)
        groups.setdefault(tuple(key), []).append(row)
    yield from groups.values()
