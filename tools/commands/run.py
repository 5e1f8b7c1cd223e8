"""`duocap run`: live, from one to eight cameras to the stream; and `duocap node`, one of its cameras on another machine."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from config.errors import SourceError
from config.settings import CAMERA_NAMES, Settings
from tools.arguments import (
    DATABASE,
    FPS,
    LAG,
    MODEL,
    NO_STYLE,
    RECORD_SESSION,
    RIG,
    SAVE_STYLE,
    STYLE,
    add_settings_options,
    check_session_path,
    set_lag,
    set_model,
    set_styles,
)
from tools.outputs import VMC, create_vmc_outputs

WHICH = "camera: a number, its name or a part of it (duocap doctor lists them), http:// (MJPEG) or rtsp://"
FILES = "a video file or folder of images, played in real time"
CAMERA_HELP = f"{WHICH}, {FILES}, or `node` for one on another machine (duocap node)."
CAMERAS = Annotated[
    list[str] | None,
    typer.Option(
        "--camera", metavar="CAM", help=f"A {CAMERA_HELP} Once for each camera of the rig, in its order.", show_default=False
    ),
]
LEFT_CAMERA = Annotated[
    str | None, typer.Option("--left", metavar="CAM", help="The first camera, as --camera.", show_default=False)
]
RIGHT_CAMERA = Annotated[
    str | None, typer.Option("--right", metavar="CAM", help="The second camera, likewise.", show_default=False)
]
SUBJECT = Annotated[
    Path,
    typer.Option("--subject", metavar="FILE", help="The performer: subject.toml (duocap calibrate subject).", show_default=False),
]
HEADLESS = Annotated[bool, typer.Option("--headless", help="Without the viewer.")]
EMPTY = Annotated[
    float | None,
    typer.Option(
        "--background",
        metavar="SECONDS",
        min=0.5,
        max=120.0,
        help="Learn the empty room for so long at the start, such as 4, with a countdown to step out of view.",
        show_default=False,
    ),
]
FOR_SECONDS = Annotated[float | None, typer.Option("--seconds", min=0.1, help="End after so long.", show_default="until Ctrl-C")]

CAMERA = Annotated[
    Literal["left", "right", "third", "fourth", "fifth", "sixth", "seventh", "eighth"],
    typer.Option("--camera", help="Which camera of the rig this is, in its order.", show_default=False),
]
SOURCE = Annotated[
    str,
    typer.Option("--source", metavar="CAM", help=f"The {WHICH}, or {FILES}.", show_default=False),
]
CONNECT = Annotated[
    str,
    typer.Option(
        "--connect", metavar="HOST[:PORT]", help="The machine of the run, started there with --camera node.", show_default=False
    ),
]


@add_settings_options
def run(
    settings: Settings,
    rig: RIG,
    subject: SUBJECT,
    camera: CAMERAS = None,
    left: LEFT_CAMERA = None,
    right: RIGHT_CAMERA = None,
    database: DATABASE = None,
    fps: FPS = None,
    headless: HEADLESS = False,
    vmc: VMC = None,
    record: RECORD_SESSION = None,
    model: MODEL = None,
    lag: LAG = None,
    background: EMPTY = None,
    seconds: FOR_SECONDS = None,
    style: STYLE = None,
    save_style: SAVE_STYLE = None,
    no_style: NO_STYLE = False,
) -> None:
    """Turn one to eight cameras into full-body motion, live; Ctrl-C ends with a short report."""
    from calibration.formats.rig_file import read_rig
    from calibration.subject.subject import read_subject
    from capture.sockets.endpoints import find_key_settings
    from stream.publish.publisher import check_address
    from tools.database.installed import find_default_database
    from tools.run.report import format_status
    from tools.run.run import LiveRun, run_live
    from tools.viewer import open_viewer

    cameras = given_cameras(camera, left, right)
    settings = set_lag(set_styles(settings, style, save_style, no_style), lag)
    check_address(settings.stream.address, find_key_settings(settings.stream))
    what = LiveRun(
        cameras,
        read_rig(rig, n_views=len(cameras)),
        read_subject(subject),
        database or find_default_database(_note),  # made here, once, rather than in a process that is waited for
        fps,
        create_vmc_outputs(vmc),
        check_session_path(record),
        seconds,
        background or 0.0,
        style=style,
        save_style=save_style,
    )
    with open_viewer(settings, _note, stay=False, wanted=not headless):
        report = run_live(
            set_model(settings, model), what, _note, lambda tally, status: _note(format_status(status, tally.recent_ms()))
        )
    typer.echo("\n".join(report.lines()))


def given_cameras(cameras: Sequence[str] | None, left: str | None, right: str | None) -> tuple[str, ...]:
    """Return the cameras of a run in the order of the rig: `left` and `right` are the first two, the others follow.

    Raises SourceError: none, too many, or `right` without one before it.
    """
    others = tuple(cameras or ())
    if right is not None and left is None:
        left, others = (others[0], others[1:]) if others else (None, ())
    given = (*(name for name in (left, right) if name is not None), *others)
    if right is not None and left is None:
        raise SourceError("--right names the second camera, and there is no first: give it with --left or --camera")
    if not given:
        raise SourceError("no camera was given; name each one of the rig, in its order: --camera CAM --camera CAM ...")
    if len(given) > len(CAMERA_NAMES):
        raise SourceError(f"{len(given)} cameras were given; a rig has at most {len(CAMERA_NAMES)}")
    return given


@add_settings_options
def node(settings: Settings, camera: CAMERA, source: SOURCE, connect: CONNECT, fps: FPS = None) -> None:
    """Be one of the cameras of a run on another machine, of one run after the other, until Ctrl-C."""
    from tools.run.node import parse_control_address, run_node

    run_node(settings, camera, source, parse_control_address(connect), fps, lambda words: _note(f"{camera} camera: {words}"))


def _note(words: str) -> None:
    """Print a line on standard error."""
    typer.echo(words, err=True)
