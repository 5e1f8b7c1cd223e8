"""`duocap view`: the running stream, recordings or motions in the browser."""

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from config.settings import Settings
from tools.commands.declaration import add_settings_options
from tools.commands.options import BrowserPageOptions, ImportOptions, Retarget


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewOptions:
    """Options of `duocap view`."""

    recordings: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[TAKE [TAKE2]]",
            help="Recordings, sessions or motions (.bvh, .glb, ...), two side by side; a batch's folder: its report; "
            "none: the stream.",
        ),
    ] = None
    page: BrowserPageOptions
    at_s: Annotated[float | None, typer.Option("--at", min=0.0, metavar="SECONDS", help="Stop a recording at this time.")] = None
    retarget: Retarget = None
    imported: ImportOptions


@add_settings_options
def view(settings: Settings, options: ViewOptions) -> None:
    """Show the running stream in the browser, play one take or two side by side, or look through a batch."""
    from stream.take.read import find_recording
    from stream.viewer.takes import MAX_TAKES
    from tools.batch.show import is_report, show_report
    from tools.viewer import ViewPlan, can_browse, show_viewer

    settings, browser = options.page.change_settings(settings), options.page.browser and can_browse()
    if options.retarget is not None:
        settings = replace(settings, viewer=replace(settings.viewer, avatar=str(options.retarget)))
    if options.recordings and len(options.recordings) == 1 and is_report(options.recordings[0]):
        show_report(options.recordings[0], settings, typer.echo, browser=browser)
        return
    given = options.recordings or []
    if len(given) > MAX_TAKES:
        raise typer.BadParameter(f"{len(given)} recordings were given; at most {MAX_TAKES} stand side by side")
    if options.at_s is not None and not given:
        raise typer.BadParameter("is a time of a recording; name one", param_hint="--at")
    hints = options.imported.read_hints()
    with tempfile.TemporaryDirectory(prefix="duocap-view-") as folder:
        files = tuple(find_recording(file, Path(folder), hints, typer.echo) for file in given)
        show_viewer(ViewPlan(settings, files, browser, options.at_s, tuple(given)), typer.echo)
