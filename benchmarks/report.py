"""What benchmarks share: a command line with --json, processor time, the database, percentiles and ratios."""

import argparse
import importlib
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from config.errors import DatabaseError
from database.default import find_default_database_path, open_default_database
from tools.evaluate.figures import write_figures

# Windows counts processor time in steps of 16 ms.
CLOCK_NS = time.process_time_ns if time.get_clock_info("process_time").resolution < 1e-5 else time.perf_counter_ns


def build_parser(doc: str | None) -> argparse.ArgumentParser:
    """Return a parser with --json, described by a module's docstring."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="F", help="write all figures")
    return parser


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


def compute_percentiles(values: ArrayLike, *shares: float) -> tuple[float, ...]:
    """Return percentiles, by default the 50th, 95th and 99th; NaN of nothing."""
    shares = shares or (50.0, 95.0, 99.0)
    some = np.asarray(values, float)
    return tuple(np.percentile(some, shares).tolist()) if some.size else (math.nan,) * len(shares)


def format_ratio_cells(times: Sequence[float], ours: Sequence[float]) -> str:
    """Return each of some times over ours, for the end of a table's line."""
    return "".join(f"{time / mine:8.2f}" for time, mine in zip(times, ours, strict=True))


def import_library(name: str, package: str) -> Any:
    """Import what is no dependency of duocap. Raises DatabaseError: it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise DatabaseError(f"{package} is not installed; expected it for the comparison: pip install {package}") from error
