"""`duocap node`: one camera of a run whose reconstruction is on another machine."""

from typing import Annotated, Literal

import typer

from config.settings import Settings
from tools.arguments import FPS, with_settings

SOURCE_HELP = (
    "The camera: a number, its name or a part of it (duocap doctor lists them), http:// (MJPEG) or rtsp://, or a video file or "
    "folder of images, played in real time."
)
CAMERA = Annotated[
    Literal["left", "right"], typer.Option("--camera", help="Which camera of the rig this is.", show_default=False)
]
SOURCE = Annotated[
    str,
    typer.Option("--source", metavar="CAM", help=SOURCE_HELP, show_default=False),
]
CONNECT = Annotated[
    str,
    typer.Option(
        "--connect", metavar="HOST[:PORT]", help="The machine of the run, started there with --left node.", show_default=False
    ),
]


@with_settings
def node(settings: Settings, camera: CAMERA, source: SOURCE, connect: CONNECT, fps: FPS = None) -> None:
    """Be one of the cameras of a run on another machine, of one run after the other, until Ctrl-C."""
    from tools.run.node import control_address, run_node

    run_node(
        settings, camera, source, control_address(connect), fps, lambda words: typer.echo(f"{camera} camera: {words}", err=True)
    )
