"""A subscriber to the stream, as a client would write it: malformed messages are counted and dropped."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import zmq

from capture.sockets.endpoints import KeySettings, connect_socket
from capture.sockets.wire import MAX_MESSAGE_BYTES, MalformedMessageError
from stream.protocol.codec import decode_message
from stream.protocol.messages import Message
from stream.publish.publisher import DEFAULT_ADDRESS

RECEIVE_BUFFER_MESSAGES = 1000
MAX_MESSAGES = 4000  # returned at once, so that receive() returns in a flood, too


def open_subscription(address: str, topics: Iterable[str], keys: KeySettings | None, buffer_messages: int) -> "zmq.Socket[bytes]":
    """Return a socket that receives the messages of some topics.

    Args:
        address: address of the stream.
        topics: what their messages begin with; "" is everything.
        keys: keys as in the publisher's settings.
        buffer_messages: messages that may wait; what comes beyond is dropped.
    Raises: EndpointError for an invalid address, KeyFileError for keys that are missing.
    """
    socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.SUB)
    socket.setsockopt(zmq.LINGER, 0)
    socket.setsockopt(zmq.RCVHWM, buffer_messages)
    socket.setsockopt(zmq.MAXMSGSIZE, MAX_MESSAGE_BYTES)
    for topic in topics:
        socket.subscribe(topic.encode())
    connect_socket(socket, address, keys)
    return socket


class Subscriber:
    """Receive the topics of one stream; not shared between threads. n_malformed: messages that were dropped.

    Args:
        topics: "" is everything.
        keys: keys as in the publisher's settings.
    Raises: EndpointError for an invalid address, KeyFileError for keys that are missing.
    """

    def __init__(self, address: str, topics: tuple[str, ...] = ("",), keys: KeySettings | None = None) -> None:
        self._socket = open_subscription(address, topics, keys, RECEIVE_BUFFER_MESSAGES)
        self.n_malformed = 0

    def receive(self, timeout_ms: int = 0) -> list[Message]:
        """Return all messages that have come, waiting at most timeout_ms for the first."""
        messages: list[Message] = []
        if self._socket.poll(timeout_ms):
            for _ in range(MAX_MESSAGES):
                try:
                    messages.append(decode_message(self._socket.recv(zmq.NOBLOCK)))
                except zmq.Again:
                    break
                except MalformedMessageError:
                    self.n_malformed += 1
        return messages

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


@contextmanager
def subscribe(
    address: str = DEFAULT_ADDRESS, topics: tuple[str, ...] = ("",), keys: KeySettings | None = None
) -> Iterator[Subscriber]:
    """Open a subscriber to a running stream, and close it at the end of the block.

    Args:
        address: address of the stream, by default that of a run on this machine.
        topics: `pose`, `skeleton`, `rig`, `status` or `event`; "" is everything.
        keys: keys as in the publisher's settings; None without encryption.
    Raises EndpointError: invalid address; KeyFileError: missing keys.
    """
    subscriber = Subscriber(address, topics, keys)
    try:
        yield subscriber
    finally:
        subscriber.close()
