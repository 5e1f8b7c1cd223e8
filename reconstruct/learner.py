"""The process that learns styles of a run beside it, at low priority: it asks the reconstruction for work whenever it is idle.

What it lacks nobody waits for: a run without it, or whose learner dies, only has no style, or keeps the one it has.
"""

import logging
from dataclasses import dataclass
from pathlib import Path

import psutil
import zmq

from capture.clock import now_ns
from capture.control import Order
from capture.lifeline import Lifeline, Link, live
from capture.wire import MalformedMessageError
from config.errors import DuocapError
from reconstruct.learner_line import FAILED, LEARNED, READY
from reconstruct.style.learn import learn
from reconstruct.style.model import Style
from reconstruct.style.style_file import Origin, write_style
from reconstruct.style.task import MAX_TASK_BYTES, LearnTask, decode_task, encode_learned, learned_part

log = logging.getLogger(__name__)

IDLE_MS = 100
NICE = 15  # behind everything that has to be done now


@dataclass(frozen=True, slots=True)
class LearnerPlan:
    """The learning process. save: a file for the last style learned, None: none is kept; nice: how far behind others it goes."""

    save: Path | None = None
    nice: int = NICE


class _StoppedError(Exception):
    """The run ends while a style is being learned."""


def learner_main(link: Link, plan: LearnerPlan) -> None:
    """Run the learning process; the target of its supervisor."""
    live(link, lambda lifeline: _serve(lifeline, link.session, plan))


def _serve(lifeline: Lifeline, session: str, plan: LearnerPlan) -> None:
    """Learn whatever is asked for until told to stop."""
    step_back(plan.nice)
    lifeline.report("hello")
    learner = _Learner(lifeline, session, plan)
    lifeline.report("ready")
    try:
        while True:
            learner.attend(IDLE_MS)
    except _StoppedError:
        learner.close()


def step_back(by: int = NICE) -> None:
    """Let every other process go first."""
    process = psutil.Process()
    try:
        windows = getattr(psutil, "BELOW_NORMAL_PRIORITY_CLASS", None)
        process.nice(min(process.nice() + by, 19) if windows is None else windows)
    except (psutil.Error, OSError) as error:
        log.debug("the priority stays as it is: %s", error)


class _Learner:
    """The learner's end of the line to the reconstruction; the address comes with the order `start`, also a new one."""

    def __init__(self, lifeline: Lifeline, session: str, plan: LearnerPlan) -> None:
        self._lifeline, self._session, self._plan = lifeline, session.encode(), plan
        self._socket: zmq.Socket[bytes] | None = None
        self._address = ""
        self._last: Style | None = None
        self._n_learned = self._n_saved = self._n_malformed = 0

    def attend(self, timeout_ms: int) -> None:
        """Follow orders and learn a task if one has come. Raises _StoppedError."""
        self._obey(timeout_ms if self._socket is None else 0)
        self._beat()
        if self._socket is None or not self._socket.poll(timeout_ms):
            return
        session, *payload = self._socket.recv_multipart(zmq.NOBLOCK)
        try:
            if session != self._session or len(payload) != 1:
                raise MalformedMessageError("no task of this session; it was dropped")
            task = decode_task(payload[0])
        except MalformedMessageError as error:
            self._n_malformed += 1
            self._send(FAILED, str(error).encode())
        else:
            self._learn(task)
        self._send(READY)

    def close(self) -> None:
        """Let the last word leave."""
        if self._socket is not None:
            self._socket.close()

    def _learn(self, task: LearnTask) -> None:
        """Learn a task and send back what was learned, or why not; keep it in the file, if one is wanted."""
        begun_ns = now_ns()
        try:
            style = learn(task.poses, task.skeleton, task.name, task.options, self._progress, self._last)
            self._send(LEARNED, encode_learned(learned_part(task, style, 1e-9 * (now_ns() - begun_ns))))
        except DuocapError as error:
            self._send(FAILED, " ".join(str(error).split()).encode())
            return
        self._last, self._n_learned = style, self._n_learned + 1
        if self._plan.save is not None:
            try:
                write_style(self._plan.save, style, Origin(("a session",)))
                self._n_saved += 1
            except DuocapError as error:
                self._send(FAILED, " ".join(str(error).split()).encode())

    def _progress(self, done: int, total: int, value: float) -> None:
        """Stay in touch with the supervisor while learning. Raises _StoppedError, which ends it."""
        self._obey(0)
        self._beat()

    def _beat(self) -> None:
        """Tell that this process lives."""
        self._lifeline.beat(lambda: {"learned": self._n_learned, "saved": self._n_saved, "malformed": self._n_malformed})

    def _obey(self, timeout_ms: int) -> None:
        """Follow the supervisor's orders. Raises _StoppedError."""
        for order in self._lifeline.orders(timeout_ms):
            if order.kind == "stop":
                raise _StoppedError
            self._connect(order)

    def _connect(self, order: Order) -> None:
        """Turn to the reconstruction the order names, and ask it for work."""
        if order.kind != "start" or not order.address or order.address == self._address:
            return
        self.close()
        self._address = order.address
        self._socket = zmq.Context.instance().socket(zmq.DEALER)
        self._socket.setsockopt(zmq.LINGER, 500)
        self._socket.setsockopt(zmq.MAXMSGSIZE, MAX_TASK_BYTES)
        self._socket.connect(order.address)
        self._send(READY)

    def _send(self, kind: bytes, payload: bytes = b"") -> None:
        """Tell the reconstruction something; never waits."""
        if self._socket is not None:
            try:
                self._socket.send_multipart([kind, self._session, payload], zmq.NOBLOCK)
            except zmq.Again:
                log.debug("the reconstruction does not listen; %s dropped", kind)
