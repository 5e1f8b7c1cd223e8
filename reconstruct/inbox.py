"""Where the blobs of both cameras come in: one socket, bounded, that drops and counts what is malformed."""

import logging

import zmq

from capture.binding import bound
from capture.clock import now_ns
from capture.endpoints import KeySettings
from capture.wire import MAX_MESSAGE_BYTES, MalformedMessageError, SentBlobs, decode_blobs

log = logging.getLogger(__name__)

RECEIVE_BUFFER_MESSAGES = 64


class Inbox:
    """The socket blobs come in by, on a free port of the loopback interface, and for camera nodes at one more address.

    Raises EndpointError, KeyFileError: other machines' address is none, is taken, or needs keys that are not there.
    """

    def __init__(self, nodes: str = "", keys: KeySettings | None = None) -> None:
        self._socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.PULL)
        self._socket.setsockopt(zmq.RCVHWM, RECEIVE_BUFFER_MESSAGES)
        self._socket.setsockopt(zmq.MAXMSGSIZE, MAX_MESSAGE_BYTES)
        self._socket.setsockopt(zmq.LINGER, 0)
        self.address = f"tcp://127.0.0.1:{self._socket.bind_to_random_port('tcp://127.0.0.1')}"
        # Keys count from the next bind on: the loopback address stays as it is.
        try:
            self.nodes_address = bound(self._socket, nodes, keys, "capture.inbox") if nodes else ""
        except Exception:
            self._socket.close(0)
            raise
        self.n_malformed = 0

    def drain(self, timeout_ms: int) -> list[tuple[SentBlobs, int]]:
        """Give all that came with the time of its receipt [ns], waiting at most timeout_ms for the first."""
        received: list[tuple[SentBlobs, int]] = []
        if not self._socket.poll(timeout_ms):
            return received
        # Bounded, so that a flood, malformed or not, cannot keep the process from its other duties.
        for _ in range(4 * RECEIVE_BUFFER_MESSAGES):
            try:
                received.append((decode_blobs(self._socket.recv(zmq.NOBLOCK)), now_ns()))
            except zmq.Again:
                break
            except MalformedMessageError as error:
                self.n_malformed += 1
                log.debug("%s", error)
        return received

    def close(self) -> None:
        """Close the socket."""
        self._socket.close(0)
