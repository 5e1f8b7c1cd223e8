"""`duocap calibrate rig`: one to eight cameras from pictures of a board, or two to eight from a person who walks about."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from config.errors import DuocapError
from config.settings import CAMERA_NAMES, Settings
from tools.arguments import check_folders, check_sources
from tools.calibrate.names import choose_camera_names
from tools.calibrate.outcome import choose_picture_file
from tools.commands.declaration import InProject, add_settings_options
from tools.commands.live.landmarks import set_landmarks
from tools.commands.options import GuideBrowser, LandmarkModel, NoPicture, Timestamps, VerdictPicture, VideoFps

DEFAULT_BOARD = "chessboard:9x6:25"

if TYPE_CHECKING:
    from calibration.board.pattern import Board
    from config.arrays import Floats
    from tools.calibrate.board.sources import BoardSpec
    from tools.calibrate.rig import RigTask


@dataclass(frozen=True, slots=True, kw_only=True)
class RigOptions:
    """Options of `duocap calibrate rig`."""

    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="CAM...",
            help="One to eight cameras, of two the left one first: each a folder of pictures or a video of the board, or a live "
            "camera; any two that see the board together are a link. One alone may also be a session's folder, one with left and "
            "right pictures in it, or a project of caliscope, FreeMoCap or Pose2Sim.",
        ),
        InProject("cameras"),
    ]
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where to write rig.toml."), InProject("new rig")]
    cameras: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="Of a project of another program: which of its cameras, default all; or best: the two that measure best.",
        ),
    ] = None
    board: Annotated[
        str | None,
        typer.Option(
            metavar="BOARD",
            help="Inner corners and millimetres: chessboard:9x6:25 (the default), or charuco:9x6:25:18.75:DICT_5X5_100; also "
            "aprilgrid:6x6:88:0.3, aruco:7:180, circles:4x11:20.",
        ),
        InProject("board"),
    ] = None
    intrinsics: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Take the lenses from an earlier rig.toml, or one file a camera, in their order."),
    ] = None
    refine: Annotated[
        bool,
        typer.Option(
            "--refine",
            help="Let the lenses of --intrinsics change as far as the pictures say so; with --body the cameras' places.",
        ),
    ] = False
    body: Annotated[
        bool,
        typer.Option(
            "--body", help="No board: by landmarks of a person who walks about where two cameras or more see all of the body."
        ),
    ] = False
    stature: Annotated[
        float | None,
        typer.Option(min=0.6, max=2.4, metavar="M", help="With --body: how tall the person is, shoes off [m]; tells the scale."),
    ] = None
    fov: Annotated[
        float | None,
        typer.Option(min=10.0, max=150.0, metavar="DEG", help="With --body: horizontal field of view, without --intrinsics."),
    ] = None
    landmarks: LandmarkModel = None
    lens: Annotated[
        Literal["auto", "pinhole", "fisheye"],
        typer.Option(help="The lens model; auto: the one that fits pictures left out better."),
    ] = "auto"
    views: Annotated[
        int,
        typer.Option(
            min=4, max=400, metavar="N", help="How many views of two cameras are used, the best ones; of more in proportion."
        ),
    ] = 40
    distance: Annotated[
        float | None, typer.Option(min=0.2, max=100.0, metavar="M", help="How far off the performer will be [m].")
    ] = None
    baseline: Annotated[
        float | None,
        typer.Option(
            min=5.0,
            max=50e3,
            metavar="MM",
            help="Between the first two cameras, from lens to lens by tape [mm]: tells a wrong square size.",
        ),
    ] = None
    timestamps: Timestamps = None
    fps: VideoFps = None
    unsynchronised: Annotated[
        bool, typer.Option("--unsynchronised", help="Solve for the times between the cameras' stamps as well; move the board.")
    ] = False
    offset: Annotated[
        float, typer.Option(metavar="S", help="Of two cameras: by how much the right one's stamps are late [s].")
    ] = 0.0
    guide: Annotated[bool, typer.Option("--guide", help="Play files as if they were live cameras, with the guide's page.")] = (
        False
    )
    browser: GuideBrowser = True
    picture: VerdictPicture = None
    no_picture: NoPicture = False


@add_settings_options
def rig(settings: Settings, options: RigOptions) -> None:
    """Calibrate one to eight cameras from pictures of a board (print one: duocap calibrate board)."""
    from calibration.board.diagnosis import describe_ambiguity
    from calibration.board.pattern import board_from_text
    from tools.calibrate.board.sources import BoardSpec
    from tools.calibrate.rig import RigTask
    from tools.calibrate.rig_checks import read_intrinsics

    if options.body:
        _from_body(settings, options)
        return
    if options.stature is not None or options.fov is not None:
        raise typer.BadParameter("tells what a board tells by itself; of use with --body", param_hint="--stature/--fov")
    drawn = choose_picture_file(options.out, options.picture, options.no_picture)
    check_folders(options.out, drawn)
    given = _of_project(options.sources, options.cameras, options.board)
    known = board_from_text(options.board or DEFAULT_BOARD) if given is None or given.board is None else given.board
    if options.refine and not options.intrinsics:
        raise DuocapError("--refine changes lenses known from earlier; give them with --intrinsics FILE")
    places = options.sources if given is None else given.videos
    files = [_is_file(source) for source in places]
    if any(files) and not options.guide:
        check_sources(*places)
    names = choose_camera_names(places) if given is None else given.names
    lenses = read_intrinsics(options.intrinsics, names if len(names) > 1 else CAMERA_NAMES[:2]) if options.intrinsics else None
    tape_m = None if options.baseline is None else 1e-3 * options.baseline
    task = RigTask(
        known,
        options.out,
        drawn,
        options.views,
        names,
        lenses,
        options.refine,
        options.unsynchronised,
        options.distance,
        tape_m,
        lens=options.lens,
    )
    typer.echo(f"board: {known.text}")
    if note := describe_ambiguity(known):
        typer.echo(note)
    if not abs(options.offset) <= 3600.0:  # so that nan is refused, too
        raise typer.BadParameter(f"{options.offset:g} s; expected -3600 to 3600 s", param_hint="--offset")
    if options.offset and len(places) > 2:
        raise typer.BadParameter("tells the time between two cameras; of more use --unsynchronised", param_hint="--offset")
    if options.guide or not all(files):
        from tools.guide.page import choose_page
        from tools.guide.rig import calibrate_live

        calibrate_live(settings, places, task, options.fps, choose_page(settings, typer.echo, options.browser), typer.echo)
    else:
        times = None if given is None or options.timestamps is not None or options.fps is not None else given.frame_times
        late_s = (0.0, options.offset) if options.offset else ()
        _from_files(BoardSpec(tuple(map(Path, places)), options.timestamps, options.fps, late_s, frame_times=times), task)


def _from_body(settings: Settings, options: RigOptions) -> None:
    """Calibrate by a person who walks about. Raises typer.BadParameter: options of a board."""
    from capture.recording.recording import RecordingSpec
    from capture.recording.session import is_session, read_session_camera_names
    from config.markers import NO_MARKERS, read_marker_set
    from tools.calibrate.body import BodyTask, calibrate_rig_by_body
    from tools.progress import open_progress_bar

    if options.guide or options.cameras or options.unsynchronised or options.offset:
        raise typer.BadParameter(
            "goes without --cameras, --guide, --offset and --unsynchronised: it takes videos with their times, or a session",
            param_hint="--body",
        )
    if (options.fov is None) == (not options.intrinsics):
        raise typer.BadParameter(
            "give one of --intrinsics (an earlier rig or lenses) and --fov (degrees across)", param_hint="--intrinsics/--fov"
        )
    check_folders(options.out)
    check_sources(*options.sources)
    settings = set_landmarks(settings, options.landmarks, read_marker_set(NO_MARKERS))
    folder = Path(options.sources[0])
    of_session = len(options.sources) == 1 and is_session(folder)
    names = tuple(read_session_camera_names(folder)) if of_session else choose_camera_names(options.sources)
    task = BodyTask(
        RecordingSpec(tuple(options.sources), options.timestamps, options.fps),
        names,
        options.out,
        options.stature,
        None if options.baseline is None else 1e-3 * options.baseline,
        tuple(options.intrinsics or ()),
        options.fov,
        options.refine,
    )
    with open_progress_bar("looking for the person") as progress:
        calibrate_rig_by_body(task, settings, typer.echo, progress)


@dataclass(frozen=True, slots=True)
class _OfProject:
    """What a project of another program gives: videos of cameras, their names, the times of their frames, the board, if known."""

    videos: list[str]
    names: tuple[str, ...]
    frame_times: "tuple[Floats, ...] | None"
    board: "Board | None"


def _of_project(sources: Sequence[str], cameras: str | None, board: str | None) -> _OfProject | None:
    """Return what a project was calibrated with, None where the source is no project. Raises DuocapError; typer.BadParameter."""
    from capture.recording.session import is_session
    from tools.projects.calibration import open_board_videos

    folder = Path(sources[0])
    project = open_board_videos(folder) if len(sources) == 1 and folder.is_dir() and not is_session(folder) else None
    if project is None:
        if cameras:
            raise typer.BadParameter(f"{folder} is no project of another program with videos of a board", param_hint="--cameras")
        return None
    names = project.choose(cameras)
    if board is None and project.board is None:
        raise DuocapError(
            f"{folder}: no file of it tells the board; give it with --board, such as charuco:6x4:50:40:DICT_4X4_250"
        )
    videos = [project.videos[name] for name in names]
    listed = ", ".join(f"{name} ({video.name})" for name, video in zip(names, videos, strict=True))
    typer.echo(f"{folder}: {listed}{f', board of {project.of}' * (not board)}")
    called = CAMERA_NAMES[:2] if len(names) == 2 else names
    return _OfProject(list(map(str, videos)), called, project.frame_times(names), None if board else project.board)


def _is_file(source: str) -> bool:
    """Return whether a source is of files, not a live camera."""
    if Path(source).exists():
        return True
    from tools.run.cameras import is_recorded

    return is_recorded(source)


def _from_files(spec: "BoardSpec", task: "RigTask") -> None:
    """Calibrate from files."""
    from tools.calibrate.rig import calibrate_rig
    from tools.progress import open_progress_bar

    with open_progress_bar("looking for the board") as progress:
        calibrate_rig(spec, task, typer.echo, progress)
