"""The reading thread of a camera: read, detect, send blobs; others may look at its counts and give it things to do."""

import logging
import threading
from collections.abc import Callable
from dataclasses import replace

from capture.blob_line import BlobLine, Pace
from capture.clock import now_ns
from capture.control import Details
from capture.health import Health
from capture.lasting import LastingSource, Tether
from capture.look import looks_of
from capture.packets import Blobs, Frame
from capture.plan import CameraPlan, Recorder, Telling
from capture.preview import PreviewPublisher
from capture.sources import Source
from capture.tuning import Tuner
from capture.warm import warm_detection
from capture.wire import SentBlobs, encode_blobs
from config.cameras import CAMERAS
from config.errors import DuocapError

log = logging.getLogger(__name__)

JOIN_S = 1.0
HANG_S = 10.0  # a read waits a few seconds at most; a driver that keeps the thread for longer has hung
MAX_FAULTS = 30  # of the detector in a row: it will not get over it
MAX_FACTS = 24


class CameraWorker:
    """The reading thread of one camera; counts and details may be read from outside at any time.

    Raises what the source or the detector raises.
    """

    def __init__(self, plan: CameraPlan, tether: Tether | None = None) -> None:
        self._plan, self._tether = plan, tether or Tether()
        self._stop, self.news = self._tether.stop, self._tether.news
        side = CAMERAS[plan.camera]
        self._lasting = None if plan.paced else LastingSource(plan.source, side, self._tether, plan.patience_s)
        self.source: Source = self._lasting or plan.source()
        try:
            self._first = self.source.read()
            if self._first is not None:
                warm_detection()
                plan.detector(self.source).step(self._first)  # compiles the other kernels, and is forgotten
            self._detector = plan.detector(self.source)
            self._takers = [make(self.source) for make in plan.takers]
            self._preview = PreviewPublisher(looks_of(self._detector)) if plan.preview else None
        except BaseException:
            self.source.close()  # a node tries again in this very process, and needs the camera for that
            raise
        self._events: Callable[[], list[str]] = getattr(self._detector, "events", list)  # what it has to say, if it ever has
        self._tuner = Tuner(self.source, self._detector)
        self._health = Health(side, self.source.fps, self.news)
        self._asked: Details = {}  # to be tuned before the next frame; one that is lost for hours has one value a setting to take
        self._asking = threading.Lock()
        self._address, self._thread = "", None  # type: str, threading.Thread | None
        self._n_frames = self._n_sent = self._n_skipped = self._n_unsent = self._n_repeated = self._n_faults = 0
        self._faults_in_a_row = 0
        self._released_ns = 0
        self.error: Exception | None = None
        self.ended = threading.Event()

    def counts(self) -> dict[str, int]:
        """Give frames by what became of them, and how often the camera was lost.

        Frames read in time, sent, skipped for being late, not sent for a full buffer, the same picture again, not detected.
        """
        return {
            "frames": self._n_frames,
            "sent": self._n_sent,
            "skipped": self._n_skipped,
            "unsent": self._n_unsent,
            "repeated": self._n_repeated,
            "undetected": self._n_faults,
            "lost": self._lasting.n_lost if self._lasting is not None else 0,
            **{name: n for taker in self._takers if isinstance(taker, Telling) for name, n in taker.counts().items()},
        }

    def takers_news(self) -> list[str]:
        """Give what the takers have to say since the last time."""
        return [text for taker in self._takers if isinstance(taker, Telling) for text in taker.news()]

    def details(self) -> Details:
        """Give what the stream's status is to tell: how the camera is, in words, what its stamps are, and its facts."""
        facts = dict(list(self.source.facts.items())[:MAX_FACTS])
        lost = self._lasting is not None and self._lasting.lost
        state: Details = {"reopening": int(lost), "health": self._health.words, "stamp": str(self.source.stamp)}
        return {**facts, **self._tuner.details(), **state, "repeated": self._n_repeated}

    @property
    def preview(self) -> str:
        """Where the previews are, empty where there are none."""
        return self._preview.address if self._preview is not None else ""

    def announcement(self) -> dict[str, int]:
        """Give the size of the image and the frame rate [1/1000 s]."""
        return {"width": self.source.size[0], "height": self.source.size[1], "fps_mhz": round(1000 * self.source.fps)}

    def start(self, address: str, t_start_ns: int) -> None:
        """Begin to send to `address`, or go on sending there; a paced source starts at t_start_ns."""
        self._address = address
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, args=(t_start_ns,), name="capture", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End the thread, waiting a moment for a source that takes its time."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(JOIN_S)
        else:
            self._release()
        if self._preview is not None:
            self._preview.close()

    def tune(self, settings: Details) -> None:
        """Change settings by dotted name before the next frame; `relearn` has the background learned anew."""
        with self._asking:
            self._asked = {**self._asked, **settings}

    def record(self, folder: str) -> None:
        """Have pictures recorded to a folder from now on, or no longer where it is empty; what is not possible is told."""
        for taker in self._takers:
            if isinstance(taker, Recorder):
                try:
                    taker.record(folder)
                except DuocapError as error:
                    self.news.say("record", f"{CAMERAS[self._plan.camera]} camera: {error}", now_ns())

    def open_anew(self) -> None:
        """Have the camera opened anew, as after a sleep of the machine."""
        if self._lasting is not None:
            self._lasting.open_anew()

    def free(self, t_ns: int) -> None:
        """Try to have a driver let go that has hung: once, in a thread of its own, since it may hang as well."""
        if self._lasting is None or self._released_ns == self._tether.busy_since_ns:
            return
        self._released_ns = self._tether.busy_since_ns
        name = CAMERAS[self._plan.camera]
        self.news.say("hung", f"{name} camera: its driver has not answered for {HANG_S:.0f} s; trying to open it anew", t_ns)
        threading.Thread(target=self._lasting.release, name="release", daemon=True).start()

    def _run(self, t_start_ns: int) -> None:
        """Capture until stopped, keeping any error for the main thread to report."""
        line = BlobLine(self._plan.keys)
        try:
            self._capture(line, Pace(t_start_ns, self.source.fps))
        except Exception as error:  # noqa: BLE001 - whatever the driver raises, the main thread reports it
            self.error = error
        finally:
            self._release()
            self.ended.set()
            line.close()

    def _release(self) -> None:
        """Let the camera go, and let the takers finish."""
        self.source.close()
        for taker in self._takers:
            taker.close()

    def _capture(self, line: BlobLine, pace: Pace) -> None:
        """Read, wait until the frame is due, detect, send; until the source ends or the process is told to stop."""
        frame = self._first if self._plan.paced else self.source.read()  # a camera's first frame is stale by now
        while frame is not None and not self._stop.is_set():
            self._first = None
            self._tune()
            self._handle(frame, line, pace)
            frame = self.source.read()

    def _handle(self, frame: Frame, line: BlobLine, pace: Pace) -> None:
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
        fresh = self._health.look(frame)
        blobs = self._detected(frame)
        if blobs is None:
            return
        self._health.saw(frame, blobs)
        if fresh or self._plan.paced:
            sent = line.send(encode_blobs(SentBlobs(blobs, t_read_ns, clock.now_ns())), self._address)
            self._n_sent, self._n_unsent = self._n_sent + sent, self._n_unsent + (not sent)
        else:
            self._n_repeated += 1  # the same picture again says nothing of this moment
            if self._health.frozen_for_long(frame.t_capture_ns):
                self.open_anew()
        if self._preview is not None:
            self._preview.offer(frame, blobs)
        for taker in self._takers:
            taker.take(frame, blobs, t_read_ns)

    def _detected(self, frame: Frame) -> Blobs | None:
        """Detect; a fault of ours costs the frame, many in a row are raised."""
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
        for words in self._events():
            self.news.say("background", f"{CAMERAS[self._plan.camera]} camera: {words}", now_ns())
        return blobs

    def _tune(self) -> None:
        """Change the settings that were asked for; what is not possible is told."""
        with self._asking:
            asked, self._asked = self._asked, {}
        for words in self._tuner.take(asked) if asked else ():
            self.news.say("tune", f"{CAMERAS[self._plan.camera]} camera: {words}", now_ns())
