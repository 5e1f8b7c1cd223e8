"""`duocap replay`: recorded videos in, one a camera, or a recorded session, full-body motion out."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from config.settings import CAMERA_NAMES, Settings
from tools.arguments import check_folders, check_recording_file, check_sources, create_vmc_outputs, set_lag, set_model, set_styles
from tools.commands.declaration import InProject, add_settings_options
from tools.commands.live.landmarks import set_landmarks
from tools.commands.options import Database, Lag, Model, OptionalRig, OptionalSubject, RecordFile, StyleOptions, VideoOptions, Vmc
from tools.export import FORMATS, ExportFile, check_apart, find_export_format

if TYPE_CHECKING:
    from calibration.camera import Rig
    from capture.recording.recording import RecordingSpec
    from tools.projects.project import Project
    from tools.replay.task import ReplayTask

Former = Annotated[Path | None, typer.Option(metavar="FILE", hidden=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class FormerOutputOptions:
    """One option a format, from before --out."""

    bvh: Former = None
    trc: Former = None
    c3d: Former = None
    csv: Former = None
    glb: Former = None
    vrma: Former = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOptions:
    """Options of `duocap replay`."""

    views: Annotated[
        list[str],
        typer.Argument(
            metavar="VIEW...",
            help="A video or a folder of images of each camera, one to eight, in the order of the rig; or, alone, the folder "
            "of a session, or of a project of caliscope, FreeMoCap, Pose2Sim or EasyMocap.",
        ),
        InProject("takes"),
    ]
    rig: OptionalRig = None
    subject: OptionalSubject = None
    cameras: Annotated[
        str | None,
        typer.Option(
            "--cameras",
            "--camera",
            metavar="NAME,NAME",
            help="Which cameras of the rig the videos are of; of a project of another program: which to use, or best for a pair.",
        ),
    ] = None
    database: Annotated[Database, InProject("database", beside="session.toml")] = None
    videos: VideoOptions
    realtime: Annotated[bool, typer.Option("--realtime", help="Run at the speed of the recording, not as fast as it goes.")] = (
        False
    )
    as_live: Annotated[
        bool, typer.Option("--as-live", help="Write the poses of live capture, not solved with past and future.")
    ] = False
    out: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help=f"Write this file, its format by its name: {', '.join(kind.suffix for kind in FORMATS.values())}; repeatable.",
        ),
    ] = None
    former: FormerOutputOptions
    report: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the report as JSON.")] = None
    overlay: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a video (AVI) of all views with labels and skeleton."),
    ] = None
    hide: Annotated[
        list[str] | None,
        typer.Option(metavar="MARKER", help="Keep a marker from the solver and score its prediction; repeatable."),
    ] = None
    smooth: Annotated[
        float,
        typer.Option(metavar="SECONDS", help="Smooth what is exported over a window of this width, such as 0.2; 0: not."),
    ] = 0.0
    model: Model = None
    lag: Lag = None
    publish: Annotated[bool, typer.Option(help="Publish the poses on the stream, as if live.")] = True
    view: Annotated[bool, typer.Option("--view", help="Watch in the browser; goes well with --realtime.")] = False
    vmc: Vmc = None
    record: RecordFile = None
    video: Annotated[
        bool, typer.Option("--video", help="Of a session: detect anew in its videos, not replay what was detected.")
    ] = False
    verify: Annotated[
        bool, typer.Option("--verify", help="Of a session: end with status 1 unless its poses come out the same.")
    ] = False
    styles: StyleOptions
    physics: Annotated[bool, typer.Option("--physics", help="Make what is exported obey physics (duocap physics clean).")] = False
    mass: Annotated[float | None, typer.Option(metavar="KG", help="With --physics: of the performer.")] = None


@add_settings_options
def replay(settings: Settings, options: ReplayOptions) -> None:
    """Turn recorded videos into full-body motion, one of each camera, or a session."""
    check_sources(*options.views)
    files = _plan_files(options)
    if options.vmc and not options.publish:
        raise typer.BadParameter("VMC is sent beside the stream; leave out --no-publish", param_hint="--vmc")
    if options.record and not options.publish:
        raise typer.BadParameter("what is recorded is the stream; leave out --no-publish", param_hint="--record")
    outputs, record, styles = create_vmc_outputs(options.vmc), check_recording_file(options.record), options.styles
    settings = set_lag(set_styles(settings, styles.style, styles.save_style, styles.no_style), options.lag)
    if options.physics or options.mass is not None:
        _check_physics(files, options.physics)
    from capture.recording.session import is_session
    from tools.replay.task import ReplayTask

    task = ReplayTask(
        files=files,
        report=options.report,
        smooth=options.smooth,
        publish=options.publish and not options.verify,
        view=options.view,
        realtime=options.realtime,
        as_live=options.as_live or options.verify,
        outputs=outputs,
        record=record,
        style=styles.style,
        save_style=styles.save_style,
        physics=options.physics,
        mass=options.mass,
    )
    if len(options.views) == 1 and is_session(Path(options.views[0])):
        _replay_session(settings, options, task)
    else:
        _replay_views(settings, options, task)


def _plan_files(options: ReplayOptions) -> list[ExportFile]:
    """Return the files that are to be written, each with its format. Raises DuocapError: one cannot be."""
    files = [ExportFile(file, find_export_format(file)) for file in options.out or ()]
    files += [ExportFile(file, kind) for kind, file in asdict(options.former).items() if file is not None]
    check_apart(files, [Path(video) for video in options.views])
    check_folders(*(wanted.file for wanted in files), options.report, options.overlay)
    return files


def _replay_session(settings: Settings, options: ReplayOptions, task: "ReplayTask") -> None:
    """Replay the folder of a session. Raises typer.BadParameter: options that only videos have."""
    of_videos = {
        "--hide": options.hide,
        "--overlay": options.overlay,
        "--background": options.videos.background,
        "--timestamps": options.videos.timestamps,
        "--cameras": options.cameras,
    }
    for option, value in of_videos.items():
        if value:
            raise typer.BadParameter(_advise_videos(Path(options.views[0])), param_hint=option)
    if options.verify and (options.video or options.smooth or options.model or options.lag is not None):
        raise typer.BadParameter("what is verified are the poses as they were published", param_hint="--verify")
    from tools.replay.task import RecordedInputs, replay_recorded

    replay_recorded(
        settings,
        RecordedInputs(
            folder=Path(options.views[0]),
            rig=options.rig,
            subject=options.subject,
            database=options.database,
            model=options.model,
            lag_s=options.lag,
            video=options.video,
            verify=options.verify,
        ),
        task,
    )


def _advise_videos(folder: Path) -> str:
    """Return in words how to replay the videos of a session, for what only videos have."""
    videos = " ".join(str(folder / f"{name}.mkv") for name in CAMERA_NAMES if (folder / f"{name}.mkv").is_file())
    if not videos:
        return "is for videos, and this session was recorded without"
    times, rig, subject = (folder / name for name in (f"{CAMERA_NAMES[0]}.csv", "rig.toml", "subject.toml"))
    return f"is for videos; those of the session: {videos} --timestamps {times} --rig {rig} --subject {subject}"


def _replay_views(settings: Settings, options: ReplayOptions, task: "ReplayTask") -> None:
    """Replay videos, or a project of another program. Raises typer.BadParameter: an option is missing, or is of sessions."""
    for option, wanted in {"--video": options.video, "--verify": options.verify}.items():
        if wanted:
            raise typer.BadParameter(
                f"{options.views[0]} is no folder of a session (duocap run --record NAME)", param_hint=option
            )
    project = _open_project(options.views)
    for option, file in {"--rig": options.rig or project, "--subject": options.subject}.items():
        if file is None:
            raise typer.BadParameter(f"is needed: {options.views[0]} is no folder of a session", param_hint=option)
    assert options.subject is not None
    from calibration.subject.subject import read_subject
    from tools.replay.task import VideoInputs, replay_videos

    settings = set_landmarks(settings, None, read_subject(options.subject).markers)

    rig, spec = _read_rig(options) if project is None else _read_project(project, options)
    replay_videos(
        set_model(settings, options.model),
        VideoInputs(
            spec=spec,
            rig=rig,
            subject=options.subject,
            database=options.database,
            hidden=options.hide or (),
            overlay=options.overlay,
        ),
        task,
    )


def _open_project(views: Sequence[str]) -> "Project | None":
    """Return the project of another program that a folder is, None where it is none. Raises DuocapError."""
    from tools.projects.project import open_project

    folder = Path(views[0])
    return open_project(folder) if len(views) == 1 and folder.is_dir() else None


def _read_project(project: "Project", options: ReplayOptions) -> "tuple[Rig, RecordingSpec]":
    """Return the rig and the videos of a project; --rig is in place of its own. Raises DuocapError."""
    from calibration.formats.rig_file import read_rig
    from capture.recording.recording import RecordingSpec
    from tools.projects.project import BEST, choose_project_cameras, find_best_pair

    names = choose_project_cameras(project, options.cameras)
    if options.cameras == BEST:
        typer.echo(f"best pair: {find_best_pair(project).words}")
    listed = ", ".join(f"{name} ({project.videos[name].name})" for name in names)
    typer.echo(f"{project.calibration.name}: {listed}")
    given = options.videos
    times = project.frame_times(names) if given.timestamps is None and given.fps is None else None
    files = tuple(str(project.videos[name]) for name in names)
    spec = RecordingSpec(files, given.timestamps, given.fps, given.background_s, frame_times=times)
    return project.rig(names) if options.rig is None else read_rig(options.rig, n_views=len(names)), spec


def _read_rig(options: ReplayOptions) -> "tuple[Rig, RecordingSpec]":
    """Return the cameras of a rig file that videos are of, and the videos. Raises DuocapError."""
    from calibration.formats.rig_file import read_rig_for_views

    assert options.rig is not None
    names = [name.strip() for name in options.cameras.split(",")] if options.cameras else ()
    rig, numbers = read_rig_for_views(options.rig, len(options.views), names)
    return rig, replace(options.videos.create_spec(options.views), cameras=numbers)


def _check_physics(files: Sequence[ExportFile], physics: bool) -> None:
    """Raise what is wrong with --physics and --mass before anything is replayed."""
    from reconstruct.models.physics.backend import import_pinocchio

    if not physics:
        raise typer.BadParameter("is of the body that physics needs; add --physics", param_hint="--mass")
    if not files:
        raise typer.BadParameter("cleans what is written; name a file by --out", param_hint="--physics")
    import_pinocchio()
