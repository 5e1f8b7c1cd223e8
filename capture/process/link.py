"""A child process's connection to its supervisor: orders in, reports and heartbeats out. The process ends with its supervisor."""

import gc
import logging
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path

import cv2
import zmq

from capture.clock import now_ns
from capture.process.control import Details, Order, Report, ReportKind, StopOrder, decode_order, encode_report
from capture.sockets.wire import MAX_MESSAGE_BYTES, MalformedMessageError, has_message
from config.errors import DuocapError
from config.logs import LogSettings, start_logs

log = logging.getLogger(__name__)

BEAT_PERIOD_NS = 250_000_000
PROCESSOR_MS = "processor_ms"  # of a report's counts
GRACE_S = 2.0
EXIT_FAILED, EXIT_FAULT = 1, 3


@dataclass(frozen=True, slots=True)
class SupervisorAddress:
    """How a child process reaches its supervisor. name: of the child; session: of the run."""

    name: str
    address: str
    session: str
    logs: LogSettings


class ReportSender:
    """A process's end of the control connection to its run; for one thread."""

    def __init__(self, identity: str, session: str, linger_ms: int) -> None:
        """Make a socket, not connected yet."""
        self.session = session
        self._socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.DEALER)
        self._socket.setsockopt(zmq.IDENTITY, identity.encode())
        self._socket.setsockopt(zmq.LINGER, linger_ms)
        self._socket.setsockopt(zmq.MAXMSGSIZE, MAX_MESSAGE_BYTES)
        self._beat_due_ns = 0

    def report(
        self, kind: ReportKind, text: str = "", counts: dict[str, int] | None = None, details: Details | None = None
    ) -> None:
        """Send a report, with this process's time of the processor; never waits, and is lost if nobody takes it.

        Args:
            kind: what it says.
            text: in words.
            counts: figures by name.
            details: facts.
        """
        told = {**(counts or {}), PROCESSOR_MS: round(1e3 * time.process_time())}
        try:
            self._socket.send(encode_report(Report(kind, self.session, text, told, details or {})), zmq.NOBLOCK)
        except zmq.Again:
            log.debug("nobody listens; report %s dropped", kind)

    def beat(self, counts: Callable[[], dict[str, int]], details: Callable[[], Details] = dict) -> None:
        """Report that this process lives, and its state, every BEAT_PERIOD_NS."""
        now = now_ns()
        if now >= self._beat_due_ns:
            self._beat_due_ns = now + BEAT_PERIOD_NS
            self.report(ReportKind.BEAT, counts=counts(), details=details())

    def _receive_orders(self) -> Iterator[tuple[Order, int]]:
        """Yield the orders that are there and when each was taken [ns]; what is none is skipped."""
        while has_message(self._socket):
            payload, t_ns = self._socket.recv(zmq.NOBLOCK), now_ns()
            try:
                yield decode_order(payload), t_ns
            except MalformedMessageError as error:
                log.debug("%s", error)

    def close(self) -> None:
        """Let the last report leave, then close."""
        self._socket.close()


class SupervisorLink(ReportSender):
    """The child's end of the control connection; for one thread. orphaned: set when the supervisor has vanished."""

    def __init__(self, address: SupervisorAddress, orphaned: threading.Event) -> None:
        super().__init__(address.name, address.session, 500)
        self._socket.connect(address.address)
        self._orphaned = orphaned

    def orders(self, timeout_ms: int) -> list[Order]:
        """Return the orders that came, waiting at most timeout_ms for the first; a vanished supervisor counts as stop."""
        if timeout_ms:
            self._socket.poll(timeout_ms)
        orders = [order for order, _ in self._receive_orders()]
        if self._orphaned.is_set():
            log.info("the supervisor has vanished; ending")
            orders.append(StopOrder())
        return orders


def run_child(address: SupervisorAddress, work: Callable[[SupervisorLink], None]) -> None:
    """Run the work of a child process; a failure becomes one report and an exit status.

    Ctrl-C reaches the whole group of processes; a child ignores it, since the supervisor ends everything in order.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    cv2.setNumThreads(1)
    start_logs(address.logs, address.name)
    name_process(address.name)
    supervisor, status = SupervisorLink(address, _end_with_parent()), 0
    try:
        work(supervisor)
    except DuocapError as error:
        supervisor.report(ReportKind.FAILED, " ".join(str(error).split()))
        status = EXIT_FAILED
    except Exception as error:  # the outermost frame: the supervisor must hear of anything
        log.debug("internal fault", exc_info=True)
        words = " ".join(str(error).split()) or "no message"
        supervisor.report(ReportKind.FAULT, f"{address.name}: {type(error).__name__}: {words}")
        status = EXIT_FAULT
    supervisor.close()
    if status:
        # A source that hangs inside a driver would keep a normal exit waiting for its thread.
        zmq.Context.instance().term()
        os._exit(status)


def name_process(name: str) -> None:
    """Let `top` and `ps -e` on Linux show this process as `duocap-NAME`, of which they show 15 characters."""
    if sys.platform == "linux":
        with suppress(OSError):  # no /proc
            Path("/proc/self/comm").write_text(f"duocap-{name}", "ascii")


def _end_with_parent() -> threading.Event:
    """End this process soon after its parent, even while its main thread is stuck; return what is set when the parent ends."""
    parent, orphaned = multiprocessing.parent_process(), threading.Event()

    def wait(parent: BaseProcess) -> None:
        parent.join()
        orphaned.set()
        threading.Event().wait(GRACE_S)
        os._exit(EXIT_FAULT)

    if parent is not None:
        threading.Thread(target=wait, args=(parent,), name="parent-watch", daemon=True).start()
    return orphaned


def freeze_objects() -> None:
    """Exclude all present objects from later collections of cycles; call it when everything is set up.

    The loaded libraries hold half a million objects that stay to the end. Looking through them takes 0.1 to 0.2 s, in which no
    frame is handled.
    """
    gc.collect()
    gc.freeze()
