"""Orders from the supervisor to its processes and reports back, as msgpack maps; no sockets here."""

from dataclasses import dataclass, field
from typing import Any

import msgpack

from capture.wire import MalformedMessageError, field_of, int_of, unpacked_map

ORDERS = ("start", "stop", "status", "event", "camera", "tune", "record", "sync", "welcome", "wait", "clock")
REPORTS = ("hello", "ready", "beat", "ended", "failed", "fault", "event", "ask", "learn", "clock")
MAX_TEXT = 4000
MAX_DETAILS = 64
MAX_OFFSET_MS = 1000.0  # of the right camera's stamps: what an order sets is no more
TUNING = "tuning"  # details of a camera that begin so are settings in force: tuning.detector.k_sigma

Detail = int | float | str
Details = dict[str, Detail]


@dataclass(frozen=True, slots=True)
class Order:
    """What a process is told.

    start at t_start_ns, sending to `address` (the reconstruction: cameras start; details: `budget_ns`, largest skew of a pair);
    stop; report now (status); publish an event `text`; camera: `details` of the camera `text`, for the stream's status.
    To cameras also: tune, settings by name as `details`; record to the folder `text`, no longer where it is empty. To the
    reconstruction: sync, find the cameras' time offset in the way `text`.
    To camera nodes also: welcome to the session `text` with the detector's settings as `details`; wait, for the reason `text`;
    clock: `details` t0_ns, t1_ns, t2_ns of a round trip.
    """

    kind: str
    t_start_ns: int = 0
    address: str = ""
    text: str = ""
    details: Details = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Report:
    """What a process tells: hello (with its address), ready, beat (alive), ended (its source), failed or fault (user's or ours).

    event: news in `text`, for the user and the stream; ask: that the process `text` be given the order `details["order"]`, with
    the detail `text` as its text and the other details as its own: how a request to the service reaches a camera; learn: that
    whoever learns styles be started and told of the address `text`.
    session: the run it belongs to; counts: figures by name; details: what else is to be known of it, such as `preview`. A camera
    node's hello names its camera, and `clock` asks for the time with the count t0_ns.
    """

    kind: str
    session: str
    text: str
    counts: dict[str, int]
    details: Details = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ask:
    """What a process wants another one told: the report `ask`. process: its name, empty for both cameras; order: its kind."""

    process: str
    order: str
    text: str = ""
    details: Details = field(default_factory=dict)

    def report_details(self) -> Details:
        """Give the details of the report."""
        return {**self.details, "order": self.order, "text": self.text}


def encode_order(order: Order) -> bytes:
    """Give the bytes of an order."""
    content = {
        "kind": order.kind,
        "t_start_ns": order.t_start_ns,
        "address": order.address,
        "text": order.text[:MAX_TEXT],
        "details": order.details,
    }
    return bytes(msgpack.packb(content))


def decode_order(payload: bytes) -> Order:
    """Give the order of a message; raises MalformedMessageError."""
    content = unpacked_map(payload)
    address, text = field_of(content, "address", str), field_of(content, "text", str)
    return Order(_kind(content, ORDERS), int_of(content, "t_start_ns"), address, text, _details(content))


def encode_report(report: Report) -> bytes:
    """Give the bytes of a report."""
    content = {
        "kind": report.kind,
        "session": report.session,
        "text": report.text[:MAX_TEXT],
        "counts": report.counts,
        "details": report.details,
    }
    return bytes(msgpack.packb(content))


def decode_report(payload: bytes, session: str | None) -> Report:
    """Give the report of a message of this session, of any if None; raises MalformedMessageError."""
    content = unpacked_map(payload)
    theirs: str = field_of(content, "session", str)
    if session is not None and theirs != session:
        raise MalformedMessageError("a report of another session came; it was dropped")
    counts = field_of(content, "counts", dict)
    checked = {str(key): int_of(counts, key, -(2**63)) for key in counts}
    return Report(_kind(content, REPORTS), theirs, field_of(content, "text", str), checked, _details(content))


def _kind(content: dict[str, Any], known: tuple[str, ...]) -> str:
    """Give the kind of a message if it is a known one."""
    kind: str = field_of(content, "kind", str)
    if kind not in known:
        raise MalformedMessageError(f"unknown kind {kind[:20]!r}, expected one of {', '.join(known)}; the message was dropped")
    return kind


def _details(content: dict[str, Any]) -> Details:
    """Give the details of a message, none if it has none."""
    details = content.get("details", {})
    if not isinstance(details, dict) or len(details) > MAX_DETAILS:
        raise MalformedMessageError(f"details must be a map of at most {MAX_DETAILS}; the message was dropped")
    return {str(key)[:MAX_TEXT]: _detail(details, key) for key in details}


def _detail(details: dict[str, Any], key: str) -> Detail:
    """Give one detail: a number, or words cut to length."""
    value: Detail = field_of(details, key, (int, float, str))
    return value[:MAX_TEXT] if isinstance(value, str) else value
