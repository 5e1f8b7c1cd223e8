"""The file of a session that holds what was published and what it was made from: an output of the stream and a journal."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path

from capture.clock import now_ns
from capture.control import Order
from capture.wire import SentBlobs
from reconstruct.journal import Entry, JournalWriter
from reconstruct.style.task import Learned
from stream.messages import Message, PoseMessage, SkeletonMessage
from stream.recorder import Recorder
from stream.recording_switch import end_of, recording_metadata

LOSS_PERIOD_NS = 1_000_000_000


class SessionTake:
    """Record every message and the journal of one run, from the first on.

    file: a new one; skeleton: of the poses; session: names the run. Raises RecordingError: the file exists or cannot be made.
    """

    def __init__(self, file: Path, skeleton: SkeletonMessage, session: str) -> None:
        metadata = recording_metadata(skeleton, session, datetime.now().astimezone(), now_ns())
        self._recorder = Recorder(file, metadata)
        self._journal = JournalWriter()
        self._n_told, self._loss_due_ns = 0, 0
        self._end_told = False
        self._news = [("recording", f"recording to {file.parent}")]

    def take(self, message: Message, payload: bytes, t_ns: int) -> None:
        """Record a message."""
        self._recorder.write(payload, t_ns, message.seq if isinstance(message, PoseMessage) else 0)

    def turn(self, received: Sequence[tuple[SentBlobs, int]], t_ns: int) -> None:
        """Record what the reconstruction is given."""
        self._write(self._journal.turn(received, t_ns))

    def order(self, order: Order, t_ns: int) -> None:
        """Record an order to the reconstruction."""
        self._write(self._journal.order(order, t_ns))

    def style(self, learned: Learned, t_ns: int) -> None:
        """Record what was learned of the style."""
        self._write(self._journal.style(learned, t_ns))

    def _write(self, entries: Iterable[Entry]) -> None:
        """Record entries of the journal."""
        for entry in entries:
            self._recorder.write(entry.topic.encode() + b" " + entry.data, entry.t_ns)

    def serve(self, t_ns: int) -> None:
        """Look how the recorder does."""
        recorder = self._recorder
        if recorder.fault and not self._end_told:
            self._end_told = True
            self._news.append(("recording", end_of(recorder)))
        elif not recorder.fault and recorder.n_lost > self._n_told and t_ns >= self._loss_due_ns:
            self._loss_due_ns = t_ns + LOSS_PERIOD_NS
            n_new, self._n_told = recorder.n_lost - self._n_told, recorder.n_lost
            self._news.append(("recording", f"{n_new} messages are not recorded: the disk is too slow"))

    def news(self) -> list[tuple[str, str]]:
        """Give what happened since the last time: kind and words of events."""
        news, self._news = self._news, []
        return news

    def close(self) -> None:
        """Complete the file."""
        self._recorder.close()
        if not self._end_told:
            self._end_told = True
            self._news.append(("recording", end_of(self._recorder)))
