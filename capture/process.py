"""The camera process: read, detect, send blobs; pixels never leave it.

One thread reads and detects; the main thread answers the supervisor, so that a driver that hangs blocks nothing but itself.
"""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

import zmq

from capture.binding import connected
from capture.clock import now_ns
from capture.control import Order
from capture.endpoints import KeySettings, is_loopback
from capture.lifeline import Lifeline, Link, live
from capture.packets import Blobs, Frame
from capture.preview import PreviewPublisher
from capture.sources import Source
from capture.wire import SentBlobs, encode_blobs
from config.errors import DuocapError

log = logging.getLogger(__name__)

SEND_BUFFER_MESSAGES = 8
CONTROL_PERIOD_MS = 50
JOIN_S = 1.0


class Detects(Protocol):
    """Turns frames into blobs."""

    def step(self, frame: Frame) -> Blobs:
        """Give the blobs of one frame."""


class Taker(Protocol):
    """Takes every frame with its blobs, in the reading thread: a recorder of pictures, a watch on health; it never waits."""

    def take(self, frame: Frame, blobs: Blobs, t_read_ns: int) -> None:
        """Take a frame; its image is not changed any more. t_read_ns: when it was in memory."""

    def close(self) -> None:
        """Finish, when no more frames come."""


class Clock(Protocol):
    """The clock of the machine that reconstructs; every stamp that leaves the camera's process is in it."""

    def now_ns(self) -> int:
        """Give what it shows now."""

    def of(self, t_ns: int) -> int:
        """Give what it showed when this machine's clock showed t_ns."""


@dataclass(frozen=True, slots=True)
class OwnClock:
    """For cameras at the machine that reconstructs: its clock is ours."""

    def now_ns(self) -> int:
        """Give the time."""
        return now_ns()

    def of(self, t_ns: int) -> int:
        """Give t_ns."""
        return t_ns


@dataclass(frozen=True, slots=True)
class CameraPlan:
    """One camera process.

    camera: 0 left, 1 right; source, detector: made inside the process, so picklable; paced: a recording or simulation, whose
    frames are released at their stamps after the start, as a camera would; its stamps count from 0; preview: publish small
    pictures for whoever looks; clock: of the machine that reconstructs; keys: for sending blobs to other machines; takers: get
    every frame, picklable factories.
    """

    camera: int
    source: Callable[[], Source]
    detector: Callable[[Source], Detects]
    paced: bool
    preview: bool = False
    clock: Clock = field(default_factory=OwnClock)
    keys: KeySettings | None = None
    takers: tuple[Callable[[Source], Taker], ...] = ()


class Pace:
    """When the frames of a paced source are due, by the clock of the machine that reconstructs.

    A frame that is a whole period late is skipped, as a camera would drop it.
    """

    def __init__(self, t_start_ns: int, fps: float) -> None:
        self._t_start_ns, self._period_ns = t_start_ns, int(1e9 / fps)

    def due_ns(self, frame: Frame) -> int:
        """Give the time at which a frame is captured."""
        return self._t_start_ns + frame.t_capture_ns

    def is_late(self, frame: Frame, now: int) -> bool:
        """Tell whether the next frame is already due as well."""
        return now > self.due_ns(frame) + self._period_ns


class CameraWorker:
    """The reading thread of one camera; counts may be read from outside at any time."""

    def __init__(self, plan: CameraPlan) -> None:
        self._plan, self.source = plan, plan.source()
        try:
            self._first = self.source.read()
            if self._first is not None:
                plan.detector(self.source).step(self._first)  # compiles every kernel, and is forgotten
            self._detector = plan.detector(self.source)
        except BaseException:
            self.source.close()  # a node tries again in this very process, and needs the camera for that
            raise
        self._preview = PreviewPublisher() if plan.preview else None
        self._takers = [make(self.source) for make in plan.takers]
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._n_frames = self._n_sent = self._n_skipped = self._n_unsent = 0
        self.error: Exception | None = None
        self.ended = threading.Event()

    def counts(self) -> dict[str, int]:
        """Give frames read in time, sent, skipped for being late, and not sent for a full buffer."""
        return {"frames": self._n_frames, "sent": self._n_sent, "skipped": self._n_skipped, "unsent": self._n_unsent}

    @property
    def preview(self) -> str:
        """Where the previews are, empty where there are none."""
        return self._preview.address if self._preview is not None else ""

    def announcement(self) -> dict[str, int]:
        """Give the size of the image and the frame rate [1/1000 s]."""
        return {"width": self.source.size[0], "height": self.source.size[1], "fps_mhz": round(1000 * self.source.fps)}

    def start(self, address: str, t_start_ns: int) -> None:
        """Begin to send to `address`; a paced source starts at t_start_ns."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, args=(address, t_start_ns), name="capture", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End the thread, waiting a moment for a source that takes its time."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(JOIN_S)
        if self._preview is not None:
            self._preview.close()

    def _run(self, address: str, t_start_ns: int) -> None:
        """Capture until stopped, keeping any error for the main thread to report."""
        socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.PUSH)
        socket.setsockopt(zmq.SNDHWM, SEND_BUFFER_MESSAGES)
        socket.setsockopt(zmq.LINGER, 0)
        try:
            # Across a network, what cannot be delivered now is of no use later: a peer that comes back begins with the present.
            socket.setsockopt(zmq.IMMEDIATE, 0 if is_loopback(address) else 1)
            connected(socket, address, self._plan.keys)
            self._capture(socket, Pace(t_start_ns, self.source.fps))
        except Exception as error:  # noqa: BLE001 - whatever the driver raises, the main thread reports it
            self.error = error
        finally:
            self.source.close()
            for taker in self._takers:
                taker.close()
            self.ended.set()
            socket.close(500)

    def _capture(self, socket: zmq.Socket[bytes], pace: Pace) -> None:
        """Read, wait until the frame is due, detect, send; until the source ends or the process is told to stop."""
        frame = self._first if self._plan.paced else self.source.read()  # a camera's first frame is stale by now
        while frame is not None and not self._stop.is_set():
            self._handle(frame, socket, pace)
            frame = self.source.read()

    def _handle(self, frame: Frame, socket: zmq.Socket[bytes], pace: Pace) -> None:
        """Wait until the frame is due, detect, send; all stamps in the clock of the machine that reconstructs."""
        clock = self._plan.clock
        if self._plan.paced:
            if pace.is_late(frame, clock.now_ns()):
                self._n_skipped += 1
                return
            if self._stop.wait(max(0, pace.due_ns(frame) - clock.now_ns()) / 1e9):
                return
        stamp_ns = pace.due_ns(frame) if self._plan.paced else clock.of(frame.t_capture_ns)
        frame = replace(frame, t_capture_ns=stamp_ns)
        self._n_frames += 1
        t_read_ns = clock.now_ns()
        blobs = self._detector.step(frame)
        try:
            socket.send(encode_blobs(SentBlobs(blobs, t_read_ns, clock.now_ns())), zmq.NOBLOCK)
            self._n_sent += 1
        except zmq.Again:
            self._n_unsent += 1
        if self._preview is not None:
            self._preview.offer(frame, blobs)
        for taker in self._takers:
            taker.take(frame, blobs, t_read_ns)


def camera_main(link: Link, plan: CameraPlan) -> None:
    """Run a camera process; the target of its supervisor."""
    live(link, lambda lifeline: _serve(lifeline, plan))


def _serve(lifeline: Lifeline, plan: CameraPlan) -> None:
    """Open the source, say ready, then follow orders until told to stop. Raises what the source or the detector raised."""
    lifeline.report("hello")
    worker = CameraWorker(plan)
    lifeline.report("ready", counts=worker.announcement(), details={"preview": worker.preview} if worker.preview else {})
    end_told = False
    while not any(_obey(order, worker, lifeline) for order in lifeline.orders(CONTROL_PERIOD_MS)):
        lifeline.beat(worker.counts)
        if worker.error is not None:
            raise worker.error
        if worker.ended.is_set() and not end_told:
            end_told = True
            lifeline.report("ended", counts=worker.counts())
    worker.stop()
    if isinstance(worker.error, DuocapError):
        raise worker.error


def _obey(order: Order, worker: CameraWorker, lifeline: Lifeline) -> bool:
    """Follow one order; True for stop."""
    if order.kind == "start":
        worker.start(order.address, order.t_start_ns)
    elif order.kind == "status":
        lifeline.report("beat", counts=worker.counts())
    return order.kind == "stop"
