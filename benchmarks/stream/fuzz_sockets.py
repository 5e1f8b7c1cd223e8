"""Sockets that are fuzzed: the listener of each is ours, the sender a process that ends when it has sent all messages."""

import contextlib
import socket as network
import tempfile
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from time import monotonic_ns, sleep
from typing import Protocol

import zmq

from benchmarks.stream.fuzz_messages import generate_malformed_messages
from benchmarks.stream.fuzz_samples import BLOBS, QUESTIONS, REQUESTS, STREAM, TUNING
from config.settings import Settings
from reconstruct.process.inbox import Inbox
from stream.publish.publisher import Publisher
from stream.publish.service import MAX_REQUEST_BYTES as MAX_QUESTION_BYTES
from stream.publish.service import Service
from stream.publish.subscriber import Subscriber
from stream.publish.tuning import TuningState
from stream.recording.outputs import RecordingSwitch
from tests.support.stream_messages import POSE, SKELETON

GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x01NULL" + bytes(16) + b"\x00" + bytes(31)  # ZMTP 3.1
READY = b"\x04\x19\x05READY\x0bSocket-Type\x00\x00\x00\x03SUB"
PER_CONNECTION = 50
WAIT_MS = 10_000
JOINED_MS = 20


class Target(Protocol):
    """A listening socket; address: where to send."""

    address: str

    def turn(self) -> tuple[int, int]:
        """Take what came; give how many were accepted and refused so far."""

    def close(self) -> None:
        """Close the socket."""


class PublisherTarget:
    """The publisher, which goes on publishing meanwhile."""

    def __init__(self) -> None:
        self._publisher = Publisher("tcp://127.0.0.1:0")
        self._publisher.publish(SKELETON)
        self.address = self._publisher.address

    def turn(self) -> tuple[int, int]:
        """Publish and serve; give requests for topics that there are, and the others."""
        self._publisher.publish(POSE)
        self._publisher.serve(monotonic_ns())
        return self._publisher.n_subscriptions, self._publisher.n_malformed

    def close(self) -> None:
        """Close the socket."""
        self._publisher.close()


class SubscriberTarget:
    """A subscriber of a malicious publisher."""

    def __init__(self) -> None:
        with network.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
        self._subscriber = Subscriber(self.address)
        self._n = 0

    def turn(self) -> tuple[int, int]:
        """Hear what came."""
        self._n += len(self._subscriber.receive(10))
        return self._n, self._subscriber.n_malformed

    def close(self) -> None:
        """Close the socket."""
        self._subscriber.close()


class InboxTarget:
    """The socket on which the reconstruction receives blobs."""

    def __init__(self) -> None:
        self._inbox = Inbox()
        self.address, self._n = self._inbox.address, 0

    def turn(self) -> tuple[int, int]:
        """Take what came."""
        self._n += len(self._inbox.drain(10))
        return self._n, self._inbox.n_malformed

    def close(self) -> None:
        """Close the socket."""
        self._inbox.close()


class ServiceTarget:
    """The service, with no stream to record, and cameras without names, whose settings are not saved."""

    def __init__(self) -> None:
        self._tuning = TuningState(Settings(), 2)
        folder = Path(tempfile.gettempdir())
        self._service = Service("tcp://127.0.0.1:0", RecordingSwitch("s1"), folder, dict, tuning=self._tuning)
        self.address = self._service.address

    def turn(self) -> tuple[int, int]:
        """Let its own thread work, and pass on what cameras are asked for."""
        sleep(0.01)
        self._tuning.asks()
        return self._service.n_answered, self._service.n_malformed

    def close(self) -> None:
        """Close the socket."""
        self._service.close()


def send_requests(address: str, n_messages: int, seed: int) -> None:
    """Ask a publisher for topics over many connections, as it ends those with malformed requests.

    Args:
        address: of the socket.
        n_messages: how many messages.
        seed: of the random numbers.
    """
    messages = generate_malformed_messages(REQUESTS, seed)
    with zmq.Context() as context:
        for _ in range(0, n_messages, PER_CONNECTION):
            with context.socket(zmq.XSUB) as socket:
                socket.setsockopt(zmq.LINGER, 5)
                socket.connect(address)
                socket.poll(JOINED_MS)  # a message of the stream: the connection stands
                for message in islice(messages, PER_CONNECTION):
                    socket.send(message)


def send_stream(address: str, n_messages: int, seed: int) -> None:
    """Publish malformed messages, waiting for the subscriber instead of dropping.

    Args:
        address: of the socket.
        n_messages: how many messages.
        seed: of the random numbers.
    """
    with zmq.Context() as context, context.socket(zmq.XPUB) as socket:
        socket.setsockopt(zmq.LINGER, WAIT_MS)
        socket.setsockopt(zmq.XPUB_NODROP, 1)
        socket.setsockopt(zmq.SNDTIMEO, WAIT_MS)
        socket.bind(address)
        socket.poll(WAIT_MS)
        for message in islice(generate_malformed_messages(STREAM, seed), n_messages):
            socket.send(message)


def send_blobs(address: str, n_messages: int, seed: int) -> None:
    """Send malformed blobs, also in several parts.

    Args:
        address: of the socket.
        n_messages: how many messages.
        seed: of the random numbers.
    """
    with zmq.Context() as context, context.socket(zmq.PUSH) as socket:
        socket.setsockopt(zmq.LINGER, WAIT_MS)
        socket.setsockopt(zmq.SNDTIMEO, WAIT_MS)
        socket.connect(address)
        for number, message in enumerate(islice(generate_malformed_messages(BLOBS, seed), n_messages)):
            socket.send(message, zmq.SNDMORE if number % 50 == 0 and number + 1 < n_messages else 0)


def send_service_requests(address: str, n_messages: int, seed: int) -> None:
    """Send malformed requests to a service, also in several parts; one that is too long ends a connection of its own.

    Answers are read, as ZeroMQ does not reconnect a socket that was dropped for unread ones.

    Args:
        address: of the socket.
        n_messages: how many messages.
        seed: of the random numbers.
    """
    with zmq.Context() as context, context.socket(zmq.DEALER) as socket:
        socket.setsockopt(zmq.LINGER, WAIT_MS)
        socket.setsockopt(zmq.SNDTIMEO, WAIT_MS)
        socket.connect(address)
        for number, message in enumerate(islice(generate_malformed_messages(QUESTIONS + TUNING, seed), n_messages)):
            if len(message) > MAX_QUESTION_BYTES:
                with context.socket(zmq.DEALER) as other:
                    other.setsockopt(zmq.LINGER, JOINED_MS)
                    other.connect(address)
                    other.send(message)
                continue
            if number % 50 == 0:
                socket.send(b"", zmq.SNDMORE)
            socket.send(message)
            while socket.poll(0):
                socket.recv_multipart()


def send_raw(address: str, n_messages: int, seed: int) -> None:
    """Write bytes that are not ZMTP, or not after its greeting, on many connections.

    Args:
        address: of the socket.
        n_messages: how many messages.
        seed: of the random numbers.
    """
    host, port = address.removeprefix("tcp://").split(":")
    real = (GREETING, GREETING + READY, READY, b"\x00\x06\x01pose ", *(b"\x00" + bytes([len(r)]) + r for r in REQUESTS))
    messages = generate_malformed_messages(real, seed)
    for number in range(0, n_messages, PER_CONNECTION):
        with contextlib.suppress(OSError), network.create_connection((host, int(port)), timeout=1.0) as peer:
            if number % (2 * PER_CONNECTION):
                peer.sendall(GREETING + READY)
            for message in islice(messages, PER_CONNECTION):
                peer.sendall(message)


SOCKETS: dict[str, tuple[Callable[[], Target], Callable[[str, int, int], None]]] = {
    "publisher": (PublisherTarget, send_requests),
    "publisher, raw TCP": (PublisherTarget, send_raw),
    "subscriber": (SubscriberTarget, send_stream),
    "service": (ServiceTarget, send_service_requests),
    "service, raw TCP": (ServiceTarget, send_raw),
    "inbox": (InboxTarget, send_blobs),
    "inbox, raw TCP": (InboxTarget, send_raw),
}
