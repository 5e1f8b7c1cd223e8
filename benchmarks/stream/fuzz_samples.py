"""A real message of every kind, which the fuzzer changes: stream, blobs, orders, reports, previews and requests."""

import tempfile
from dataclasses import replace
from pathlib import Path

import msgpack
import numpy as np

from capture.clock import OffsetMethod
from capture.packets import Blobs, Frame
from capture.process.control import (
    EventOrder,
    RecentreOrder,
    RecordOrder,
    Report,
    ReportKind,
    StartOrder,
    SyncOrder,
    TuneOrder,
    decode_order,
    encode_order,
    encode_report,
)
from capture.process.preview_image import PreviewKind, PreviewRequest, encode_preview, make_preview
from capture.sockets.wire import SentBlobs, decode_blobs, encode_blobs
from reconstruct.process.journal import JournalWriter
from stream.protocol.codec import encode_message
from stream.recording.recorder import Recorder
from tests.support.stream_messages import EVENT, POSE, RIG, SKELETON, STATUS

SESSION = "6f1c5d2a9b3e"
_POINTS = np.arange(18.0).reshape(9, 2)

_TAILED, _UPRIGHT = replace(SKELETON, tails_m=SKELETON.offsets_m), replace(RIG, floor_known=False, up_xyz=(0.0, 1.0, 0.0))
STREAM = tuple(encode_message(message) for message in (_TAILED, _UPRIGHT, POSE, POSE, STATUS, EVENT))
BLOBS = (encode_blobs(SentBlobs(Blobs(1, 7, 1000, _POINTS, _POINTS[:, 0], np.ones((9, 3)), _POINTS[:, 1]), 1100, 1200)),)
ORDERS = tuple(
    encode_order(order)
    for order in (
        StartOrder(2**50, "tcp://127.0.0.1:5", 9_000_000),
        EventOrder("news"),
        TuneOrder({"detector.k_sigma": 5.5, "camera.exposure": "auto", "relearn": 1}),
        RecordOrder("/takes/walk 1"),
        SyncOrder(OffsetMethod.FLASH, -3.5),
        RecentreOrder(),
    )
)
REPORTS = (
    encode_report(Report(ReportKind.BEAT, SESSION, "text", {"frames": 7, "skipped": -1})),
    encode_report(Report(ReportKind.ASK, SESSION, "left", {}, {"order": "tune", "text": "", "detector.k_sigma": 5.5})),
    encode_report(
        Report(ReportKind.READY, SESSION, "", {"width": 640}, {"preview": "tcp://127.0.0.1:5", "stamp": "driver", "gain": 1.5})
    ),
)
JOURNAL = tuple(
    entry.topic.encode() + b" " + entry.data
    for entries in (
        JournalWriter().turn([(decode_blobs(BLOBS[0]), 1300)], 1400),
        JournalWriter().order(decode_order(ORDERS[-1]), 5),
    )
    for entry in entries
)
QUESTIONS = tuple(
    bytes(msgpack.packb({"schema": 1, "id": 7, **rest}))
    for rest in (
        {"request": "clock", "t0_ns": 2**50},
        {"request": "record", "on": True, "name": "walk 1"},
        {"request": "record", "on": False, "name": None},
        {"request": "info"},
    )
)
TUNING = tuple(
    bytes(msgpack.packb({"schema": 1, "id": 8, **rest}))
    for rest in (
        {"request": "tune", "camera": "left", "values": {"detector.k_sigma": 5.0, "camera.exposure": "-6"}},
        {
            "request": "tune",
            "camera": "",
            "values": {"detector.mode": "dark", "detector.min_area_px": None, "background": "learn"},
        },
        {"request": "sync", "way": "jump", "offset_ms": None},
        {"request": "sync", "way": "", "offset_ms": -12.5},
        {"request": "save_tuned"},
        {"request": "settings"},
    )
)
_FRAME = Frame(1, 7, 1000, np.random.default_rng(0).integers(0, 255, (48, 64, 3)).astype(np.uint8))
_SEEN = Blobs(1, 7, 1000, _POINTS, _POINTS[:, 0], np.ones((9, 3)), _POINTS[:, 1])
PREVIEWS = tuple(
    encode_preview(make_preview(_FRAME, _SEEN, request))
    for request in (PreviewRequest(), PreviewRequest(PreviewKind.FOREGROUND, (8, 8, 32, 32)))
)
REQUESTS = (b"\x01pose ", b"\x01", b"\x01skeleton ", b"\x00pose ", b"\x01status")


def build_recording_bytes() -> bytes:
    """Return the file of a small recording, the same at every call."""
    with tempfile.TemporaryDirectory() as folder:
        recorder = Recorder(Path(folder) / "real.mcap", {"subject": "somebody", "session": SESSION})
        with recorder._changed:  # its thread finds all messages at once and makes one chunk of them, however busy the machine
            for number, payload in enumerate(STREAM):
                recorder.write(payload, number)
            recorder.finish()
        recorder.close()
        return recorder.file.read_bytes()
