"""Orders from the supervisor to its processes, reports back, and both as msgpack maps.

On the wire an order is a map of kind, t_start_ns, address, text and details (journals of recorded sessions hold such maps); a
report one of kind, session, text, counts and details. What is malformed raises MalformedMessageError.
"""

import contextlib
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

import msgpack

from capture.clock import OffsetMethod
from capture.landmarks.pacing import OFF
from capture.sockets.wire import MalformedMessageError, read_int_field, read_message_field, unpack_map
from config.settings import LANDMARK_MODELS, DetectorSettings

MAX_TEXT = 4000
MAX_DETAILS = 64
MAX_LEARN_S = 600.0
MAX_OFFSET_MS = 1000.0  # of the right camera's timestamps
TUNING = "tuning"  # details of a camera that begin so are settings in force: tuning.detector.k_sigma

Detail = int | float | str
Details = dict[str, Detail]


@dataclass(frozen=True, slots=True)
class StartOrder:
    """To a camera: capture from t_start_ns on and send to `address`. To the reconstruction: pair frames within budget_ns.

    To the learner: ask for work at `address`. budget_ns: 0 where it is unknown.
    """

    t_start_ns: int = 0
    address: str = ""
    budget_ns: int = 0


@dataclass(frozen=True, slots=True)
class StopOrder:
    """End."""


@dataclass(frozen=True, slots=True)
class EventOrder:
    """To the reconstruction: publish a notice."""

    text: str


@dataclass(frozen=True, slots=True)
class CameraStatusOrder:
    """To the reconstruction: what the stream's status says of a camera."""

    camera: str
    details: Details


@dataclass(frozen=True, slots=True)
class TuneOrder:
    """To a camera: change settings, by dotted name."""

    settings: Details


@dataclass(frozen=True, slots=True)
class RecordOrder:
    """To a camera: record images to a folder; stop recording where it is empty."""

    folder: str


@dataclass(frozen=True, slots=True)
class RateOrder:
    """To a simulated camera: give only every n-th frame, since the machine does not hold more."""

    every: int


@dataclass(frozen=True, slots=True)
class SyncOrder:
    """To the reconstruction: find the cameras' time offsets, or set that of a camera's timestamps to offset_ms."""

    method: OffsetMethod | None = None
    offset_ms: float | None = None
    camera: int = 1


@dataclass(frozen=True, slots=True)
class RecentreOrder:
    """To the reconstruction: move the world so that the performer stands over its origin and looks along +Z."""


@dataclass(frozen=True, slots=True)
class RoomSettings:
    """What the detectors need to know of the room and of the performer.

    colors_rgb: of the markers, 0-255, where they have some; learn_s: for so long the performer is out of view at the start, and
    the background is learned; 0: it is not; landmarks: the model that finds the body's, `off` for none; has_markers: whether any
    are worn.
    """

    colors_rgb: tuple[tuple[float, float, float], ...] = ()
    learn_s: float = 0.0
    landmarks: str = OFF
    has_markers: bool = True


@dataclass(frozen=True, slots=True)
class WelcomeOrder:
    """To a camera node: join a run, with these settings of its detector. On the wire they are details."""

    session: str
    detector: DetectorSettings = field(default_factory=DetectorSettings)
    room: RoomSettings = field(default_factory=RoomSettings)


@dataclass(frozen=True, slots=True)
class WaitOrder:
    """To a camera node: leave, or wait for another run."""

    reason: str


@dataclass(frozen=True, slots=True)
class ClockOrder:
    """To a camera node: answer to its question for the time, sent at t0_ns, received at t1_ns, answered at t2_ns."""

    t0_ns: int
    t1_ns: int
    t2_ns: int


Order = (
    StartOrder
    | StopOrder
    | EventOrder
    | CameraStatusOrder
    | TuneOrder
    | RecordOrder
    | RateOrder
    | SyncOrder
    | RecentreOrder
    | WelcomeOrder
    | WaitOrder
    | ClockOrder
)


class ReportKind(StrEnum):
    """What a report says."""

    HELLO = "hello"  # a process lives; text: its address, of a camera node the camera it serves
    READY = "ready"
    BEAT = "beat"  # still alive
    ENDED = "ended"  # its source has come to the end
    FAILED = "failed"  # text: an error the user can do something about
    FAULT = "fault"  # text: a bug
    EVENT = "event"  # text: a notice for the user and the stream
    ASK = "ask"  # a RequestedOrder
    LEARN = "learn"  # text: the address at which a learner of styles is wanted
    CLOCK = "clock"  # a camera node asks for the time; counts: t0_ns


@dataclass(frozen=True, slots=True)
class Report:
    """A message of a process to its run. session: the run it belongs to; counts: figures by name; details: facts such as
    `preview`.
    """

    kind: ReportKind
    session: str
    text: str
    counts: dict[str, int]
    details: Details = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RequestedOrder:
    """An order that one process wants another to be given, as a request to the service for a camera. process: empty for all."""

    process: str
    order: Order

    def report_details(self) -> Details:
        """Return the details of the report that carries it; its text is the process."""
        message = _map_from_order(self.order)
        return {**message["details"], "order": message["kind"], "text": message["text"]}


def decode_requested_order(report: Report) -> RequestedOrder:
    """Return the order that a report of kind ASK carries; raises MalformedMessageError."""
    details = dict(report.details)
    kind, text = str(details.pop("order", "")), str(details.pop("text", ""))
    return RequestedOrder(report.text, _order_from_map(_make_order_map(kind, text, details)))


def encode_order(order: Order) -> bytes:
    """Return the bytes of an order."""
    return bytes(msgpack.packb(_map_from_order(order)))


def decode_order(payload: bytes) -> Order:
    """Return the order of a message; raises MalformedMessageError."""
    return _order_from_map(unpack_map(payload))


def encode_report(report: Report) -> bytes:
    """Return the bytes of a report."""
    content = {
        "kind": report.kind.value,
        "session": report.session,
        "text": report.text[:MAX_TEXT],
        "counts": report.counts,
        "details": report.details,
    }
    return bytes(msgpack.packb(content))


def decode_report(payload: bytes, session: str | None) -> Report:
    """Return the report of a message of this session, of any if None; raises MalformedMessageError."""
    content = unpack_map(payload)
    theirs: str = read_message_field(content, "session", str)
    if session is not None and theirs != session:
        raise MalformedMessageError("a report of another session came; it was dropped")
    kind: str = read_message_field(content, "kind", str)
    if kind not in list(ReportKind):
        raise _make_unknown_error(kind)
    counts = read_message_field(content, "counts", dict)
    checked = {str(key): read_int_field(counts, key, -(2**63)) for key in counts}
    return Report(ReportKind(kind), theirs, read_message_field(content, "text", str), checked, _read_details(content))


def _map_from_order(order: Order) -> dict[str, Any]:
    """Return an order as a map of plain values."""
    match order:
        case StartOrder(t_start_ns, address, budget_ns):
            return _make_order_map("start", "", {"budget_ns": budget_ns} if budget_ns else {}, t_start_ns, address)
        case StopOrder():
            return _make_order_map("stop")
        case EventOrder(text):
            return _make_order_map("event", text)
        case CameraStatusOrder(camera, details):
            return _make_order_map("camera", camera, details)
        case TuneOrder(settings):
            return _make_order_map("tune", "", settings)
        case RecordOrder(folder):
            return _make_order_map("record", folder)
        case RateOrder():
            return _make_order_map("rate", "", asdict(order))
        case SyncOrder(method, offset_ms, camera):
            return _make_order_map("sync", method or "", {} if offset_ms is None else {"offset_ms": offset_ms, "camera": camera})
        case RecentreOrder():
            return _make_order_map("recentre")
        case WelcomeOrder(session, detector, room):
            return _make_order_map("welcome", session, asdict(detector) | _details_from_room(room))
        case WaitOrder(why):
            return _make_order_map("wait", why)
        case ClockOrder():
            return _make_order_map("clock", "", asdict(order))


def _make_order_map(
    kind: str, text: str = "", details: Details | None = None, t_start_ns: int = 0, address: str = ""
) -> dict[str, Any]:
    return {"kind": kind, "t_start_ns": t_start_ns, "address": address, "text": text[:MAX_TEXT], "details": details or {}}


def _order_from_map(content: dict[str, Any]) -> Order:
    """Return the order of a map of plain values; the inverse of `_map_from_order`."""
    address, text = read_message_field(content, "address", str), read_message_field(content, "text", str)
    t_start_ns, details = read_int_field(content, "t_start_ns"), _read_details(content)
    match kind := read_message_field(content, "kind", str):
        case "start":
            budget_ns = details.get("budget_ns")
            return StartOrder(t_start_ns, address, max(budget_ns, 0) if isinstance(budget_ns, int) else 0)
        case "stop":
            return StopOrder()
        case "event":
            return EventOrder(text)
        case "camera":
            return CameraStatusOrder(text, details)
        case "tune":
            return TuneOrder(details)
        case "record":
            return RecordOrder(text)
        case "rate":
            return RateOrder(max(read_int_field(details, "every"), 1))
        case "sync":
            offset_ms, camera = details.get("offset_ms"), details.get("camera", 1)
            method = OffsetMethod(text) if text in list(OffsetMethod) else None
            offset_ms = None if isinstance(offset_ms, str | None) else float(offset_ms)
            return SyncOrder(method, offset_ms, camera if isinstance(camera, int) else 1)
        case "recentre":
            return RecentreOrder()
        case "welcome":
            return WelcomeOrder(text, _detector_from_details(details), _room_from_details(details))
        case "wait":
            return WaitOrder(text)
        case "clock":
            return ClockOrder(*(read_int_field(details, name, -(2**63)) for name in ("t0_ns", "t1_ns", "t2_ns")))
    raise _make_unknown_error(kind)


def _detector_from_details(details: Details) -> DetectorSettings:
    """Return the detector's settings; what is missing or of another type, as of another version, keeps its default."""
    kinds = {name: type(value) for name, value in asdict(DetectorSettings()).items()}
    told = {name: details[name] for name, kind in kinds.items() if isinstance(details.get(name), kind)}
    return DetectorSettings(**told)  # type: ignore[arg-type]


def _details_from_room(room: RoomSettings) -> Details:
    """Return the settings of the room, those that are not the default."""
    details: Details = {"empty_s": room.learn_s} if room.learn_s > 0.0 else {}
    if room.colors_rgb:
        details["colors_rgb"] = ", ".join(" ".join(f"{value:g}" for value in color) for color in room.colors_rgb)
    if room.landmarks != OFF:
        details["landmarks"] = room.landmarks
    if not room.has_markers:
        details["has_markers"] = 0
    return details


def _room_from_details(details: Details) -> RoomSettings:
    """Return the settings of the room; what is malformed is left out."""
    colors: list[tuple[float, ...]] = []
    with contextlib.suppress(ValueError):
        colors = [tuple(float(value) for value in color.split()) for color in str(details.get("colors_rgb", "")).split(",")]
    known = all(len(color) == 3 and all(0.0 <= value <= 255.0 for value in color) for color in colors)
    learn_s = details.get("empty_s")
    learns = isinstance(learn_s, int | float) and 0.0 < learn_s <= MAX_LEARN_S
    landmarks = str(details.get("landmarks", OFF))
    return RoomSettings(
        tuple((r, g, b) for r, g, b in colors) if known else (),
        float(learn_s or 0.0) if learns else 0.0,
        landmarks if landmarks in LANDMARK_MODELS else OFF,
        details.get("has_markers", 1) != 0,
    )


def _make_unknown_error(kind: str) -> MalformedMessageError:
    return MalformedMessageError(f"unknown kind {kind[:20]!r}; the message was dropped")


def _read_details(content: dict[str, Any]) -> Details:
    """Return the details of a message, none if it has none; texts are cut to length."""
    details = content.get("details", {})
    if not isinstance(details, dict) or len(details) > MAX_DETAILS:
        raise MalformedMessageError(f"details must be a map of at most {MAX_DETAILS}; the message was dropped")
    values = {str(key)[:MAX_TEXT]: read_message_field(details, key, (int, float, str)) for key in details}
    return {key: value[:MAX_TEXT] if isinstance(value, str) else value for key, value in values.items()}
