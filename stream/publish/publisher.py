"""The publisher: a ZeroMQ XPUB socket with single-part messages; new subscribers get skeleton, rig and status at once.

A small send buffer drops messages for a slow subscriber; others are not affected. Subscriptions to unknown topics are counted,
and connections that send too many are ended: XPUB keeps every topic until the subscriber leaves, so that a subscriber could fill
our memory with a million of them. ZeroMQ cannot refuse or end one connection, but reports its file descriptor, which is shut
down.
"""

import contextlib
import logging
import socket as network
from collections import Counter
from dataclasses import replace

import zmq

from capture.sockets.endpoints import KeySettings, find_bound_address, find_key_settings, secure_server_socket
from capture.sockets.wire import has_message
from config.errors import DuocapError
from config.settings import Settings, StreamSettings
from stream.protocol.codec import TOPIC_OF, encode_message
from stream.protocol.messages import Message, RigMessage, SkeletonMessage, StatusMessage

log = logging.getLogger(__name__)

TOPICS = tuple(topic + b" " for topic in TOPIC_OF.values())
MAX_REQUEST_BYTES = 1024  # a handshake with keys takes more than 256
MAX_UNKNOWN = 32  # of one connection, for as long as it lasts
MAX_RECENT = 1000  # requests of one connection in a second
MAX_BATCH = 200  # requests read at once, 4 ms: a flood must not delay the poses
SUBSCRIBE, UNSUBSCRIBE = b"\x01", b"\x00"
DEFAULT_ADDRESS = StreamSettings().address
SEND_BUFFER_MESSAGES = 16
SEND_BUFFER_BYTES = 256 * 1024  # of the system, for one subscriber: two seconds of poses
REQUEST_BUFFER_MESSAGES = 64
LINGER_MS = 200
SKELETON_PERIOD_NS = 1_000_000_000
KEPT: dict[type[Message], bytes] = {kind: TOPIC_OF[kind] + b" " for kind in (SkeletonMessage, RigMessage, StatusMessage)}


def find_topics(prefix: bytes) -> tuple[bytes, ...]:
    """Return the topics that begin with a prefix."""
    return tuple(topic for topic in TOPICS if topic.startswith(prefix))


class Subscriptions:
    """The subscriptions that arrive at a bound XPUB socket.

    Attributes:
        n_subscriptions: number of subscriptions to known topics.
        n_malformed: number of subscriptions to unknown topics, and of messages that are no subscriptions.
        n_cut: number of connections that were ended.
    """

    def __init__(self, socket: "zmq.Socket[bytes]") -> None:
        self._socket = socket
        self._unknown: Counter[int] = Counter()
        self._recent: Counter[int] = Counter()
        self._cut: set[int] = set()
        self._next_warning = 1
        self.n_subscriptions = self.n_malformed = self.n_cut = 0

    def receive(self) -> set[bytes]:
        """Read the requests that have come; return the topics of new subscriptions."""
        wanted: set[bytes] = set()
        ended = set(self._cut)
        for _ in range(MAX_BATCH):
            if not has_message(self._socket):
                # No more requests of ended connections wait: their descriptors belong to other connections from now on.
                self._cut -= ended
                break
            frame = self._socket.recv(zmq.NOBLOCK, copy=False)
            request = frame.bytes
            # XPUB also reports an unsubscription from every topic of a subscriber that has left.
            if request[:1] != UNSUBSCRIBE:
                topics = find_topics(request[1:]) if request[:1] == SUBSCRIBE else ()
                wanted.update(topics)
                self._count(_find_connection(frame), bool(topics))
        return wanted

    def _count(self, connection: int, is_known: bool) -> None:
        """Count one request; end a connection that exceeds the limits."""
        self.n_subscriptions += is_known
        self.n_malformed += not is_known
        if connection < 0 or connection in self._cut:
            return
        self._recent[connection] += 1
        self._unknown[connection] += not is_known
        if self._unknown[connection] > MAX_UNKNOWN or self._recent[connection] > MAX_RECENT:
            self._cut.add(connection)
            del self._unknown[connection]
            self.n_cut += 1
            self._shut(connection)

    def reset_rates(self) -> None:
        """Reset the requests per second, and reduce each count of unknown topics by one; call this every second.

        So a later connection with the same descriptor does not inherit the counts for long.
        """
        self._recent.clear()
        self._unknown = Counter({connection: n - 1 for connection, n in self._unknown.items() if n > 1})
        if self.n_cut >= self._next_warning:
            self._next_warning = 2 * self.n_cut
            log.warning("subscribers asked for far too many topics and were disconnected, %d so far", self.n_cut)

    def _shut(self, connection: int) -> None:
        """End a connection if its descriptor is still one of ours."""
        port = find_bound_address(self._socket).rpartition(":")[2]
        with contextlib.suppress(OSError):
            peer = network.socket(fileno=connection)
            try:
                if str(peer.getsockname()[1]) == port:
                    peer.shutdown(network.SHUT_RDWR)
            finally:
                peer.detach()  # the descriptor is ZeroMQ's to close


def _find_connection(frame: zmq.Frame) -> int:
    """Return the file descriptor of a request's connection, -1 if ZeroMQ does not report it."""
    try:
        return int(frame.get("__fd"))
    except (zmq.ZMQError, ValueError, TypeError):
        return -1


class StreamError(DuocapError):
    """The stream's address cannot be used."""


class Publisher:
    """Publish messages at one address; not shared between threads.

    Args:
        address: tcp://HOST:PORT, port 0 for a free one.
        keys: keys for an address that other machines reach.
    Raises: StreamError for a port that is taken, EndpointError for an address that needs keys, KeyFileError for keys that cannot
        be read.
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
            _configure_socket(self._socket)
            self._socket.bind(secure_server_socket(self._socket, address, keys))
        except DuocapError:
            self._socket.close(0)
            raise
        except zmq.ZMQError as error:
            self._socket.close(0)
            raise StreamError(_format_bind_error(address, error)) from error
        self.address = find_bound_address(self._socket)
        self._subscriptions = Subscriptions(self._socket)

    @property
    def n_subscriptions(self) -> int:
        """Number of subscriptions to known topics so far."""
        return self._subscriptions.n_subscriptions

    @property
    def n_malformed(self) -> int:
        """Number of malformed requests and subscriptions to unknown topics so far."""
        return self._subscriptions.n_malformed

    def publish(self, message: Message) -> bytes:
        """Send a message and return its bytes; the last skeleton, rig and status are kept for new subscribers."""
        payload = encode_message(message)
        topic = KEPT.get(type(message))
        if topic is not None:
            self._kept[topic] = payload
        # A new subscriber gets the skeleton before the first pose; this message itself is not sent twice.
        self._send_kept(self._subscriptions.receive() - {topic})
        self._send(payload)
        return payload

    def serve(self, now_ns: int) -> None:
        """Send new subscribers the kept messages, and repeat the skeleton every second; call this every 20 ms.

        A new subscriber waits for the skeleton until the next call or message.
        """
        wanted = self._subscriptions.receive()
        if now_ns >= self._due_ns:
            self._due_ns = now_ns + SKELETON_PERIOD_NS
            self._subscriptions.reset_rates()
            wanted.add(b"skeleton ")
        self._send_kept(wanted)

    def close(self) -> None:
        """Close the socket after the last messages have been sent."""
        self._socket.close()

    def _send_kept(self, topics: set[bytes]) -> None:
        """Send the kept messages of some topics, skeleton first."""
        for topic in KEPT.values():
            if topic in topics and topic in self._kept:
                self._send(self._kept[topic])

    def _send(self, payload: bytes) -> None:
        """Send without waiting: XPUB drops messages for subscribers whose buffer is full."""
        self._socket.send(payload, zmq.NOBLOCK)


def choose_address(settings: Settings) -> Settings:
    """Return settings with the address that a stream gets, a free port in place of port 0, so that all processes know it.

    Raises the exceptions of a Publisher: the address is taken, invalid, or needs keys.
    """
    publisher = Publisher(settings.stream.address, keys=find_key_settings(settings.stream))
    publisher.close()
    host, port = settings.stream.address.rpartition(":")[0], publisher.address.rpartition(":")[2]
    return replace(settings, stream=replace(settings.stream, address=f"{host}:{port}"))


def _configure_socket(socket: "zmq.Socket[bytes]") -> None:
    """Set small buffers, so that a slow subscriber costs no memory."""
    # Verbose: report further subscribers to a topic, too: each needs the skeleton.
    socket.setsockopt(zmq.XPUB_VERBOSE, 1)
    socket.setsockopt(zmq.SNDHWM, SEND_BUFFER_MESSAGES)
    socket.setsockopt(zmq.SNDBUF, SEND_BUFFER_BYTES)
    socket.setsockopt(zmq.RCVHWM, REQUEST_BUFFER_MESSAGES)
    socket.setsockopt(zmq.LINGER, LINGER_MS)
    socket.setsockopt(zmq.MAXMSGSIZE, MAX_REQUEST_BYTES)


def _format_bind_error(address: str, error: zmq.ZMQError) -> str:
    """Return why an address cannot be bound."""
    if error.errno == zmq.EADDRINUSE:
        port = address.rpartition(":")[2]
        return (
            f"{address}: port {port} is taken, perhaps by another duocap; "
            "end that program or choose another port with --set stream.address=tcp://127.0.0.1:PORT"
        )
    return f"{address}: cannot publish there ({error.strerror or error}); give an address like {DEFAULT_ADDRESS}"
