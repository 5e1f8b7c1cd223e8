"""`duocap batch`: many takes, exports, evaluations and databases as one job."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from config.words import format_count
from tools.commands.declaration import CommonOptions, InProject, add_settings_options
from tools.commands.options import Scheduler, WorkerCount


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOptions:
    """Options of `duocap batch`."""

    places: Annotated[
        list[Path],
        typer.Argument(metavar="JOB.toml|FOLDER...", help="A job file, or folders that are searched for takes."),
        InProject("all takes"),
    ]
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder of the results; default `batch` in the folder, JOB-out beside the file."),
    ] = None
    retry: Annotated[bool, typer.Option("--retry", help="Also run again what failed last time.")] = False
    workers: WorkerCount = None
    scheduler: Scheduler = ""
    send: Annotated[bool, typer.Option("--send", help="Send inputs to the workers, which share no folder with this machine.")] = (
        False
    )
    tls_ca: Annotated[Path | None, typer.Option(metavar="FILE", help="Who signs a tls:// cluster.")] = None
    tls_cert: Annotated[Path | None, typer.Option(metavar="FILE", help="Certificate of this machine.")] = None
    tls_key: Annotated[Path | None, typer.Option(metavar="FILE", help="Key of the certificate.")] = None


@add_settings_options
def batch(common: CommonOptions, options: BatchOptions) -> None:
    """Run many takes as one job, on all cores or on a cluster. What is done is not done again."""
    from config.errors import DuocapError
    from tools.batch.batch import run_batch
    from tools.batch.job import read_job
    from tools.batch.report import DONE, FAILED, PAGE, UNDONE
    from tools.cluster import WorkerPlan
    from tools.interrupt import raise_on_interrupt
    from tools.progress import open_progress_bar, print_note

    job = read_job(options.places, options.out, common.set_values or (), common.config_file)
    plan = WorkerPlan(options.workers, options.scheduler, options.tls_ca, options.tls_cert, options.tls_key)
    with raise_on_interrupt(), open_progress_bar("batch") as progress:
        result = run_batch(job, plan, print_note, progress, retry=options.retry, send=options.send)
    n_failed, n_undone = result.count(FAILED), result.count(UNDONE)
    typer.echo(f"{result.count(DONE)} done, {result.n_run} of all run now, {n_failed} failed: {job.out / PAGE}")
    if result.lost:
        raise DuocapError(f"{n_undone} of {format_count(len(result.rows), 'task')} not run: {result.lost}")
    if n_failed:
        again = "" if options.retry else "; --retry runs them again"
        raise DuocapError(f"{n_failed} of {format_count(len(result.rows), 'task')} failed{again}")
