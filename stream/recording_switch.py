"""The output that records when it is told to: starts and stops while the stream runs, and says so in events."""

import threading
from datetime import datetime
from pathlib import Path

from capture.clock import now_ns
from stream.messages import Message, PoseMessage, RigMessage, SkeletonMessage
from stream.recorder import Recorder, RecordingError
from stream.report import versions

LOSS_PERIOD_NS = 1_000_000_000


class RecordingSwitch:
    """Start and stop recordings of one session; any thread may do so while another hands messages over."""

    def __init__(self, session: str) -> None:
        self._session = session
        self._lock = threading.Lock()  # for what take() sees; never held while a disk works
        self._switching = threading.Lock()  # one start or stop at a time
        self._kept: dict[type, bytes] = {}
        self._skeleton: SkeletonMessage | None = None
        self._recorder: Recorder | None = None
        self._finishing: list[Recorder] = []
        self._news: list[tuple[str, str]] = []
        self._n_told, self._loss_due_ns = 0, 0

    @property
    def file(self) -> Path | None:
        """The file that is being recorded to, None for none."""
        recorder = self._recorder
        return recorder.file if recorder is not None else None

    def start(self, file: Path) -> Path:
        """Record from now on, to a new file. Raises RecordingError: recording already, nothing published, file not to be made."""
        with self._switching:
            if self._recorder is not None:
                raise RecordingError(f"recording to {self._recorder.file} already; stop that first")
            if self._skeleton is None:
                raise RecordingError("nothing was published yet; try again when the stream runs")
            now = datetime.now().astimezone()
            recorder = Recorder(file, recording_metadata(self._skeleton, self._session, now, now_ns()))
            with self._lock:
                for payload in self._kept.values():
                    recorder.write(payload, now_ns())
                self._recorder, self._n_told = recorder, 0
                self._news.append(("recording", f"recording to {file}"))
            return file

    def stop(self) -> Recorder | None:
        """Record no more; gives the recorder, whose file is complete as soon as it `is_done`. None if nothing was recorded."""
        with self._switching, self._lock:
            recorder, self._recorder = self._recorder, None
            if recorder is not None:
                recorder.finish()
                self._finishing.append(recorder)
            return recorder

    def take(self, message: Message, payload: bytes, t_ns: int) -> None:
        """Record a message if recording; keep what a recording begins with."""
        with self._lock:
            if isinstance(message, SkeletonMessage | RigMessage):
                self._kept[type(message)] = payload
                if isinstance(message, SkeletonMessage):
                    self._skeleton = message
            if self._recorder is not None:
                self._recorder.write(payload, t_ns, message.seq if isinstance(message, PoseMessage) else 0)

    def serve(self, t_ns: int) -> None:
        """Look how the recorder does."""
        with self._lock:
            recorder = self._recorder
            if recorder is not None and recorder.fault:
                self._recorder = None
                self._finishing.append(recorder)
            elif recorder is not None and recorder.n_lost > self._n_told and t_ns >= self._loss_due_ns:
                self._loss_due_ns = t_ns + LOSS_PERIOD_NS
                n_new, self._n_told = recorder.n_lost - self._n_told, recorder.n_lost
                self._news.append(("recording", f"{n_new} messages are not recorded: the disk is too slow"))
            self._news += [("recording", end_of(done)) for done in self._finishing if done.is_done]
            self._finishing = [waiting for waiting in self._finishing if not waiting.is_done]

    def news(self) -> list[tuple[str, str]]:
        """Give what happened since the last time: kind and words of events."""
        with self._lock:
            news, self._news = self._news, []
            return news

    def close(self) -> None:
        """Complete the recording."""
        self.stop()
        for recorder in self._finishing:
            recorder.close()
        self.serve(0)


def recording_metadata(skeleton: SkeletonMessage, session: str, when: datetime, t_ns: int) -> dict[str, str]:
    """Describe a recording: when is the wall-clock time (with its zone) at t_ns of the stream's clock."""
    return {
        "subject": skeleton.subject,
        "session": session,
        "skeleton": skeleton.hash,
        "units": skeleton.units,
        "axes": f"{skeleton.handedness}-handed, {skeleton.up} up",
        "quaternion": skeleton.quaternion,
        "when": when.isoformat(timespec="milliseconds"),
        "when_ns": str(t_ns),
        **{f"version.{name}": version for name, version in versions().items()},
    }


def end_of(recorder: Recorder) -> str:
    """Say how a recording ended."""
    if recorder.fault:
        return f"{recorder.fault}; {recorder.n_lost} messages are not in it"
    lost = f", {recorder.n_lost} were lost" if recorder.n_lost else ""
    return f"recorded {recorder.file}: {recorder.n_recorded} messages{lost}"
