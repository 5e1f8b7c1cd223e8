"""What a session's reconstruction was given: the journal in its take, turn by turn, or its videos through the detectors."""

import heapq
import logging
import time
from collections.abc import Iterable, Iterator

from capture.clock import now_ns
from capture.process.control import Order, RoomSettings, StartOrder
from capture.process.detector import open_detector
from capture.process.plan import FrameDetector
from capture.recording.session import SessionVideo, list_recording_parts
from capture.sockets.wire import SentBlobs
from config.per_camera import find_camera_settings
from config.settings import CAMERA_NAMES
from reconstruct.models.style.task import LearnedStyle
from reconstruct.process.journal import JournalGap, JournalTurn, read_journal
from stream.protocol.report import list_versions
from stream.recording.recorder import RecordingError
from stream.recording.recording import Recording, open_journal, open_recording
from stream.recording.session import DETECTIONS
from tools.replay.opening import OpenedSession
from tools.run.orders import SKEW_SHARE

log = logging.getLogger(__name__)

Given = JournalTurn | Order | LearnedStyle | JournalGap
SAME_BITS = ("numpy", "scipy", "numba", "platform")  # other versions of these may round the last bit otherwise


def read_journal_parts(session: OpenedSession) -> Iterator[tuple[Iterable[Given], Recording | None]]:
    """Return the input of the live reconstruction, take by take. Raises RecordingError."""
    takes = list_recording_parts(session.folder, "take", "mcap")
    collected = [file for file in (session.folder / DETECTIONS,) if file.exists()]
    if not takes and not collected:
        raise RecordingError(f"{session.folder}: has no take.mcap; replay its videos with --video")
    for file in takes or collected:
        opened = open_journal(file)
        for text in opened.notes:
            log.warning("%s: %s", file, text)
        other = [name for name in SAME_BITS if opened.metadata.get(f"version.{name}") != list_versions().get(name)]
        if other and takes:
            log.warning("%s was recorded with another %s; the last bits may differ", file, ", ".join(other))
        yield read_journal(opened.journal()), open_recording(file) if opened.holds_poses else None


def detect_video_parts(session: OpenedSession) -> Iterator[tuple[Iterable[Given], Recording | None]]:
    """Return the detections of live capture's detectors in the session's videos, as one part without a recorded take.

    Each picture is a turn of its own, at the time at which it was read.
    """
    yield _detect_video_turns(session), None


def _detect_video_turns(session: OpenedSession) -> Iterator[Given]:
    """Detect in the pictures of all cameras, in the order they were read. Raises SourceError."""
    names = CAMERA_NAMES[: len(session.info.cameras)]
    sources = [SessionVideo(list_recording_parts(session.folder, name, "mkv"), camera) for camera, name in enumerate(names)]
    room = RoomSettings(landmarks=session.settings.landmarks.model)
    detectors = [
        open_detector(find_camera_settings(session.settings, c).detector, source, room) for c, source in enumerate(sources)
    ]
    yield StartOrder(budget_ns=round(SKEW_SHARE * 1e9 / min(source.fps for source in sources)))
    waiting = [_detect_source_blobs(source, detector) for source, detector in zip(sources, detectors, strict=True)]
    for sent in heapq.merge(*waiting, key=lambda sent: sent.t_read_ns):
        yield JournalTurn(((sent, sent.t_read_ns),), sent.t_read_ns)


def _detect_source_blobs(source: SessionVideo, detector: FrameDetector) -> Iterator[SentBlobs]:
    """Return the blobs of one camera's pictures."""
    while (frame := source.read()) is not None:
        t_read_ns = source.t_read_ns
        yield SentBlobs(detector.step(frame), t_read_ns, t_read_ns)


def wait_in_real_time(given: Iterable[Given], realtime: bool) -> Iterator[Given]:
    """Return it at once, or when it was given live."""
    ahead_ns: int | None = None
    for one in given:
        if realtime and isinstance(one, JournalTurn):
            ahead_ns = one.t_ns - now_ns() if ahead_ns is None else ahead_ns
            time.sleep(max(0.0, 1e-9 * (one.t_ns - ahead_ns - now_ns())))
        yield one
