"""The process that records the detections of all cameras, in place of the reconstruction where there is no rig yet."""

from dataclasses import dataclass
from pathlib import Path

from capture.clock import now_ns
from capture.process.control import EventOrder, ReportKind, StopOrder
from capture.process.link import SupervisorAddress, SupervisorLink, run_child
from capture.sockets.endpoints import KeySettings
from capture.sockets.wire import SentBlobs
from config.settings import CAMERA_NAMES
from reconstruct.process.inbox import Inbox
from reconstruct.process.journal import JournalWriter
from reconstruct.process.main import TURN_MS
from stream.protocol.codec import encode_message
from stream.protocol.messages import EventMessage
from stream.recording.outputs import build_begin_metadata, format_recording_end
from stream.recording.recorder import Recorder


@dataclass(frozen=True, slots=True)
class CollectionPlan:
    """What to record to.

    Attributes:
        file: a new one.
        session: name of the run.
        n_cameras: number of cameras of the rig.
        nodes, keys: as for a reconstruction.
    """

    file: Path
    session: str
    n_cameras: int
    nodes: str = ""
    keys: KeySettings | None = None


class Collection:
    """Record detections to a file; n_frames: of each camera."""

    def __init__(self, recorder: Recorder, n_cameras: int) -> None:
        self.recorder = recorder
        self._journal = JournalWriter()
        self._is_fault_reported = False
        self.n_frames = [0] * n_cameras

    def turn(self, received: list[tuple[SentBlobs, int]], t_ns: int) -> None:
        """Record the detections of one turn, as a reconstruction would receive them."""
        received = [one for one in received if one[0].blobs.camera < len(self.n_frames)]
        if not received:
            return
        for sent, _ in received:
            self.n_frames[sent.blobs.camera] += 1
        for entry in self._journal.turn(received, t_ns):
            self.recorder.write(entry.topic.encode() + b" " + entry.data, entry.t_ns)

    def messages(self) -> list[str]:
        """Return messages for the user, once."""
        if not self.recorder.fault or self._is_fault_reported:
            return []
        self._is_fault_reported = True
        return [format_recording_end(self.recorder)]


def collector_main(link: SupervisorAddress, plan: CollectionPlan) -> None:
    """Run a collecting process; the target of its supervisor."""
    run_child(link, lambda supervisor: _collect_until_stopped(supervisor, plan))


def _collect_until_stopped(supervisor: SupervisorLink, plan: CollectionPlan) -> None:
    """Collect until told to stop. Raises EndpointError, KeyFileError, RecordingError."""
    inbox = Inbox(plan.nodes, plan.keys)
    supervisor.report(ReportKind.HELLO, inbox.address, details={"nodes": inbox.nodes_address})
    collection = Collection(Recorder(plan.file, {"session": plan.session, **build_begin_metadata()}), plan.n_cameras)
    supervisor.report(ReportKind.READY)
    ending = False
    while not ending:
        for order in supervisor.orders(0):
            ending = ending or isinstance(order, StopOrder)
            if isinstance(order, EventOrder):
                event = EventMessage(plan.session, now_ns(), "process", order.text)
                collection.recorder.write(encode_message(event), event.t_ns)
        collection.turn(inbox.drain(TURN_MS), now_ns())
        for text in collection.messages():
            supervisor.report(ReportKind.EVENT, text)
        supervisor.beat(lambda: dict(zip(CAMERA_NAMES, collection.n_frames, strict=False)))
    inbox.close()
    collection.recorder.close()
