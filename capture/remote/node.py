"""A camera node: a camera's process on another machine than the reconstruction, started by nobody there.

It says hello until a run admits it, opens its camera with the settings of the run, sends blobs timestamped by the run's clock,
and waits for the next run when that one ends. It captures on while the network fails for a while.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from capture.clock import now_ns
from capture.process.control import Order, ReportKind, StartOrder, StopOrder, TuneOrder, WaitOrder, WelcomeOrder
from capture.process.plan import CameraPlan, FrameDetector
from capture.process.reader import CameraOpening, CameraReader
from capture.remote.connection import NodeConnection
from capture.sockets.endpoints import KeySettings
from capture.sources.source import Source
from config.errors import DuocapError, SourceError
from config.settings import CAMERA_NAMES

log = logging.getLogger(__name__)

TURN_MS = 50
HELLO_PERIOD_NS = 500_000_000
READY_PERIOD_NS = 1_000_000_000
PATIENCE_NS = 5_000_000_000  # without an answer before the user is told
GIVE_UP_NS = 60_000_000_000  # out of reach for so long: the camera is closed
PAUSE_NS = 2_000_000_000  # after a failure or the end of a run


@dataclass(frozen=True, slots=True)
class NodePlan:
    """One node.

    camera: its number; address: of the run's control socket; detector: called with settings, source and room;
    others as in CameraPlan.
    """

    camera: int
    address: str
    source: Callable[[], Source]
    detector: Callable[..., FrameDetector]
    paced: bool
    keys: KeySettings | None = None

    @property
    def name(self) -> str:
        """Return the name of the camera."""
        return CAMERA_NAMES[self.camera]


class CameraNode:
    """One node; call turn() often, from one thread, and close() at the end. notify: receives notices for the user.

    Raises EndpointError, KeyFileError: an invalid address, or the key of its machine is unknown.
    """

    def __init__(self, plan: NodePlan, notify: Callable[[str], None] = log.info) -> None:
        self._plan, self._notify = plan, notify
        self.connection = NodeConnection(plan.address, plan.keys)
        self._opening: CameraOpening | None = None
        self.reader: CameraReader | None = None
        self._hello_due_ns = self._ready_due_ns = 0
        self._started = self._end_reported = False
        self._t_begin_ns = now_ns()
        self._unreached = False
        self._said = ""
        self._say(f"looking for the run at {plan.address}")

    def turn(self, timeout_ms: int = TURN_MS) -> None:
        """Do what is due, waiting at most timeout_ms for orders. Raises bugs; a failure of the camera is reported."""
        for order in self.connection.orders(timeout_ms):
            self._obey(order)
        self._watch_connection()
        if not self.connection.session:
            self._greet()
            return
        try:
            self._work()
        except DuocapError as error:
            self._fail(ReportKind.FAILED, " ".join(str(error).split()))
        except Exception as error:
            self._fail(ReportKind.FAULT, f"{type(error).__name__}: {error}")
            raise

    def close(self) -> None:
        """Report the end to the run, and end."""
        if self.connection.session:
            self.connection.report(ReportKind.FAILED, f"the {self._plan.name} camera's node was ended there")
        self._release()
        self.connection.close()

    def _greet(self) -> None:
        """Say hello when due."""
        now = now_ns()
        if now >= self._hello_due_ns:
            self._hello_due_ns = now + HELLO_PERIOD_NS
            self.connection.report(ReportKind.HELLO, self._plan.name)

    def _obey(self, order: Order) -> None:
        """Follow one order."""
        match order:
            case WelcomeOrder() if not self.connection.session:
                self._join(order)
            case WaitOrder():
                self._say(order.reason)
                self._leave()
            case StopOrder() if self.connection.session:
                self._say("the run has ended; waiting for the next")
                self._leave()
                self._hello_due_ns = now_ns() + PAUSE_NS
            case StartOrder() if self.reader is not None:
                self._started = True
                self.reader.start(find_blobs_address(order.address, self._plan.address), order.t_start_ns)
                self._say("capturing")
            case TuneOrder() if self.reader is not None:
                self.reader.tune(order.settings)

    def _join(self, order: WelcomeOrder) -> None:
        """Join a run: begin to open the camera with its settings."""
        self.connection.session = order.session
        plan = CameraPlan(
            self._plan.camera,
            self._plan.source,
            lambda source: self._plan.detector(order.detector, source, order.room),
            self._plan.paced,
            clock=self.connection.run_time_ns,
            keys=self._plan.keys,
        )
        self._opening = CameraOpening(plan)
        self._say(f"found the run {order.session}; opening the camera")

    def _leave(self) -> None:
        """Leave the run."""
        self._release()
        self.connection.session = ""

    def _work(self) -> None:
        """Open the camera, then report on it."""
        assert self._opening is not None
        for text in self._opening.handle.notices.fetch():
            self._notify(text)
            self.connection.report(ReportKind.EVENT, text)
        if self._opening.watch_driver():
            raise SourceError("the camera's driver does not answer any more; end this node and start it again")
        if self.reader is None:
            self.reader = self._opening.result()
            if self.reader is None:
                self.connection.beat(dict)
                return
        if self.reader.error is not None:
            raise self.reader.error
        self.connection.beat(self.reader.counts, self.reader.details)
        now = now_ns()
        # Repeated until the start comes: either of the two may be lost.
        if not self._started and self.connection.clock_known and now >= self._ready_due_ns:
            self._ready_due_ns = now + READY_PERIOD_NS
            self.connection.report(ReportKind.READY, counts={**self.reader.announcement(), **self.connection.clock_counts()})
        if self.reader.ended.is_set() and not self._end_reported:
            self._end_reported = True
            self.connection.report(ReportKind.ENDED, counts=self.reader.counts())

    def _watch_connection(self) -> None:
        """Notify when the run is out of reach and when it is back; leave it if it stays away."""
        if self.connection.is_answering:
            if self._unreached:
                self._unreached = False
                self._say(f"{self._plan.address} answers again")
            return
        silence_ns = now_ns() - max(self.connection.t_heard_ns, self._t_begin_ns)
        if silence_ns > PATIENCE_NS and not self._unreached:
            self._unreached = True
            self._say(
                f"{self._plan.address} does not answer: is `duocap run --{self._plan.name} node` running there, does a firewall "
                "close the port, are the keys known on both sides? waiting"
            )
        if silence_ns > GIVE_UP_NS and self.connection.session:
            self._leave()

    def _fail(self, kind: ReportKind, words: str) -> None:
        """Report a failure here and to the run, and try again in a while."""
        self._say(words)
        self.connection.report(kind, f"{self._plan.name} camera's node: {words}")
        self._leave()
        self._hello_due_ns = now_ns() + PAUSE_NS

    def _release(self) -> None:
        """Close the camera."""
        if self._opening is not None:
            self._opening.abandon()
        if self.reader is not None:
            self.reader.stop()
            self.reader.source.close()
        self.reader = self._opening = None
        self._started = self._end_reported = False
        self._ready_due_ns = 0

    def _say(self, words: str) -> None:
        """Notify unless that was the last notice."""
        if words != self._said:
            self._said = words
            self._notify(words)


def find_blobs_address(advertised: str, control: str) -> str:
    """Return where to send blobs: the port of the run's own address, at the host of its control address.

    The name by which a machine knows itself may lead nowhere.
    """
    return f"{control.rpartition(':')[0]}:{advertised.rpartition(':')[2]}"
