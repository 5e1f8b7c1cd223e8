"""`duocap view`: the running stream or recordings in the browser."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from config.settings import Settings
from tools.arguments import add_settings_options

Recordings = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="[RECORDING [RECORDING2]]",
        help="Recordings or session folders to play, two side by side; a batch's folder: its report; none: the stream.",
        show_default=False,
    ),
]
Port = Annotated[int | None, typer.Option(min=0, max=65535, help="Of the page; the next free one if taken.", show_default="8080")]
Host = Annotated[
    str | None, typer.Option(help="Address to serve the page at; 0.0.0.0: for other machines, too.", show_default="127.0.0.1")
]
Theme = Annotated[Literal["dark", "light", "auto"] | None, typer.Option(help="Colours of the page.", show_default="auto")]

At = Annotated[
    float | None, typer.Option("--at", min=0.0, metavar="SECONDS", help="Stop a recording at this time.", show_default=False)
]


@add_settings_options
def view(
    settings: Settings,
    recordings: Recordings = None,
    port: Port = None,
    host: Host = None,
    browser: Annotated[bool, typer.Option(help="Open the page in the system's browser.")] = True,
    theme: Theme = None,
    at_s: At = None,
) -> None:
    """Show the running stream in the browser, play one recording or two side by side, or look through a batch."""
    from dataclasses import replace

    from stream.recording.folders import find_take
    from stream.viewer.takes import MAX_TAKES
    from tools.batch.show import is_report, show_report
    from tools.viewer import ViewPlan, can_browse, show_viewer

    asked = {"port": port, "host": host, "theme": theme}
    viewer = replace(settings.viewer, **{key: value for key, value in asked.items() if value is not None})  # type: ignore[arg-type]
    settings, browser = replace(settings, viewer=viewer), browser and can_browse()
    if recordings and len(recordings) == 1 and is_report(recordings[0]):
        show_report(recordings[0], settings, typer.echo, browser=browser)
        return
    files = tuple(find_take(recording) for recording in recordings or ())
    if len(files) > MAX_TAKES:
        raise typer.BadParameter(f"{len(files)} recordings were given; at most {MAX_TAKES} stand side by side")
    if at_s is not None and not files:
        raise typer.BadParameter("is a time of a recording; name one", param_hint="--at")
    show_viewer(ViewPlan(settings, files, browser, at_s), typer.echo)
