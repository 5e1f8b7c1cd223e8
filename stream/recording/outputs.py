"""Recordings as outputs of the stream: started and stopped while it runs, or of a whole session with its journal.

Both report in events that a recording began, how it ended, and how many messages are lost, at most once a second.
"""

import threading
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path

from capture.clock import now_ns
from capture.process.control import Order
from capture.sockets.wire import SentBlobs
from reconstruct.models.style.task import LearnedStyle
from reconstruct.process.journal import JournalEntry, JournalWriter
from stream.protocol.messages import EventKind, Message, OutputEvent, PoseMessage, RigMessage, SkeletonMessage
from stream.protocol.report import list_versions
from stream.recording.recorder import Recorder, RecordingError

LOSS_PERIOD_NS = 1_000_000_000


class RecordingSwitch:
    """Start and stop recordings of one session, from any thread, while another one passes messages on."""

    def __init__(self, session: str) -> None:
        self._session = session
        self._lock = threading.Lock()  # for what write() uses; never held while a disk works
        self._switching = threading.Lock()  # one start or stop at a time
        self._kept: dict[type, bytes] = {}
        self._skeleton: SkeletonMessage | None = None
        self._recorder: Recorder | None = None
        self._losses = LossReport()
        self._finishing: list[Recorder] = []
        self._events: list[OutputEvent] = []

    @property
    def file(self) -> Path | None:
        """The file that is being recorded to, None for none."""
        recorder = self._recorder
        return recorder.file if recorder is not None else None

    def start(self, file: Path) -> Path:
        """Record from now on, to a new file. Raises RecordingError: recording already, nothing published, no such folder."""
        with self._switching:
            if self._recorder is not None:
                raise RecordingError(f"recording to {self._recorder.file} already; stop that first")
            if self._skeleton is None:
                raise RecordingError("nothing was published yet; try again when the stream runs")
            recorder = Recorder(file, build_recording_metadata(self._skeleton, self._session))
            with self._lock:
                for payload in self._kept.values():
                    recorder.write(payload, now_ns())
                self._recorder, self._losses = recorder, LossReport()
                self._events.append(_build_recording_event(f"recording to {file}"))
            return file

    def stop(self) -> Recorder | None:
        """Stop recording; return the recorder, whose file is complete once it `is_done`. None if nothing was recorded."""
        with self._switching, self._lock:
            recorder, self._recorder = self._recorder, None
            if recorder is not None:
                recorder.finish()
                self._finishing.append(recorder)
            return recorder

    def write(self, message: Message, payload: bytes, t_ns: int) -> None:
        """Record a message if recording; keep skeleton and rig, with which a recording begins.

        Args:
            message: the message.
            payload: the message as published.
            t_ns: time of publishing [ns].
        """
        with self._lock:
            if isinstance(message, SkeletonMessage | RigMessage):
                self._kept[type(message)] = payload
                if isinstance(message, SkeletonMessage):
                    self._skeleton = message
            if self._recorder is not None:
                self._recorder.write(payload, t_ns, message.seq if isinstance(message, PoseMessage) else 0)

    def serve(self, t_ns: int) -> None:
        """Check the state of the recorders."""
        with self._lock:
            recorder = self._recorder
            if recorder is not None and recorder.fault:
                self._recorder = None
                self._finishing.append(recorder)
            elif recorder is not None:
                self._events += self._losses.events(recorder, t_ns)
            self._events += [_build_recording_event(format_recording_end(done)) for done in self._finishing if done.is_done]
            self._finishing = [waiting for waiting in self._finishing if not waiting.is_done]

    def events(self) -> list[OutputEvent]:
        """Return the events since the last call."""
        with self._lock:
            events, self._events = self._events, []
            return events

    def close(self) -> None:
        """Complete the recording."""
        self.stop()
        for recorder in self._finishing:
            recorder.close()
        self.serve(0)


class SessionTake:
    """Record every message and the journal of one run, from the first on.

    Args:
        file: a new one.
        skeleton: skeleton of the poses.
        session: name of the run.
    Attributes:
        folder: of the session.
    Raises: RecordingError: the file exists or cannot be created.
    """

    def __init__(self, file: Path, skeleton: SkeletonMessage, session: str) -> None:
        self.folder = file.parent
        self._recorder = Recorder(file, build_recording_metadata(skeleton, session))
        self._journal = JournalWriter()
        self._losses = LossReport()
        self._has_ended = False
        self._events = [_build_recording_event(f"recording to {file.parent}")]

    def write(self, message: Message, payload: bytes, t_ns: int) -> None:
        """Record a message.

        Args:
            message: the message.
            payload: the message as published.
            t_ns: time of publishing [ns].
        """
        self._recorder.write(payload, t_ns, message.seq if isinstance(message, PoseMessage) else 0)

    def turn(self, received: Sequence[tuple[SentBlobs, int]], t_ns: int) -> None:
        """Record the detections that the reconstruction is given."""
        self._write(self._journal.turn(received, t_ns))

    def order(self, order: Order, t_ns: int) -> None:
        """Record an order to the reconstruction."""
        self._write(self._journal.order(order, t_ns))

    def style(self, learned: LearnedStyle, t_ns: int) -> None:
        """Record a learned style."""
        self._write(self._journal.style(learned, t_ns))

    def _write(self, entries: Iterable[JournalEntry]) -> None:
        """Record entries of the journal."""
        for entry in entries:
            self._recorder.write(entry.topic.encode() + b" " + entry.data, entry.t_ns)

    def serve(self, t_ns: int) -> None:
        """Check the state of the recorder."""
        if self._recorder.fault:
            self._end()
        else:
            self._events += self._losses.events(self._recorder, t_ns)

    def events(self) -> list[OutputEvent]:
        """Return the events since the last call."""
        events, self._events = self._events, []
        return events

    def close(self) -> None:
        """Complete the file."""
        self._recorder.close()
        self._end()

    def _end(self) -> None:
        """Report the end, once."""
        if not self._has_ended:
            self._has_ended = True
            self._events.append(_build_recording_event(format_recording_end(self._recorder)))


class LossReport:
    """Report the messages that one recorder lost, at most once a second."""

    def __init__(self) -> None:
        self._n_reported = self._due_ns = 0

    def events(self, recorder: Recorder, t_ns: int) -> list[OutputEvent]:
        """Return an event on the new losses, if there are any and it is due."""
        n_new = recorder.n_lost - self._n_reported
        if n_new <= 0 or t_ns < self._due_ns:
            return []
        self._n_reported, self._due_ns = recorder.n_lost, t_ns + LOSS_PERIOD_NS
        return [_build_recording_event(f"{n_new} messages are not recorded: the disk is too slow")]


def build_recording_metadata(skeleton: SkeletonMessage, session: str) -> dict[str, str]:
    """Return the metadata of a recording that begins now: names, conventions, time and versions."""
    return {
        "subject": skeleton.subject,
        "session": session,
        "skeleton": skeleton.hash,
        "units": skeleton.units,
        "axes": f"{skeleton.handedness}-handed, {skeleton.up} up",
        "quaternion": skeleton.quaternion,
        **build_begin_metadata(),
    }


def build_begin_metadata() -> dict[str, str]:
    """Return the wall-clock time with its zone, the time of the stream's clock at that moment, and the versions."""
    when = datetime.now().astimezone().isoformat(timespec="milliseconds")
    return {"when": when, "when_ns": str(now_ns()), **{f"version.{name}": version for name, version in list_versions().items()}}


def format_recording_end(recorder: Recorder) -> str:
    """Describe how a recording ended."""
    if recorder.fault:
        return f"{recorder.fault}; {recorder.n_lost} messages are not in it"
    lost = f", {recorder.n_lost} were lost" if recorder.n_lost else ""
    return f"recorded {recorder.file}: {recorder.n_recorded} messages{lost}"


def _build_recording_event(text: str) -> OutputEvent:
    """Return an event on a recording."""
    return OutputEvent(EventKind.RECORDING, text)
