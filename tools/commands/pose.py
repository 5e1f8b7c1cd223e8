"""`duocap pose`: a page to pose a body on by dragging its joints."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from config.errors import DuocapError
from config.settings import Settings
from tools.arguments import DATABASE, add_settings_options, check_folders

Files = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="[FILE...]",
        help="Styles (.style; several are mixed) or a dictionary (.sparse) to pose by, a session (.json) to go on with.",
        show_default=False,
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="local|sparse|style",
        help="What poses the body where nothing is held; default as the FILE.",
        show_default=False,
    ),
]
Picture = Annotated[
    Path | None, typer.Option("--picture", metavar="FILE", help="Pose after this picture: PNG or JPEG.", show_default=False)
]
Out = Annotated[
    list[Path] | None,
    typer.Option("--out", metavar="FILE", help="Write a session's motion, and show no page; repeatable.", show_default=False),
]
Publish = Annotated[bool, typer.Option("--publish", help="Publish the pose to the stream from the start.")]
Port = Annotated[int | None, typer.Option(min=0, max=65535, help="Of the page; the next free one if taken.", show_default="8080")]
Host = Annotated[
    str | None, typer.Option(help="Address to serve the page at; 0.0.0.0: for other machines, too.", show_default="127.0.0.1")
]
Theme = Annotated[Literal["dark", "light", "auto"] | None, typer.Option(help="Colours of the page.", show_default="auto")]


@add_settings_options
def pose(
    settings: Settings,
    files: Files = None,
    model: Model = None,
    picture: Picture = None,
    database: DATABASE = None,
    out: Out = None,
    publish: Publish = False,
    port: Port = None,
    host: Host = None,
    browser: Annotated[bool, typer.Option(help="Open the page in the system's browser.")] = True,
    theme: Theme = None,
) -> None:
    """Pose a body on a page: drag a joint, and the body follows."""
    from dataclasses import replace

    from tools.export import plan_export_files
    from tools.pose import MODELS, PoseTask, export_session, serve_posing_page, sort_files_by_kind
    from tools.viewer import can_browse

    given = sort_files_by_kind(files or ())
    model = model or ("sparse" if given.dictionary is not None and not given.styles else "style")
    if model not in MODELS:
        raise DuocapError(f"--model {model}: unknown; expected one of {', '.join(MODELS)}")
    asked = {"port": port, "host": host, "theme": theme}
    viewer = replace(settings.viewer, **{key: value for key, value in asked.items() if value is not None})  # type: ignore[arg-type]
    task = PoseTask(
        replace(settings, viewer=viewer),
        given.styles,
        given.session,
        given.dictionary,
        model,
        picture,
        database,
        publish,
        browser and can_browse(),
    )
    if out:
        check_folders(*out)
        export_session(task, plan_export_files(given.session or Path("pose.json"), out, ()), typer.echo)
    else:
        serve_posing_page(task, typer.echo)
