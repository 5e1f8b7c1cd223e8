"""The socket that the blobs of both cameras come to; malformed messages are dropped and counted."""

import logging

import zmq

from capture.clock import now_ns
from capture.sockets.endpoints import KeySettings, bind_socket
from capture.sockets.wire import MAX_MESSAGE_BYTES, MalformedMessageError, SentBlobs, decode_blobs, has_message

log = logging.getLogger(__name__)

RECEIVE_BUFFER_MESSAGES = 64


class Inbox:
    """Receives blobs on a free port of the loopback interface, and from camera nodes at one more address.

    Raises EndpointError, KeyFileError: the nodes' address is invalid or taken, or its keys are missing.
    """

    def __init__(self, nodes: str = "", keys: KeySettings | None = None) -> None:
        self._socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.PULL)
        self._socket.setsockopt(zmq.RCVHWM, RECEIVE_BUFFER_MESSAGES)
        self._socket.setsockopt(zmq.MAXMSGSIZE, MAX_MESSAGE_BYTES)
        self._socket.setsockopt(zmq.LINGER, 0)
        self.address = f"tcp://127.0.0.1:{self._socket.bind_to_random_port('tcp://127.0.0.1')}"
        # Keys apply from the next bind on, not to the loopback address.
        try:
            self.nodes_address = bind_socket(self._socket, nodes, keys, "capture.inbox") if nodes else ""
        except Exception:
            self._socket.close(0)
            raise
        self.n_malformed = 0

    def drain(self, timeout_ms: int) -> list[tuple[SentBlobs, int]]:
        """Return all blobs that came, with the time they were received [ns]; waits at most timeout_ms for the first."""
        received: list[tuple[SentBlobs, int]] = []
        if not self._socket.poll(timeout_ms):
            return received
        # Bounded, so that a flood of messages cannot keep the process from its other work.
        for _ in range(4 * RECEIVE_BUFFER_MESSAGES):
            if not has_message(self._socket):
                break
            try:
                received.append((decode_blobs(self._socket.recv(zmq.NOBLOCK)), now_ns()))
            except MalformedMessageError as error:
                self.n_malformed += 1
                log.debug("%s", error)
        return received

    def close(self) -> None:
        """Close the socket."""
        self._socket.close(0)
