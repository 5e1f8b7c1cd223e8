"""The reconstruction's connection to the learner: tasks out, results in, without waiting.

Messages to the reconstruction have three parts: a `LearnerMessage`, the session, and the result or the reason of a failure. A
task is sent as two: the session and the task. In place of a task, the learner may be told to rest and to go on.
"""

import contextlib
import logging
from dataclasses import dataclass
from enum import Enum

import zmq

from capture.sockets.wire import MAX_MESSAGE_BYTES, MalformedMessageError, has_message
from reconstruct.models.style.task import LearnedStyle, LearnTask, decode_learned, encode_task

log = logging.getLogger(__name__)

MAX_PER_TURN = 8
MAX_GIVEN = 2  # times that one task is given to a learner: it may have crashed two of them
MAX_REASON_BYTES = 400
REST, GO_ON = b"rest", b"go on"  # sent in place of a task


class LearnerMessage(Enum):
    """Kinds of messages from the learner: it is idle, a result, the reason why a task or its file failed."""

    READY = b"ready"
    LEARNED = b"learned"
    FAILED = b"failed"


@dataclass(frozen=True, slots=True)
class LearnFailure:
    """A failure of the learner; text: its error message."""

    text: str


class LearnerConnection:
    """A socket on the loopback interface at which the learner asks for tasks. session: of the run, which the learner must name.

    A task is given to an idle learner once, and once more to one that was started again meanwhile.
    """

    def __init__(self, session: str) -> None:
        self._session = session.encode()
        self._socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.ROUTER)
        self._socket.setsockopt(zmq.MAXMSGSIZE, MAX_MESSAGE_BYTES)
        self._socket.setsockopt(zmq.LINGER, 0)
        self.address = f"tcp://127.0.0.1:{self._socket.bind_to_random_port('tcp://127.0.0.1')}"
        self._idle: bytes | None = None
        self._peer: bytes | None = None
        self._resting = False
        self._task: bytes | None = None
        self._n_given = 0
        self.n_malformed = 0

    def offer(self, task: LearnTask) -> None:
        """Offer a task in place of the last one."""
        self._task, self._n_given = encode_task(task), 0
        self._give()

    def rest(self, resting: bool) -> None:
        """Have the learner rest, or go on, where that is a change."""
        if resting is not self._resting:
            self._resting = resting
            self._tell_rest()

    def _tell_rest(self) -> None:
        """Tell the learner whether to rest."""
        if self._peer is not None:
            with contextlib.suppress(zmq.Again):
                self._socket.send_multipart([self._peer, self._session, REST if self._resting else GO_ON], zmq.NOBLOCK)

    def results(self) -> list[LearnedStyle | LearnFailure]:
        """Return the results since the last call; never waits."""
        found: list[LearnedStyle | LearnFailure] = []
        for _ in range(MAX_PER_TURN):
            if not has_message(self._socket):
                break
            try:
                result = self._take(self._socket.recv_multipart(zmq.NOBLOCK))
            except MalformedMessageError as error:
                self.n_malformed += 1
                log.debug("%s", error)
            else:
                found += [] if result is None else [result]
        return found

    def _take(self, parts: list[bytes]) -> LearnedStyle | LearnFailure | None:
        """Return the result in a message, None in one that asks for a task; raises MalformedMessageError."""
        if len(parts) != 4 or parts[2] != self._session:
            raise MalformedMessageError("a message of another session came to where styles come in; it was dropped")
        peer, kind, _, payload = parts
        result: LearnedStyle | LearnFailure
        if kind == LearnerMessage.READY.value:
            self._idle = self._peer = peer
            if self._resting:
                self._tell_rest()
            self._give()
            return None
        if kind == LearnerMessage.FAILED.value:
            result = LearnFailure(payload[:MAX_REASON_BYTES].decode("utf-8", "replace"))
        elif kind == LearnerMessage.LEARNED.value:
            result = decode_learned(payload)
        else:
            raise MalformedMessageError(f"{kind[:20]!r} came to where styles come in; it was dropped")
        if self._n_given:
            self._task = None  # it is done; one that was offered meanwhile is still to be given
        return result

    def _give(self) -> None:
        """Send the task to the learner if it is idle."""
        if self._idle is None or self._task is None or self._n_given == MAX_GIVEN:
            return
        with contextlib.suppress(zmq.Again):
            self._socket.send_multipart([self._idle, self._session, self._task], zmq.NOBLOCK)
        self._idle, self._n_given = None, self._n_given + 1

    def close(self) -> None:
        """Close the socket."""
        self._socket.close(0)
