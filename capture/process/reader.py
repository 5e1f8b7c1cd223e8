"""The reading thread of a camera: read, detect, send blobs. Other threads may read its counts and give it orders."""

import logging
import threading
from collections.abc import Callable
from dataclasses import replace

from capture.clock import now_ns
from capture.detection.detector import warm_detection
from capture.packets import Blobs, Frame
from capture.process.control import Details
from capture.process.plan import CameraPlan
from capture.process.preview import PreviewPublisher
from capture.process.preview_image import make_overlay_source
from capture.process.tuning import Tuner
from capture.sockets.wire import BlobSender, SentBlobs, encode_blobs
from capture.sources.health import Health
from capture.sources.reopening import ReaderHandle, ReopeningSource
from capture.sources.source import SkippingSource, Source
from config.errors import DuocapError
from config.settings import CAMERA_NAMES

log = logging.getLogger(__name__)

JOIN_S = 1.0
HANG_S = 10.0  # a read waits a few seconds at most; a driver that takes longer has hung
OPENING_HANG_S = 60.0  # some drivers take half a minute to open a camera
MAX_FAULTS = 30  # of the detector in a row
MAX_FACTS = 24


class FramePacer:
    """When the frames of a paced source are due, by the clock of the machine that reconstructs.

    A frame that is a whole period late is skipped, as a camera would drop it. fps may change.
    """

    def __init__(self, t_start_ns: int, fps: float) -> None:
        self._t_start_ns, self.fps = t_start_ns, fps

    def due_ns(self, frame: Frame) -> int:
        """Return the time at which a frame is captured."""
        return self._t_start_ns + frame.t_capture_ns

    def is_late(self, frame: Frame, now: int) -> bool:
        """Return whether the next frame is already due as well."""
        return frame.t_capture_ns < self.late_ns(now)

    def late_ns(self, now: int) -> int:
        """Return the timestamp before which frames are late."""
        return now - self._t_start_ns - int(1e9 / self.fps)


class CameraReader:
    """The reading thread of one camera. Raises what the source or the detector raises."""

    def __init__(self, plan: CameraPlan, handle: ReaderHandle | None = None) -> None:
        self._plan, self._handle = plan, handle or ReaderHandle()
        self._stop, self.notices = self._handle.stop, self._handle.notices
        side = CAMERA_NAMES[plan.camera]
        self._reopening = None if plan.paced else ReopeningSource(plan.source, side, self._handle, plan.patience_s)
        self.source: Source = self._reopening or plan.source()
        try:
            self._first = self.source.read()
            if self._first is not None:
                warm_detection()
                plan.detector(self.source).step(self._first)  # compiles the other kernels
            self._detector = plan.detector(self.source)
            self._sinks = [make(self.source) for make in plan.sinks]
            self._preview = PreviewPublisher(make_overlay_source(self._detector)) if plan.preview else None
        except BaseException:
            self.source.close()  # a node tries again in this very process, and needs the camera for that
            raise
        self._skipping = self.source if plan.paced and isinstance(self.source, SkippingSource) else None
        self._every = 1  # of the source's frames one is wanted
        self._detector_details: Callable[[], Details] = getattr(self._detector, "details", dict)
        self._detector_notices: Callable[[], list[str]] = getattr(self._detector, "notices", list)
        self._tuner = Tuner(self.source, self._detector)
        self._health = Health(side, self.source.fps, self.notices)
        self._pending: Details = {}  # settings to take before the next frame, the newest value of each
        self._pending_lock = threading.Lock()
        self._address, self._thread = "", None  # type: str, threading.Thread | None
        self._n_frames = self._n_sent = self._n_skipped = self._n_unsent = self._n_repeated = self._n_faults = 0
        self._faults_in_a_row = 0
        self._released_ns = 0
        self.error: Exception | None = None
        self.ended = threading.Event()

    def counts(self) -> dict[str, int]:
        """Return counts of frames: read in time, sent, skipped as late, not sent (buffer full), repeated, not detected.

        Also how often the camera was lost, and the counts of the sinks.
        """
        return {
            "frames": self._n_frames,
            "sent": self._n_sent,
            "skipped": self._n_skipped,
            "unsent": self._n_unsent,
            "repeated": self._n_repeated,
            "undetected": self._n_faults,
            "lost": self._reopening.n_lost if self._reopening is not None else 0,
            **{name: n for sink in self._sinks for name, n in sink.counts().items()},
        }

    def sink_notices(self) -> list[str]:
        """Return the notices of the sinks since the last call."""
        return [text for sink in self._sinks for text in sink.notices()]

    def details(self) -> Details:
        """Return the camera's facts, health and settings in force for the stream's status."""
        facts = dict(list(self.source.facts.items())[:MAX_FACTS])
        lost = self._reopening is not None and self._reopening.lost
        state: Details = {"reopening": int(lost), "health": self._health.message, "stamp": str(self.source.stamp)}
        resting: Details = {"resting": "previews"} if self._preview is not None and self._preview.resting else {}
        return {**facts, **self._tuner.details(), **self._detector_details(), **state, **resting, "repeated": self._n_repeated}

    @property
    def preview(self) -> str:
        """The address of the previews, empty where there are none."""
        return self._preview.address if self._preview is not None else ""

    def announcement(self) -> dict[str, int]:
        """Return the size of the image [px] and the frame rate [1/1000 s]."""
        return {"width": self.source.size[0], "height": self.source.size[1], "fps_mhz": round(1000 * self.source.fps)}

    def start(self, address: str, t_start_ns: int) -> None:
        """Begin to send to `address`, or change the address; a paced source starts at t_start_ns."""
        self._address = address
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, args=(t_start_ns,), name="capture", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End the thread, waiting a moment for a slow source."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(JOIN_S)
        else:
            self._release()
        if self._preview is not None:
            self._preview.close()

    def tune(self, settings: Details) -> None:
        """Change settings by dotted name before the next frame; `relearn` has the background learned again."""
        with self._pending_lock:
            self._pending = {**self._pending, **settings}

    def thin(self, every: int) -> None:
        """Have only every n-th frame made from now on, where the source can do that."""
        self._every = every

    def record(self, folder: str) -> None:
        """Have images recorded to a folder, or stop recording where it is empty; a failure becomes a notice."""
        for sink in self._sinks:
            try:
                sink.record(folder)
            except DuocapError as error:
                self._notify("record", str(error))

    def reopen(self) -> None:
        """Have the camera opened again, as after a suspend."""
        if self._reopening is not None:
            self._reopening.reopen()

    def free_driver(self) -> None:
        """Try once to release a hung driver, in a thread of its own since that may hang as well."""
        if self._reopening is None or self._released_ns == self._handle.busy_since_ns:
            return
        self._released_ns = self._handle.busy_since_ns
        self._notify("hung", f"its driver has not answered for {HANG_S:.0f} s; trying to open it anew")
        threading.Thread(target=self._reopening.release, name="release", daemon=True).start()

    def _now_ns(self) -> int:
        """Return the time by the clock of the machine that reconstructs."""
        return self._plan.clock(now_ns())

    def _notify(self, key: str, text: str) -> None:
        """Add a notice about this camera."""
        self.notices.add(key, f"{CAMERA_NAMES[self._plan.camera]} camera: {text}", now_ns())

    def _run(self, t_start_ns: int) -> None:
        """Capture until stopped, keeping any error for the main thread to report."""
        sender, pacer = BlobSender(self._plan.keys), FramePacer(t_start_ns, self.source.fps)
        try:
            frame = self._first if self._plan.paced else self.source.read()  # a camera's first frame is stale by now
            self._first = None
            while frame is not None and not self._stop.is_set():
                self._tune()
                self._process(frame, sender, pacer)
                self._skip(pacer)
                frame = self.source.read()
        except Exception as error:  # noqa: BLE001 - whatever the driver raises, the main thread reports it
            self.error = error
        finally:
            self._release()
            self.ended.set()
            sender.close()

    def _release(self) -> None:
        """Close the camera and the sinks."""
        self.source.close()
        for sink in self._sinks:
            sink.close()

    def _process(self, frame: Frame, sender: BlobSender, pacer: FramePacer) -> None:
        """Wait until the frame is due, detect, send; all times by the clock of the machine that reconstructs."""
        if self._plan.paced:
            if pacer.is_late(frame, self._now_ns()):
                self._n_skipped += 1
                return
            if self._stop.wait(max(0, pacer.due_ns(frame) - self._now_ns()) / 1e9):
                return
        t_capture_ns = pacer.due_ns(frame) if self._plan.paced else self._plan.clock(frame.t_capture_ns)
        frame = replace(frame, t_capture_ns=t_capture_ns)
        self._n_frames += 1
        t_read_ns = self._now_ns()
        is_new = self._health.check_repeat(frame)
        blobs = self._detect(frame)
        if blobs is None:
            return
        self._health.check_blobs(frame, blobs)
        if is_new or self._plan.paced:
            sent = sender.send(encode_blobs(SentBlobs(blobs, t_read_ns, self._now_ns())), self._address)
            self._n_sent, self._n_unsent = self._n_sent + sent, self._n_unsent + (not sent)
        else:
            self._n_repeated += 1
            if self._health.needs_reopening(frame.t_capture_ns):
                self.reopen()
        if self._preview is not None:
            self._preview.offer(frame, blobs, late=(self._now_ns() - t_read_ns) * self.source.fps > 1e9)
        for sink in self._sinks:
            sink.take(frame, blobs, t_read_ns)

    def _skip(self, pacer: FramePacer) -> None:
        """Have frames that are not wanted, or late already, not even made."""
        if self._skipping is None:
            return
        self._skipping.thin(self._every)
        pacer.fps = self._health.fps = self.source.fps
        self._n_skipped += self._skipping.skip(pacer.late_ns(self._now_ns()))

    def _detect(self, frame: Frame) -> Blobs | None:
        """Detect; None after a fault of the detector, which costs the frame. Many faults in a row are raised."""
        try:
            blobs = self._detector.step(frame)
        except DuocapError:
            raise
        except Exception as error:
            self._n_faults += 1
            self._faults_in_a_row += 1
            if self._faults_in_a_row >= MAX_FAULTS:
                raise
            log.warning("frame %d was not detected: %s: %s", frame.index, type(error).__name__, error)
            log.debug("the fault", exc_info=True)
            return None
        self._faults_in_a_row = 0
        for text in self._detector_notices():
            self._notify("background", text)
        return blobs

    def _tune(self) -> None:
        """Take the pending settings; failures become notices."""
        with self._pending_lock:
            pending, self._pending = self._pending, {}
        for text in self._tuner.take(pending) if pending else ():
            self._notify("tune", text)


def measure_hang_s(handle: ReaderHandle, t_ns: int) -> float:
    """Return for how long a driver has kept the thread beyond what is usual, 0 where it has not [s]."""
    since_ns = handle.busy_since_ns
    busy_s = (t_ns - since_ns) * 1e-9 if since_ns else 0.0
    return max(0.0, busy_s - (OPENING_HANG_S if handle.opening else HANG_S))


class CameraOpening:
    """A camera that is being opened by a thread, since a driver may take its time; its handle is there at once."""

    def __init__(self, plan: CameraPlan) -> None:
        self.handle = ReaderHandle()
        self._reader: CameraReader | None = None
        self._error: Exception | None = None
        self._lock = threading.Lock()
        threading.Thread(target=self._run, args=(plan,), name="open-camera", daemon=True).start()

    def _run(self, plan: CameraPlan) -> None:
        """Open, or keep the error; close again if it was abandoned meanwhile."""
        try:
            reader = CameraReader(plan, self.handle)
        except Exception as error:  # noqa: BLE001 - whatever the driver raises, the main thread reports it
            self._error = error
            return
        with self._lock:
            self._reader = reader
            if self.handle.stop.is_set():
                reader.stop()

    def watch_driver(self) -> bool:
        """Release a hung driver; return whether that does not help, so that only another process can open the camera again."""
        late_s = measure_hang_s(self.handle, now_ns())
        if late_s and self._reader is not None:
            self._reader.free_driver()
        return late_s > HANG_S

    def result(self) -> CameraReader | None:
        """Return the reader once it is there; raises what opening raised."""
        if self._error is not None:
            raise self._error
        return self._reader

    def abandon(self) -> None:
        """Close the camera as soon as it is open."""
        self.handle.stop.set()
        with self._lock:
            if self._reader is not None:
                self._reader.source.close()
