"""`duocap replay`: two recorded videos in, or one, or a recorded session, full-body motion out."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from config.settings import CAMERAS, Settings
from tools.arguments import (
    BACKGROUND,
    DATABASE,
    FPS,
    MODEL,
    NO_STYLE,
    RECORD,
    RIGHT,
    SAVE_STYLE,
    STYLE,
    TIMESTAMPS,
    check_folders,
    check_sources,
    checked_recording,
    seconds_range,
    with_model,
    with_settings,
    with_styles,
)
from tools.export import FORMATS, ExportFile, check_apart, format_of
from tools.outputs import VMC, vmc_outputs

if TYPE_CHECKING:
    from calibration.camera import Rig
    from config.arrays import Floats

LEFT_OR_SESSION = Annotated[
    str,
    typer.Argument(
        metavar="LEFT",
        help="Left camera: a video file or a folder of images; or, alone, the folder of a session, or of a project of caliscope, "
        "FreeMoCap, Pose2Sim or EasyMocap.",
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
    typer.Option(metavar="FILE", help="Write a video (AVI) of both views with labels and skeleton.", show_default=False),
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
        metavar="LEFT,RIGHT",
        help="Of a project of another program: which of its cameras, or best.",
        show_default=False,
    ),
]
Camera = Annotated[Literal["left", "right"], typer.Option("--camera", help="Which camera of the rig, if there is one video.")]


@with_settings
def replay(
    settings: Settings,
    left: LEFT_OR_SESSION,
    rig: RigFile = None,
    subject: SubjectFile = None,
    right: RIGHT = None,
    camera: Camera = "left",
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
    """Turn two recorded videos into full-body motion, or one if the performer wears more markers, or a session."""
    check_sources(left, right)
    former = {"bvh": bvh, "trc": trc, "c3d": c3d, "csv": csv, "glb": glb, "vrma": vrma}
    files = [ExportFile(file, format_of(file)) for file in out or ()]
    files += [ExportFile(file, kind) for kind, file in former.items() if file is not None]
    check_apart(files, [Path(video) for video in (left, right) if video is not None])
    check_folders(*(wanted.file for wanted in files), report, overlay)
    if vmc and not publish:
        raise typer.BadParameter("VMC is sent beside the stream; leave out --no-publish", param_hint="--vmc")
    if record and not publish:
        raise typer.BadParameter("what is recorded is the stream; leave out --no-publish", param_hint="--record")
    outputs, record = vmc_outputs(vmc), checked_recording(record)
    settings = with_styles(settings, style, save_style, no_style)
    if physics or mass is not None:
        _check_physics(files, physics)
    from capture.recording.session import is_session

    publishes, live = publish and not verify, as_live or verify
    what = (files, report, smooth, publishes, view, realtime, live, outputs, record, style, save_style, physics, mass)
    if right is None and is_session(Path(left)):
        for option, value in {
            "--hide": hide,
            "--overlay": overlay,
            "--background": background,
            "--timestamps": timestamps,
        }.items():
            if value:
                raise typer.BadParameter("a session has no use for it; give the videos themselves", param_hint=option)
        if verify and (video or smooth or model):
            raise typer.BadParameter("what is verified are the poses as they were published", param_hint="--verify")
        from tools.replay.task import ReplayTask, replay_recorded

        replay_recorded(settings, Path(left), (rig, subject, database), ReplayTask(*what), model, video, verify)
        return
    for option, wanted in {"--video": video, "--verify": verify}.items():
        if wanted:
            raise typer.BadParameter(f"{left} is no folder of a session (duocap run --record NAME)", param_hint=option)
    pair, given, times = (left, right), None, None
    if right is None and Path(left).is_dir() and (found := _of_project(Path(left), cameras)) is not None:
        pair, given, times = found
        times = None if timestamps is not None or fps is not None else times
    if cameras and given is None:
        raise typer.BadParameter(f"{left} is no folder of a project of another program", param_hint="--cameras")
    for option, file in {"--rig": rig or given, "--subject": subject}.items():
        if file is None:
            raise typer.BadParameter(f"is needed: {left} is no folder of a session", param_hint=option)
    known = rig or given
    assert known is not None and subject is not None
    from capture.recording.recording import RecordingSpec
    from tools.replay.task import ReplayTask, replay_videos

    spec = RecordingSpec(*pair, timestamps, fps, seconds_range(background, "--background"), CAMERAS.index(camera), times)
    replay_videos(with_model(settings, model), spec, (known, subject, database), ReplayTask(*what), hide or (), overlay)


def _of_project(folder: Path, cameras: str | None) -> "tuple[tuple[str, str], Rig, tuple[Floats, Floats] | None] | None":
    """Return two videos of another program's project, their rig, and the times of their frames where a file has them; None where
    there is no project. Raises DuocapError.
    """
    from tools.projects.project import BEST, best_pair, open_project, project_pair

    project = open_project(folder)
    if project is None:
        return None
    left, right = project_pair(project, cameras)
    if cameras == BEST:
        typer.echo(f"best pair: {best_pair(project).words}")
    typer.echo(f"{project.calibration.name}: {left} ({project.videos[left].name}), {right} ({project.videos[right].name})")
    return (str(project.videos[left]), str(project.videos[right])), project.rig((left, right)), project.frame_times((left, right))


def _check_physics(files: Sequence[ExportFile], physics: bool) -> None:
    """Raise what is wrong with --physics and --mass before anything is replayed."""
    from reconstruct.models.physics.backend import pinocchio

    if not physics:
        raise typer.BadParameter("is of the body that physics needs; add --physics", param_hint="--mass")
    if not files:
        raise typer.BadParameter("cleans what is written; name a file by --out", param_hint="--physics")
    pinocchio()
