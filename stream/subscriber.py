"""A subscriber to the stream, as a client would write it: decode, count what is malformed, never fall over."""

import zmq

from capture.binding import connected
from capture.endpoints import KeySettings
from capture.wire import MAX_MESSAGE_BYTES, MalformedMessageError
from stream.codec import decode
from stream.messages import Message

RECEIVE_BUFFER_MESSAGES = 1000
MAX_TURN = 4000  # messages given at once, so that a flood gets no say in when heard() returns


class Subscriber:
    """Hear the topics of one stream; not shared between threads. n_malformed: messages dropped for being malformed.

    topics: "" is everything; keys: as the publisher's settings have them; buffer: messages that may wait to be heard, newer ones
    are lost then. Raises EndpointError for what is no address, KeyFileError for keys that are missing.
    """

    def __init__(
        self,
        address: str,
        topics: tuple[str, ...] = ("",),
        keys: KeySettings | None = None,
        buffer: int = RECEIVE_BUFFER_MESSAGES,
    ) -> None:
        self._socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.SUB)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.setsockopt(zmq.RCVHWM, buffer)
        self._socket.setsockopt(zmq.MAXMSGSIZE, MAX_MESSAGE_BYTES)
        for topic in topics:
            self._socket.subscribe(topic.encode())
        connected(self._socket, address, keys)
        self.n_malformed = 0

    def heard(self, timeout_ms: int = 0) -> list[Message]:
        """Give all messages that came, waiting at most timeout_ms for the first."""
        messages: list[Message] = []
        if self._socket.poll(timeout_ms):
            for _ in range(MAX_TURN):
                try:
                    messages.append(decode(self._socket.recv(zmq.NOBLOCK)))
                except zmq.Again:
                    break
                except MalformedMessageError:
                    self.n_malformed += 1
        return messages

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()
