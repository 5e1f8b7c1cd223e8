"""The server that camera nodes connect to: a thread of the supervisor's process that admits them and answers their clocks.

What waits between a question for the time and its answer would count as the network's delay, so the supervisor, which reads its
messages now and then, does not answer itself. Everything else is passed on to it over an inproc socket, [name, message] as from
its own children.
"""

import logging
import threading
from dataclasses import dataclass

import zmq

from capture.clock import now_ns
from capture.process.control import (
    ClockOrder,
    Order,
    Report,
    ReportKind,
    RoomSettings,
    WaitOrder,
    WelcomeOrder,
    decode_report,
    encode_order,
    encode_report,
)
from capture.sockets.endpoints import KeySettings, bind_socket
from capture.sockets.wire import MAX_MESSAGE_BYTES, MalformedMessageError
from config.settings import DetectorSettings

log = logging.getLogger(__name__)

HOLD_NS = 3_000_000_000  # a node that is silent for longer may be replaced by another
JOIN_S = 2.0
END = b"end"
NodeSettings = tuple[DetectorSettings, RoomSettings]


@dataclass(slots=True)
class NodeSlot:
    """One camera of the run. settings: of its node; holder: the node that serves it, or empty; t_heard_ns: last time."""

    settings: NodeSettings
    holder: bytes = b""
    t_heard_ns: int = 0


class NodeAdmission:
    """Assigns nodes to cameras; pure, time is passed in."""

    def __init__(self, session: str, settings: dict[str, NodeSettings]) -> None:
        """Expect nodes for cameras. settings: for the node of each, by name."""
        self._session = session
        self._slots = {name: NodeSlot(own) for name, own in settings.items()}

    def holder(self, name: str) -> bytes:
        """Return the node that serves a camera, empty for none."""
        return self._slots[name].holder if name in self._slots else b""

    def take(self, node: bytes, report: Report, t_ns: int) -> tuple[Order | None, tuple[str, Report] | None]:
        """Take a report of a node; return the answer, and (camera, report) to pass on.

        Args:
            node: identity of its connection.
            report: of the node.
        """
        if report.kind is ReportKind.CLOCK:
            return ClockOrder(report.counts.get("t0_ns", 0), t_ns, now_ns()), None
        if report.kind is ReportKind.HELLO:
            return self._greet(node, report, t_ns)
        name = next((name for name, slot in self._slots.items() if slot.holder == node), None)
        if name is None or report.session != self._session:
            return WaitOrder("this run does not know this node yet"), None
        self._slots[name].t_heard_ns = t_ns
        if report.kind in (ReportKind.FAILED, ReportKind.FAULT):
            self._slots[name].holder = b""
        return None, (name, report)

    def _greet(self, node: bytes, report: Report, t_ns: int) -> tuple[Order, tuple[str, Report] | None]:
        """Admit a node to the camera it asks for, or tell it to wait."""
        slot = self._slots.get(report.text)
        if slot is None:
            expected = " and ".join(self._slots)
            return WaitOrder(f"this run expects a node for: {expected}; not for: {report.text[:40]}"), None
        if slot.holder not in (b"", node) and t_ns - slot.t_heard_ns < HOLD_NS:
            return WaitOrder(f"another node is the {report.text} camera of this run"), None
        slot.holder, slot.t_heard_ns = node, t_ns
        hello = Report(ReportKind.HELLO, self._session, "", report.counts, report.details)
        detector, room = slot.settings
        return WelcomeOrder(self._session, detector, room), (report.text, hello)


class NodeServer:
    """The thread and its sockets. mail: the supervisor's end, receives [name, report] and sends [name, order].

    Raises EndpointError, KeyFileError: the address cannot be bound, or not without keys.
    """

    def __init__(self, address: str, keys: KeySettings | None, session: str, settings: dict[str, NodeSettings]) -> None:
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context.instance()
        self._socket: zmq.Socket[bytes] = context.socket(zmq.ROUTER)
        self._socket.setsockopt(zmq.LINGER, 500)
        self._socket.setsockopt(zmq.MAXMSGSIZE, MAX_MESSAGE_BYTES)
        try:
            self.address = bind_socket(self._socket, address, keys, "capture.control")
        except Exception:
            self._socket.close(0)
            raise
        self._admission = NodeAdmission(session, settings)
        self.mail: zmq.Socket[bytes] = context.socket(zmq.PAIR)
        self._inner: zmq.Socket[bytes] = context.socket(zmq.PAIR)
        for socket in (self.mail, self._inner):
            socket.setsockopt(zmq.LINGER, 0)
        self.mail.bind(f"inproc://node-server-{session}")
        self._inner.connect(f"inproc://node-server-{session}")
        self.n_malformed = 0
        self._thread = threading.Thread(target=self._run, name="node-server", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Let the last orders leave, and end."""
        self.mail.send_multipart([END, b""])
        self._thread.join(JOIN_S)
        self.mail.close(0)

    def _run(self) -> None:
        """Serve nodes and supervisor until told to end."""
        poller = zmq.Poller()
        poller.register(self._socket, zmq.POLLIN)
        poller.register(self._inner, zmq.POLLIN)
        while True:
            ready = dict(poller.poll())
            if self._socket in ready:
                self._receive()
            if self._inner in ready:
                name, order = self._inner.recv_multipart()
                if name == END:
                    break
                self._send(self._admission.holder(name.decode()), order)
        self._socket.close()
        self._inner.close()

    def _receive(self) -> None:
        """Receive one message of a node; drop and count a malformed one."""
        parts = self._socket.recv_multipart(zmq.NOBLOCK)
        t_ns = now_ns()
        try:
            report = decode_report(parts[-1], None)
        except MalformedMessageError as error:
            self.n_malformed += 1
            log.debug("dropped a node's report: %s", error)
            return
        answer, passed_on = self._admission.take(parts[0], report, t_ns)
        if answer is not None:
            self._send(parts[0], encode_order(answer))
        if passed_on is not None:
            try:
                self._inner.send_multipart([passed_on[0].encode(), encode_report(passed_on[1])], zmq.NOBLOCK)
            except zmq.Again:
                log.debug("the supervisor does not read; a node's report was dropped")

    def _send(self, node: bytes, order: bytes) -> None:
        """Send an order to a node; it is lost if the node is absent or does not read."""
        if node:
            try:
                self._socket.send_multipart([node, order], zmq.NOBLOCK)
            except zmq.ZMQError as error:
                log.debug("an order to a node was dropped: %s", error)
