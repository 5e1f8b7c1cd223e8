"""A replay as one call: videos or a session in, a take out; nothing is published or written."""

from dataclasses import dataclass, replace
from pathlib import Path

from calibration.formats.rig_file import read_rig_for_views
from calibration.subject.subject import Subject, read_subject
from capture.recording.recording import CaptureRecording, RecordingSpec
from capture.recording.session import is_session
from config.errors import DuocapError
from config.settings import CAMERA_NAMES, Settings
from database.store import PoseDatabase
from stream.take.take import Take, TakeInfo
from tools.arguments import open_database_or_default
from tools.replay.given import read_journal_parts
from tools.replay.opening import open_session
from tools.replay.replay import (
    ReplayResult,
    check_smoothing_window,
    disable_live_filter,
    replay_recording,
    smooth_result,
    solve_replay_offline,
)
from tools.replay.session import replay_session


@dataclass(frozen=True, slots=True)
class ReplayFiles:
    """Files that a recording is replayed with; a session has its own.

    Attributes:
        rig: file of the rig.
        subject: file of the subject.
        database: file of the database; None for the default one.
    """

    rig: Path | None = None
    subject: Path | None = None
    database: Path | None = None


def replay(
    spec: RecordingSpec,
    files: ReplayFiles = ReplayFiles(),
    settings: Settings | None = None,
    *,
    as_live: bool = False,
    smooth_s: float = 0.0,
) -> Take:
    """Track the performer of a recording and return the motion.

    Args:
        spec: a video of each camera, or the folder of a session alone.
        files: rig, subject and database; those of a session may be left out.
        settings: None for the defaults, or those of the session.
        as_live: the poses of live capture; else they are solved with past and future.
        smooth_s: width of the window of smoothing [s]; 0 for none.
    Raises DuocapError: a file is missing, or does not fit the others.
    """
    check_smoothing_window(smooth_s)
    run = _replay_session if len(spec.files) == 1 and is_session(Path(spec.name)) else _replay_videos
    done = run(spec, files, Settings() if settings is None else settings, smooth_s)
    result = done.result
    if not as_live:
        result = solve_replay_offline(result, done.subject, done.database, done.settings)
    result = smooth_result(result, done.subject, smooth_s)
    return result.take(done.subject, TakeInfo(done.subject.name, source=Path(spec.name).name))


@dataclass(frozen=True, slots=True)
class _Replayed:
    """A replay and what it was made with."""

    result: ReplayResult
    subject: Subject
    database: PoseDatabase
    settings: Settings


def _replay_session(spec: RecordingSpec, files: ReplayFiles, settings: Settings, smooth_s: float) -> _Replayed:
    """Replay what the reconstruction of a session was given."""
    session = open_session(Path(spec.name), settings, files.database, files.rig, files.subject)
    session = replace(session, settings=disable_live_filter(session.settings, smooth_s))
    result, _ = replay_session(session, read_journal_parts(session))
    return _Replayed(result, session.subject, session.database, session.settings)


def _replay_videos(spec: RecordingSpec, files: ReplayFiles, settings: Settings, smooth_s: float) -> _Replayed:
    """Replay videos. Raises DuocapError: no rig or no subject is given."""
    if files.rig is None or files.subject is None:
        raise DuocapError(f"{spec.name}: is no folder of a session, so a rig and a subject are needed; give both files")
    subject = read_subject(files.subject)
    rig, numbers = read_rig_for_views(files.rig, len(spec.files), [CAMERA_NAMES[n] for n in spec.cameras])
    settings = disable_live_filter(settings, smooth_s)
    database = open_database_or_default(files.database)
    recording = CaptureRecording(
        replace(spec, cameras=numbers), settings.detector, subject.markers, landmarks=settings.landmarks.model
    )
    return _Replayed(replay_recording(recording, rig, subject, database, settings), subject, database, settings)
