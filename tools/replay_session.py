"""Replay a recorded session: the reconstruction is given once more what it was given live, and gives the same poses.

What it is given comes from the journal in the session's take, turn by turn, or from the session's videos through the detectors.
"""

import heapq
import logging
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from calibration.camera import Rig
from calibration.rig_toml import read_rig
from calibration.subject import Subject
from calibration.subject_toml import read_subject
from capture.clock import now_ns
from capture.control import Ask, Order
from capture.packets import MarkerFrame, PairedBlobs
from capture.plan import Detects
from capture.session_files import parts_of
from capture.session_video import SessionVideo
from capture.wire import SentBlobs
from config.cameras import CAMERAS
from config.errors import DuocapError
from config.loading import load_settings
from config.per_camera import settings_of
from config.settings import Settings
from database.default import default_database, default_database_path
from database.store import PoseDatabase, open_database
from reconstruct.journal import Gap, Turn, read_journal
from reconstruct.pipeline import Pipeline
from reconstruct.pose import Pose
from reconstruct.prediction import Predictor
from reconstruct.process import obey
from reconstruct.reconstruction import Reconstruction
from reconstruct.sink import RunStatus
from reconstruct.style.task import Learned
from stream.compose import pose_message, skeleton_message
from stream.messages import PoseMessage
from stream.recorder import RecordingError
from stream.recording import Recording, open_journal, open_recording
from stream.report import versions
from stream.session import DETECTIONS, RIG, SETTINGS, STYLE, SUBJECT, SessionInfo, read_session
from tools.live import open_book, open_detector
from tools.record import database_mark
from tools.replay import ReplayResult, Sink, note
from tools.replay_styles import ReplayStyles
from tools.supervisor import SKEW_SHARE

log = logging.getLogger(__name__)

Given = Turn | Order | Learned | Gap
Progress = Callable[[int, int | None], None]
SAME_BITS = ("numpy", "scipy", "numba", "platform")  # other versions of these may round the last bit otherwise


@dataclass(frozen=True, slots=True)
class Session:
    """A session that is opened: its description, what it ran with, its takes.

    database: the very one it ran with; style: file of the style it began with, if any.
    """

    folder: Path
    info: SessionInfo
    settings: Settings
    rig: Rig
    subject: Subject
    database: PoseDatabase
    style: Path | None = None


@dataclass
class Verdict:
    """How many of the poses that were published came out the same, to the bit. first: the first other one, None where none is."""

    n_recorded: int = 0
    n_same: int = 0
    first: int | None = None
    gaps: list[str] = field(default_factory=list)

    @property
    def is_same(self) -> bool:
        """Whether all are the same; of none nothing can be said."""
        return 0 < self.n_recorded == self.n_same and not self.gaps

    def lines(self) -> list[str]:
        """Say so."""
        words = [f"{self.n_same} of {self.n_recorded} poses bit-identical"]
        if self.first is not None:
            words.append(f"the first other one is pose {self.first}")
        return words + self.gaps


def open_session(
    folder: Path,
    own: Settings,
    database: Path | None = None,
    rig: Path | None = None,
    subject: Path | None = None,
    style: Path | None = None,
) -> Session:
    """Open a session with what it ran with.

    own: the settings of this call; what was given in them is stronger than the session's. database: where it is now, if it was
    moved; rig, subject, style: for a session that was recorded without, or others than its own. Raises RecordingError: no
    session; DuocapError: another database, rig or subject missing.
    """
    info = read_session(folder)
    rig, subject = (_file_of(folder, given, name) for given, name in ((rig, RIG), (subject, SUBJECT)))
    return Session(
        folder,
        info,
        settings_for(load_settings(folder / SETTINGS), own),
        read_rig(rig),
        read_subject(subject),
        _same_database(info, database),
        style or (folder / STYLE if (folder / STYLE).exists() else None),
    )


def settings_for(session: Settings, own: Settings) -> Settings:
    """Give a session's settings with those of this call that were given; where to stream and view is this call's own."""
    for key in own.given:
        section, _, name = key.partition(".")
        if name and hasattr(getattr(own, section, None), name):
            part = replace(getattr(session, section), **{name: getattr(getattr(own, section), name)})
            session = replace(session, **{section: part})
    predict_ms = own.stream.predict_ms if "stream.predict_ms" in own.given else session.stream.predict_ms
    return replace(session, stream=replace(own.stream, predict_ms=predict_ms), viewer=own.viewer, given=own.given)


def _file_of(folder: Path, given: Path | None, name: str) -> Path:
    """Give the file that was named, or the session's own. Raises DuocapError: neither is there."""
    if given is None and not (folder / name).exists():
        option = "--" + name.removesuffix(".toml")
        raise DuocapError(f"{folder}: was recorded without {name}; give one with {option} FILE")
    return given or folder / name


def _same_database(info: SessionInfo, given: Path | None) -> PoseDatabase:
    """Open the database of a session: the one that is named, the file it ran with, or the built-in one, if it is the same."""
    if info.database is None:
        return default_database() if given is None else open_database(given)
    wanted = (info.database.poses, info.database.checksum)
    places = [given] if given is not None else [Path(info.database.file), default_database_path()]
    for place in places:
        if place.exists():
            mark = database_mark(place)
            if (mark.poses, mark.checksum) == wanted:
                return open_database(place)
    raise DuocapError(
        f"{places[0]}: is not the database the session ran with ({wanted[0]} poses, checksum {wanted[1]}), and another gives "
        "other poses; name the right one with --database FILE"
    )


class NotingPipeline(Pipeline):
    """A pipeline that hands every pose on, with the markers it was made from."""

    noted: Callable[[Pose, MarkerFrame | None], None] | None = None

    def step(self, pair: PairedBlobs) -> Pose:
        """Give the pose of one pair."""
        pose = super().step(pair)
        if self.noted is not None:
            self.noted(pose, self.markers)
        return pose


class Repeated:
    """The sink of a replay: composes messages as live, compares them with what was recorded, and hands poses on."""

    def __init__(self, session: Session, recorded: Recording | None, sink: Sink | None, verdict: Verdict) -> None:
        self._skeleton = skeleton_message(session.subject)
        self._predictor = Predictor(session.settings.stream.predict_ms * 1e-3, session.subject)
        self._poses = {} if recorded is None else {pose.seq: n for n, pose in enumerate(recorded.poses)}
        self._recorded, self._sink, self._verdict, self._seq = recorded, sink, verdict, 0
        verdict.n_recorded += len(self._poses)

    def pose(self, pose: Pose) -> None:
        """Compare a pose with the one published live under its number."""
        predicted, ahead_ns = self._predictor.step(pose)
        n = self._poses.get(self._seq)
        if n is not None and self._recorded is not None:
            message = pose_message(predicted, self._skeleton, "", self._seq, 0, ahead_ns)
            if is_same(message, self._recorded.poses[n]):
                self._verdict.n_same += 1
            elif self._verdict.first is None:
                self._verdict.first = self._seq
        self._seq += 1
        if self._sink is not None:
            self._sink.pose(replace(pose, t_capture_ns=now_ns()))  # subscribers live in the present

    def status(self, status: RunStatus) -> None:
        """Say nothing."""

    def event(self, t_ns: int, kind: str, text: str) -> None:
        """Say nothing: the events are in the take."""

    def serve(self, t_ns: int) -> None:
        """Attend to whoever joins."""
        if self._sink is not None:
            self._sink.serve(t_ns)

    def asks(self) -> list[Ask]:
        """Ask for nothing."""
        return []

    def close(self) -> None:
        """Leave the real sink to who opened it."""


def is_same(one: PoseMessage, other: PoseMessage) -> bool:
    """Tell whether two poses are the same to the bit, but for when they were published and how long that took."""
    arrays = ("rotations_xyzw", "joint_source", "confidence")
    if any(getattr(one, name).tobytes() != getattr(other, name).tobytes() for name in arrays):
        return False
    plain = ("hash", "seq", "t_capture_ns", "skew_ns", "state", "root_m", "contacts", "markers", "predicted_ns")
    return all(getattr(one, name) == getattr(other, name) for name in plain)


def replay_session(
    session: Session,
    parts: Iterable[tuple[Iterable[Given], Recording | None]],
    *,
    sink: Sink | None = None,
    realtime: bool = False,
    progress: Progress = lambda done, total: None,
) -> tuple[ReplayResult, Verdict]:
    """Give a session's reconstruction what it was given; each part begins anew, as after a restart.

    parts: what is given, and the take to compare with, if any.
    """
    result, verdict = ReplayResult(), Verdict()
    pipeline = NotingPipeline(session.rig, session.subject, session.database, session.settings, clock=now_ns)
    pipeline.warm()
    begun_ns = now_ns()
    pipeline.noted = lambda pose, markers: note(result, pose, markers, session.subject, session.rig)
    budget_ns = session.info.budget_ns or round(SKEW_SHARE * 1e9 / min(camera.fps or 60.0 for camera in session.info.cameras))
    for given, recorded in parts:
        pipeline.forget()
        repeated = Repeated(session, recorded, sink, verdict)
        book = open_book(pipeline, session.style)
        run = Reconstruction(pipeline, repeated, budget_ns, session.settings.time, book)
        with ReplayStyles(book) as styles:
            for one in _in_time(given, realtime):
                if isinstance(one, Turn):
                    run.turn(list(one.received), one.t_ns)
                    repeated.serve(now_ns())
                    if recorded is None and (learned := styles.turn(one.t_ns)) is not None:
                        run.take_style(learned, one.t_ns)
                elif isinstance(one, Order):
                    obey(one, run, repeated)
                elif isinstance(one, Learned):
                    _take_style(one, run, styles)
                else:
                    verdict.gaps.append(f"not all was recorded: {one.text}; poses after that may be others")
                progress(len(result.poses), verdict.n_recorded or None)
            result.style = styles.last()
    result.wall_s = (now_ns() - begun_ns) * 1e-9
    if not result.poses:
        raise DuocapError(f"{session.folder}: no two pictures of one moment were recorded; there is nothing to replay")
    return result, verdict


def _take_style(learned: Learned, run: Reconstruction, styles: ReplayStyles) -> None:
    """Use what was learned live; where the poses are others by now, as with other settings, learn of these instead."""
    if not run.take_style(learned, now_ns()) and (anew := styles.anew()) is not None:
        run.take_style(anew, now_ns())


def journal_parts(session: Session) -> Iterator[tuple[Iterable[Given], Recording | None]]:
    """Give what the reconstruction was given live, take by take. Raises RecordingError."""
    takes = parts_of(session.folder, "take", "mcap")
    collected = [file for file in (session.folder / DETECTIONS,) if file.exists()]
    if not takes and not collected:
        raise RecordingError(f"{session.folder}: has no take.mcap; replay its videos with --video")
    for file in takes or collected:
        opened = open_journal(file)
        for text in opened.notes:
            log.warning("%s: %s", file, text)
        other = [name for name in SAME_BITS if opened.metadata.get(f"version.{name}") != versions().get(name)]
        if other and takes:
            log.warning("%s was recorded with another %s; the last bits may differ", file, ", ".join(other))
        yield read_journal(opened.journal()), open_recording(file) if takes else None


def video_parts(session: Session) -> Iterator[tuple[Iterable[Given], Recording | None]]:
    """Give what the detectors of live capture see in the session's videos, each picture a turn when it was read."""
    yield _video_turns(session), None


def _video_turns(session: Session) -> Iterator[Given]:
    """Detect in the pictures of both cameras, in the order they were read. Raises SourceError."""
    sources = [SessionVideo(parts_of(session.folder, name, "mkv"), camera) for camera, name in enumerate(CAMERAS)]
    detectors = [open_detector(settings_of(session.settings, c).detector, source) for c, source in enumerate(sources)]
    yield Order("start", details={"budget_ns": round(SKEW_SHARE * 1e9 / min(source.fps for source in sources))})
    waiting = [_seen(source, detector) for source, detector in zip(sources, detectors, strict=True)]
    for sent in heapq.merge(*waiting, key=lambda sent: sent.t_read_ns):
        yield Turn(((sent, sent.t_read_ns),), sent.t_read_ns)


def _seen(source: SessionVideo, detector: Detects) -> Iterator[SentBlobs]:
    """Give the blobs of one camera's pictures."""
    while (frame := source.read()) is not None:
        t_read_ns = source.t_read_ns
        yield SentBlobs(detector.step(frame), t_read_ns, t_read_ns)


def _in_time(given: Iterable[Given], realtime: bool) -> Iterator[Given]:
    """Give it at once, or when it was given live."""
    ahead_ns: int | None = None
    for one in given:
        if realtime and isinstance(one, Turn):
            ahead_ns = one.t_ns - now_ns() if ahead_ns is None else ahead_ns
            time.sleep(max(0.0, 1e-9 * (one.t_ns - ahead_ns - now_ns())))
        yield one
