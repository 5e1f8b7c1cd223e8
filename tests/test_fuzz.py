"""Malformed messages: every decoder refuses with one kind of error, every socket counts them and goes on."""

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import pytest
import zmq

from benchmarks.fuzz import DECODERS
from benchmarks.fuzz_messages import malformed_messages
from benchmarks.fuzz_real import BLOBS, STREAM
from capture.wire import MalformedMessageError
from reconstruct.inbox import Inbox
from stream.codec import decode
from stream.messages import PoseMessage
from stream.publisher import Publisher
from stream.subscriber import Subscriber
from stream.subscriptions import MAX_UNKNOWN
from tests.kept import Kept
from tests.test_codec import POSE, SKELETON

N = 3000


def refusals(decoder: Callable[[bytes], object], messages: Iterator[bytes]) -> int:
    refused = 0
    for message in messages:
        try:
            decoder(message)
        except MalformedMessageError:
            refused += 1
    return refused


@pytest.mark.parametrize("name", DECODERS)
def test_decoders_refuse_with_one_kind_of_error(name: str) -> None:
    decoder, real = DECODERS[name]
    for message in real:
        decoder(message)
    refused = refusals(decoder, islice(malformed_messages(real, seed=7), N))
    assert N * 0.6 < refused < N, "most are malformed, and some are real enough to go deep into the decoder"


def test_malformed_messages_are_the_same_for_a_seed_and_of_every_kind() -> None:
    first, again = (list(islice(malformed_messages(STREAM, seed=5), 400)) for _ in range(2))
    assert first == again != list(islice(malformed_messages(STREAM, seed=6), 400))
    assert {message.partition(b" ")[0] for message in first} > {b"pose", b"skeleton", b"rig", b"status", b"event"}


@pytest.mark.parametrize(
    "payload",
    [
        b"pose " + b"\x81\xa1a" * 5000,  # nested more deeply than Python recurses
        b"pose " + b"\xdf\xff\xff\xff\xff",  # a map of four billion
        b"status " + b"\xc7\xff\x05" + bytes(255),  # an extension type
        b"event " + b"\x81\xd6\xff\x00\x00\x00\x00\x00",  # a time stamp for a key
        b"skeleton " + bytes(2 << 20),
    ],
    ids=["deep", "long", "extension", "timestamp", "large"],
)
def test_hostile_payloads_are_refused_at_once(payload: bytes) -> None:
    begin = time.process_time()
    with pytest.raises(MalformedMessageError):
        decode(payload)
    assert time.process_time() - begin < 1.0


def spoiled(real: Sequence[bytes], decoder: Callable[[bytes], object], n: int) -> list[bytes]:
    """Give n messages that the decoder refuses."""
    found = []
    for message in malformed_messages(real, seed=11):
        if refusals(decoder, iter((message,))):
            found.append(message)
        if len(found) == n:
            return found
    raise AssertionError


def test_the_inbox_counts_a_flood_and_returns(kept: Kept) -> None:
    inbox = kept(Inbox())
    socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.PUSH)
    socket.setsockopt(zmq.LINGER, 0)
    socket.setsockopt(zmq.SNDTIMEO, 30_000)
    socket.connect(inbox.address)
    decoder = DECODERS["blobs"][0]
    taken = 0
    for number, message in enumerate(spoiled(BLOBS, decoder, 2000)):
        socket.send(message)
        if number % 100 == 99:
            taken += len(inbox.drain(100))
    socket.send(BLOBS[0])
    deadline = time.monotonic() + 60
    while not taken and time.monotonic() < deadline:
        taken += len(inbox.drain(100))
    assert taken == 1 and inbox.n_malformed == 2000
    socket.close()


def test_a_drain_ends_even_if_all_is_malformed_and_more_comes() -> None:
    inbox = Inbox()

    class Flood:
        """Stands in for a socket that never runs dry."""

        def poll(self, timeout_ms: int) -> int:
            return 1

        def recv(self, flags: int) -> bytes:
            return b"\xc1"

    inbox._socket.close(0)
    inbox._socket = Flood()  # type: ignore[assignment]
    assert inbox.drain(0) == [] and 0 < inbox.n_malformed < 10_000


def ask(socket: "zmq.Socket[bytes]", publisher: Publisher, requests: Sequence[bytes]) -> None:
    for request in requests:
        socket.send(request)
        publisher.serve(1)


def test_a_peer_that_asks_for_too_much_is_disconnected_and_the_others_are_not(kept: Kept) -> None:
    publisher = kept(Publisher("tcp://127.0.0.1:0"))
    publisher.publish(SKELETON)
    healthy = kept(Subscriber(publisher.address))
    greedy: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.XSUB)
    greedy.setsockopt(zmq.LINGER, 0)
    greedy.setsockopt(zmq.RECONNECT_IVL, -1)  # so that it stays away
    greedy.connect(publisher.address)
    deadline = time.monotonic() + 60
    greedy.send(b"\x01pose ")
    while publisher.n_subscriptions < 2 and time.monotonic() < deadline:
        publisher.serve(1)
        time.sleep(0.002)
    monitor = kept(greedy.get_monitor_socket(zmq.EVENT_DISCONNECTED))
    ask(greedy, publisher, [b"\x01topic %d" % number for number in range(MAX_UNKNOWN + 200)])
    while not monitor.poll(2) and time.monotonic() < deadline:
        publisher.serve(1)
    assert monitor.poll(0), "the connection was ended"
    assert MAX_UNKNOWN < publisher.n_malformed <= MAX_UNKNOWN + 200
    healthy.heard()
    publisher.publish(POSE)
    assert any(isinstance(message, PoseMessage) for message in healthy.heard(20_000))
    greedy.disable_monitor()
    monitor.close()
    greedy.close()


def test_a_peer_that_mistakes_a_few_topics_stays(kept: Kept) -> None:
    publisher = kept(Publisher("tcp://127.0.0.1:0"))
    socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.XSUB)
    socket.setsockopt(zmq.LINGER, 0)
    socket.connect(publisher.address)
    requests = [b"\x01posse", b"\x01poses ", b"\x05hello", b"", b"\x01skeletons", b"\x00nothing", b"\x01pose "]
    for request in requests:
        socket.send(request)
    deadline = time.monotonic() + 30
    while publisher.n_subscriptions < 1 and time.monotonic() < deadline:
        publisher.serve(1)
    publisher.publish(POSE)
    assert socket.poll(20_000) and isinstance(decode(socket.recv()), PoseMessage)
    assert publisher.n_malformed == 5  # an unsubscription is never counted
    socket.close()
