"""The process that learns styles during a run, at low priority: it asks the reconstruction for a task whenever it is idle.

Nobody waits for it: a run whose learner dies keeps the style it has, or none.
"""

import logging
from dataclasses import dataclass
from pathlib import Path

import zmq

from capture.clock import now_ns
from capture.process.control import Order, ReportKind, StartOrder, StopOrder
from capture.process.link import SupervisorAddress, SupervisorLink, run_child
from capture.process.priority import NICE, lower_priority
from capture.sockets.wire import MalformedMessageError
from config.errors import DuocapError
from reconstruct.models.style.file import StyleOrigin, write_style
from reconstruct.models.style.learn.train import fit_style
from reconstruct.models.style.model import Style
from reconstruct.models.style.task import MAX_TASK_BYTES, LearnTask, decode_task, encode_learned, extract_learned_part
from reconstruct.process.learner_connection import GO_ON, REST, LearnerMessage

log = logging.getLogger(__name__)

IDLE_MS = 100


@dataclass(frozen=True, slots=True)
class LearnerPlan:
    """The learning process.

    Attributes:
        save: a file for the last style learned, or None.
        nice: amount by which its priority is lowered, or 0.
    """

    save: Path | None = None
    nice: int = NICE


class _StoppedError(Exception):
    """The run ends while a style is being learned."""


def learner_main(link: SupervisorAddress, plan: LearnerPlan) -> None:
    """Run the learning process; the target of its supervisor."""
    run_child(link, lambda supervisor: _serve_tasks(supervisor, link.session, plan))


def _serve_tasks(supervisor: SupervisorLink, session: str, plan: LearnerPlan) -> None:
    """Learn tasks until a stop order."""
    if plan.nice:
        lower_priority(idle=True, nice=plan.nice)
    supervisor.report(ReportKind.HELLO)
    learner = _Learner(supervisor, session, plan)
    supervisor.report(ReportKind.READY)
    try:
        while True:
            learner.step(IDLE_MS)
    except _StoppedError:
        learner.close()


class _Learner:
    """The learner's end of the connection; the address comes with start orders, a new one after a restart."""

    def __init__(self, supervisor: SupervisorLink, session: str, plan: LearnerPlan) -> None:
        self._supervisor, self._session, self._plan = supervisor, session.encode(), plan
        self._socket: zmq.Socket[bytes] | None = None
        self._address, self._resting = "", False
        self._last: Style | None = None
        self._n_learned = self._n_saved = self._n_malformed = 0

    def step(self, timeout_ms: int) -> None:
        """Follow orders, and learn a task if one has come. Raises _StoppedError."""
        self._obey(timeout_ms if self._socket is None else 0)
        self._beat()
        if self._socket is None or not self._socket.poll(timeout_ms):
            return
        try:
            payload = self._received(self._socket)
            if self._hears(payload):
                return
            task = decode_task(payload)
        except MalformedMessageError as error:
            self._n_malformed += 1
            self._send_failure(error)
        else:
            self._learn(task)
        self._send(LearnerMessage.READY)

    def _received(self, socket: "zmq.Socket[bytes]") -> bytes:
        """Return what the reconstruction has sent. Raises MalformedMessageError."""
        session, *payload = socket.recv_multipart(zmq.NOBLOCK)
        if session != self._session or len(payload) != 1:
            raise MalformedMessageError("no task of this session; it was dropped")
        return payload[0]

    def _hears(self, payload: bytes) -> bool:
        """Note an order to rest or to go on; return whether it was one."""
        if payload in (REST, GO_ON):
            self._resting = payload == REST
            return True
        return False

    def close(self) -> None:
        """Close the socket once the last message is sent."""
        if self._socket is not None:
            self._socket.close()

    def _learn(self, task: LearnTask) -> None:
        """Learn a task and send the result or the reason of a failure; write the style to the file of the plan."""
        begun_ns = now_ns()
        try:
            style = fit_style(task.poses, task.skeleton, task.name, task.options, self._progress, self._last)
            self._send(LearnerMessage.LEARNED, encode_learned(extract_learned_part(task, style, 1e-9 * (now_ns() - begun_ns))))
        except DuocapError as error:
            self._send_failure(error)
            return
        self._last, self._n_learned = style, self._n_learned + 1
        if self._plan.save is not None:
            try:
                write_style(self._plan.save, style, StyleOrigin(("a session",)))
                self._n_saved += 1
            except DuocapError as error:
                self._send_failure(error)

    def _progress(self, done: int, total: int, value: float) -> None:
        """Follow orders while learning, and rest while frames are late. Raises _StoppedError, which ends it."""
        self._follow(0)
        while self._resting:
            self._follow(IDLE_MS)

    def _follow(self, timeout_ms: int) -> None:
        """Follow orders of the supervisor and of the reconstruction while at work. Raises _StoppedError."""
        self._obey(0)
        self._beat()
        if self._socket is not None and self._socket.poll(timeout_ms):
            try:
                self._n_malformed += not self._hears(self._received(self._socket))
            except MalformedMessageError:
                self._n_malformed += 1

    def _beat(self) -> None:
        """Send a heartbeat."""
        self._supervisor.beat(lambda: {"learned": self._n_learned, "saved": self._n_saved, "malformed": self._n_malformed})

    def _obey(self, timeout_ms: int) -> None:
        """Follow the supervisor's orders. Raises _StoppedError."""
        for order in self._supervisor.orders(timeout_ms):
            if isinstance(order, StopOrder):
                raise _StoppedError
            self._connect(order)

    def _connect(self, order: Order) -> None:
        """Connect to the reconstruction that a start order names, and ask it for a task."""
        if not isinstance(order, StartOrder) or not order.address or order.address == self._address:
            return
        self.close()
        self._address, self._resting = order.address, False
        self._socket = zmq.Context.instance().socket(zmq.DEALER)
        self._socket.setsockopt(zmq.LINGER, 500)
        self._socket.setsockopt(zmq.MAXMSGSIZE, MAX_TASK_BYTES)
        self._socket.connect(order.address)
        self._send(LearnerMessage.READY)

    def _send_failure(self, error: DuocapError) -> None:
        """Send the reason of a failure, in one line."""
        self._send(LearnerMessage.FAILED, " ".join(str(error).split()).encode())

    def _send(self, kind: LearnerMessage, payload: bytes = b"") -> None:
        """Send a message to the reconstruction; never waits."""
        if self._socket is not None:
            try:
                self._socket.send_multipart([kind.value, self._session, payload], zmq.NOBLOCK)
            except zmq.Again:
                log.debug("the reconstruction does not listen; %s dropped", kind.name)
