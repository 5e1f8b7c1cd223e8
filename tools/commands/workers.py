"""Options of the commands that share their work among processes."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from tools.cluster import WorkerPlan

WorkerCount = Annotated[
    int | None,
    typer.Option("--workers", min=1, metavar="N", help="Processes of this machine; default as many as it has room for."),
]
Scheduler = Annotated[
    str,
    typer.Option("--scheduler", metavar="tcp://HOST:8786", help="Use the workers of a Dask cluster instead.", show_default=False),
]
EvaluationWorkers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        "--processes",
        min=1,
        metavar="N",
        help="Clips measured at once, each by a process; default as many as there is room for, 1 without duocap[cluster].",
    ),
]


def evaluation_plan(count: int | None, scheduler: str) -> "WorkerPlan":
    """Return who measures; without Dask this process alone if nothing else is asked for."""
    from tools.cluster import WorkerPlan, has_dask

    return WorkerPlan(1 if count is None and not scheduler and not has_dask() else count, scheduler)


TlsCa = Annotated[Path | None, typer.Option("--tls-ca", metavar="FILE", help="Who signs a tls:// cluster.", show_default=False)]
TlsCert = Annotated[
    Path | None, typer.Option("--tls-cert", metavar="FILE", help="Certificate of this machine.", show_default=False)
]
TlsKey = Annotated[Path | None, typer.Option("--tls-key", metavar="FILE", help="Key of the certificate.", show_default=False)]
