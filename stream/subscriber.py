"""A subscriber to the stream, as a client would write it: decode, count what is malformed, never fall over."""

import zmq

from capture.wire import MAX_MESSAGE_BYTES, MalformedMessageError
from stream.codec import decode
from stream.messages import Message


class Subscriber:
    """Hear the topics of one stream; not shared between threads. n_malformed: messages dropped for being malformed."""

    def __init__(self, address: str, topics: tuple[str, ...] = ("",)) -> None:
        self._socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.SUB)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.setsockopt(zmq.MAXMSGSIZE, MAX_MESSAGE_BYTES)
        for topic in topics:
            self._socket.subscribe(topic.encode())
        self._socket.connect(address)
        self.n_malformed = 0

    def heard(self, timeout_ms: int = 0) -> list[Message]:
        """Give all messages that came, waiting at most timeout_ms for the first."""
        messages: list[Message] = []
        if self._socket.poll(timeout_ms):
            while self._socket.poll(0):
                try:
                    messages.append(decode(self._socket.recv(zmq.NOBLOCK)))
                except MalformedMessageError:
                    self.n_malformed += 1
        return messages

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()
