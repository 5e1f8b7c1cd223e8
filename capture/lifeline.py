"""A child process's line to its supervisor: orders in, reports and heartbeats out, and the end if the supervisor vanishes."""

import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass

import cv2
import zmq

from capture.clock import now_ns
from capture.control import Details, Order, Report, decode_order, encode_report
from capture.wire import MAX_MESSAGE_BYTES, MalformedMessageError
from config.errors import DuocapError
from config.logs import LogSettings, start_logs

log = logging.getLogger(__name__)

BEAT_PERIOD_NS = 250_000_000
GRACE_S = 2.0
EXIT_FAILED, EXIT_FAULT = 1, 3


@dataclass(frozen=True, slots=True)
class Link:
    """What a child needs to know of its supervisor. name: of the child; session: of the run."""

    name: str
    address: str
    session: str
    logs: LogSettings


class Lifeline:
    """The child's end of the control connection; use it from one thread."""

    def __init__(self, link: Link) -> None:
        self._session = link.session
        self._socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.DEALER)
        self._socket.setsockopt(zmq.IDENTITY, link.name.encode())
        self._socket.setsockopt(zmq.LINGER, 500)
        self._socket.setsockopt(zmq.MAXMSGSIZE, MAX_MESSAGE_BYTES)
        self._socket.connect(link.address)
        self._beat_due_ns = 0
        self._parent = multiprocessing.parent_process()
        self.n_malformed = 0

    def report(self, kind: str, text: str = "", counts: dict[str, int] | None = None, details: Details | None = None) -> None:
        """Tell the supervisor something; never waits. details: such as the address of a camera's `preview`."""
        try:
            self._socket.send(encode_report(Report(kind, self._session, text, counts or {}, details or {})), zmq.NOBLOCK)
        except zmq.Again:
            log.debug("the supervisor does not listen; report %s dropped", kind)

    def beat(self, counts: Callable[[], dict[str, int]], details: Callable[[], Details] = dict) -> None:
        """Tell that this process lives, and how it is, a few times a second."""
        now = now_ns()
        if now >= self._beat_due_ns:
            self._beat_due_ns = now + BEAT_PERIOD_NS
            self.report("beat", counts=counts(), details=details())

    def orders(self, timeout_ms: int) -> list[Order]:
        """Give the orders that came, waiting at most timeout_ms for the first; a vanished supervisor counts as stop."""
        orders = []
        if self._socket.poll(timeout_ms):
            while self._socket.poll(0):
                try:
                    orders.append(decode_order(self._socket.recv(zmq.NOBLOCK)))
                except MalformedMessageError as error:
                    self.n_malformed += 1
                    log.debug("%s", error)
        if self._parent is not None and not self._parent.is_alive():
            log.info("the supervisor has vanished; ending")
            orders.append(Order("stop"))
        return orders

    def close(self) -> None:
        """Let the last report leave, then close."""
        self._socket.close()


def live(link: Link, work: Callable[[Lifeline], None]) -> None:
    """Run a child process's work; its failure becomes one line to the supervisor and an exit status.

    Ctrl-C reaches the whole group of processes; a child leaves it to the supervisor, who ends everything in order.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    cv2.setNumThreads(1)
    start_logs(link.logs, link.name)
    _end_with_parent()
    lifeline, status = Lifeline(link), 0
    try:
        work(lifeline)
    except DuocapError as error:
        lifeline.report("failed", " ".join(str(error).split()))
        status = EXIT_FAILED
    except Exception as error:  # the outermost frame: the supervisor must hear of anything
        log.debug("internal fault", exc_info=True)
        lifeline.report("fault", f"{link.name}: {type(error).__name__}: {' '.join(str(error).split()) or 'no message'}")
        status = EXIT_FAULT
    lifeline.close()
    if status:
        # A source that hangs inside a driver would keep a normal exit waiting for its thread.
        zmq.Context.instance().term()
        os._exit(status)


def _end_with_parent() -> None:
    """End this process soon after its parent, even while its main thread is stuck."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def wait() -> None:
        parent.join()
        threading.Event().wait(GRACE_S)
        os._exit(EXIT_FAULT)

    threading.Thread(target=wait, name="parent-watch", daemon=True).start()
