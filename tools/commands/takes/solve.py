"""`duocap solve`: a marker file of an optical system in, poses and whole markers out."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from config.optical import list_optical_sets
from config.settings import Settings
from tools.arguments import check_folders, open_database_or_default
from tools.commands.declaration import add_settings_options
from tools.commands.options import Database, Person
from tools.progress import open_progress_bar


@dataclass(frozen=True, slots=True, kw_only=True)
class SolveCommandOptions:
    """Options of `duocap solve`."""

    take: Annotated[Path, typer.Argument(metavar="TAKE", help="Markers of an optical system: .c3d or .trc.")]
    out: Annotated[
        list[Path],
        typer.Option(metavar="FILE", help="Write .bvh, .c3d, .trc, .csv, .markers.csv, .glb, .vrma or .mcap; repeatable."),
    ]
    markers: Annotated[
        str | None,
        typer.Option(
            metavar="SET|FILE", help=f"Markers worn: {', '.join(list_optical_sets())}, or a markers.toml; default by the labels."
        ),
    ] = None
    person: Person = None
    database: Database = None
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write labels, gaps and residuals: as JSON if it ends so, else as text.")
    ] = None


@add_settings_options
def solve(settings: Settings, options: SolveCommandOptions) -> None:
    """Solve optical markers, labelled or not: labels, skeleton, poses; gaps are filled."""
    from config.files import write_atomically
    from tools.export import plan_export_files, print_written, write_takes
    from tools.solve.report import build_report, build_take, format_report
    from tools.solve.solve import prepare_marker_file, solve_take

    check_folders(*options.out, *(() if options.report is None else (options.report,)))
    files = plan_export_files(options.take, options.out, ())
    take = prepare_marker_file(options.take, options.markers, options.person or "")
    database = open_database_or_default(options.database)
    with open_progress_bar("solving") as progress:
        solved = solve_take(take, database, progress)
    written, report = build_take(solved), build_report(solved)
    for line in format_report(report):
        typer.echo(line)
    if options.report is not None:
        as_json = options.report.suffix.lower() == ".json"
        text = json.dumps(report, indent=1) if as_json else "\n".join(format_report(report, None))
        write_atomically(options.report, text + "\n")
    write_takes(files, written)
    print_written(files, len(written))
