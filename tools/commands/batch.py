"""`duocap batch`: many takes, exports, evaluations and databases as one job."""

from pathlib import Path
from typing import Annotated

import typer

from tools.arguments import ConfigFile, LogFile, SetValues, Verbose
from tools.commands.options import Scheduler, TlsCa, TlsCert, TlsKey, WorkerCount

Places = Annotated[
    list[Path],
    typer.Argument(metavar="JOB.toml|FOLDER...", help="A job file, or folders that are searched for takes.", show_default=False),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="Folder of the results; default `batch` in the folder, JOB-out beside the file."),
]
Retry = Annotated[bool, typer.Option("--retry", help="Also run again what failed last time.")]
Send = Annotated[bool, typer.Option("--send", help="Send inputs to the workers, which share no folder with this machine.")]


def batch(
    places: Places,
    out: Out = None,
    retry: Retry = False,
    workers: WorkerCount = None,
    scheduler: Scheduler = "",
    send: Send = False,
    tls_ca: TlsCa = None,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
    config_file: ConfigFile = None,
    set_values: SetValues = None,
    verbose: Verbose = False,
    log_file: LogFile = None,
) -> None:
    """Run many takes as one job, on all cores or on a cluster. What is done is not done again."""
    from functools import partial

    from config.errors import DuocapError
    from config.logs import LogSettings, start_logs
    from tools.batch.batch import run_batch
    from tools.batch.job import read_job
    from tools.batch.report import DONE, FAILED, PAGE, UNDONE
    from tools.cluster import WorkerPlan
    from tools.interrupt import raise_on_interrupt
    from tools.progress import open_progress_bar

    start_logs(LogSettings(verbose, log_file))
    job = read_job(places, out, set_values or (), config_file)
    plan = WorkerPlan(workers, scheduler, tls_ca, tls_cert, tls_key)
    with raise_on_interrupt(), open_progress_bar("batch") as progress:
        result = run_batch(job, plan, partial(typer.echo, err=True), progress, retry=retry, send=send)
    n_failed, n_undone = result.count(FAILED), result.count(UNDONE)
    typer.echo(f"{result.count(DONE)} done, {result.n_run} of all run now, {n_failed} failed: {job.out / PAGE}")
    if result.lost:
        raise DuocapError(f"{n_undone} of {len(result.rows)} tasks not run: {result.lost}")
    if n_failed:
        again = "" if retry else "; --retry runs them again"
        raise DuocapError(f"{n_failed} of {len(result.rows)} tasks failed{again}")
