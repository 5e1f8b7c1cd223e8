"""The process that only collects: detections of both cameras in, a file of them out; for recording before there is a rig.

It stands where the reconstruction would, so that cameras know no difference.
"""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from capture.clock import now_ns
from capture.endpoints import KeySettings
from capture.lifeline import Lifeline, Link, live
from capture.packets import Blobs
from capture.wire import SentBlobs
from reconstruct.inbox import Inbox
from reconstruct.journal import JournalWriter
from reconstruct.process import TURN_MS
from stream.codec import encode
from stream.messages import EventMessage
from stream.recorder import Recorder
from stream.recording_switch import end_of
from stream.report import versions


@dataclass(frozen=True, slots=True)
class CollectionPlan:
    """What to collect to. file: a new one; session: names the run; nodes, keys: as for a reconstruction."""

    file: Path
    session: str
    nodes: str = ""
    keys: KeySettings | None = None


class Collection:
    """Detections on their way to a file; time is passed in."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self._journal = JournalWriter()
        self._fault_told = False
        self.n_frames = [0, 0]

    def turn(self, received: list[tuple[SentBlobs, int]], t_ns: int) -> None:
        """Write down what came, as a reconstruction would be given it."""
        if not received:
            return
        for sent, _ in received:
            blobs: Blobs = sent.blobs
            self.n_frames[blobs.camera] += 1
        for entry in self._journal.turn(received, t_ns):
            self.recorder.write(entry.topic.encode() + b" " + entry.data, entry.t_ns)

    def news(self) -> list[str]:
        """Give what is to be told, once."""
        if not self.recorder.fault or self._fault_told:
            return []
        self._fault_told = True
        return [end_of(self.recorder)]


def collector_main(link: Link, plan: CollectionPlan) -> None:
    """Run a collecting process; the target of its supervisor."""
    live(link, lambda lifeline: _serve(lifeline, plan))


def _serve(lifeline: Lifeline, plan: CollectionPlan) -> None:
    """Collect until told to stop. Raises EndpointError, KeyFileError, RecordingError."""
    inbox = Inbox(plan.nodes, plan.keys)
    lifeline.report("hello", inbox.address, details={"nodes": inbox.nodes_address})
    metadata = {"session": plan.session, "when": datetime.now().astimezone().isoformat(timespec="milliseconds")}
    made_by = {f"version.{name}": version for name, version in versions().items()}
    collection = Collection(Recorder(plan.file, {**metadata, "when_ns": str(now_ns()), **made_by}))
    lifeline.report("ready")
    ending = False
    while not ending:
        for order in lifeline.orders(0):
            ending = ending or order.kind == "stop"
            if order.kind == "event":
                event = EventMessage(plan.session, now_ns(), "process", order.text)
                collection.recorder.write(encode(event), event.t_ns)
        collection.turn(inbox.drain(TURN_MS), now_ns())
        for text in collection.news():
            lifeline.report("event", text)
        lifeline.beat(lambda: {"left": collection.n_frames[0], "right": collection.n_frames[1]})
    inbox.close()
    collection.recorder.close()
