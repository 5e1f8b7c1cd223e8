"""The reconstruction's end of the line to whoever learns styles: tasks out, what was learned in, nothing ever waited for."""

import contextlib
import logging

import zmq

from capture.wire import MAX_MESSAGE_BYTES, MalformedMessageError
from reconstruct.style.task import Learned, LearnTask, decode_learned, encode_task

log = logging.getLogger(__name__)

READY, LEARNED, FAILED = b"ready", b"learned", b"failed"
MAX_A_TURN = 8
MAX_GIVEN = 2  # times that one task is given to a learner: two may have died of it
MAX_WORDS = 400


class LearnerLine:
    """A socket on the loopback interface at which the learner asks for work. session: the run, which it must know.

    A task is given to whoever is idle, once; to a learner that was started again meanwhile it is given once more. failure: the
    learner's own words on the last thing it could not do.
    """

    def __init__(self, session: str) -> None:
        self._session = session.encode()
        self._socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.ROUTER)
        self._socket.setsockopt(zmq.MAXMSGSIZE, MAX_MESSAGE_BYTES)
        self._socket.setsockopt(zmq.LINGER, 0)
        self.address = f"tcp://127.0.0.1:{self._socket.bind_to_random_port('tcp://127.0.0.1')}"
        self._idle: bytes | None = None
        self._task: bytes | None = None
        self._n_given = 0
        self.n_malformed = 0
        self.failure = ""

    def offer(self, task: LearnTask) -> None:
        """Have a task learned; an older one is forgotten."""
        self._task, self._n_given = encode_task(task), 0
        self._give()

    def learned(self) -> list[Learned]:
        """Give what has been learned since the last time; never waits."""
        found: list[Learned] = []
        for _ in range(MAX_A_TURN):
            try:
                parts = self._socket.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                break
            try:
                found += self._heard(parts)
            except MalformedMessageError as error:
                self.n_malformed += 1
                log.debug("%s", error)
        return found

    def _heard(self, parts: list[bytes]) -> list[Learned]:
        """Take one message; raises MalformedMessageError."""
        if len(parts) != 4 or parts[2] != self._session:
            raise MalformedMessageError("a message of another session came to where styles come in; it was dropped")
        peer, kind, _, payload = parts
        if kind == READY:
            self._idle = peer
            self._give()
        elif kind == FAILED:
            self.failure = payload[:MAX_WORDS].decode("utf-8", "replace")
            self._settle()
        elif kind == LEARNED:
            learned = decode_learned(payload)
            self._settle()
            return [learned]
        else:
            raise MalformedMessageError(f"{kind[:20]!r} came to where styles come in; it was dropped")
        return []

    def _give(self) -> None:
        """Give the task to the learner if it is idle."""
        if self._idle is None or self._task is None or self._n_given == MAX_GIVEN:
            return
        with contextlib.suppress(zmq.Again):
            self._socket.send_multipart([self._idle, self._session, self._task], zmq.NOBLOCK)
        self._idle, self._n_given = None, self._n_given + 1

    def _settle(self) -> None:
        """Forget the task that was given: it is done. One offered meanwhile is still to be given."""
        if self._n_given:
            self._task = None

    def close(self) -> None:
        """Close the socket."""
        self._socket.close(0)
