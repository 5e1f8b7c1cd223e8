"""The socket poses leave by: ZeroMQ XPUB, single-part messages; skeleton, rig and status for whoever joins.

A small send buffer drops for a slow subscriber instead of letting it fall behind; the others do not notice.
"""

import zmq

from capture.binding import address_of
from capture.endpoints import KeySettings, secure_server
from config.errors import DuocapError
from stream.codec import encode
from stream.messages import Message, RigMessage, SkeletonMessage, StatusMessage
from stream.subscriptions import MAX_REQUEST_BYTES, Subscriptions

DEFAULT_ADDRESS = "tcp://127.0.0.1:5570"
SEND_BUFFER_MESSAGES = 16
SEND_BUFFER_BYTES = 256 * 1024  # of the system, for one subscriber: two seconds of poses
REQUEST_BUFFER_MESSAGES = 64
LINGER_MS = 200
SKELETON_PERIOD_NS = 1_000_000_000
KEPT = {SkeletonMessage: b"skeleton ", RigMessage: b"rig ", StatusMessage: b"status "}


class StreamError(DuocapError):
    """The stream's address cannot be used."""


class Publisher:
    """Publish messages at one address; not shared between threads.

    address: tcp://HOST:PORT; port 0 takes a free one; keys: for an address that other machines reach. Raises StreamError, naming
    the port, when it is taken, EndpointError for an address that needs keys, KeyFileError for keys that cannot be read.
    """

    def __init__(
        self,
        address: str = DEFAULT_ADDRESS,
        context: zmq.Context[zmq.Socket[bytes]] | None = None,
        keys: KeySettings | None = None,
    ) -> None:
        self._socket = (context or zmq.Context.instance()).socket(zmq.XPUB)
        self._kept: dict[bytes, bytes] = {}
        self._due_ns = 0
        try:
            _configure(self._socket)
            self._socket.bind(secure_server(self._socket, address, keys))
        except DuocapError:
            self._socket.close(0)
            raise
        except zmq.ZMQError as error:
            self._socket.close(0)
            raise StreamError(_bind_fault(address, error)) from error
        self.address = address_of(self._socket)
        self._subscriptions = Subscriptions(self._socket)

    @property
    def n_subscriptions(self) -> int:
        """How many subscriptions to known topics came."""
        return self._subscriptions.n_subscriptions

    @property
    def n_malformed(self) -> int:
        """How many requests came that are none, or are for topics that do not exist."""
        return self._subscriptions.n_malformed

    def publish(self, message: Message) -> bytes:
        """Send a message to whoever listens and give its bytes; the last skeleton, rig and status are kept for newcomers."""
        payload = encode(message)
        topic = KEPT.get(type(message))
        if topic is not None:
            self._kept[topic] = payload
        # Who just joined should know the skeleton before the first pose; what is sent anyway need not be sent twice.
        self._send_kept(self._subscriptions.taken() - {topic})
        self._send(payload)
        return payload

    def serve(self, now_ns: int) -> None:
        """Answer new subscribers with what is kept, and repeat the skeleton every second; call this at least as often.

        A newcomer waits for the skeleton until the next call or message: call it every 20 ms.
        """
        wanted = self._subscriptions.taken()
        if now_ns >= self._due_ns:
            self._due_ns = now_ns + SKELETON_PERIOD_NS
            self._subscriptions.forgive()
            wanted.add(b"skeleton ")
        self._send_kept(wanted)

    def close(self) -> None:
        """Close the socket, giving the last messages a moment to leave."""
        self._socket.close()

    def _send_kept(self, topics: set[bytes]) -> None:
        """Send the last values of some topics, skeleton first."""
        for topic in KEPT.values():
            if topic in topics and topic in self._kept:
                self._send(self._kept[topic])

    def _send(self, payload: bytes) -> None:
        """Send without ever waiting: XPUB drops for subscribers whose buffer is full."""
        self._socket.send(payload, zmq.NOBLOCK)


def check_address(address: str, keys: KeySettings | None = None) -> None:
    """Raise what a Publisher would raise at an address: it is taken, none, or needs keys. It is free again a moment later."""
    Publisher(address, keys=keys).close()


def _configure(socket: "zmq.Socket[bytes]") -> None:
    """Set small buffers, so that nobody's slowness costs memory."""
    # Verbose: also tell of a second subscriber to a topic, who needs the skeleton as much as the first.
    socket.setsockopt(zmq.XPUB_VERBOSE, 1)
    socket.setsockopt(zmq.SNDHWM, SEND_BUFFER_MESSAGES)
    socket.setsockopt(zmq.SNDBUF, SEND_BUFFER_BYTES)
    socket.setsockopt(zmq.RCVHWM, REQUEST_BUFFER_MESSAGES)
    socket.setsockopt(zmq.LINGER, LINGER_MS)
    socket.setsockopt(zmq.MAXMSGSIZE, MAX_REQUEST_BYTES)


def _bind_fault(address: str, error: zmq.ZMQError) -> str:
    """Say why an address cannot be published at."""
    if error.errno == zmq.EADDRINUSE:
        port = address.rpartition(":")[2]
        return (
            f"{address}: port {port} is taken, perhaps by another duocap; "
            "end that program or choose another port with --set stream.address=tcp://127.0.0.1:PORT"
        )
    return f"{address}: cannot publish there ({error.strerror or error}); give an address like {DEFAULT_ADDRESS}"
