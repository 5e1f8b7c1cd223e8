"""`duocap replay`: recorded videos in, one a camera, or a recorded session, full-body motion out."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from config.settings import Settings
from tools.arguments import (
    BACKGROUND,
    DATABASE,
    FPS,
    LAG,
    MODEL,
    NO_STYLE,
    RECORD,
    SAVE_STYLE,
    STYLE,
    TIMESTAMPS,
    add_settings_options,
    check_folders,
    check_recording_file,
    check_sources,
    parse_seconds_range,
    set_lag,
    set_model,
    set_styles,
)
from tools.export import FORMATS, ExportFile, check_apart, find_export_format
from tools.outputs import VMC, create_vmc_outputs

if TYPE_CHECKING:
    from calibration.camera import Rig
    from capture.recording.recording import RecordingSpec
    from tools.projects.project import Project

VIEWS = Annotated[
    list[str],
    typer.Argument(
        metavar="VIEW...",
        help="A video or a folder of images of each camera, one to eight, in the order of the rig; or, alone, the folder of a "
        "session, or of a project of caliscope, FreeMoCap, Pose2Sim or EasyMocap.",
        show_default=False,
    ),
]
RigFile = Annotated[Path | None, typer.Option("--rig", metavar="FILE", help="The cameras: rig.toml.", show_default=False)]
Video = Annotated[bool, typer.Option("--video", help="Of a session: detect anew in its videos, not replay what was detected.")]
Verify = Annotated[bool, typer.Option("--verify", help="Of a session: end with status 1 unless its poses come out the same.")]
SubjectFile = Annotated[
    Path | None,
    typer.Option("--subject", metavar="FILE", help="The performer: subject.toml (duocap calibrate subject).", show_default=False),
]
Out = Annotated[
    list[Path] | None,
    typer.Option(
        "--out",
        metavar="FILE",
        help=f"Write this file, its format by its name: {', '.join(kind.suffix for kind in FORMATS.values())}; repeatable.",
        show_default=False,
    ),
]
Former = Annotated[Path | None, typer.Option(metavar="FILE", hidden=True)]  # one option a format, from before --out
Report = Annotated[Path | None, typer.Option(metavar="FILE", help="Write the report as JSON.", show_default=False)]
Overlay = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Write a video (AVI) of all views with labels and skeleton.", show_default=False),
]
Hide = Annotated[
    list[str] | None, typer.Option(metavar="MARKER", help="Keep a marker from the solver and score its prediction; repeatable.")
]
Smooth = Annotated[
    float,
    typer.Option("--smooth", metavar="SECONDS", help="Smooth what is exported over a window of this width, such as 0.2; 0: not."),
]
AsLive = Annotated[bool, typer.Option("--as-live", help="Write the poses of live capture, not solved with past and future.")]
Realtime = Annotated[bool, typer.Option("--realtime", help="Run at the speed of the recording, not as fast as it goes.")]


Physics = Annotated[bool, typer.Option("--physics", help="Make what is exported obey physics (duocap physics clean).")]
Mass = Annotated[float | None, typer.Option("--mass", metavar="KG", help="With --physics: of the performer.", show_default=False)]
Cameras = Annotated[
    str | None,
    typer.Option(
        "--cameras",
        "--camera",
        metavar="NAME,NAME",
        help="Which cameras of the rig the videos are of; of a project of another program: which to use, or best for a pair.",
        show_default=False,
    ),
]


@add_settings_options
def replay(
    settings: Settings,
    views: VIEWS,
    rig: RigFile = None,
    subject: SubjectFile = None,
    cameras: Cameras = None,
    database: DATABASE = None,
    background: BACKGROUND = None,
    timestamps: TIMESTAMPS = None,
    fps: FPS = None,
    realtime: Realtime = False,
    as_live: AsLive = False,
    out: Out = None,
    bvh: Former = None,
    trc: Former = None,
    c3d: Former = None,
    csv: Former = None,
    glb: Former = None,
    vrma: Former = None,
    report: Report = None,
    overlay: Overlay = None,
    hide: Hide = None,
    smooth: Smooth = 0.0,
    model: MODEL = None,
    lag: LAG = None,
    publish: Annotated[bool, typer.Option(help="Publish the poses on the stream, as if live.")] = True,
    view: Annotated[bool, typer.Option("--view", help="Watch in the browser; goes well with --realtime.")] = False,
    vmc: VMC = None,
    record: RECORD = None,
    video: Video = False,
    verify: Verify = False,
    style: STYLE = None,
    save_style: SAVE_STYLE = None,
    no_style: NO_STYLE = False,
    physics: Physics = False,
    mass: Mass = None,
) -> None:
    """Turn recorded videos into full-body motion, one of each camera, or a session."""
    check_sources(*views)
    former = {"bvh": bvh, "trc": trc, "c3d": c3d, "csv": csv, "glb": glb, "vrma": vrma}
    files = [ExportFile(file, find_export_format(file)) for file in out or ()]
    files += [ExportFile(file, kind) for kind, file in former.items() if file is not None]
    check_apart(files, [Path(video) for video in views])
    check_folders(*(wanted.file for wanted in files), report, overlay)
    if vmc and not publish:
        raise typer.BadParameter("VMC is sent beside the stream; leave out --no-publish", param_hint="--vmc")
    if record and not publish:
        raise typer.BadParameter("what is recorded is the stream; leave out --no-publish", param_hint="--record")
    outputs, record = create_vmc_outputs(vmc), check_recording_file(record)
    settings = set_lag(set_styles(settings, style, save_style, no_style), lag)
    if physics or mass is not None:
        _check_physics(files, physics)
    from capture.recording.session import is_session

    publishes, live = publish and not verify, as_live or verify
    what = (files, report, smooth, publishes, view, realtime, live, outputs, record, style, save_style, physics, mass)
    if len(views) == 1 and is_session(Path(views[0])):
        for option, value in {
            "--hide": hide,
            "--overlay": overlay,
            "--background": background,
            "--timestamps": timestamps,
            "--cameras": cameras,
        }.items():
            if value:
                raise typer.BadParameter("a session has no use for it; give the videos themselves", param_hint=option)
        if verify and (video or smooth or model or lag is not None):
            raise typer.BadParameter("what is verified are the poses as they were published", param_hint="--verify")
        from tools.replay.task import ReplayTask, replay_recorded

        replay_recorded(settings, Path(views[0]), (rig, subject, database), ReplayTask(*what), model, lag, video, verify)
        return
    for option, wanted in {"--video": video, "--verify": verify}.items():
        if wanted:
            raise typer.BadParameter(f"{views[0]} is no folder of a session (duocap run --record NAME)", param_hint=option)
    project = _open_project(views)
    for option, file in {"--rig": rig or project, "--subject": subject}.items():
        if file is None:
            raise typer.BadParameter(f"is needed: {views[0]} is no folder of a session", param_hint=option)
    assert subject is not None
    from tools.replay.task import ReplayTask, replay_videos

    given = _Given(timestamps, fps, parse_seconds_range(background, "--background"))
    known, spec = _of_project(project, rig, cameras, given) if project is not None else _of_rig(rig, views, cameras, given)
    replay_videos(set_model(settings, model), spec, (known, subject, database), ReplayTask(*what), hide or (), overlay)


@dataclass(frozen=True, slots=True)
class _Given:
    """What is said of the times of videos: fields as in `RecordingSpec`."""

    timestamps: Path | None
    fps: float | None
    background_s: tuple[float, float] | None


def _open_project(views: Sequence[str]) -> "Project | None":
    """Return the project of another program that a folder is, None where it is none. Raises DuocapError."""
    from tools.projects.project import open_project

    folder = Path(views[0])
    return open_project(folder) if len(views) == 1 and folder.is_dir() else None


def _of_project(project: "Project", rig: Path | None, cameras: str | None, given: _Given) -> "tuple[Rig, RecordingSpec]":
    """Return the rig and the videos of a project. rig: in place of its own. Raises DuocapError."""
    from calibration.formats.rig_file import read_rig
    from capture.recording.recording import RecordingSpec
    from tools.projects.project import BEST, choose_project_cameras, find_best_pair

    names = choose_project_cameras(project, cameras)
    if cameras == BEST:
        typer.echo(f"best pair: {find_best_pair(project).words}")
    told = ", ".join(f"{name} ({project.videos[name].name})" for name in names)
    typer.echo(f"{project.calibration.name}: {told}")
    times = project.frame_times(names) if given.timestamps is None and given.fps is None else None
    files = tuple(str(project.videos[name]) for name in names)
    spec = RecordingSpec(files, given.timestamps, given.fps, given.background_s, frame_times=times)
    return project.rig(names) if rig is None else read_rig(rig, n_views=len(names)), spec


def _of_rig(rig: Path | None, views: Sequence[str], cameras: str | None, given: _Given) -> "tuple[Rig, RecordingSpec]":
    """Return the cameras of a rig file that videos are of, and the videos. Raises DuocapError."""
    from calibration.formats.rig_file import read_rig_for_views
    from capture.recording.recording import RecordingSpec

    assert rig is not None
    names = [name.strip() for name in cameras.split(",")] if cameras else ()
    known, numbers = read_rig_for_views(rig, len(views), names)
    return known, RecordingSpec(tuple(views), given.timestamps, given.fps, given.background_s, numbers)


def _check_physics(files: Sequence[ExportFile], physics: bool) -> None:
    """Raise what is wrong with --physics and --mass before anything is replayed."""
    from reconstruct.models.physics.backend import import_pinocchio

    if not physics:
        raise typer.BadParameter("is of the body that physics needs; add --physics", param_hint="--mass")
    if not files:
        raise typer.BadParameter("cleans what is written; name a file by --out", param_hint="--physics")
    import_pinocchio()
