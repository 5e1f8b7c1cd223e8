"""What a run was given and when, entry by entry: enough to take every step again and come to the same poses, bit for bit.

Poses follow from the blobs in the order they came, from where one turn of the reconstruction ended and the next began (pairs that
were overrun, silences), from orders (the largest skew, a time offset set by hand), and from what was learned of the style, which
came back at a moment of its own. A journal holds these and nothing that follows from them: not the poses a style was learned of.
Entries are the messages of four topics; each turn counts on, so that a gap shows.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import msgpack

from capture.control import Order, decode_order, encode_order
from capture.wire import MalformedMessageError, SentBlobs, decode_blobs, encode_blobs, int_of, unpacked_map
from reconstruct.style.task import Learned, decode_learned, encode_learned

BLOBS, TURN, ORDER, STYLE = TOPICS = ("blobs", "turn", "order", "style")
UNRECORDED = ("stop", "status", "event", "camera")  # orders that change no pose


class Journal(Protocol):
    """Takes what a reconstruction is given, before it acts on it."""

    def turn(self, received: Sequence[tuple[SentBlobs, int]], t_ns: int) -> None:
        """Take a turn: blobs with the times they were received [ns], and the time of the turn."""

    def order(self, order: Order, t_ns: int) -> None:
        """Take an order."""

    def style(self, learned: Learned, t_ns: int) -> None:
        """Take what was learned of the style."""


class NoJournal:
    """For runs that are not recorded."""

    def turn(self, received: Sequence[tuple[SentBlobs, int]], t_ns: int) -> None:
        """Forget a turn."""

    def order(self, order: Order, t_ns: int) -> None:
        """Forget an order."""

    def style(self, learned: Learned, t_ns: int) -> None:
        """Forget what was learned."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One message of a journal: its topic, time [ns] and data, a msgpack map."""

    topic: str
    t_ns: int
    data: bytes


class JournalWriter:
    """Turns what a reconstruction is given into entries."""

    def __init__(self) -> None:
        self._n_turns = 0

    def turn(self, received: Sequence[tuple[SentBlobs, int]], t_ns: int) -> Iterator[Entry]:
        """Give the entries of a turn: its blobs, each at the time it was received, then the turn."""
        for sent, t_received_ns in received:
            yield Entry(BLOBS, t_received_ns, encode_blobs(sent))
        yield Entry(TURN, t_ns, bytes(msgpack.packb({"t_ns": t_ns, "turn": self._n_turns, "blobs": len(received)})))
        self._n_turns += 1

    def order(self, order: Order, t_ns: int) -> Iterator[Entry]:
        """Give the entry of an order that matters."""
        if order.kind not in UNRECORDED:
            yield Entry(ORDER, t_ns, encode_order(order))

    def style(self, learned: Learned, t_ns: int) -> Iterator[Entry]:
        """Give the entry of what was learned of the style."""
        yield Entry(STYLE, t_ns, encode_learned(learned))


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a reconstruction: what it received, and when."""

    received: tuple[tuple[SentBlobs, int], ...]
    t_ns: int


@dataclass(frozen=True, slots=True)
class Gap:
    """Entries that are missing: what follows cannot be repeated exactly."""

    text: str


def read_journal(entries: Iterable[Entry]) -> Iterator[Turn | Order | Learned | Gap]:
    """Give turns, orders and what was learned as they were; blobs after the last turn, of a run that was killed, are left out.

    Raises MalformedMessageError for an entry that is none.
    """
    received: list[tuple[SentBlobs, int]] = []
    n_turns = 0
    for entry in entries:
        if entry.topic == BLOBS:
            received.append((decode_blobs(entry.data), entry.t_ns))
        elif entry.topic == ORDER:
            yield decode_order(entry.data)
        elif entry.topic == STYLE:
            yield decode_learned(entry.data)
        elif entry.topic == TURN:
            content = unpacked_map(entry.data)
            turn, n_blobs = int_of(content, "turn"), int_of(content, "blobs")
            if turn != n_turns or n_blobs != len(received):
                yield Gap(f"turn {turn} with {n_blobs} blobs where turn {n_turns} was expected, and {len(received)} blobs came")
            n_turns = turn + 1
            yield Turn(tuple(received), int_of(content, "t_ns"))
            received = []
        else:
            raise MalformedMessageError(f"unknown topic {entry.topic[:20]!r} in a journal; expected {', '.join(TOPICS)}")
