"""The papers' tables on real motions.

    python -m benchmarks.papers                               names all tables
    python -m benchmarks.papers TABLE... --motion DIR [...]   measures some and prints them as Markdown
    python -m benchmarks.papers --page docs [--paper lai]     writes the papers' pages from what was measured

DIR has the unpacked CMU motions, cmu/subjects/NN/NN_TT.amc, and for some tables HDM05's. The database without the queries is
built from them once and cached. `pip install '.[benchmarks]'` first.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable
from pathlib import Path

from benchmarks.papers.frame import PaperTable, Request, draw_chart, print_table
from benchmarks.papers.page.make import FIGURES, PageOptions, make_pages
from benchmarks.papers.tables import TABLES
from benchmarks.report import Row, build_parser, run_main, write_json
from config.errors import DatabaseError
from tools.cluster import WorkerPlan, has_dask


def make_parser() -> ArgumentParser:
    """Return the parser of the command line."""
    parser = build_parser(__doc__)
    parser.prog = "python -m benchmarks.papers"
    parser.add_argument("tables", nargs="*", metavar="TABLE")
    parser.add_argument("--motion", type=Path, metavar="DIR", help="unpacked CMU motions")
    parser.add_argument("--database", type=Path, metavar="FILE", help="without the queries; default built from --motion")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="clips, behaviours, subjects, models of a table")
    parser.add_argument(
        "--clips", nargs="+", default=[], metavar="SET", help="tuning, test, quick: instead of a table's own clips"
    )
    parser.add_argument("--count", type=int, default=0, metavar="N", help="poses or trials, where a table has such a number")
    parser.add_argument("--seconds", type=float, metavar="S", help="of a clip, 0: all")
    parser.add_argument("--markers", default="boxing", metavar="SET", help="marker preset or markers.toml")
    parser.add_argument("--quick", action="store_true", help="less of a table, in a minute")
    parser.add_argument("--recording", type=Path, metavar="DIR", help="a recorded T-pose, for filters and smoother")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=0, metavar="N", help="random halves, where a table has such")
    parser.add_argument("--workers", type=int, metavar="N", help="processes; default as many as there is room for")
    parser.add_argument("--scheduler", default="", metavar="ADDRESS", help="of a Dask cluster")
    parser.add_argument("--plot", type=Path, metavar="DIR", help="draw charts of tables that have one")
    page = parser.add_argument_group("pages")
    page.add_argument(
        "--page", type=Path, metavar="DIR", help="write the papers' pages there; with --motion measure what is missing"
    )
    page.add_argument(
        "--paper", nargs="+", default=[], metavar="NAME", help="chai, chai-behaviours, grochow, lai, wei: these pages only"
    )
    page.add_argument("--again", action="store_true", help="measure what was measured before, too")
    page.add_argument("--figures", type=Path, default=FIGURES, metavar="DIR", help="of measured figures")
    return parser


def find_tables(names: list[str]) -> list[PaperTable]:
    """Return tables by name. Raises DatabaseError: no such table."""
    known = {table.name: table for table in TABLES}
    for name in names:
        if name not in known:
            raise DatabaseError(f"{name!r} is no table; take {', '.join(known)}")
    return [known[name] for name in names]


def read_request(asked: Namespace) -> Request:
    """Return what the command line asks of tables."""
    count = 1 if asked.workers is None and not asked.scheduler and not has_dask() else asked.workers
    return Request(
        motion=asked.motion,
        database=asked.database,
        only=tuple(asked.only),
        sets=tuple(asked.clips),
        count=asked.count,
        seconds=asked.seconds,
        markers=asked.markers,
        quick=asked.quick,
        recording=asked.recording,
        seed=asked.seed,
        seeds=asked.seeds,
        workers=WorkerPlan(count, asked.scheduler),
    )


def main(arguments: list[str] | None = None) -> None:
    """Measure what is asked for. Raises DuocapError."""
    asked = make_parser().parse_args(arguments)
    if asked.page is not None:
        request = None if asked.motion is None else read_request(asked)
        for file in make_pages(PageOptions(asked.page, tuple(asked.paper), request, asked.again, asked.figures)):
            print(f"wrote {file}")
    elif not asked.tables:
        for table in TABLES:
            print(f"{table.name:<18}{table.paper}: {table.title}")
    elif asked.motion is None:
        raise DatabaseError("--motion is missing; name the folder of the unpacked CMU motions")
    else:
        measure_tables(find_tables(asked.tables), read_request(asked), asked.json, asked.plot)


def measure_tables(tables: list[PaperTable], request: Request, json: Path | None, plot: Path | None) -> None:
    """Measure, print and write tables. Raises DuocapError."""
    for table in tables:
        table.check_request(request)
    figures, known = dict[str, list[Row]](), dict[Callable[[Request], Iterable[Row]], list[Row]]()
    for table in tables:
        if table.compute_rows not in known:
            known[table.compute_rows] = list(table.compute_rows(request))
        figures[table.name] = rows = known[table.compute_rows]
        print_table(table, rows)
        if plot is not None and table.chart is not None:
            print(f"\nwrote {draw_chart(table, table.chart, rows, plot)}")
        write_json(json, figures)


if __name__ == "__main__":
    run_main(main)
