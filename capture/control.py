"""Orders from the supervisor to its processes and reports back, as msgpack maps; no sockets here."""

from dataclasses import dataclass
from typing import Any

import msgpack

from capture.wire import MalformedMessageError, field_of, int_of, unpacked_map

ORDERS = ("start", "stop", "status", "event")
REPORTS = ("hello", "ready", "beat", "ended", "failed", "fault")
MAX_TEXT = 4000


@dataclass(frozen=True, slots=True)
class Order:
    """What a process is told: start at t_start_ns (sending to `address`), stop, report now, or publish an event `text`."""

    kind: str
    t_start_ns: int = 0
    address: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """What a process tells: hello (with its address), ready, beat (alive), ended (its source), failed or fault (user's or ours).

    session: the run it belongs to; counts: figures by name.
    """

    kind: str
    session: str
    text: str
    counts: dict[str, int]


def encode_order(order: Order) -> bytes:
    """Give the bytes of an order."""
    content = {"kind": order.kind, "t_start_ns": order.t_start_ns, "address": order.address, "text": order.text[:MAX_TEXT]}
    return bytes(msgpack.packb(content))


def decode_order(payload: bytes) -> Order:
    """Give the order of a message; raises MalformedMessageError."""
    content = unpacked_map(payload)
    address, text = field_of(content, "address", str), field_of(content, "text", str)
    return Order(_kind(content, ORDERS), int_of(content, "t_start_ns"), address, text)


def encode_report(report: Report) -> bytes:
    """Give the bytes of a report."""
    content = {"kind": report.kind, "session": report.session, "text": report.text[:MAX_TEXT], "counts": report.counts}
    return bytes(msgpack.packb(content))


def decode_report(payload: bytes, session: str) -> Report:
    """Give the report of a message of this session; raises MalformedMessageError."""
    content = unpacked_map(payload)
    if field_of(content, "session", str) != session:
        raise MalformedMessageError("a report of another session came; it was dropped")
    counts = field_of(content, "counts", dict)
    checked = {str(key): int_of(counts, key, -(2**63)) for key in counts}
    return Report(_kind(content, REPORTS), session, field_of(content, "text", str), checked)


def _kind(content: dict[str, Any], known: tuple[str, ...]) -> str:
    """Give the kind of a message if it is a known one."""
    kind: str = field_of(content, "kind", str)
    if kind not in known:
        raise MalformedMessageError(f"unknown kind {kind[:20]!r}, expected one of {', '.join(known)}; the message was dropped")
    return kind
