"""What a replay becomes: videos or a session in, then files, a report and a style."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import typer

from calibration.camera import Rig
from calibration.subject.subject import Subject, read_subject
from calibration.world import place_rig_in_world
from capture.recording.recording import CaptureRecording, RecordingSpec
from config.errors import DuocapError
from config.files import write_together
from config.settings import Settings
from config.words import format_count
from database.store import PoseDatabase, open_database
from reconstruct.models.style.file import StyleOrigin, write_style
from stream.protocol.report import build_replay_report, write_replay_report
from stream.publish.fanout import OutputFactory
from stream.recording.session import JOURNAL
from stream.take.take import Take, TakeInfo
from tools.arguments import set_lag, set_model
from tools.database.installed import find_default_database
from tools.export import ExportFile, write_take
from tools.progress import open_progress_bar, print_note, print_warnings
from tools.replay.given import detect_video_parts, read_journal_parts
from tools.replay.opening import open_session
from tools.replay.outlet import create_replay_watch, open_replay_sink
from tools.replay.overlay import write_overlay
from tools.replay.replay import ReplayResult, ReplayWay, disable_live_filter, smooth_result, solve_replay_offline
from tools.replay.replay import replay_recording as run_replay
from tools.replay.report import format_left_out, format_replay_report
from tools.replay.session import replay_session
from tools.run.start import format_missing_world
from tools.viewer import open_viewer


@dataclass(frozen=True, slots=True)
class ReplayTask:
    """Outputs and options of a replay.

    Attributes:
        files: exports.
        as_live: whether the poses are those of live capture.
        outputs, record: factories of further outputs, and a file to record to.
        smooth: [s].
        style: file to begin with.
        save_style: file for the last style.
    """

    files: list[ExportFile]
    report: Path | None
    smooth: float
    publish: bool
    view: bool
    realtime: bool
    as_live: bool
    outputs: Sequence[OutputFactory]
    record: Path | None
    style: Path | None
    save_style: Path | None
    physics: bool
    mass: float | None


@dataclass(frozen=True, slots=True)
class VideoInputs:
    """Videos to replay, with the files to replay them with.

    Attributes:
        rig: the rig as calibrated.
        subject: file of the subject.
        database: database of motions; None for the default.
        hidden: markers that are kept from the solver.
        overlay: a video to write of all views.
    """

    spec: RecordingSpec
    rig: Rig
    subject: Path
    database: Path | None
    hidden: Sequence[str]
    overlay: Path | None


@dataclass(frozen=True, slots=True)
class RecordedInputs:
    """A session to replay, and files and settings in place of its own; None for its own.

    Attributes:
        video: detect anew in its videos.
        verify: whether its poses must come out the same.
    """

    folder: Path
    rig: Path | None
    subject: Path | None
    database: Path | None
    model: str | None
    lag_s: float | None
    video: bool
    verify: bool


def replay_videos(settings: Settings, inputs: VideoInputs, task: ReplayTask) -> None:
    """Replay videos.

    Args:
        settings: settings of the run.
        inputs: the videos, with the files to replay them with.
        task: outputs and options of the replay.
    """
    settings = disable_live_filter(settings, task.smooth)
    performer, overlay = read_subject(inputs.subject), inputs.overlay
    rig = _place_rig_in_world(inputs.rig, performer)
    poses = open_database(inputs.database or find_default_database(print_note))
    recording = CaptureRecording(inputs.spec, settings.detector, performer.markers, landmarks=settings.landmarks.model)
    print_warnings(recording.notes)
    with open_viewer(settings, print_note, stay=True, wanted=task.view and task.publish):
        with (
            open_replay_sink(settings, performer, rig, task.publish, task.outputs, task.record, task.realtime) as sink,
            create_replay_watch(sink, len(rig), settings.stream.preview) as watch,
            open_progress_bar("replay") as progress,
        ):
            result = run_replay(
                recording,
                rig,
                performer,
                poses,
                settings,
                ReplayWay(inputs.hidden, sink, watch, task.realtime, task.style),
                progress,
            )
        result = _solve_offline(result, (performer, poses), settings, task, overlay)
        info = TakeInfo(performer.name, source=Path(inputs.spec.name).name)
        with write_together():
            finished = _finish_replay(result, performer, info, task)
            if words := format_left_out(len(result.poses), recording.n_frames, result.counts, result.n_repeated):
                typer.echo(words)
            if overlay is not None:
                with open_progress_bar("overlay") as progress:
                    write_overlay(overlay, recording, performer, finished, progress)


def replay_recorded(settings: Settings, inputs: RecordedInputs, task: ReplayTask) -> None:
    """Replay a session from its detections, or from its videos.

    Args:
        settings: settings of the run.
        inputs: the session, with the files and settings in place of its own.
        task: outputs and options of the replay.
    Raises: DuocapError: not verified.
    """
    session = open_session(inputs.folder, settings, inputs.database, inputs.rig, inputs.subject, task.style)
    settings = disable_live_filter(set_lag(set_model(session.settings, inputs.model), inputs.lag_s), task.smooth)
    session = replace(session, settings=settings, rig=_place_rig_in_world(session.rig, session.subject))
    with open_viewer(settings, print_note, stay=True, wanted=task.view and task.publish):
        with (
            open_replay_sink(
                settings, session.subject, session.rig, task.publish, task.outputs, task.record, task.realtime
            ) as sink,
            open_progress_bar("replay") as progress,
        ):
            parts = detect_video_parts(session) if inputs.video else read_journal_parts(session)
            result, verdict = replay_session(session, parts, sink=sink, realtime=task.realtime, progress=progress)
        result = _solve_offline(result, (session.subject, session.database), settings, task)
        info = TakeInfo(session.subject.name, source=inputs.folder.name)
        with write_together():
            _finish_replay(result, session.subject, info, task)
        if verdict.n_recorded:
            typer.echo("\n".join(verdict.lines()))
    if inputs.verify and not verdict.is_same:
        older = session.info.journal != JOURNAL
        why = "it was recorded by another version" if older else "was it recorded by another version, or is it damaged?"
        raise DuocapError(f"{inputs.folder}: {'; '.join(verdict.lines())}; {why}")


def _place_rig_in_world(rig: Rig, performer: Subject) -> Rig:
    """Return a rig in its world; that there is none yet is told."""
    if words := format_missing_world(rig, performer.world):
        print_note(words)
    return place_rig_in_world(rig, performer.world)


def _solve_offline(
    result: ReplayResult,
    made_for: tuple[Subject, PoseDatabase],
    settings: Settings,
    task: ReplayTask,
    overlay: Path | None = None,
) -> ReplayResult:
    """Return a replay solved with past and future, where something is written and live poses are not asked for."""
    if task.as_live or not (task.files or task.report or overlay):
        return result
    performer, database = made_for
    return solve_replay_offline(result, performer, database, settings)


def _finish_replay(result: ReplayResult, performer: Subject, info: TakeInfo, task: ReplayTask) -> ReplayResult:
    """Write and print what was asked for; return the poses, smoothed if so wished."""
    landmark = ~performer.markers.worn
    summary = build_replay_report(
        result.poses, result.wall_s, result.hidden_mm, result.swaps_suspected, result.n_repeated, landmark
    )
    result = smooth_result(result, performer, task.smooth)
    take = result.take(performer, info)
    if task.physics:
        take = _clean_take(take, task)
    for wanted in task.files:
        write_take(wanted, take)
    if task.report is not None:
        write_replay_report(task.report, summary)
    if task.save_style is not None:
        _save_style(result, task.save_style)
    typer.echo("\n".join(format_replay_report(summary)))
    for file in (*(wanted.file for wanted in task.files), task.report):
        if file is not None:
            size = "" if file == task.report else f", {format_count(len(take), 'frame')}"
            typer.echo(f"written: {file}{size}")
    return result


def _clean_take(take: Take, task: ReplayTask) -> Take:
    """Return a take made physically sound."""
    from tools.physics.clean import BodyOptions, clean_take

    with open_progress_bar("cleaning") as progress:
        result = clean_take(take, BodyOptions(task.mass), progress)
    result.print_lines()
    return result.take


def _save_style(result: ReplayResult, file: Path) -> None:
    """Save the last style that was learned. Raises DuocapError: it cannot be written."""
    if result.style is None:
        typer.echo(f"no style was learned, so {file} is not written; the motion is too short or too still", err=True)
        return
    write_style(file, result.style, StyleOrigin(("a replay",)))
    typer.echo(f"{result.style.name}, of {len(result.style.features)} poses: {file}")
