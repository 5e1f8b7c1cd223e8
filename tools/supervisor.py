"""Start, watch and end the processes of a run: two cameras and the reconstruction.

A camera process that dies or hangs is started again a few times; any other fault ends the run with one line. Whatever
happens here, the children end too: they are told to, then made to, and they watch for this process to vanish.
"""

import contextlib
import logging
import multiprocessing
import os
import secrets
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.context import SpawnProcess
from types import FrameType, TracebackType
from typing import Any

import zmq

from capture.clock import now_ns
from capture.control import Order, Report, decode_report, encode_order
from capture.lifeline import Link
from capture.process import CameraPlan, camera_main
from capture.wire import MAX_MESSAGE_BYTES, MalformedMessageError
from config.errors import DuocapError
from config.logs import current_logs
from reconstruct.process import CAMERAS, ReconstructionPlan, reconstruction_main

log = logging.getLogger(__name__)

RECONSTRUCTION = "reconstruction"
MAX_RESTARTS = 3
READY_S = 120.0
HUNG_S = 5.0
STOP_S = 4.0
START_DELAY_NS = 300_000_000
# Two cores must do: a pool of threads in each process would only have them fight.
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)


class RunError(DuocapError):
    """A process of the run could not do its part; the message is that process's own line."""


class ProcessFaultError(Exception):
    """A process of the run failed in a way that is not the user's fault."""


@dataclass(slots=True)
class Child:
    """One process and what is known of it. greeted: it can hear orders; counts: its last figures."""

    name: str
    target: Callable[..., None]
    plan: Any
    process: SpawnProcess | None = None
    address: str = ""
    greeted: bool = False
    ready: bool = False
    ended: bool = False
    last_heard_ns: int = 0
    n_restarts: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    complaint: Report | None = None


def new_session() -> str:
    """Give a name for a run that no other run has."""
    return secrets.token_hex(4)


class Supervisor:
    """The processes of one run; use it as a context manager, so that they end with the block.

    cameras: left and right; tell: receives news in words. Raises RunError for what the user can mend (the child's own
    line), ProcessFaultError for what not.
    """

    def __init__(
        self,
        cameras: tuple[CameraPlan, CameraPlan],
        reconstruction: ReconstructionPlan,
        session: str,
        tell: Callable[[str], None] = log.info,
    ) -> None:
        self._session, self._tell = session, tell
        self._socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.ROUTER)
        self._socket.setsockopt(zmq.LINGER, 500)
        self._socket.setsockopt(zmq.MAXMSGSIZE, MAX_MESSAGE_BYTES)
        # A camera that is started again comes under the same name while its old connection may still linger.
        self._socket.setsockopt(zmq.ROUTER_HANDOVER, 1)
        self._address = f"tcp://127.0.0.1:{self._socket.bind_to_random_port('tcp://127.0.0.1')}"
        self.children = {RECONSTRUCTION: Child(RECONSTRUCTION, reconstruction_main, reconstruction)}
        for name, plan in zip(CAMERAS, cameras, strict=True):
            self.children[name] = Child(name, camera_main, plan)
        self._t_start_ns = 0
        self.n_malformed = 0

    def __enter__(self) -> "Supervisor":
        with one_thread():
            for child in self.children.values():
                self._spawn(child)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    @property
    def cameras(self) -> list[Child]:
        """The camera processes, left first."""
        return [self.children[name] for name in CAMERAS]

    def wait_ready(self, timeout_s: float = READY_S) -> None:
        """Return when every process is ready. Raises RunError, also when that takes longer than timeout_s."""
        deadline_ns = now_ns() + int(timeout_s * 1e9)
        while not all(child.ready for child in self.children.values()):
            self.turn(100)
            if now_ns() > deadline_ns:
                waiting = ", ".join(child.name for child in self.children.values() if not child.ready)
                raise RunError(f"not ready after {timeout_s:g} s: {waiting}; is the machine busy? see --verbose and try again")

    def start(self) -> int:
        """Tell the cameras to start a moment from now; give that time [ns], 0 of every paced source."""
        self._t_start_ns = now_ns() + START_DELAY_NS
        for child in self.cameras:
            self._order_start(child)
        return self._t_start_ns

    @property
    def ended(self) -> bool:
        """Whether both sources have come to their end."""
        return all(child.ended for child in self.cameras)

    def turn(self, timeout_ms: int) -> None:
        """Hear reports, waiting at most timeout_ms for the first, then look after every process; call it often."""
        if self._socket.poll(timeout_ms):
            while self._socket.poll(0):
                self._hear(self._socket.recv_multipart(zmq.NOBLOCK))
        for child in self.children.values():
            self._look_after(child)

    def stop(self) -> None:
        """End all processes: ask, wait, then terminate and at last kill."""
        for child in self.children.values():
            self._order(child, Order("stop"))
        deadline_ns = now_ns() + int(STOP_S * 1e9)
        for child in self.children.values():
            if child.process is not None:
                if child.greeted:  # else it is still being born and has not heard the order
                    child.process.join(max(0.0, (deadline_ns - now_ns()) / 1e9))
                _end(child)
        self._socket.close()

    def _spawn(self, child: Child) -> None:
        """Start a process."""
        link = Link(child.name, self._address, self._session, current_logs())
        child.greeted = child.ready = child.ended = False
        child.last_heard_ns, child.complaint = now_ns(), None
        child.process = multiprocessing.get_context("spawn").Process(
            target=child.target, args=(link, child.plan), name=f"duocap-{child.name}", daemon=True
        )
        child.process.start()

    def _order(self, child: Child, order: Order) -> None:
        """Send an order; one to a process that is not there is lost, as it should be."""
        self._socket.send_multipart([child.name.encode(), encode_order(order)], zmq.NOBLOCK)

    def _order_start(self, child: Child) -> None:
        """Tell a camera when to start and where to send."""
        self._order(child, Order("start", self._t_start_ns, self.children[RECONSTRUCTION].address))

    def _hear(self, parts: list[bytes]) -> None:
        """Take one report."""
        try:
            child = self.children[parts[0].decode("ascii", "replace")]
            report = decode_report(parts[-1], self._session)
        except (KeyError, MalformedMessageError) as error:
            self.n_malformed += 1
            log.debug("dropped a report: %s", error)
            return
        child.last_heard_ns, child.greeted = now_ns(), True
        child.counts.update(report.counts)
        if report.kind == "hello":
            child.address = report.text
        elif report.kind == "ready":
            child.ready = True
            if self._t_start_ns and child.name in CAMERAS:
                self._order_start(child)
        elif report.kind == "ended":
            child.ended = True
        elif report.kind in ("failed", "fault"):
            child.complaint = report

    def _look_after(self, child: Child) -> None:
        """Start a dead or hung camera again; raise for whatever cannot be mended so."""
        assert child.process is not None
        hung = now_ns() - child.last_heard_ns > (HUNG_S if child.ready else READY_S) * 1e9
        if child.process.is_alive() and not hung:
            return
        if hung:
            _end(child)
        while self._socket.poll(50):  # its last words may still be on the way
            self._hear(self._socket.recv_multipart(zmq.NOBLOCK))
        words = child.complaint.text if child.complaint else _fate(child, hung)
        if child.name in CAMERAS and self._t_start_ns and child.n_restarts < MAX_RESTARTS:
            self._restart(child, words)
        elif child.complaint is None or child.complaint.kind == "fault":
            raise ProcessFaultError(words)
        else:
            raise RunError(words)

    def _restart(self, child: Child, words: str) -> None:
        """Start a camera process again and say so to the user and on the stream."""
        child.n_restarts += 1
        text = f"{words}; starting it again ({child.n_restarts} of {MAX_RESTARTS})"
        self._tell(text)
        self._order(self.children[RECONSTRUCTION], Order("event", text=text))
        with one_thread():
            self._spawn(child)


def _fate(child: Child, hung: bool) -> str:
    """Say how a process ended that left no word."""
    if hung:
        return f"the {child.name} process has not answered for {HUNG_S if child.ready else READY_S:g} s"
    code = child.process.exitcode if child.process is not None else None
    how = f"was ended by signal {-code}" if code is not None and code < 0 else f"ended with status {code}"
    return f"the {child.name} process {how}"


def _end(child: Child) -> None:
    """Make a process end that does not end by itself."""
    assert child.process is not None
    for end in (child.process.terminate, child.process.kill):
        if child.process.is_alive():
            log.debug("ending %s by force", child.name)
            end()
            child.process.join(1.0)


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Limit the numerical libraries of the processes started within to one thread; they read it when imported."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextlib.contextmanager
def interrupt_on_sigterm() -> Iterator[None]:
    """Let SIGTERM end the block like Ctrl-C does, so that the processes started within are ended in order."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
