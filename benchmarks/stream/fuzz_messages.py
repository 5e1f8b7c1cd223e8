"""Malformed messages without end, from a seed: noise, and real messages after a random change."""

import math
import random
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgpack

ODD = (None, True, -1, 0, 2**63 - 1, 2**64 - 1, -(2**63), math.nan, math.inf, -math.inf, 1e308, "", "x" * 300, b"", b"\x00" * 7)
MAX_NOISE_BYTES = 200
LENGTH_CODES = (0xC6, 0xDB, 0xDD, 0xDF, 0xC9)  # msgpack: bytes, text, list, map and extension of up to 2^32


def generate_malformed_messages(real: Sequence[bytes], seed: int) -> Iterator[bytes]:
    """Return messages without end; about one in eight is as real as it was."""
    rng = random.Random(seed)
    changes = (
        _make_noise,
        _flip_bytes,
        _cut_end,
        _repeat_piece,
        _splice_messages,
        _announce_too_many,
        _insert_odd_value,
        _insert_odd_value,
        _insert_odd_value,
        _nest_deeply,
    )
    while True:
        change: Callable[[random.Random, Sequence[bytes]], bytes] = rng.choice(changes)
        yield change(rng, real)


def _make_noise(rng: random.Random, real: Sequence[bytes]) -> bytes:
    """Return random bytes, half of them after a real beginning."""
    noise = rng.randbytes(rng.randrange(MAX_NOISE_BYTES))
    return noise if rng.random() < 0.5 else rng.choice(real)[: rng.randrange(12)] + noise


def _flip_bytes(rng: random.Random, real: Sequence[bytes]) -> bytes:
    """Change a few bytes."""
    message = bytearray(rng.choice(real))
    for _ in range(rng.randint(1, 4)):
        message[rng.randrange(len(message))] = rng.randrange(256)
    return bytes(message)


def _cut_end(rng: random.Random, real: Sequence[bytes]) -> bytes:
    """Cut the end off."""
    message = rng.choice(real)
    return message[: rng.randrange(len(message))]


def _repeat_piece(rng: random.Random, real: Sequence[bytes]) -> bytes:
    """Repeat a piece."""
    message = rng.choice(real)
    begin = rng.randrange(len(message))
    end = min(len(message), begin + rng.randrange(1, 40))
    return message[:end] + message[begin:]


def _splice_messages(rng: random.Random, real: Sequence[bytes]) -> bytes:
    """Begin as one message and end as another."""
    first, second = rng.choice(real), rng.choice(real)
    return first[: rng.randrange(len(first))] + second[rng.randrange(len(second)) :]


def _announce_too_many(rng: random.Random, real: Sequence[bytes]) -> bytes:
    """Announce up to four billion elements that do not follow."""
    message = rng.choice(real)
    at = rng.randrange(len(message))
    return message[:at] + bytes([rng.choice(LENGTH_CODES)]) + struct.pack(">I", rng.getrandbits(32)) + message[at:]


def _nest_deeply(rng: random.Random, real: Sequence[bytes]) -> bytes:
    """Nest lists or maps deeply where a value should be."""
    message = rng.choice(real)
    at = rng.randrange(len(message))
    return message[:at] + rng.choice((b"\x91", b"\x81\xa1a", b"\x81")) * rng.choice((3, 100, 2000)) + message[at:]


def _insert_odd_value(rng: random.Random, real: Sequence[bytes]) -> bytes:
    """Stay well-formed msgpack, but with a value, a type or a key that does not belong there."""
    message = rng.choice(real)
    topic, space, body = message.partition(b" ") if message[:1].isalpha() else (b"", b"", message)
    try:
        content = msgpack.unpackb(body)
    except ValueError:
        return _make_noise(rng, real)
    return topic + space + bytes(msgpack.packb(_change_value(rng, content)))


def _change_value(rng: random.Random, value: Any) -> Any:
    """Change something in a tree of maps and lists."""
    if isinstance(value, dict) and value and rng.random() < 0.95:
        key = rng.choice(list(value))
        if rng.random() < 0.1:
            return {k: v for k, v in value.items() if k != key}
        return {**value, key: _change_value(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.7:
        at = rng.randrange(len(value))
        return [*value[:at], _change_value(rng, value[at]), *value[at + rng.randrange(2) :]]
    if isinstance(value, bytes) and value and rng.random() < 0.7:
        at = rng.randrange(len(value))
        return value[:at] + rng.randbytes(rng.randrange(9)) + value[at + rng.randrange(9) :]
    return rng.choice((*ODD, [value], {"a": value}, [value] * 300, rng.getrandbits(64), -rng.random() * 1e3))
