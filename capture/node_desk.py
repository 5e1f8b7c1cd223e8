"""Where camera nodes report: a thread of the supervisor's process that admits them and answers their clocks at once.

A node asks for the time by round trips; what waits between receipt and answer would be taken for the network's delay, so the
supervisor, who looks at his mail now and then, does not answer himself. Everything else goes on to him over an inproc socket,
[name, message] as from his own children.
"""

import logging
import threading
from dataclasses import dataclass

import zmq

from capture.binding import bound
from capture.clock import now_ns
from capture.control import Details, Order, Report, decode_report, encode_order, encode_report
from capture.endpoints import KeySettings
from capture.wire import MAX_MESSAGE_BYTES, MalformedMessageError

log = logging.getLogger(__name__)

HOLD_NS = 3_000_000_000  # a node that is silent for longer loses its place to another one
JOIN_S = 2.0
END = b"end"


@dataclass(slots=True)
class Place:
    """One camera's place in the run: what its node is told, which node has it (empty: none), when that was last heard."""

    welcome: Details
    holder: bytes = b""
    t_heard_ns: int = 0


class Admission:
    """Which node is which camera; pure, time is passed in. Gives answers to nodes, and reports to pass on."""

    def __init__(self, session: str, welcomes: dict[str, Details]) -> None:
        """Expect the cameras of `welcomes`: name -> the detector's settings for it."""
        self._session = session
        self._places = {name: Place(welcome) for name, welcome in welcomes.items()}

    def holder(self, name: str) -> bytes:
        """Give which node has the place of a camera, empty for none."""
        return self._places[name].holder if name in self._places else b""

    def take(self, node: bytes, report: Report, t_ns: int) -> tuple[Order | None, tuple[str, Report] | None]:
        """Take a report of a node: give the answer to it, and what to pass on under which name."""
        if report.kind == "clock":
            return _told_time(report, t_ns), None
        if report.kind == "hello":
            return self._greet(node, report, t_ns)
        name = next((name for name, place in self._places.items() if place.holder == node), None)
        if name is None or report.session != self._session:
            return Order("wait", text="this run does not know this node yet"), None
        self._places[name].t_heard_ns = t_ns
        if report.kind in ("failed", "fault"):
            self._places[name].holder = b""
        return None, (name, report)

    def _greet(self, node: bytes, report: Report, t_ns: int) -> tuple[Order, tuple[str, Report] | None]:
        """Welcome a node to the place it asks for, or say why not."""
        place = self._places.get(report.text)
        if place is None:
            expected = " and ".join(self._places)
            return Order("wait", text=f"this run expects a node for: {expected}; not for: {report.text[:40]}"), None
        if place.holder not in (b"", node) and t_ns - place.t_heard_ns < HOLD_NS:
            return Order("wait", text=f"another node is the {report.text} camera of this run"), None
        place.holder, place.t_heard_ns = node, t_ns
        hello = Report("hello", self._session, "", report.counts, report.details)
        return Order("welcome", text=self._session, details=place.welcome), (report.text, hello)


def _told_time(report: Report, t_received_ns: int) -> Order:
    """Answer a question for the time; when it is sent is filled in last."""
    return Order("clock", details={"t0_ns": report.counts.get("t0_ns", 0), "t1_ns": t_received_ns, "t2_ns": now_ns()})


class NodeDesk:
    """The thread and its sockets. mail: the supervisor's end, hears [name, report] and takes [name, order].

    Raises EndpointError, KeyFileError: the address cannot be bound, or not without keys.
    """

    def __init__(self, address: str, keys: KeySettings | None, session: str, welcomes: dict[str, Details]) -> None:
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context.instance()
        self._socket: zmq.Socket[bytes] = context.socket(zmq.ROUTER)
        self._socket.setsockopt(zmq.LINGER, 500)
        self._socket.setsockopt(zmq.MAXMSGSIZE, MAX_MESSAGE_BYTES)
        try:
            self.address = bound(self._socket, address, keys, "capture.control")
        except Exception:
            self._socket.close(0)
            raise
        self._admission = Admission(session, welcomes)
        self.mail: zmq.Socket[bytes] = context.socket(zmq.PAIR)
        self._inner: zmq.Socket[bytes] = context.socket(zmq.PAIR)
        for socket in (self.mail, self._inner):
            socket.setsockopt(zmq.LINGER, 0)
        self.mail.bind(f"inproc://node-desk-{session}")
        self._inner.connect(f"inproc://node-desk-{session}")
        self.n_malformed = 0
        self._thread = threading.Thread(target=self._run, name="node-desk", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Let the last orders leave, and end."""
        self.mail.send_multipart([END, b""])
        self._thread.join(JOIN_S)
        self.mail.close(0)

    def _run(self) -> None:
        """Attend to nodes and supervisor until told to end."""
        poller = zmq.Poller()
        poller.register(self._socket, zmq.POLLIN)
        poller.register(self._inner, zmq.POLLIN)
        while True:
            ready = dict(poller.poll())
            if self._socket in ready:
                self._hear()
            if self._inner in ready:
                name, order = self._inner.recv_multipart()
                if name == END:
                    break
                self._send(self._admission.holder(name.decode()), order)
        self._socket.close()
        self._inner.close()

    def _hear(self) -> None:
        """Take one message of a node; whatever is not a report of ours is dropped and counted."""
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
        """Send an order to a node; one to a node that is not there, or does not read, is lost, as it should be."""
        if node:
            try:
                self._socket.send_multipart([node, order], zmq.NOBLOCK)
            except zmq.ZMQError as error:
                log.debug("an order to a node was dropped: %s", error)
