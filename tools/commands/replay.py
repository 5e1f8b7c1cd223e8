"""`duocap replay`: two recorded videos in, or one, or a recorded session, full-body motion out."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from config.files import written_together
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
from tools.export import FORMATS, ExportFile, check_apart, format_of, write_take
from tools.outputs import VMC, vmc_outputs

if TYPE_CHECKING:
    from calibration.camera import Rig
    from calibration.subject.subject import Subject
    from capture.recording.recording import RecordingSpec
    from config.arrays import Floats
    from database.store import PoseDatabase
    from stream.export.take import Take, TakeInfo
    from stream.publish.fanout import OutputFactory
    from tools.replay.replay import ReplayResult

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


@dataclass(frozen=True, slots=True)
class ReplayTask:
    """What is to become of a replay.

    files: exports; as_live: of the poses of live capture; outputs, record: beside the stream; smooth: [s]; style: file to begin
    with; save_style: for the last.
    """

    files: list[ExportFile]
    report: Path | None
    smooth: float
    publish: bool
    view: bool
    realtime: bool
    as_live: bool
    outputs: Sequence["OutputFactory"]
    record: Path | None
    style: Path | None
    save_style: Path | None
    physics: bool
    mass: float | None


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
    from capture.recording.recording import RecordingSpec
    from capture.recording.session import is_session

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
    publishes = publish and not verify
    wishes = ReplayTask(
        files, report, smooth, publishes, view, realtime, as_live or verify, outputs, record, style, save_style, physics, mass
    )
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
        _replay_session(settings, Path(left), (rig, subject, database), wishes, model, video, verify)
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
    spec = RecordingSpec(*pair, timestamps, fps, seconds_range(background, "--background"), CAMERAS.index(camera), times)
    _replay_videos(with_model(settings, model), spec, (known, subject, database), wishes, hide or (), overlay)


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


def _replay_videos(
    settings: Settings,
    spec: "RecordingSpec",
    made_for: "tuple[Path | Rig, Path, Path | None]",
    wishes: ReplayTask,
    hide: Sequence[str],
    overlay: Path | None,
) -> None:
    """Replay videos with the rig (or its file), the subject and the database of `made_for`."""
    from calibration.formats.rig_file import read_one_camera, read_rig
    from calibration.subject.subject import read_subject
    from capture.recording.recording import CaptureRecording
    from database.store import open_database
    from stream.export.take import TakeInfo
    from tools.database.installed import default_motions
    from tools.progress import progress_bar
    from tools.replay.outlet import replay_sink, replay_watch
    from tools.replay.overlay import write_overlay
    from tools.replay.replay import replay as run_replay
    from tools.replay.replay import with_smoothing
    from tools.viewer import open_viewer

    rig, subject, database = made_for
    settings, lone = with_smoothing(settings, wishes.smooth), spec.right is None
    if isinstance(rig, Path):
        rig = read_one_camera(rig, spec.column) if lone else read_rig(rig)
    performer = read_subject(subject)
    poses = open_database(database or default_motions(partial(typer.echo, err=True)))
    recording = CaptureRecording(spec, settings.detector, performer.markers)
    with open_viewer(settings, partial(typer.echo, err=True), stay=True, wanted=wishes.view and wishes.publish):
        with (
            replay_sink(settings, performer, rig, wishes.publish, wishes.outputs, wishes.record, wishes.realtime) as sink,
            replay_watch(sink, 1 if lone else 2, settings.stream.preview) as watch,
            progress_bar("replay") as progress,
        ):
            result = run_replay(
                recording,
                rig,
                performer,
                poses,
                settings,
                hidden=hide,
                sink=sink,
                watch=watch,
                realtime=wishes.realtime,
                progress=progress,
                style=wishes.style,
            )
        result = _offline(result, (rig, performer, poses), settings, wishes, overlay)
        info = TakeInfo(performer.name, source=Path(spec.left).name, floor_known=rig.floor_known)
        with written_together():
            finished = _finish(result, performer, info, wishes)
            if overlay is not None:
                with progress_bar("overlay") as progress:
                    write_overlay(overlay, recording, rig, performer, finished.poses, finished.markers, progress)


def _replay_session(
    settings: Settings,
    folder: Path,
    made_for: tuple[Path | None, Path | None, Path | None],
    wishes: ReplayTask,
    model: str | None,
    video: bool,
    verify: bool,
) -> None:
    """Replay a session from what was detected, or from its videos. Raises DuocapError: not verified."""
    from dataclasses import replace

    from config.errors import DuocapError
    from stream.export.take import TakeInfo
    from tools.progress import progress_bar
    from tools.replay.given import journal_parts, video_parts
    from tools.replay.opening import open_session
    from tools.replay.outlet import replay_sink
    from tools.replay.replay import with_smoothing
    from tools.replay.session import replay_session
    from tools.viewer import open_viewer

    rig, subject, database = made_for
    session = open_session(folder, settings, database, rig, subject, wishes.style)
    settings = with_smoothing(with_model(session.settings, model), wishes.smooth)
    session = replace(session, settings=settings)
    with open_viewer(settings, partial(typer.echo, err=True), stay=True, wanted=wishes.view and wishes.publish):
        with (
            replay_sink(
                settings, session.subject, session.rig, wishes.publish, wishes.outputs, wishes.record, wishes.realtime
            ) as sink,
            progress_bar("replay") as progress,
        ):
            parts = video_parts(session) if video else journal_parts(session)
            result, verdict = replay_session(session, parts, sink=sink, realtime=wishes.realtime, progress=progress)
        result = _offline(result, (session.rig, session.subject, session.database), settings, wishes)
        info = TakeInfo(session.subject.name, source=folder.name, floor_known=session.rig.floor_known)
        with written_together():
            _finish(result, session.subject, info, wishes)
        if verdict.n_recorded:
            typer.echo("\n".join(verdict.lines()))
    if verify and not verdict.is_same:
        raise DuocapError(f"{folder}: {'; '.join(verdict.lines())}; was it recorded by another version, or is it damaged?")


def _offline(
    result: "ReplayResult",
    made_for: "tuple[Rig, Subject, PoseDatabase]",
    settings: Settings,
    wishes: ReplayTask,
    overlay: Path | None = None,
) -> "ReplayResult":
    """Return a replay solved with past and future, where something is written and live poses are not asked for."""
    from tools.replay.offline import solved_offline

    if wishes.as_live or not (wishes.files or wishes.report or overlay):
        return result
    return solved_offline(result, *made_for, settings)


def _finish(result: "ReplayResult", performer: "Subject", info: "TakeInfo", wishes: ReplayTask) -> "ReplayResult":
    """Write and print what was asked for; give the poses smoothed, if so wished."""
    from stream.protocol.report import replay_report, write_report
    from tools.replay.replay import smoothed_result
    from tools.replay.report import report_lines

    summary = replay_report(result.poses, result.wall_s, result.hidden_mm, result.swaps_suspected, result.n_repeated)
    result = smoothed_result(result, performer, wishes.smooth)
    take, up = result.take(performer, info), performer.up
    if wishes.physics:
        take, up = _sound(take, up, wishes)
    for wanted in wishes.files:
        write_take(wanted, take, up)
    if wishes.report is not None:
        write_report(wishes.report, summary)
    if wishes.save_style is not None:
        _save_style(result, wishes.save_style)
    typer.echo("\n".join(report_lines(summary)))
    return result


def _check_physics(files: Sequence[ExportFile], physics: bool) -> None:
    """Raise what is wrong with --physics and --mass before anything is replayed."""
    from reconstruct.models.physics.backend import pinocchio

    if not physics:
        raise typer.BadParameter("is of the body that physics needs; add --physics", param_hint="--mass")
    if not files:
        raise typer.BadParameter("cleans what is written; name a file by --out", param_hint="--physics")
    pinocchio()


def _sound(take: "Take", up: "Floats", wishes: ReplayTask) -> "tuple[Take, Floats]":
    """Return a take made physically sound, and its up direction."""
    from tools.physics.clean import BodyOptions, clean_motion
    from tools.physics.motion import UP, motion_of_take
    from tools.progress import progress_bar

    motion = motion_of_take(take, up, take.info.source)
    with progress_bar("cleaning") as progress:
        result = clean_motion(motion, BodyOptions(wishes.mass), None, progress)
    for line in result.lines:
        typer.echo(line)
    for words in result.warnings:
        typer.echo(f"duocap: warning: {words}", err=True)
    return result.take, UP


def _save_style(result: "ReplayResult", file: Path) -> None:
    """Keep the last style that was learned. Raises DuocapError: it cannot be written."""
    from reconstruct.models.style.file import StyleOrigin, write_style

    if result.style is None:
        typer.echo(f"no style was learned, so {file} is not written; the motion is too short or too still", err=True)
        return
    write_style(file, result.style, StyleOrigin(("a replay",)))
    typer.echo(f"{result.style.name}, of {len(result.style.features)} poses: {file}")
