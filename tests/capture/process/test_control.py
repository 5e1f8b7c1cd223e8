"""Orders and reports to bytes and back; journals of old sessions hold orders as they are on the wire."""

import random

import msgpack
import pytest

from capture.clock import OffsetMethod
from capture.process.control import (
    MAX_TEXT,
    CameraStatusOrder,
    ClockOrder,
    Details,
    EventOrder,
    Order,
    RateOrder,
    RecentreOrder,
    RecordOrder,
    Report,
    ReportKind,
    RequestedOrder,
    RoomSettings,
    StartOrder,
    StopOrder,
    SyncOrder,
    TuneOrder,
    WaitOrder,
    WelcomeOrder,
    decode_order,
    decode_report,
    decode_requested_order,
    encode_order,
    encode_report,
)
from capture.sockets.wire import MalformedMessageError
from config.settings import DetectorSettings

MS = 1_000_000
ORDERS: tuple[Order, ...] = (
    StopOrder(),
    StartOrder(123, "tcp://127.0.0.1:5", 9_000_000),
    EventOrder("ä"),
    CameraStatusOrder("left", {"preview": "tcp://127.0.0.1:9", "clock_offset_ns": -5, "fps": 59.5}),
    TuneOrder({"detector.k_sigma": 5.5, "camera.exposure": "auto", "relearn": 1}),
    RecordOrder("/takes/walk 1"),
    RateOrder(2),
    SyncOrder(OffsetMethod.JUMP),
    SyncOrder(offset_ms=-3.5),
    RecentreOrder(),
    WelcomeOrder("abcd"),
    WelcomeOrder("abcd", room=RoomSettings(landmarks="heavy", has_markers=False)),
    WelcomeOrder(
        "abcd", DetectorSettings("dark", 4.5, min_area_px=2.0), RoomSettings(((255.0, 40.0, 0.0), (10.0, 20.5, 30.0)), 4.0)
    ),
    WaitOrder("not yet"),
    ClockOrder(1, -2, 3),
)


def test_round_trips() -> None:
    for order in ORDERS:
        assert decode_order(encode_order(order)) == order
        request = RequestedOrder("left", order)
        if not isinstance(order, StartOrder):  # nobody asks for a start, and its address is no detail
            assert decode_requested_order(Report(ReportKind.ASK, "run", "left", {}, request.report_details())) == request
    report = Report(ReportKind.READY, "run", "", {"frames": 7, "offset": -3}, {"preview": "tcp://127.0.0.1:9"})
    assert decode_report(encode_report(report), "run") == decode_report(encode_report(report), None) == report


def test_orders_look_on_the_wire_as_journals_have_them() -> None:
    message = {"kind": "start", "t_start_ns": 5, "address": "tcp://127.0.0.1:1", "text": "", "details": {"budget_ns": 9}}
    assert encode_order(StartOrder(5, "tcp://127.0.0.1:1", 9)) == msgpack.packb(message)
    message = {"kind": "sync", "t_start_ns": 0, "address": "", "text": "flash", "details": {}}
    assert encode_order(SyncOrder(OffsetMethod.FLASH)) == msgpack.packb(message)


@pytest.mark.parametrize(
    ("details", "detector", "room"),
    [
        ({"k_sigma": "many", "min_area_px": 2.0, "novel": 1}, DetectorSettings(min_area_px=2.0), RoomSettings()),
        ({"colors_rgb": "1 2, 3", "empty_s": "long"}, DetectorSettings(), RoomSettings()),
        ({"landmarks": "lite", "has_markers": 0}, DetectorSettings(), RoomSettings(landmarks="lite", has_markers=False)),
        ({"landmarks": "huge"}, DetectorSettings(), RoomSettings()),
        ({"colors_rgb": "1 2 999", "empty_s": -1.0}, DetectorSettings(), RoomSettings()),
        ({"colors_rgb": "1 2 x", "empty_s": 3}, DetectorSettings(), RoomSettings(learn_s=3.0)),
    ],
)
def test_a_welcome_of_another_version_is_taken_as_far_as_it_makes_sense(
    details: Details, detector: DetectorSettings, room: RoomSettings
) -> None:
    message = {"kind": "welcome", "t_start_ns": 0, "address": "", "text": "abcd", "details": details}
    assert decode_order(msgpack.packb(message)) == WelcomeOrder("abcd", detector, room)


def test_details_that_are_no_numbers_or_words_are_refused() -> None:
    for details in ({"a": [1]}, {"a": True}, {str(k): k for k in range(65)}):
        with pytest.raises(MalformedMessageError, match="dropped"):
            decode_order(encode_order(TuneOrder(details)))


def test_long_words_are_cut_not_refused() -> None:
    assert len(decode_report(encode_report(Report(ReportKind.FAILED, "run", "x" * 10**6, {})), "run").text) == MAX_TEXT


def test_reports_of_another_session_are_refused() -> None:
    with pytest.raises(MalformedMessageError, match="another session"):
        decode_report(encode_report(Report(ReportKind.READY, "old", "", {})), "new")


def test_orders_of_no_known_kind_are_refused() -> None:
    with pytest.raises(MalformedMessageError, match="unknown kind 'explode'"):
        decode_order(encode_order(StopOrder()).replace(b"\xa4stop", b"\xa7explode"))


def test_mutilated_bytes_give_one_kind_of_error() -> None:
    rng, rejected = random.Random(3), 0
    originals = (
        encode_order(StartOrder(2**50, "tcp://127.0.0.1:5")),
        encode_report(Report(ReportKind.BEAT, "run", "t", {"n": 1})),
    )
    for _ in range(4000):
        data = bytearray(rng.choice(originals))
        for _ in range(rng.randrange(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        for decode in (decode_order, lambda payload: decode_report(payload, "run")):
            try:
                decode(bytes(data))
            except MalformedMessageError:
                rejected += 1
    assert rejected > 6000
