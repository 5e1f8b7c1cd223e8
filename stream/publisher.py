"""The socket poses leave by: ZeroMQ XPUB, single-part messages, skeleton for whoever joins.

A small send buffer drops for a slow subscriber instead of letting it fall behind; the others do not notice.
"""

import zmq

from config.errors import DuocapError
from stream.codec import encode
from stream.messages import Message, SkeletonMessage

DEFAULT_ADDRESS = "tcp://127.0.0.1:5570"
SEND_BUFFER_MESSAGES = 16
LINGER_MS = 200
SKELETON_PERIOD_NS = 1_000_000_000
SKELETON_TOPIC = b"skeleton"
MAX_REQUEST_BYTES = 1024


class StreamError(DuocapError):
    """The stream's address cannot be used."""


class Publisher:
    """Publish messages at one address; not shared between threads.

    address: tcp://HOST:PORT; port 0 takes a free one. Raises StreamError, naming the port, when it is taken.
    """

    def __init__(self, address: str = DEFAULT_ADDRESS, context: zmq.Context[zmq.Socket[bytes]] | None = None) -> None:
        self._socket = (context or zmq.Context.instance()).socket(zmq.XPUB)
        # Verbose: also tell of a second subscriber to a topic, who needs the skeleton as much as the first.
        self._socket.setsockopt(zmq.XPUB_VERBOSE, 1)
        self._socket.setsockopt(zmq.SNDHWM, SEND_BUFFER_MESSAGES)
        self._socket.setsockopt(zmq.LINGER, LINGER_MS)
        self._socket.setsockopt(zmq.MAXMSGSIZE, MAX_REQUEST_BYTES)
        self._skeleton = b""
        self._skeleton_due_ns = 0
        self.n_subscriptions = 0
        try:
            self._socket.bind(address)
        except zmq.ZMQError as error:
            self._socket.close(0)
            raise StreamError(_bind_fault(address, error)) from error
        endpoint = self._socket.getsockopt(zmq.LAST_ENDPOINT)
        self.address = endpoint.decode().rstrip("\0") if isinstance(endpoint, bytes) else address

    def publish(self, message: Message) -> bytes:
        """Send a message to whoever listens and give its bytes; a skeleton is kept for those who join later."""
        payload = encode(message)
        if isinstance(message, SkeletonMessage):
            self._skeleton = payload
        elif self._newcomer():  # who just joined should know the skeleton before the first pose
            self._send(self._skeleton)
        self._send(payload)
        return payload

    def serve(self, now_ns: int) -> None:
        """Answer new subscribers with the skeleton and repeat it every second; call this at least as often."""
        wanted = self._newcomer()
        if self._skeleton and (wanted or now_ns >= self._skeleton_due_ns):
            self._send(self._skeleton)
            self._skeleton_due_ns = now_ns + SKELETON_PERIOD_NS

    def _newcomer(self) -> bool:
        """Take subscriptions; tell whether one of them wants a skeleton that there is."""
        wanted = False
        while self._socket.poll(0, zmq.POLLIN):
            request = self._socket.recv(zmq.NOBLOCK)
            if request[:1] == b"\x01":
                self.n_subscriptions += 1
                wanted |= SKELETON_TOPIC.startswith(request[1:9]) or request[1:].startswith(SKELETON_TOPIC)
        return wanted and bool(self._skeleton)

    def close(self) -> None:
        """Close the socket, giving the last messages a moment to leave."""
        self._socket.close()

    def _send(self, payload: bytes) -> None:
        """Send without ever waiting: XPUB drops for subscribers whose buffer is full."""
        self._socket.send(payload, zmq.NOBLOCK)


def _bind_fault(address: str, error: zmq.ZMQError) -> str:
    """Say why an address cannot be published at."""
    if error.errno == zmq.EADDRINUSE:
        port = address.rpartition(":")[2]
        return (
            f"{address}: port {port} is taken, perhaps by another duocap; "
            "end that program or choose another port with --set stream.address=tcp://127.0.0.1:PORT"
        )
    return f"{address}: cannot publish there ({error.strerror or error}); give an address like {DEFAULT_ADDRESS}"
