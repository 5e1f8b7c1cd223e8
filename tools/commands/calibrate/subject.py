"""`duocap calibrate subject`: a performer's skeleton and where the markers sit on it, from one T-pose or several."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from config.settings import Settings
from tools.arguments import check_folders, check_sources, parse_seconds_range
from tools.calibrate.outcome import choose_picture_file
from tools.commands.declaration import InProject, add_settings_options
from tools.commands.live.landmarks import set_landmarks
from tools.commands.options import Database, GuideBrowser, LandmarkModel, NoPicture, Rig, VerdictPicture, VideoOptions, Views

if TYPE_CHECKING:
    from tools.calibrate.subject import TakeWindow


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectOptions:
    """Options of `duocap calibrate subject`."""

    views: Annotated[Views, InProject("cameras")]
    rig: Rig
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where to write subject.toml."), InProject("new subject")]
    markers: Annotated[
        str | None,
        typer.Option(
            metavar="SET",
            help="A markers.toml, or locomotion, boxing, kendo, dark_room, all_around, none; default that of --subject.",
        ),
        InProject("markers", unless=("old",)),
    ] = None
    start: Annotated[
        float | None,
        typer.Option("--from", metavar="S", help="Time of the recording from which the T-pose is held [s]; default as found."),
    ] = None
    end: Annotated[float | None, typer.Option("--to", metavar="S", help="Time until which it is held [s].")] = None
    take: Annotated[
        list[str] | None,
        typer.Option(
            metavar="S:S",
            help="A T-pose, instead of --from and --to; repeatable. S:S:left, S:S:right: limb markers of that side only.",
        ),
    ] = None
    pose: Annotated[
        Literal["auto", "t", "a", "stand"],
        typer.Option(help="t: arms level; a: obliquely down; stand: hanging; auto: as the markers tell. Live cameras take t."),
    ] = "auto"
    also: Annotated[
        list[str] | None,
        typer.Option(metavar="SESSION[@S:S]", help="A further recording of the performer, a session or VIEW,VIEW; repeatable."),
    ] = None
    motion: Annotated[
        str | None,
        typer.Option(
            metavar="S:S", help="Seconds of free movement, all joints bending: lengths and marker places are refined over it."
        ),
    ] = None
    height: Annotated[float | None, typer.Option(metavar="M", help="How tall the performer is, shoes off [m].")] = None
    only_markers: Annotated[
        bool, typer.Option("--only-markers", help="Markers moved: find their places anew, keep the skeleton.")
    ] = False
    old: Annotated[
        Path | None, typer.Option("--subject", metavar="FILE", help="With --only-markers: whose skeleton is kept.")
    ] = None
    database: Database = None
    videos: VideoOptions
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Who the performer is.")] = None
    picture: VerdictPicture = None
    no_picture: NoPicture = False
    learn: Annotated[
        float | None, typer.Option(min=0.5, metavar="S", help="With live cameras: learn the empty room for so long.")
    ] = None
    browser: GuideBrowser = True
    landmarks: LandmarkModel = None


@add_settings_options
def subject(settings: Settings, options: SubjectOptions) -> None:
    """Fit a performer's skeleton and marker places from T-poses."""
    from calibration.formats.rig_file import read_rig
    from calibration.subject.subject import read_subject
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

    _check_usage(options)
    windows = _windows(options)
    drawn = choose_picture_file(options.out, options.picture, options.no_picture)
    check_folders(options.out, drawn)
    cams = _cameras_that_run(options, windows)
    further = [name for text in options.also or () for name in split_further_source(text)[0]]
    check_sources(*([] if cams else options.views), *further)
    if cams and options.pose in ("a", "stand"):
        raise typer.BadParameter("live cameras guide into a T-pose; record somebody who stands otherwise", param_hint="--pose")
    folder = Path(options.views[0])
    of_session = len(options.views) == 1 and is_session(folder)
    n_views = len(read_session_camera_names(folder)) if of_session else len(options.views)
    if not cams:
        check_take_source(options.views[0], n_views)
    if not cams and not windows and options.pose in ("a", "stand"):
        raise typer.BadParameter("only a T-pose is found; say when the pose is held: --from S --to S", param_hint="--pose")
    cameras = read_rig(options.rig, n_views=n_views)
    kept = None if options.old is None else read_subject(options.old)
    worn = read_marker_set(options.markers) if options.markers is not None else kept.markers if kept is not None else None
    assert worn is not None
    settings = set_landmarks(settings, options.landmarks, worn)
    spec = options.videos.create_spec(options.views)
    sources = [TakeSource(spec, tuple(windows)), *(parse_further_source(text, windows) for text in options.also or ())]
    called = options.name or (kept.name if kept is not None else "performer")
    moving = parse_seconds_range(options.motion, "--motion")
    task = SubjectTask(
        called,
        cameras,
        worn,
        open_database_or_default(options.database),
        PerformerPrior(options.height, kept),
        options.out,
        drawn,
        moving,
        None if options.pose == "auto" else options.pose,
    )
    if cams:
        from tools.guide.page import choose_page
        from tools.guide.subject import calibrate_subject_live

        page = choose_page(settings, typer.echo, options.browser)
        calibrate_subject_live(settings, cams, task, options.videos.fps, options.learn or 0.0, page, typer.echo)
        return
    calibrate_subject(task, sources, settings, typer.echo)


def _cameras_that_run(options: SubjectOptions, windows: "list[TakeWindow]") -> list[str]:
    """Return the sources if they are live cameras, else none. Raises typer.BadParameter for times of a pose that is waited
    for.
    """
    from tools.run.cameras import is_recorded

    if all(Path(source).exists() or is_recorded(source) for source in options.views):
        return []
    if windows or options.also or options.motion is not None:
        words = "names times of a recording; cameras that run are watched until the T-pose was held"
        raise typer.BadParameter(words, param_hint="--from/--to/--take/--also/--motion")
    return options.views


def _check_usage(options: SubjectOptions) -> None:
    """Raise typer.BadParameter for options that do not go together."""
    height = options.height
    if options.only_markers != (options.old is not None):
        raise typer.BadParameter("--only-markers and --subject OLD.toml go together: the skeleton kept is that of the subject")
    if options.markers is None and options.old is None:
        raise typer.BadParameter("say which markers are worn", param_hint="--markers")
    if height is not None and not 0.5 <= height <= 2.5:
        raise typer.BadParameter(f"{height:g} is no height of a person in metres, such as 1.75", param_hint="--height")


def _windows(options: SubjectOptions) -> "list[TakeWindow]":
    """Return the T-poses asked for. Raises typer.BadParameter."""
    from tools.calibrate.subject import TakeWindow, parse_take_window

    start, end = options.start, options.end
    windows = [parse_take_window(text) for text in options.take or ()]
    if (start is None) != (end is None) or (windows and start is not None):
        raise typer.BadParameter("give --from and --to together, or --take instead of them", param_hint="--from/--to")
    if start is None or end is None:
        return windows
    if not 0 <= start < end:
        raise typer.BadParameter(f"{start:g} to {end:g}: the second time must come after the first", param_hint="--from/--to")
    return [TakeWindow((start, end), None)]
