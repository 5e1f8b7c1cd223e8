"""What benchmarks share: a command line with --json, processor time, blocks of figures."""

import argparse
import importlib
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from config.errors import DatabaseError
from tools.evaluate.figures import write_figures

# Windows counts processor time in steps of 16 ms.
CLOCK_NS = time.process_time_ns if time.get_clock_info("process_time").resolution < 1e-5 else time.perf_counter_ns
REPEATS, RUNS = 20, 5


def parser_of(doc: str | None) -> argparse.ArgumentParser:
    """Return a parser with --json, described by a module's docstring."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="F", help="write all figures")
    return parser


def write_json(file: Path | None, figures: object) -> None:
    """Write figures where a file is wanted."""
    if file is not None:
        write_figures(file, figures)


def call_us(function: Callable[[], object], repeats: int = REPEATS) -> float:
    """Return the processor time of a call [us], the least mean of five runs: other programs on the machine only add to it."""
    function()
    means = []
    for _ in range(RUNS):
        begin_ns = CLOCK_NS()
        for _ in range(repeats):
            function()
        means.append((CLOCK_NS() - begin_ns) / repeats)
    return min(means) * 1e-3


def show(name: str, figures: Mapping[str, float]) -> None:
    """Print a block of named figures at once."""
    print(name)
    print("".join(f"    {key:<32}{value:>14.6g}\n" for key, value in figures.items()), end="", flush=True)


def library(name: str, package: str) -> Any:
    """Import what is no dependency of duocap. Raises DatabaseError: it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise DatabaseError(f"{package} is not installed; expected it for the comparison: pip install {package}") from error
