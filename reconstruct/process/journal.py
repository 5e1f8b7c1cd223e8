"""The journal of a run: all that poses depend on, so that a replay makes the same poses, to the bit.

Poses depend on the blobs in the order they came, on where turns of the reconstruction ended (pairs that were overrun, silences),
on orders (the largest skew, a time offset set by hand), and on the styles that were learned and when. A journal has these and
nothing that follows from them, such as the poses a style was learned from. Entries are the messages of four topics; turns are
numbered, so that gaps are noticed.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import msgpack

from capture.process.control import CameraStatusOrder, EventOrder, Order, StopOrder, decode_order, encode_order
from capture.sockets.wire import MalformedMessageError, SentBlobs, decode_blobs, encode_blobs, read_int_field, unpack_map
from reconstruct.models.style.task import LearnedStyle, decode_learned, encode_learned

BLOBS, TURN, ORDER, STYLE = TOPICS = ("blobs", "turn", "order", "style")
UNRECORDED = (StopOrder, EventOrder, CameraStatusOrder)  # orders that change no pose


class Journal(Protocol):
    """Records the input of a reconstruction before it is used."""

    def turn(self, received: Sequence[tuple[SentBlobs, int]], t_ns: int) -> None:
        """Record a turn: blobs with the times they were received [ns], and the time of the turn."""

    def order(self, order: Order, t_ns: int) -> None:
        """Record an order."""

    def style(self, learned: LearnedStyle, t_ns: int) -> None:
        """Record a style that was learned and used."""


class NoJournal:
    """For runs that are not recorded."""

    def turn(self, received: Sequence[tuple[SentBlobs, int]], t_ns: int) -> None:
        """Ignore a turn."""

    def order(self, order: Order, t_ns: int) -> None:
        """Ignore an order."""

    def style(self, learned: LearnedStyle, t_ns: int) -> None:
        """Ignore a style."""


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One message of a journal: its topic, time [ns] and data, a msgpack map."""

    topic: str
    t_ns: int
    data: bytes


class JournalWriter:
    """Converts the input of a reconstruction to entries."""

    def __init__(self) -> None:
        self._n_turns = 0

    def turn(self, received: Sequence[tuple[SentBlobs, int]], t_ns: int) -> Iterator[JournalEntry]:
        """Return the entries of a turn: its blobs, each at the time it was received, then the turn."""
        for sent, t_received_ns in received:
            yield JournalEntry(BLOBS, t_received_ns, encode_blobs(sent))
        yield JournalEntry(TURN, t_ns, bytes(msgpack.packb({"t_ns": t_ns, "turn": self._n_turns, "blobs": len(received)})))
        self._n_turns += 1

    def order(self, order: Order, t_ns: int) -> Iterator[JournalEntry]:
        """Return the entry of an order that poses depend on."""
        if not isinstance(order, UNRECORDED):
            yield JournalEntry(ORDER, t_ns, encode_order(order))

    def style(self, learned: LearnedStyle, t_ns: int) -> Iterator[JournalEntry]:
        """Return the entry of a style that was learned."""
        yield JournalEntry(STYLE, t_ns, encode_learned(learned))


@dataclass(frozen=True, slots=True)
class JournalTurn:
    """One turn of a reconstruction: blobs with the times they were received [ns], and its time."""

    received: tuple[tuple[SentBlobs, int], ...]
    t_ns: int


@dataclass(frozen=True, slots=True)
class JournalGap:
    """Missing entries, after which a replay may differ: numbers of the turn and of its blobs, found and expected."""

    turn: int
    expected_turn: int
    n_blobs: int
    n_found: int

    @property
    def text(self) -> str:
        """The gap, for a report."""
        found, expected = f"turn {self.turn} with {self.n_blobs} blobs", f"turn {self.expected_turn} was expected"
        return f"{found} where {expected}, and {self.n_found} blobs came"


def read_journal(entries: Iterable[JournalEntry]) -> Iterator[JournalTurn | Order | LearnedStyle | JournalGap]:
    """Return turns, orders and learned styles in their order; blobs after the last turn, of a run that was killed, are skipped.

    Raises MalformedMessageError for an invalid entry.
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
            content = unpack_map(entry.data)
            turn, n_blobs = read_int_field(content, "turn"), read_int_field(content, "blobs")
            if turn != n_turns or n_blobs != len(received):
                yield JournalGap(turn, n_turns, n_blobs, len(received))
            n_turns = turn + 1
            yield JournalTurn(tuple(received), read_int_field(content, "t_ns"))
            received = []
        else:
            raise MalformedMessageError(f"unknown topic {entry.topic[:20]!r} in a journal; expected {', '.join(TOPICS)}")
