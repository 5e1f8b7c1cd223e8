"""`duocap pose`: a page to pose a body on by dragging its joints."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from config.errors import DuocapError
from config.settings import Settings
from tools.arguments import check_folders
from tools.commands.declaration import add_settings_options
from tools.commands.options import BrowserPageOptions, Database, ImportOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class PoseOptions:
    """Options of `duocap pose`."""

    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FILE...]",
            help="Styles (.style; several are mixed) or a dictionary (.sparse) to pose by, a session (.json) to go on with, "
            "a motion or recording to begin with.",
        ),
    ] = None
    model: Annotated[
        str | None,
        typer.Option(
            metavar="average|local|sparse|style",
            help="What poses the body where nothing is held; default as the FILE, without one the average of the others.",
        ),
    ] = None
    picture: Annotated[Path | None, typer.Option(metavar="FILE", help="Pose after this picture: PNG or JPEG.")] = None
    database: Database = None
    out: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Write a session's motion, and show no page; repeatable."),
    ] = None
    publish: Annotated[bool, typer.Option("--publish", help="Publish the pose to the stream from the start.")] = False
    page: BrowserPageOptions
    imported: ImportOptions


@add_settings_options
def pose(settings: Settings, options: PoseOptions) -> None:
    """Pose a body on a page: drag a joint, and the body follows."""
    from tools.export import plan_export_files
    from tools.pose import MODELS, PoseTask, choose_model, export_session, serve_posing_page, sort_files_by_kind
    from tools.viewer import can_browse

    given = sort_files_by_kind(options.files or ())
    model = options.model or choose_model(given)
    if model not in MODELS:
        raise DuocapError(f"--model {model}: unknown; expected one of {', '.join(MODELS)}")
    task = PoseTask(
        options.page.change_settings(settings),
        given.styles,
        given.session,
        given.dictionary,
        model,
        options.picture,
        options.database,
        options.publish,
        options.page.browser and can_browse(),
        given.take,
        options.imported.read_hints(),
    )
    if options.out:
        check_folders(*options.out)
        export_session(task, plan_export_files(given.session or given.take or Path("pose.json"), options.out, ()), typer.echo)
    else:
        serve_posing_page(task, typer.echo)
