"""A camera's reading thread: pacing, repeated images, a failing detector, a driver that hangs, a camera that is lost."""

import threading
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import zmq

from capture.clock import now_ns
from capture.packets import Blobs, Frame
from capture.process.plan import CameraPlan, FrameSink
from capture.process.reader import HANG_S, MAX_FAULTS, OPENING_HANG_S, CameraOpening, CameraReader, FramePacer, measure_hang_s
from capture.sockets.wire import SentBlobs, decode_blobs
from capture.sources.reopening import ReaderHandle
from capture.sources.simulated.camera import SimulatedCamera
from capture.sources.simulated.scene import SimulatedScene
from config.errors import CalibrationError, SourceError
from config.settings import DetectorSettings
from tests.support import fakes
from tests.support.waiting import wait_until


class Camera(fakes.CountingSource):
    """A camera that gives n pictures, each as often as `repeats` says, and then ends."""

    def __init__(self, n: int, repeats: int = 1) -> None:
        super().__init__(0, 1000.0, n * repeats)
        self._repeats = repeats

    def read(self) -> Frame | None:
        frame = super().read()
        if frame is None:
            return None
        time.sleep(0.002)  # or more would be sent than anybody can take
        image = np.full((24, 32, 3), frame.index // self._repeats % 256, np.uint8)
        return replace(frame, image=image, t_capture_ns=now_ns())


def worked(worker: CameraReader, delay_s: float = 0.0, clock: Callable[[], int] = now_ns) -> list[tuple[SentBlobs, int]]:
    """Let a worker work to its end, started `delay_s` late; give what it sent, and how long after the start that came."""
    socket = zmq.Context.instance().socket(zmq.PULL)
    port = socket.bind_to_random_port("tcp://127.0.0.1")
    t_start_ns = clock() - round(delay_s * 1e9)
    worker.start(f"tcp://127.0.0.1:{port}", t_start_ns)
    received = []
    while not worker.ended.is_set() or socket.poll(100):
        if socket.poll(10):
            received.append((decode_blobs(socket.recv()), clock() - t_start_ns))
    worker.stop()
    socket.close(0)
    return received


def sent_by(worker: CameraReader) -> list[int]:
    """Return the numbers of the frames a worker sends."""
    return [sent.blobs.index for sent, _ in worked(worker)]


def plan(source: Callable[[], object], detector: Callable[[object], object] = fakes.corner) -> CameraPlan:
    return CameraPlan(0, source, detector, paced=False)


def test_the_same_picture_again_is_not_sent() -> None:
    worker = CameraReader(plan(lambda: Camera(8, repeats=3)))
    # Of three equal pictures the first is new; that of the very first was shown to the detector before the start.
    assert sent_by(worker) == [1, *range(3, 24, 3)]
    counts = worker.counts()
    assert (counts["frames"], counts["sent"], counts["repeated"]) == (23, 8, 15)
    assert worker.details()["repeated"] == 15


class Faulty(fakes.Corner):
    """Fails for frames of the given numbers."""

    def __init__(self, fails: range, error: Exception) -> None:
        self._fails, self._error = fails, error

    def step(self, frame: Frame) -> Blobs:
        if frame.index in self._fails:
            raise self._error
        return super().step(frame)


def test_a_fault_of_the_detector_costs_its_frames_only() -> None:
    worker = CameraReader(plan(lambda: Camera(40), lambda source: Faulty(range(5, 20), IndexError("a bug"))))
    assert sent_by(worker) == [*range(1, 5), *range(20, 40)]
    assert worker.error is None and worker.counts()["undetected"] == 15


def test_many_faults_in_a_row_end_it() -> None:
    worker = CameraReader(plan(lambda: Camera(100), lambda source: Faulty(range(5, 100), IndexError("a bug"))))
    assert sent_by(worker) == [1, 2, 3, 4]
    assert isinstance(worker.error, IndexError) and worker.counts()["undetected"] == MAX_FAULTS


def test_what_the_user_can_mend_is_told_at_once() -> None:
    worker = CameraReader(plan(lambda: Camera(100), lambda source: Faulty(range(5, 100), CalibrationError("another size"))))
    assert sent_by(worker) == [1, 2, 3, 4] and isinstance(worker.error, CalibrationError)


def test_blobs_follow_the_reconstruction_to_another_address() -> None:
    class Slow(Camera):
        def read(self) -> Frame | None:
            time.sleep(0.005)
            return super().read()

    sockets = [zmq.Context.instance().socket(zmq.PULL) for _ in range(2)]
    ports = [socket.bind_to_random_port("tcp://127.0.0.1") for socket in sockets]
    worker = CameraReader(plan(lambda: Slow(10**6)))
    for port, socket in zip(ports, sockets, strict=True):
        worker.start(f"tcp://127.0.0.1:{port}", 0)
        assert socket.poll(30_000)
    first = decode_blobs(sockets[1].recv()).blobs.index
    assert socket.poll(30_000) and decode_blobs(sockets[1].recv()).blobs.index == first + 1
    worker.stop()
    for socket in sockets:
        socket.close(0)


class Heard(fakes.Corner):
    """Remembers what it was told to relearn and which settings it got."""

    def __init__(self) -> None:
        self.settings, self.taken = DetectorSettings(), list[DetectorSettings]()

    def adjust(self, settings: DetectorSettings) -> None:
        self.settings = settings
        self.taken.append(settings)


def test_what_is_tuned_while_no_frame_comes_is_taken_at_once_and_the_last_value_counts() -> None:
    detector = Heard()
    worker = CameraReader(plan(lambda: Camera(8), lambda source: detector))
    for k in range(1000):
        worker.tune({"detector.k_sigma": 3.0 + 0.001 * k})
    worker.tune({"detector.min_area_px": 7.0})
    sent_by(worker)
    assert [(s.k_sigma, s.min_area_px) for s in detector.taken] == [(pytest.approx(3.999), 7.0)]


def test_a_camera_that_was_never_started_is_let_go_and_its_takers_finish() -> None:
    class Counting(FrameSink):
        closed = 0

        def take(self, frame: Frame, blobs: Blobs, t_read_ns: int) -> None:
            raise AssertionError("no frame was asked for")

        def close(self) -> None:
            self.closed += 1

    taker = Counting()
    worker = CameraReader(replace(plan(lambda: Camera(8)), sinks=(lambda source: taker,)))
    worker.stop()
    assert taker.closed == 1 and worker.source.read() is None


def test_a_taker_that_cannot_be_made_leaves_no_camera_open() -> None:
    closed = []

    class Closing(Camera):
        def close(self) -> None:
            closed.append(self)

    camera = Closing(8)

    def none(source: object) -> FrameSink:
        raise SourceError("no taker")

    with pytest.raises(SourceError, match="no taker"):
        CameraReader(replace(plan(lambda: camera), sinks=(none,)))
    assert closed == [camera]


def test_a_hung_driver_is_noticed_by_the_time_it_takes() -> None:
    tether, s = ReaderHandle(), 10**9
    assert measure_hang_s(tether, 10**6 * s) == 0.0
    tether.busy_since_ns = 5 * s
    assert measure_hang_s(tether, round((5 + HANG_S) * s)) == 0.0
    assert measure_hang_s(tether, round((6 + HANG_S) * s)) == pytest.approx(1.0)
    tether.opening = True
    assert measure_hang_s(tether, round((6 + HANG_S) * s)) == 0.0
    assert measure_hang_s(tether, round((7 + OPENING_HANG_S) * s)) == pytest.approx(2.0)


def test_a_driver_that_hangs_in_a_read_is_freed_by_closing() -> None:
    class Hanging(Camera):
        def __init__(self) -> None:
            super().__init__(10**6)
            self._closed = threading.Event()

        def read(self) -> Frame | None:
            if self._index >= 5 and opened == [1]:
                hangs.set()
                self._closed.wait(20.0)
                raise SourceError("closed")
            time.sleep(0.002)
            return super().read()

        def close(self) -> None:
            self._closed.set()

    opened: list[int] = []
    hangs = threading.Event()
    opener = lambda: opened.append(1) or Hanging()  # noqa: E731
    tether = ReaderHandle()
    worker = CameraReader(plan(opener), tether)
    worker.start("tcp://127.0.0.1:9", 0)
    assert hangs.wait(30.0)
    worker.free_driver()
    deadline = time.monotonic() + 30.0
    while worker.counts()["frames"] < 20 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert worker.counts()["frames"] >= 20 and opened == [1, 1]
    assert "its driver has not answered for 10 s" in worker.notices.fetch()[0]
    worker.stop()


def test_a_driver_that_stays_hung_though_released_is_given_up() -> None:
    opening = CameraOpening(plan(lambda: Camera(8)))
    wait_until(opening.result)
    assert not opening.watch_driver() and opening.handle.notices.fetch() == []
    opening.handle.busy_since_ns = now_ns() - round((HANG_S + 1.0) * 1e9)
    assert not opening.watch_driver() and "trying to open it anew" in opening.handle.notices.fetch()[0]
    opening.handle.busy_since_ns = now_ns() - round((2.0 * HANG_S + 1.0) * 1e9)
    assert opening.watch_driver()
    opening.abandon()


def test_a_camera_that_is_awaited_can_be_abandoned() -> None:
    def missing() -> object:
        raise SourceError("camera 7: not there")

    opening = CameraOpening(replace(plan(missing), patience_s=float("inf")))
    deadline = time.monotonic() + 60.0
    told: list[str] = []
    while not told and time.monotonic() < deadline:
        told = opening.handle.notices.fetch()
        assert opening.result() is None
        time.sleep(0.01)
    assert told == ["left camera: camera 7: not there; waiting for it"]
    opening.abandon()
    while time.monotonic() < deadline:
        try:
            assert opening.result() is None
        except SourceError:
            break
        time.sleep(0.01)
    else:
        raise AssertionError("it still waits")


MS = 1_000_000


def test_a_frame_is_late_when_the_next_one_is_due_too() -> None:
    pace = FramePacer(1000 * MS, fps=50.0)
    frame = Frame(0, 3, 60 * MS, np.zeros((2, 2, 3), np.uint8))
    assert pace.due_ns(frame) == 1060 * MS
    assert not pace.is_late(frame, 1080 * MS) and pace.is_late(frame, 1080 * MS + 1)


def test_paced_frames_leave_at_their_stamps() -> None:
    worker = CameraReader(CameraPlan(1, lambda: fakes.CountingSource(1, 50.0, 12), fakes.corner, paced=True))
    received = worked(worker)
    counts = worker.counts()
    assert counts["frames"] + counts["skipped"] == 12 and counts["sent"] == counts["frames"] == len(received)
    for sent, t_ns in received:
        index = sent.blobs.index
        assert sent.blobs.camera == 1 and sent.blobs.points_px[0].tolist() == [index, 1.0]
        assert t_ns >= index * 20 * MS
        assert sent.blobs.t_capture_ns <= sent.t_read_ns <= sent.t_sent_ns


def stopped(t_ns: int) -> int:
    """Return the time of a clock that stands still."""
    return 400 * MS


def test_a_paced_source_that_starts_late_catches_up() -> None:
    """Started 400 ms late, frame 19 is due at 380 ms: those before it are due, and so are their followers."""
    source = lambda: fakes.CountingSource(0, 50.0, 22)  # noqa: E731
    worker = CameraReader(CameraPlan(0, source, fakes.corner, paced=True, clock=stopped))
    assert [sent.blobs.index for sent, _ in worked(worker, 0.4, lambda: 400 * MS)] == [19, 20, 21]
    assert worker.counts()["skipped"] == 19


def test_a_simulated_camera_neither_draws_late_frames_nor_those_that_are_not_wanted() -> None:
    scene = SimulatedScene(motion="walk", seconds=0.6, tpose_s=0.0, fps=50.0, width_px=64, height_px=48)
    camera, drawn = SimulatedCamera(scene, 0), list[int]()
    draw = camera.frame_at
    camera.frame_at = lambda index: (drawn.append(index), draw(index))[1]  # type: ignore[method-assign]
    worker = CameraReader(CameraPlan(0, lambda: camera, fakes.corner, paced=True, clock=stopped))
    worker.thin(2)
    # Every other frame is 40 ms apart: frame 18, due at 360 ms, is not late at 400.
    assert [sent.blobs.index for sent, _ in worked(worker, 0.4, lambda: 400 * MS)] == [18, 20, 22, 24, 26, 28, 30]
    assert drawn == [0, 18, 20, 22, 24, 26, 28, 30]
    assert worker.counts()["skipped"] == 9  # 0, 2, .. 16: what nobody wanted was not skipped for being late
    assert camera.fps == 25.0


def test_a_free_running_source_is_never_skipped() -> None:
    worker = CameraReader(plan(lambda: fakes.CountingSource(0, 50.0, 10)))
    worked(worker, 10.0)
    # The first frame of a camera warms the detector; it is stale when the run starts.
    assert worker.counts()["frames"] == 9 and worker.counts()["skipped"] == 0


def test_an_error_of_the_source_is_kept_for_the_main_thread() -> None:
    worker = CameraReader(CameraPlan(0, lambda: fakes.BrokenSource(0), fakes.corner, paced=True))
    sent_by(worker)
    assert isinstance(worker.error, ZeroDivisionError)


def test_a_stuck_source_does_not_hold_the_stop() -> None:
    worker = CameraReader(CameraPlan(0, lambda: fakes.StuckSource(0), fakes.corner, paced=False))
    worker.start("tcp://127.0.0.1:9", 0)
    threading.Event().wait(0.2)
    start = time.monotonic()
    worker.stop()
    assert time.monotonic() - start < 20.0  # it would be stuck for an hour
