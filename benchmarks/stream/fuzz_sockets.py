"""Sockets that are fuzzed: the listener of each is ours, the sender a process that ends when it has sent all messages."""

import contextlib
import socket as network
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from time import monotonic_ns, sleep

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
from tests.support.ports import free_address
from tests.support.stream_messages import POSE, SKELETON

GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x01NULL" + bytes(16) + b"\x00" + bytes(31)  # ZMTP 3.1
READY = b"\x04\x19\x05READY\x0bSocket-Type\x00\x00\x00\x03SUB"
PER_CONNECTION = 50
WAIT_MS = 10_000
JOINED_MS = 20


@dataclass(frozen=True, slots=True)
class Target:
    """A listening socket.

    Attributes:
        address: where to send.
        turn: takes what came; returns how many messages were accepted and refused so far.
        close: closes the socket.
    """

    address: str
    turn: Callable[[], tuple[int, int]]
    close: Callable[[], None]


def open_publisher() -> Target:
    """Return the publisher, which goes on publishing meanwhile; accepted are requests for topics that there are."""
    publisher = Publisher("tcp://127.0.0.1:0")
    publisher.publish(SKELETON)

    def turn() -> tuple[int, int]:
        publisher.publish(POSE)
        publisher.serve(monotonic_ns())
        return publisher.n_subscriptions, publisher.n_malformed

    return Target(publisher.address, turn, publisher.close)


def open_subscriber() -> Target:
    """Return a subscriber of a malicious publisher."""
    subscriber, accepted = Subscriber(address := free_address()), list[object]()

    def turn() -> tuple[int, int]:
        accepted.extend(True for _ in subscriber.receive(10))
        return len(accepted), subscriber.n_malformed

    return Target(address, turn, subscriber.close)


def open_inbox() -> Target:
    """Return the socket on which the reconstruction receives blobs."""
    inbox, accepted = Inbox(), list[object]()

    def turn() -> tuple[int, int]:
        accepted.extend(True for _ in inbox.drain(10))
        return len(accepted), inbox.n_malformed

    return Target(inbox.address, turn, inbox.close)


def open_service() -> Target:
    """Return the service, with no stream to record, and cameras without names, whose settings are not saved."""
    tuning = TuningState(Settings(), 2)
    folder = Path(tempfile.gettempdir())
    service = Service("tcp://127.0.0.1:0", RecordingSwitch("s1"), folder, dict, tuning=tuning)

    def turn() -> tuple[int, int]:
        sleep(0.01)  # in which its own thread works
        tuning.asks()
        return service.n_answered, service.n_malformed

    return Target(service.address, turn, service.close)


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
    "publisher": (open_publisher, send_requests),
    "publisher, raw TCP": (open_publisher, send_raw),
    "subscriber": (open_subscriber, send_stream),
    "service": (open_service, send_service_requests),
    "service, raw TCP": (open_service, send_raw),
    "inbox": (open_inbox, send_blobs),
    "inbox, raw TCP": (open_inbox, send_raw),
}
