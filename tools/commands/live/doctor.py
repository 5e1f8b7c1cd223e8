"""`duocap doctor`: what hinders a run on this machine, and how to mend it."""

import json
from typing import Annotated

import typer

from config.settings import Settings
from tools.commands.declaration import add_settings_options

JSON = Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")]
URLS = Annotated[
    list[str] | None,
    typer.Option("--camera", metavar="URL", help="Look at a camera of the network too; repeatable."),
]


@add_settings_options
def doctor(settings: Settings, as_json: JSON = False, camera: URLS = None) -> None:
    """Say what hinders a run on this machine, and how to mend it; look at the stream that runs, if one does."""
    from tools.doctor.doctor import examine_machine
    from tools.doctor.finding import convert_findings, format_findings, has_hindrance

    findings = examine_machine(settings, camera or ())
    typer.echo(json.dumps(convert_findings(findings), indent=1) if as_json else "\n".join(format_findings(findings)))
    if has_hindrance(findings):
        raise typer.Exit(1)
