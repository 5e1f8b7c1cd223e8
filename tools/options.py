"""The options every command has: --config FILE, --set key=value, --verbose, --log FILE.

How to write a command:

    @with_settings
    def simulate(settings: Settings, motion: Annotated[str, typer.Argument(help="...")], seconds: float = 5.0) -> None:
        \"\"\"One line that shows in the help.\"\"\"

Its first parameter receives the settings, loaded and checked; the others are ordinary typer parameters. The four
options appear after the command's own, and logs are started before its body runs (`logging.getLogger(__name__)`;
hand `config.logs.current_logs()` to child processes). Errors: raise a `DuocapError`, the launcher prints it.

Where it goes: a command of its own is a function of the command's name in tools/cli_<name>.py; a group
(`duocap database build`) is `app = typer.Typer()` in tools/cli_<group>.py with `@app.command()` above `@with_settings`.
Name either in COMMANDS of tools/cli.py. Import heavy modules (numba, cv2, scipy) inside the function, so that --help is quick.
"""

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Concatenate, ParamSpec

import typer

from config.loading import load_settings
from config.logs import LogSettings, start_logs
from config.settings import Settings

P = ParamSpec("P")

ConfigFile = Annotated[Path | None, typer.Option("--config", metavar="FILE", help="TOML file of settings.", show_default=False)]
SetValues = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change one setting, such as solve.neighbours=200; repeatable."),
]
Verbose = Annotated[bool, typer.Option("--verbose", help="Show details, and tracebacks of internal faults.")]
LogFile = Annotated[Path | None, typer.Option("--log", metavar="FILE", help="Write all details to a file.", show_default=False)]

_OPTIONS = {
    "config_file": (ConfigFile, None),
    "set_values": (SetValues, None),
    "verbose": (Verbose, False),
    "log_file": (LogFile, None),
}


def with_settings(command: Callable[Concatenate[Settings, P], None]) -> Callable[..., None]:
    """Give `command` the shared options; its first parameter receives the settings they make."""

    @functools.wraps(command)
    def run(config_file: Path | None, set_values: list[str] | None, verbose: bool, log_file: Path | None, **own: Any) -> None:
        start_logs(LogSettings(verbose, log_file))
        bound: Callable[..., None] = command
        bound(load_settings(config_file, set_values or ()), **own)

    parameters = list(inspect.signature(command, eval_str=True).parameters.values())[1:]
    for name, (kind, default) in _OPTIONS.items():
        parameters.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind))
    del run.__dict__["__wrapped__"]  # or typer would look through to the signature of `command`
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters} | {"return": None}
    return run
