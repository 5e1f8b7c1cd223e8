"""Make the pages: measure what was not measured, keep it as JSON, and write Markdown."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.papers.frame import PaperTable, Request
from benchmarks.papers.page import chai, chai_behaviours, grochow, lai, lai_sizes, wei
from benchmarks.papers.page.figures import format_figures, keep_figures
from benchmarks.papers.page.frame import MeasuredItem, PageItem, count_verdicts, format_grid, format_page
from benchmarks.papers.tables import TABLES
from config.errors import DatabaseError, DuocapError
from config.files import write_atomically

FIGURES = Path(__file__).resolve().parents[1] / "figures"
INDEX = "papers.md"
QUICK_SECONDS = 1.0  # of a clip
PAGES = (chai.PAGE, chai_behaviours.PAGE, grochow.PAGE, lai.PAGE, lai_sizes.PAGE, wei.PAGE)
ABOUT = """Every table and figure of the four papers in its order: the paper's figures, ours with the paper's own model,
ours with our own, what data, what differs. *Better*, *equal* and *worse* say how ours stands to the paper's:
equal within 5 % or two standard errors.

The pages are made by one command from measured figures, which are kept as JSON in `benchmarks/papers/figures`:

    python -m benchmarks.papers --page docs                                   # the pages from what was measured
    python -m benchmarks.papers --page docs --motion DIR --quick [--again]    # measures what is missing, or all of it
    python -m benchmarks.papers --page docs --motion DIR --paper lai --again  # of one paper, in full

`--quick` takes less of each table, and a second of a clip at most. The command below each table is its own, with its
processor time where that was measured; one with `--quick` says so.
"""


@dataclass(frozen=True, slots=True)
class PageOptions:
    """What pages are made.

    Attributes:
        folder: where they are written, created if needed.
        papers: names of papers, none: all.
        request: what is asked of tables that are measured; None: none is.
        again: whether those are measured that were before.
        figures: folder of measured figures.
    """

    folder: Path
    papers: tuple[str, ...] = ()
    request: Request | None = None
    again: bool = False
    figures: Path = FIGURES


def make_pages(options: PageOptions) -> list[Path]:
    """Write the pages asked for, and the index of all; what cannot be measured stays as it was.

    Raises DuocapError: no such paper; tables that could not be measured, when all pages are written.
    """
    unknown = [name for name in options.papers if name not in {page.name for page in PAGES}]
    if unknown:
        raise DatabaseError(f"{unknown[0]!r} is no paper; take {', '.join(page.name for page in PAGES)}")
    options.folder.mkdir(parents=True, exist_ok=True)  # before an hour of measuring
    files, counts, again, faults = list[Path](), list[list[str]](), set[Path](), list[str]()
    for page in PAGES:
        asked = not options.papers or page.name in options.papers
        measured = [
            measure_item(item, options if asked else replace(options, request=None), again, faults) for item in page.items
        ]
        counts.append([f"[{page.title}]({page.file})", *map(str, count_verdicts(measured))])
        if asked:
            files.append(options.folder / page.file)
            write_atomically(files[-1], format_page(page, measured))
    grid = format_grid(("paper", "rows better", "equal", "worse", "not compared"), counts)
    files.append(options.folder / INDEX)
    write_atomically(files[-1], "\n".join(["# The four papers", "", ABOUT, *grid]) + "\n")
    if faults:
        raise DatabaseError("not measured, all else is in the pages:\n" + "\n".join(faults))
    return files


def measure_item(item: PageItem, options: PageOptions, fresh: set[Path], faults: list[str]) -> MeasuredItem:
    """Return what was measured for an item, measured now where nothing was and motions are given.

    Args:
        item: of a page.
        options: what pages are made.
        fresh: files measured in this run, which several items can share; added to.
        faults: why an item could not be measured; added to.
    """
    if not item.table and not item.figures:
        return MeasuredItem(item)
    file = options.figures / (item.figures or f"{'-'.join([item.table, *item.only]).replace(' ', '_')}.json")
    if item.table and options.request is not None and file not in fresh and (options.again or not file.is_file()):
        fresh.add(file)
        request = choose_request(item, options.request)
        begin = os.times()
        try:
            rows = [keep_figures(row) for row in find_table(item.table).compute_rows(request)]
        except DuocapError as error:
            faults.append(f"{item.table}: {error}")
        else:
            spent_s = sum(now - then for now, then in zip(os.times()[:4], begin[:4], strict=True))  # with workers that ended
            file.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(file, format_figures(format_command(item, request), spent_s, rows))
    if not file.is_file():
        return MeasuredItem(item)
    kept = json.loads(file.read_text("utf-8"))
    return MeasuredItem(item, tuple(kept["rows"]), kept["command"], kept.get("processor_s", 0.0))


def choose_request(item: PageItem, request: Request) -> Request:
    """Return what is asked of an item's table: what the item says; quick: a second of a clip at most, the table's own count."""
    if not request.quick:
        return replace(request, only=item.only, count=item.count or request.count, seconds=item.seconds)
    seconds = None if item.seconds is None else min(item.seconds, QUICK_SECONDS)
    return replace(request, only=item.only, seconds=seconds)


def find_table(name: str) -> PaperTable:
    """Return a table by its name."""
    return next(table for table in TABLES if table.name == name)


def format_command(item: PageItem, request: Request) -> str:
    """Return the command that measures an item."""
    words: Sequence[str] = ["python -m benchmarks.papers", item.table, "--motion DIR"]
    words = [*words, "--only " + " ".join(request.only)] if request.only else words
    words = [*words, f"--count {request.count}"] if request.count else words
    words = [*words, f"--seconds {request.seconds:g}"] if request.seconds is not None else words
    words = [*words, f"--seeds {request.seeds}"] if request.seeds else words
    return " ".join([*words, "--quick"] if request.quick else words)
