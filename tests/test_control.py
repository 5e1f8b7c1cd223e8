"""Orders and reports between the supervisor and its processes, and the pacing of recorded frames."""

import random
import threading
import time

import numpy as np
import pytest
import zmq

from capture.blob_line import Pace
from capture.clock import now_ns
from capture.control import MAX_TEXT, Order, Report, decode_order, decode_report, encode_order, encode_report
from capture.packets import Frame
from capture.plan import CameraPlan
from capture.wire import MalformedMessageError, decode_blobs
from capture.worker import CameraWorker
from tests import fakes

MS = 1_000_000


def test_round_trips() -> None:
    for order in (Order("stop"), Order("start", 123, "tcp://127.0.0.1:5", ""), Order("event", text="ä")):
        assert decode_order(encode_order(order)) == order
    report = Report("beat", "run", "", {"frames": 7, "offset": -3})
    assert decode_report(encode_report(report), "run") == report
    order = Order("camera", text="left", details={"preview": "tcp://127.0.0.1:9", "clock_offset_ns": -5, "fps": 59.5})
    assert decode_order(encode_order(order)) == order
    report = Report("ready", "run", "", {}, {"preview": "tcp://127.0.0.1:9"})
    assert decode_report(encode_report(report), None) == report


def test_details_that_are_no_numbers_or_words_are_refused() -> None:
    for details in ({"a": [1]}, {"a": True}, {str(k): k for k in range(65)}):
        with pytest.raises(MalformedMessageError, match="dropped"):
            decode_order(encode_order(Order("camera", details=details)))


def test_long_words_are_cut_not_refused() -> None:
    assert len(decode_report(encode_report(Report("failed", "run", "x" * 10**6, {})), "run").text) == MAX_TEXT


def test_reports_of_another_session_are_refused() -> None:
    with pytest.raises(MalformedMessageError, match="another session"):
        decode_report(encode_report(Report("ready", "old", "", {})), "new")


def test_orders_of_no_known_kind_are_refused() -> None:
    with pytest.raises(MalformedMessageError, match="unknown kind 'explode'"):
        decode_order(encode_order(Order("explode")))


def test_mutilated_bytes_give_one_kind_of_error() -> None:
    rng, rejected = random.Random(3), 0
    originals = (encode_order(Order("start", 2**50, "tcp://127.0.0.1:5")), encode_report(Report("beat", "run", "t", {"n": 1})))
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


def test_a_frame_is_late_when_the_next_one_is_due_too() -> None:
    pace = Pace(1000 * MS, fps=50.0)
    frame = Frame(0, 3, 60 * MS, np.zeros((2, 2, 3), np.uint8))
    assert pace.due_ns(frame) == 1060 * MS
    assert not pace.is_late(frame, 1080 * MS) and pace.is_late(frame, 1080 * MS + 1)


def worked(worker: CameraWorker, delay_s: float) -> list[tuple[object, int]]:
    """Run a camera's thread to the end of its source, started `delay_s` late; give blobs with their time of receipt."""
    socket = zmq.Context.instance().socket(zmq.PULL)
    port = socket.bind_to_random_port("tcp://127.0.0.1")
    t_start_ns = now_ns() - round(delay_s * 1e9)
    worker.start(f"tcp://127.0.0.1:{port}", t_start_ns)
    received = []
    while not worker.ended.is_set() or socket.poll(100):
        if socket.poll(10):
            sent = decode_blobs(socket.recv())
            received.append((sent, now_ns() - t_start_ns))
    worker.stop()
    socket.close(0)
    return received


def test_paced_frames_leave_at_their_stamps() -> None:
    worker = CameraWorker(CameraPlan(1, lambda: fakes.CountingSource(1, 50.0, 12), fakes.corner, paced=True))
    received = worked(worker, 0.0)
    counts = worker.counts()
    assert counts["frames"] + counts["skipped"] == 12 and counts["sent"] == counts["frames"] >= 8
    for sent, t_ns in received:
        index = sent.blobs.index
        assert sent.blobs.camera == 1 and sent.blobs.points_px[0].tolist() == [index, 1.0]
        assert t_ns >= index * 20 * MS
        assert sent.blobs.t_capture_ns <= sent.t_read_ns <= sent.t_sent_ns


def test_a_paced_source_that_starts_late_catches_up() -> None:
    worker = CameraWorker(CameraPlan(0, lambda: fakes.CountingSource(0, 50.0, 30), fakes.corner, paced=True))
    received = worked(worker, 0.4)
    assert 19 <= worker.counts()["skipped"] <= 28
    assert min(sent.blobs.index for sent, _ in received) >= 19


def test_a_free_running_source_is_never_skipped() -> None:
    worker = CameraWorker(CameraPlan(0, lambda: fakes.CountingSource(0, 50.0, 40), fakes.corner, paced=False))
    worked(worker, 10.0)
    # The first frame of a camera warms the detector; it is stale when the run starts.
    assert worker.counts()["frames"] == 39 and worker.counts()["skipped"] == 0


def test_an_error_of_the_source_is_kept_for_the_main_thread() -> None:
    worker = CameraWorker(CameraPlan(0, lambda: fakes.BrokenSource(0), fakes.corner, paced=True))
    worked(worker, 0.0)
    assert isinstance(worker.error, ZeroDivisionError)


def test_a_camera_whose_first_picture_fails_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node tries again in the same process: a camera still held would be busy for ever."""
    closed: list[str] = []
    monkeypatch.setattr(fakes.BrokenSource, "close", lambda self: closed.append("source"))

    def broken() -> fakes.BrokenSource:
        source = fakes.BrokenSource(0)
        source._index = 10
        return source

    with pytest.raises(ZeroDivisionError):
        CameraWorker(CameraPlan(0, broken, fakes.corner, paced=True))
    assert closed == ["source"]


def test_a_stuck_source_does_not_hold_the_stop() -> None:
    worker = CameraWorker(CameraPlan(0, lambda: fakes.StuckSource(0), fakes.corner, paced=False))
    worker.start("tcp://127.0.0.1:9", 0)
    threading.Event().wait(0.2)
    start = time.monotonic()
    worker.stop()
    assert time.monotonic() - start < 20.0  # it would be stuck for an hour
