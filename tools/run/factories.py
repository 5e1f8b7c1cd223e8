"""What a live run is made of, for `demo` and `run` alike: factories that travel to the spawned processes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from calibration.camera import Rig
from calibration.subject.subject import Subject
from calibration.world import place_rig_in_world
from capture.clock import now_ns
from capture.recording.session import is_session
from capture.sockets.endpoints import find_key_settings
from config.settings import Settings
from database.store import open_database
from reconstruct.models.style.file import read_style
from reconstruct.models.style.session import SessionStyle
from reconstruct.pipeline import Pipeline
from reconstruct.process.journal import Journal, NoJournal
from reconstruct.process.learner import LearnerPlan
from reconstruct.process.main import ReconstructionPlan
from reconstruct.process.reconstruction import Stepper
from reconstruct.process.sink import Sink
from stream.protocol.compose import compose_skeleton_message
from stream.publish.fanout import OutputFactory, open_outputs
from stream.publish.sink import StreamSink
from stream.publish.tuning import TuningState
from stream.recording.folders import choose_next_take
from stream.recording.outputs import SessionTake


def open_pipeline(rig: Rig, subject: Subject, database: Path, settings: Settings) -> Pipeline:
    """Open the database and make the pipeline with the clock of live runs.

    Args:
        rig: the cameras.
        subject: the performer.
        database: database of motions.
        settings: settings of the run.
    Raises: DatabaseError.
    """
    return Pipeline(rig, subject, open_database(database), settings, clock=now_ns)


def open_session_style(pipeline: Stepper, style: Path | None = None) -> SessionStyle | None:
    """Return the source of the session's styles, None where they are switched off or of no use to the pipeline.

    style: a file to begin with. Raises StyleError: it cannot be read.
    """
    if not isinstance(pipeline, Pipeline) or not pipeline.settings.fill.uses_style:
        return None
    return SessionStyle(pipeline.subject.skeleton, None if style is None else read_style(style))


def open_sink(
    rig: Rig,
    subject: Subject,
    settings: Settings,
    session: str,
    outputs: Sequence[OutputFactory] = (),
    record: Path | None = None,
    cameras: bool = False,
) -> StreamSink:
    """Open the stream's sink with its outputs and service, in whatever process.

    Args:
        outputs: factories of outputs that get every message besides the stream.
        record: a file to record to at once, or the folder of a session.
        cameras: there are some that run and can be tuned.
    Raises: StreamError, RecordingError and what the outputs raise.
    """
    keys = find_key_settings(settings.stream)
    made = open_outputs(outputs)
    journal: Journal = NoJournal()
    try:
        if record is not None and is_session(record):
            journal = SessionTake(choose_next_take(record), compose_skeleton_message(subject), session)
            made, record = (*made, journal), None
        sink = StreamSink(settings.stream.address, session, subject, rig, settings.stream.predict_ms, made, keys)
        sink.journal = journal
    except BaseException:
        for output in made:
            output.close()
        raise
    try:
        if record is not None:
            sink.fanout.record(record)
        sink.fanout.open_service(settings.stream, TuningState(settings, len(rig)) if cameras else None)
    except BaseException:
        sink.close()
        raise
    return sink


def open_sink_again(open_first: Callable[..., StreamSink], record: Path | None, part: int) -> StreamSink:
    """Open the sink again within a run whose reconstruction was restarted: a recording goes on in another file.

    Args:
        open_first: opens the sink.
        record: the file or session that was recorded to.
        part: number of the restart.
    """
    if record is not None and not is_session(record):
        record = record.with_name(f"{record.stem}.{part}{record.suffix}")
    return open_first(record=record)


@dataclass(frozen=True, slots=True)
class RunFiles:
    """Files that a run reads and writes besides its stream.

    Attributes:
        outputs: picklable factories of outputs that get every message, made beside the publisher.
        record: a file to record to.
        style: a file of the style to begin with.
        save_style: one for the last style learned.
    """

    outputs: Sequence[OutputFactory] = ()
    record: Path | None = None
    style: Path | None = None
    save_style: Path | None = None


NO_FILES = RunFiles()


def plan_reconstruction(
    rig: Rig, subject: Subject, database: Path, settings: Settings, session: str, fps: float, files: RunFiles = NO_FILES
) -> ReconstructionPlan:
    """Plan the reconstruction of cameras at `fps`: views may be half a frame time apart, and a tenth for jitter.

    Args:
        rig: the rig as calibrated or in the world.
        fps: frame rate of the cameras [Hz].
        files: read and written beside the stream.
    """
    rig = place_rig_in_world(rig, subject.world)
    open_first = partial(open_sink, rig, subject, settings, session, tuple(files.outputs), cameras=True)
    return ReconstructionPlan(
        pipeline=partial(open_pipeline, rig, subject, database, settings),
        sink=partial(open_first, record=files.record),
        sink_again=partial(open_sink_again, open_first, files.record),
        budget_ns=round(0.6e9 / fps),
        time=settings.time,
        journal=find_journal,
        session_style=partial(open_session_style, style=files.style),
        learner=LearnerPlan(files.save_style),
    )


def find_journal(sink: Sink) -> Journal:
    """Return where a run is written down: the take of its session, if it is one."""
    return sink.journal if isinstance(sink, StreamSink) else NoJournal()
