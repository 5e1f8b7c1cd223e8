"""Malformed messages: every decoder refuses with one kind of error, every socket counts them and goes on."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import pytest
import zmq

from benchmarks.stream.fuzz import DECODERS
from benchmarks.stream.fuzz_messages import malformed_messages
from benchmarks.stream.fuzz_samples import BLOBS, STREAM
from capture.sockets.wire import MalformedMessageError
from reconstruct.process.inbox import Inbox
from tests.support.kept import Kept
from tests.support.ports import peer
from tests.support.waiting import wait_until

N = {"recordings": 150}
USUAL_N = 800


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
    n = N.get(name, USUAL_N)
    refused = refusals(decoder, islice(malformed_messages(real, seed=7), n))
    assert n * 0.6 < refused < n, "most are malformed, and some are real enough to go deep into the decoder"


def test_malformed_messages_are_the_same_for_a_seed_and_of_every_kind() -> None:
    first, again = (list(islice(malformed_messages(STREAM, seed=5), 400)) for _ in range(2))
    assert first == again != list(islice(malformed_messages(STREAM, seed=6), 400))
    assert {message.partition(b" ")[0] for message in first} > {b"pose", b"skeleton", b"rig", b"status", b"event"}


def spoiled(real: Sequence[bytes], decoder: Callable[[bytes], object], n: int) -> list[bytes]:
    """Return n messages that the decoder refuses."""
    found = []
    for message in malformed_messages(real, seed=11):
        if refusals(decoder, iter((message,))):
            found.append(message)
        if len(found) == n:
            return found
    raise AssertionError


def test_the_inbox_counts_a_flood_and_returns(kept: Kept) -> None:
    inbox = kept(Inbox())
    socket, decoder, taken = kept(peer(inbox.address, zmq.PUSH)), DECODERS["blobs"][0], 0
    for number, message in enumerate(spoiled(BLOBS, decoder, 500)):
        socket.send(message)
        if number % 100 == 99:
            taken += len(inbox.drain(100))
    socket.send(BLOBS[0])
    last: list[object] = []
    wait_until(lambda: taken or last or last.extend(inbox.drain(100)))
    assert taken + len(last) == 1 and inbox.n_malformed == 500


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
