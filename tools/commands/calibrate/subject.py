"""`duocap calibrate subject`: a performer's skeleton and where the markers sit on it, from one T-pose or several."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from config.settings import Settings
from tools.arguments import (
    BACKGROUND,
    DATABASE,
    FPS,
    RIG,
    TIMESTAMPS,
    VIEWS,
    add_settings_options,
    check_folders,
    check_sources,
    parse_seconds_range,
)
from tools.calibrate.outcome import NO_PICTURE, PICTURE, choose_picture_file

if TYPE_CHECKING:
    from tools.calibrate.subject import TakeWindow

Markers = Annotated[
    str | None,
    typer.Option(
        "--markers",
        metavar="SET",
        help="A markers.toml, or locomotion, boxing, kendo, dark_room, all_around; default that of --subject.",
        show_default=False,
    ),
]
From = Annotated[
    float | None,
    typer.Option("--from", metavar="S", help="Time of the recording from which the T-pose is held [s].", show_default=False),
]
To = Annotated[float | None, typer.Option("--to", metavar="S", help="Time until which it is held [s].", show_default=False)]
Take = Annotated[
    list[str] | None,
    typer.Option(
        "--take",
        metavar="S:S",
        help="A T-pose, instead of --from and --to; repeatable. S:S:left, S:S:right: limb markers of that side only.",
        show_default=False,
    ),
]
HeldPose = Annotated[
    Literal["auto", "t", "a", "stand"],
    typer.Option(
        "--pose", help="t: arms level; a: obliquely down; stand: hanging; auto: as the markers tell. Live cameras take t."
    ),
]
Also = Annotated[
    list[str] | None,
    typer.Option(
        "--also",
        metavar="SESSION[@S:S]",
        help="A further recording of the performer, a session or VIEW,VIEW; repeatable.",
        show_default=False,
    ),
]
Motion = Annotated[
    str | None,
    typer.Option(
        "--motion",
        metavar="S:S",
        help="Seconds of free movement, all joints bending: lengths and marker places are refined over it.",
        show_default=False,
    ),
]
Out = Annotated[Path, typer.Option("--out", metavar="FILE", help="Where to write subject.toml.", show_default=False)]
Height = Annotated[
    float | None, typer.Option("--height", metavar="M", help="How tall the performer is, shoes off [m].", show_default=False)
]
Old = Annotated[
    Path | None,
    typer.Option("--subject", metavar="FILE", help="With --only-markers: whose skeleton is kept.", show_default=False),
]
OnlyMarkers = Annotated[bool, typer.Option("--only-markers", help="Markers moved: find their places anew, keep the skeleton.")]


Learn = Annotated[
    float | None,
    typer.Option(
        "--learn", min=0.5, metavar="S", help="With live cameras: learn the empty room for so long.", show_default=False
    ),
]
Browser = Annotated[bool, typer.Option("--browser/--no-browser", help="With live cameras: guide by a page in the browser.")]


@add_settings_options
def subject(
    settings: Settings,
    views: VIEWS,
    rig: RIG,
    out: Out,
    markers: Markers = None,
    start: From = None,
    end: To = None,
    take: Take = None,
    pose: HeldPose = "auto",
    also: Also = None,
    motion: Motion = None,
    height: Height = None,
    only_markers: OnlyMarkers = False,
    old: Old = None,
    database: DATABASE = None,
    timestamps: TIMESTAMPS = None,
    fps: FPS = None,
    background: BACKGROUND = None,
    name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="Who the performer is.", show_default=False)] = None,
    picture: PICTURE = None,
    no_picture: NO_PICTURE = False,
    learn: Learn = None,
    browser: Browser = True,
) -> None:
    """Fit a performer's skeleton and marker places from T-poses."""
    from calibration.formats.rig_file import read_rig
    from calibration.subject.subject import read_subject
    from capture.recording.recording import RecordingSpec
    from capture.recording.session import is_session, read_session_camera_names
    from config.markers import read_marker_set
    from tools.arguments import open_database_or_default
    from tools.calibrate.session import PerformerPrior
    from tools.calibrate.subject import (
        SubjectTask,
        TakeSource,
        calibrate_subject,
        check_take_source,
        parse_further_source,
        split_further_source,
    )

    _check_usage(markers, height, only_markers, old)
    windows = _windows(start, end, take)
    drawn = choose_picture_file(out, picture, no_picture)
    check_folders(out, drawn)
    cams = _cameras_that_run(views, windows, also, motion)
    check_sources(*([] if cams else views), *(name for text in also or () for name in split_further_source(text)[0]))
    if cams and pose in ("a", "stand"):
        raise typer.BadParameter("live cameras guide into a T-pose; record somebody who stands otherwise", param_hint="--pose")
    n_views = len(read_session_camera_names(Path(views[0]))) if len(views) == 1 and is_session(Path(views[0])) else len(views)
    if not cams:
        check_take_source(views[0], n_views, windows)
    cameras = read_rig(rig, n_views=n_views)
    kept = None if old is None else read_subject(old)
    worn = read_marker_set(markers) if markers is not None else kept.markers if kept is not None else None
    assert worn is not None
    spec = RecordingSpec(tuple(views), timestamps, fps, parse_seconds_range(background, "--background"))
    sources = [TakeSource(spec, tuple(windows)), *(parse_further_source(text, windows) for text in also or ())]
    called = name or (kept.name if kept is not None else "performer")
    moving = parse_seconds_range(motion, "--motion")
    task = SubjectTask(
        called,
        cameras,
        worn,
        open_database_or_default(database),
        PerformerPrior(height, kept),
        out,
        drawn,
        moving,
        None if pose == "auto" else pose,
    )
    if cams:
        from tools.guide.subject import calibrate_subject_live

        calibrate_subject_live(settings, cams, task, fps, learn or 0.0, browser, typer.echo)
        return
    calibrate_subject(task, sources, settings, typer.echo)


def _cameras_that_run(sources: list[str], windows: "list[TakeWindow]", also: list[str] | None, motion: str | None) -> list[str]:
    """Return the sources if they are live cameras, else none. Raises typer.BadParameter for times of a pose that is waited
    for.
    """
    from tools.run.cameras import is_recorded

    if all(Path(source).exists() or is_recorded(source) for source in sources):
        return []
    if windows or also or motion is not None:
        words = "names times of a recording; cameras that run are watched until the T-pose was held"
        raise typer.BadParameter(words, param_hint="--from/--to/--take/--also/--motion")
    return sources


def _check_usage(markers: str | None, height: float | None, only_markers: bool, old: Path | None) -> None:
    """Raise typer.BadParameter for options that do not go together."""
    if only_markers != (old is not None):
        raise typer.BadParameter("--only-markers and --subject OLD.toml go together: the skeleton kept is that of the subject")
    if markers is None and old is None:
        raise typer.BadParameter("say which markers are worn", param_hint="--markers")
    if height is not None and not 0.5 <= height <= 2.5:
        raise typer.BadParameter(f"{height:g} is no height of a person in metres, such as 1.75", param_hint="--height")


def _windows(start: float | None, end: float | None, take: list[str] | None) -> "list[TakeWindow]":
    """Return the T-poses asked for. Raises typer.BadParameter."""
    from tools.calibrate.subject import TakeWindow, parse_take_window

    windows = [parse_take_window(text) for text in take or ()]
    if (start is None) != (end is None) or (windows and start is not None):
        raise typer.BadParameter("give --from and --to together, or --take instead of them", param_hint="--from/--to")
    if start is None or end is None:
        return windows
    if not 0 <= start < end:
        raise typer.BadParameter(f"{start:g} to {end:g}: the second time must come after the first", param_hint="--from/--to")
    return [TakeWindow((start, end), None)]
