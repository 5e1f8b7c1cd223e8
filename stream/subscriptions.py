"""What subscribers ask the publisher for: known topics are taken, the rest is counted, and who floods is disconnected.

XPUB keeps every topic it is asked for until the subscriber goes, so that a subscriber could fill our memory with a million of
them. ZeroMQ itself has no way to refuse or to end one connection; but it tells the connection's file descriptor, which is shut.
"""

import contextlib
import logging
import socket as network
from collections import Counter

import zmq

from capture.binding import address_of
from stream.codec import TOPIC_OF

log = logging.getLogger(__name__)

TOPICS = tuple(topic + b" " for topic in TOPIC_OF.values())
MAX_REQUEST_BYTES = 1024  # a handshake with keys takes more than 256
MAX_UNKNOWN = 32  # of one connection, for as long as it lasts
MAX_RECENT = 1000  # requests of one connection in a second
MAX_TURN = 200  # requests taken at once, 4 ms: a flood must not hold up the poses
SUBSCRIBE, UNSUBSCRIBE = b"\x01", b"\x00"


def topics_of(prefix: bytes) -> tuple[bytes, ...]:
    """Give the topics that begin with a prefix; none for a request that can never match."""
    return tuple(topic for topic in TOPICS if topic.startswith(prefix))


class Subscriptions:
    """The requests that come in by a bound XPUB socket.

    n_subscriptions: to known topics; n_malformed: requests for unknown topics and what is no request; n_cut: connections ended.
    """

    def __init__(self, socket: "zmq.Socket[bytes]") -> None:
        self._socket = socket
        self._unknown: Counter[int] = Counter()
        self._recent: Counter[int] = Counter()
        self._cut: set[int] = set()
        self._next_warning = 1
        self.n_subscriptions = self.n_malformed = self.n_cut = 0

    def taken(self) -> set[bytes]:
        """Take what came; give the topics that somebody newly wants."""
        wanted: set[bytes] = set()
        ended = set(self._cut)
        for _ in range(MAX_TURN):
            try:
                frame = self._socket.recv(zmq.NOBLOCK, copy=False)
            except zmq.Again:
                # No more requests wait of connections that were ended before: their numbers stand for others from now on.
                self._cut -= ended
                break
            request = frame.bytes
            # Also tells that a subscriber left, and then of every topic it had.
            if request[:1] != UNSUBSCRIBE:
                topics = topics_of(request[1:]) if request[:1] == SUBSCRIBE else ()
                wanted.update(topics)
                self._count(_connection(frame), bool(topics))
        return wanted

    def _count(self, connection: int, is_known: bool) -> None:
        """Count one request; end a connection that asks for too much."""
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

    def forgive(self) -> None:
        """Begin to count the requests of a second anew, and pardon one unknown topic each; call this every second.

        A number that ZeroMQ gives to a later connection does not carry the former one's guilt for long.
        """
        self._recent.clear()
        self._unknown = Counter({connection: n - 1 for connection, n in self._unknown.items() if n > 1})
        if self.n_cut >= self._next_warning:
            self._next_warning = 2 * self.n_cut
            log.warning("subscribers asked for far too many topics and were disconnected, %d so far", self.n_cut)

    def _shut(self, connection: int) -> None:
        """End a connection if it still is one of ours; its subscriptions go with it."""
        port = address_of(self._socket).rpartition(":")[2]
        with contextlib.suppress(OSError):
            peer = network.socket(fileno=connection)
            try:
                if str(peer.getsockname()[1]) == port:
                    peer.shutdown(network.SHUT_RDWR)
            finally:
                peer.detach()  # the descriptor is ZeroMQ's to close


def _connection(frame: zmq.Frame) -> int:
    """Give the file descriptor that a request came by, -1 where ZeroMQ does not tell."""
    try:
        return int(frame.get("__fd"))
    except (zmq.ZMQError, ValueError, TypeError):
        return -1
