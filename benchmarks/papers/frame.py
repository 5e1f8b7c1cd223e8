"""What all tables share: what a table is, what is asked of it, and how its rows become text and charts."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.report import Column, Row, format_grid, group_rows
from calibration.quality.picture import open_figure, save_figure
from config.errors import DatabaseError
from config.settings import Settings
from tools.cluster import ALONE, WorkerPlan
from tools.evaluate.clip_sets import stems_of
from tools.evaluate.parallel import run_tasks
from tools.evaluate.protocol import (
    ProtocolClip,
    measurable_clips,
    named_clip,
    open_once,
    protocol_clip,
    protocol_database,
    set_clip,
)
from tools.evaluate.queries import MotionQuery, load_query


@dataclass(frozen=True, slots=True)
class Chart:
    """Lines of a chart: y over x, numbers of a row or lists of them, one line for each value of `line`, a panel for those of
    `panel`; all by names of columns."""

    x: str
    y: str
    line: str
    panel: tuple[str, ...] = ()
    log_x: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of a table.

    only: clips, or what else the table's choices are, none: all; sets: of clips; count: of poses or trials, 0: the table's own;
    seconds: of a clip, 0: all, None: the table's own; recording: folder of a real recording of a T-pose; seeds: random halves, 0:
    the table's own number.
    """

    motion: Path
    database: Path | None = None
    settings: Settings = field(default_factory=Settings, hash=False)
    only: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()
    count: int = 0
    seconds: float | None = None
    markers: str = "boxing"
    quick: bool = False
    recording: Path | None = None
    seed: int = 1
    seeds: int = 0
    workers: WorkerPlan = ALONE

    def choose(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return those of some names that are asked for, all where none is."""
        return tuple(name for name in names if name in self.only) or tuple(names)

    def run(self, tasks: Sequence[Callable[[], Iterable[Row]]], title: str = "clips") -> Iterator[Row]:
        """Yield the rows of tasks in turn; title: of the progress bar."""
        for rows in run_tasks(tasks, self.workers, title):
            yield from rows

    def choose_seconds(self, default: float) -> float:
        """Return how much of a clip is asked for [s], 0: all."""
        return default if self.seconds is None else self.seconds

    def load_query(self, which: ProtocolClip, seconds: float) -> MotionQuery:
        """Read a clip with the markers that are asked for; seconds: of it, where nothing is asked. Raises DuocapError."""
        return load_query(which, self.motion, self.markers, self.choose_seconds(seconds))

    def find_clips(self, stems: Iterable[str]) -> tuple[list[ProtocolClip], Path]:
        """Return the clips that are asked for, else those of some names, and a database without them. Raises DatabaseError."""
        of_sets = [set_clip(stem) for stems in stems_of(self.sets).values() for stem in stems]
        asked = of_sets or [named_clip(name) for name in self.only]
        path = protocol_database(self.motion, self.database, asked)
        return measurable_clips(open_once(path), asked, [protocol_clip(stem) for stem in stems]), path


@dataclass(frozen=True, slots=True)
class PaperTable:
    """A table.

    paper: what it is after; choices: what `Request.only` may name, none: clips; mean_over: text columns over whose rows a mean
    is added; spread: a text column whose values become headings, above the columns named by `cells`.
    """

    name: str
    paper: str
    title: str
    columns: tuple[Column, ...]
    compute_rows: Callable[[Request], Iterable[Row]]
    choices: tuple[str, ...] = ()
    mean_over: tuple[str, ...] = ()
    spread: str = ""
    cells: tuple[str, ...] = ()
    chart: Chart | None = None

    def check_request(self, request: Request) -> None:
        """Raise DatabaseError if something is asked for that the table does not have."""
        unknown = [name for name in request.only if name not in self.choices] if self.choices else []
        if unknown:
            raise DatabaseError(f"{self.name} has no {unknown[0]!r}; take {', '.join(self.choices)}")


def compute_means(table: PaperTable, rows: Sequence[Row]) -> list[Row]:
    """Return a mean row for each group of rows that differ in the columns `mean_over` only, if it has more than one."""
    kept = [c.name for c in table.columns if c.digits is None and c.name not in table.mean_over]
    numbers = [c.name for c in table.columns if c.digits is not None]
    means = []
    for group in group_rows(rows, *kept):
        if table.mean_over and len(group) > 1:
            values = {name: [row[name] for row in group if row.get(name) is not None] for name in numbers}
            mean = {name: float(np.nanmean(each)) for name, each in values.items() if np.isfinite(each).any()}
            means.append({table.mean_over[0]: "mean", **{name: group[0].get(name) for name in kept}, **mean})
    return means


def format_table(table: PaperTable, rows: Sequence[Row]) -> list[str]:
    """Return the lines of a table in Markdown, means below."""
    rows = [*rows, *compute_means(table, rows)]
    heads, lines = (
        [c for c in table.columns if c.name not in (table.spread, *table.cells)],
        dict[tuple[str, ...], dict[str, str]](),
    )
    spread = list(dict.fromkeys(row[table.spread] for row in rows)) if table.spread else []
    cells = [c for c in table.columns if c.name in table.cells]
    for number, row in enumerate(rows):
        key = tuple(c.format_cell(row) for c in heads)
        line = lines.setdefault(key if table.spread else (*key, str(number)), {})
        if table.spread:
            line[row[table.spread]] = " / ".join(c.format_cell(row) for c in cells)
    grid = [[c.name for c in heads] + spread]
    grid += [[*key[: len(heads)], *(line.get(name, "-") for name in spread)] for key, line in lines.items()]
    return format_grid(grid)


def print_table(table: PaperTable, rows: Sequence[Row]) -> None:
    """Print a table below its title."""
    note = f" ({', '.join(table.cells)})" if table.cells else ""
    print(f"\n### {table.name}: {table.title}\n\n{table.paper}{note}\n", *format_table(table, rows), sep="\n")


def draw_chart(table: PaperTable, chart: Chart, rows: Sequence[Row], folder: Path) -> Path:
    """Draw a table's chart as NAME.png in a folder, created if needed, and return its path."""
    panel_of = [", ".join(str(row[name]) for name in chart.panel) for row in rows]
    panels = list(dict.fromkeys(panel_of))
    with open_figure(4.4 * len(panels), 3.8, "constrained") as figure:
        axes = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
        for axis, panel in zip(axes, panels, strict=True):
            part = [row for row, of in zip(rows, panel_of, strict=True) if of == panel]
            for name in dict.fromkeys(row[chart.line] for row in part):
                line = [row for row in part if row[chart.line] == name]
                x, y = (np.concatenate([np.atleast_1d(row[key]) for row in line]) for key in (chart.x, chart.y))
                axis.plot(x, y, "o-", ms=3, label=name)
            axis.set_xscale("log" if chart.log_x else "linear")
            axis.set(title=panel, xlabel=chart.x, ylabel=chart.y)
            axis.grid(color="0.9")
        axes[0].legend(fontsize=8)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{table.name}.png"
    save_figure(figure, file, 130)
    return file
