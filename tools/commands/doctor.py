"""`duocap doctor`: what hinders a run on this machine, and how to mend it."""

import json
from typing import Annotated

import typer

from config.settings import Settings
from tools.arguments import with_settings

JSON = Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")]
URLS = Annotated[
    list[str] | None,
    typer.Option("--camera", metavar="URL", help="Look at a camera of the network too; repeatable.", show_default=False),
]


@with_settings
def doctor(settings: Settings, as_json: JSON = False, camera: URLS = None) -> None:
    """Say what hinders a run on this machine, and how to mend it; look at the stream that runs, if one does."""
    from tools.doctor.doctor import examine
    from tools.doctor.finding import hinders, lines, plain

    findings = examine(settings, camera or ())
    typer.echo(json.dumps(plain(findings), indent=1) if as_json else "\n".join(lines(findings)))
    if hinders(findings):
        raise typer.Exit(1)
