"""Malformed messages: every decoder refuses with one kind of error, every socket counts them and goes on."""

from collections.abc import Callable, Iterator
from itertools import islice

import pytest

from benchmarks.stream.fuzz import DECODERS
from benchmarks.stream.fuzz_messages import generate_malformed_messages
from benchmarks.stream.fuzz_samples import STREAM
from capture.sockets.wire import MalformedMessageError

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
    refused = refusals(decoder, islice(generate_malformed_messages(real, seed=7), n))
    assert n * 0.6 < refused < n, "most are malformed, and some are real enough to go deep into the decoder"


def test_malformed_messages_are_the_same_for_a_seed_and_of_every_kind() -> None:
    first, again = (list(islice(generate_malformed_messages(STREAM, seed=5), 400)) for _ in range(2))
    assert first == again != list(islice(generate_malformed_messages(STREAM, seed=6), 400))
    assert {message.partition(b" ")[0] for message in first} > {b"pose", b"skeleton", b"rig", b"status", b"event"}
