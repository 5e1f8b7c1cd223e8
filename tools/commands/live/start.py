"""`duocap start`: the start page, from cameras to a recorded take."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from config.loading import load_settings
from tools.commands.declaration import CommonOptions, add_settings_options
from tools.commands.options import BrowserPageOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class StartOptions:
    """Options of `duocap start`."""

    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DIR]",
            help="Folder of the project, made if it is missing; default this one if it holds a project or nothing, else "
            "duocap-project in it.",
        ),
    ] = None
    page: BrowserPageOptions


@add_settings_options
def start(common: CommonOptions, options: StartOptions) -> None:
    """Open the start page: choose cameras, calibrate, record, see takes and send motion, step by step, in a browser."""
    from tools.start.start import StartPlan, serve_start_page

    settings = options.page.change_settings(load_settings(common.config_file, common.set_values or ()))
    given = [] if common.config_file is None else ["--config", str(common.config_file.absolute())]
    given += [word for value in common.set_values or () for word in ("--set", value)]
    serve_start_page(StartPlan(settings, tuple(given), options.folder, options.page.browser), typer.echo)
