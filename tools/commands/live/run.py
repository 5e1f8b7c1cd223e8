"""`duocap run`: live, from one to eight cameras to the stream; and `duocap node`, one of its cameras on another machine."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from config.errors import SourceError
from config.settings import CAMERA_NAMES, Settings
from tools.arguments import check_session_path, create_vmc_outputs, set_lag, set_model, set_styles
from tools.commands.declaration import InProject, add_settings_options
from tools.commands.live.landmarks import set_landmarks
from tools.commands.options import (
    PLAYED_FILES,
    WHICH_CAMERA,
    CameraOptions,
    Database,
    Headless,
    Lag,
    LandmarkModel,
    Model,
    RecordSession,
    Rig,
    StyleOptions,
    Subject,
    VideoFps,
    Vmc,
)
from tools.progress import StatusLine, open_status_line, print_note

if TYPE_CHECKING:
    from tools.run.report import RunReport
    from tools.run.run import LiveRun


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """Options of `duocap run`."""

    rig: Rig
    subject: Subject
    cameras: CameraOptions
    database: Database = None
    fps: VideoFps = None
    headless: Headless = False
    vmc: Annotated[Vmc, InProject("vmc")] = None
    record: RecordSession = None
    model: Model = None
    landmarks: LandmarkModel = None
    lag: Lag = None
    background: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            min=0.5,
            max=120.0,
            help="Learn the empty room for so long at the start, such as 4, with a countdown to step out of view.",
        ),
        InProject("background"),
    ] = None
    seconds: Annotated[float | None, typer.Option(min=0.1, help="End after so long.", show_default="until Ctrl-C")] = None
    styles: StyleOptions


@add_settings_options
def run(settings: Settings, options: RunOptions) -> None:
    """Turn one to eight cameras into full-body motion, live; Ctrl-C ends with a short report."""
    from calibration.formats.rig_file import read_rig
    from calibration.subject.subject import read_subject
    from stream.publish.publisher import choose_address
    from tools.database.installed import find_default_database
    from tools.run.run import LiveRun
    from tools.viewer import open_viewer

    cameras = order_cameras(options.cameras)
    performer = read_subject(options.subject)
    settings = set_landmarks(settings, options.landmarks, performer.markers)
    styles = options.styles
    settings = set_lag(set_styles(settings, styles.style, styles.save_style, styles.no_style), options.lag)
    settings = choose_address(settings)
    what = LiveRun(
        cameras,
        read_rig(options.rig, n_views=len(cameras)),
        performer,
        options.database or find_default_database(print_note),  # made here, once, rather than in a process that is waited for
        options.fps,
        create_vmc_outputs(options.vmc),
        check_session_path(options.record),
        options.seconds,
        options.background or 0.0,
        style=styles.style,
        save_style=styles.save_style,
    )
    with open_status_line() as line, open_viewer(settings, line.tell, stay=False, wanted=not options.headless):
        report = run_beside_line(set_model(settings, options.model), what, line)
    typer.echo("\n".join(report.lines()))


def run_beside_line(settings: Settings, what: "LiveRun", line: StatusLine) -> "RunReport":
    """Run to its end, with its state in a line of the terminal."""
    from tools.run.report import format_status
    from tools.run.run import run_live

    return run_live(
        settings, what, line.tell, lambda tally, status, recording: line.show(format_status(status, tally.recent_ms(), recording))
    )


def order_cameras(options: CameraOptions) -> tuple[str, ...]:
    """Return the cameras of a run in the order of the rig: `left` and `right` are the first two, the others follow.

    Raises SourceError: none, too many, or `right` without one before it.
    """
    left, right, others = options.left, options.right, tuple(options.camera or ())
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


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeOptions:
    """Options of `duocap node`."""

    camera: Annotated[
        Literal["left", "right", "third", "fourth", "fifth", "sixth", "seventh", "eighth"],
        typer.Option(help="Which camera of the rig this is, in its order."),
    ]
    source: Annotated[
        str,
        typer.Option(metavar="CAM", help=f"The {WHICH_CAMERA}, or {PLAYED_FILES}."),
    ]
    connect: Annotated[
        str,
        typer.Option(metavar="HOST[:PORT]", help="The machine of the run, started there with --camera node."),
    ]
    fps: VideoFps = None


@add_settings_options
def node(settings: Settings, options: NodeOptions) -> None:
    """Be one of the cameras of a run on another machine, of one run after the other, until Ctrl-C."""
    from tools.run.node import parse_control_address, run_node

    run_node(
        settings,
        options.camera,
        options.source,
        parse_control_address(options.connect),
        options.fps,
        lambda words: print_note(f"{options.camera} camera: {words}"),
    )
