"""Options of the commands that share their work among processes."""

from pathlib import Path
from typing import Annotated

import typer

WorkerCount = Annotated[
    int | None,
    typer.Option("--workers", min=1, metavar="N", help="Processes of this machine; default as many as it has room for."),
]
Scheduler = Annotated[
    str,
    typer.Option("--scheduler", metavar="tcp://HOST:8786", help="Use the workers of a Dask cluster instead.", show_default=False),
]
TlsCa = Annotated[Path | None, typer.Option("--tls-ca", metavar="FILE", help="Who signs a tls:// cluster.", show_default=False)]
TlsCert = Annotated[
    Path | None, typer.Option("--tls-cert", metavar="FILE", help="Certificate of this machine.", show_default=False)
]
TlsKey = Annotated[Path | None, typer.Option("--tls-key", metavar="FILE", help="Key of the certificate.", show_default=False)]
