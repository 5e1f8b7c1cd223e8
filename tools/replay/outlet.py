"""Where the poses of a replay go: the stream, if its address is free.

What a replay lets its viewers see beside the poses: once a second its status, and previews while somebody looks.
"""

import logging
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from calibration.camera import Rig
from calibration.subject.subject import Subject
from capture.clock import now_ns
from capture.packets import Blobs, Frame
from capture.process.preview import PreviewPublisher
from config.settings import CAMERA_NAMES, Settings
from reconstruct.pose import Pose, TrackingState
from reconstruct.process.sink import RunStatus
from stream.publish.fanout import OutputFactory
from stream.publish.publisher import StreamError
from stream.publish.sink import StreamSink
from tools.run.factories import open_sink

logger = logging.getLogger(__name__)


class ReplayClock:
    """The present of a replay, in which its subscribers live.

    Args:
        recorded: whether the stream is recorded, which needs the times of capture: the present is the recording's, moved to now,
            however fast it is processed.
        realtime: frames come at those times anyway.
    """

    def __init__(self, recorded: bool, realtime: bool) -> None:
        self._recorded, self._in_step = recorded, recorded or realtime
        self._offset_ns: int | None = None
        self._now_ns = now_ns()

    def __call__(self) -> int:
        """Return now [ns]."""
        return self._now_ns if self._recorded else now_ns()

    def captured_ns(self, t_capture_ns: int, latency_ns: int) -> int:
        """Return when a frame of the recording counts as captured; it took latency_ns until now."""
        if not self._in_step:
            return now_ns() - latency_ns
        if self._offset_ns is None:
            self._now_ns = now_ns()
            self._offset_ns = self._now_ns - latency_ns - t_capture_ns
        self._now_ns = max(self._now_ns, t_capture_ns + self._offset_ns + latency_ns)  # as live, one is published after the other
        return t_capture_ns + self._offset_ns


class ReplaySink:
    """The stream's sink, given poses with the times of a recording. clock: gives now."""

    def __init__(self, sink: StreamSink, clock: ReplayClock) -> None:
        self._sink, self.clock = sink, clock
        sink.clock = clock

    def pose(self, pose: Pose) -> None:
        """Publish a pose in the present."""
        t_ns = self.clock.captured_ns(pose.t_capture_ns, sum(pose.latency_ns.values()))
        self._sink.pose(replace(pose, t_capture_ns=t_ns))

    def rig(self, rig: Rig) -> None:
        """Publish the rig in its new place."""
        self._sink.rig(rig)

    def status(self, status: RunStatus) -> None:
        """Publish the state of the replay."""
        self._sink.status(status)

    def serve(self, t_ns: int) -> None:
        """Serve clients that join."""
        self._sink.serve(self.clock())

    def close(self) -> None:
        """Close the stream."""
        self._sink.close()


@contextmanager
def open_replay_sink(
    settings: Settings,
    subject: Subject,
    rig: Rig,
    publish: bool,
    outputs: Sequence[OutputFactory] = (),
    record: Path | None = None,
    realtime: bool = False,
) -> Iterator[ReplaySink | None]:
    """Yield the sink of the stream, or None if nothing is published or another run uses the address.

    Args:
        settings: settings of the run.
        subject: the performer.
        rig: the cameras.
        publish: whether poses are published at all.
        outputs: factories of outputs that get every message, besides the subscribers.
        record: file to record the stream to, if any.
        realtime: whether the replay runs at the speed of the recording.
    Raises: what the outputs raise, RecordingError, and, with a file to record to, StreamError.
    """
    sink: ReplaySink | None = None
    if publish:
        try:
            stream = open_sink(rig, subject, settings, uuid.uuid4().hex[:12], outputs, record)
            sink = ReplaySink(stream, ReplayClock(record is not None, realtime))
        except StreamError as error:
            if record is not None:
                raise
            logger.warning("not publishing: %s", error)
    try:
        yield sink
    finally:
        if sink is not None:
            sink.close()


PERIOD_NS = 1_000_000_000


class TakesStatus(Protocol):
    """Where the status goes: the stream's sink."""

    def status(self, status: RunStatus) -> None:
        """Take the state of the run."""


class ReplayWatch:
    """The status and the previews of one replay; call it from one thread.

    Args:
        sink: sink of the status.
        n_cameras: number of cameras.
        previews: whether previews are published.
        clock: function that returns the present [ns]; previews are offered with it, as a replay may be faster or slower than its
            recording.
    """

    def __init__(self, sink: TakesStatus, n_cameras: int, previews: bool, clock: Callable[[], int] = now_ns) -> None:
        self._sink, self._clock = sink, clock
        self._previews = [PreviewPublisher() for _ in range(n_cameras)] if previews else []
        self._frames, self._n_before = [0] * n_cameras, [0] * n_cameras
        self._poses = 0
        self._state, self._lag_ns = TrackingState.LOST, 0
        self._begun_ns = clock()

    def frame(self, frame: Frame, blobs: Blobs) -> None:
        """Take a frame with its detections."""
        n = min(frame.camera, len(self._frames) - 1)
        self._frames[n] += 1
        if self._previews:
            self._previews[n].offer(Frame(frame.camera, frame.index, self._clock(), frame.image), blobs)

    def pose(self, pose: Pose) -> None:
        """Take a pose that was published; tell the status when it is time."""
        self._poses, self._state, self._lag_ns = self._poses + 1, pose.state, pose.latency_ns.get("lag", 0)
        now = self._clock()
        if now - self._begun_ns >= PERIOD_NS:
            self._tell(now)

    def _tell(self, now: int) -> None:
        """Publish the state of the last second and begin another."""
        seconds = (now - self._begun_ns) * 1e-9
        rates = [(n - before) / seconds for n, before in zip(self._frames, self._n_before, strict=True)]
        cameras: dict[str, dict[str, int | float | str]] = {}
        for n, name in enumerate(CAMERA_NAMES[: len(rates)]):
            cameras[name] = {"state": "live", "frames": self._frames[n], "fps": rates[n]}
            if self._previews:
                cameras[name]["preview"] = self._previews[n].address
        rates_hz = {**dict(zip(CAMERA_NAMES, rates, strict=False)), "pose": self._poses / seconds}
        self._sink.status(RunStatus(now, self._state, rates_hz, {}, {}, cameras, lag_ns=self._lag_ns))
        self._poses, self._n_before, self._begun_ns = 0, list(self._frames), now

    def close(self) -> None:
        """Show no more."""
        for preview in self._previews:
            preview.close()


@contextmanager
def create_replay_watch(sink: ReplaySink | None, n_cameras: int, previews: bool) -> Iterator[ReplayWatch | None]:
    """Create the watch of a replay; return None where nothing is published.

    Args:
        sink: receives the messages.
        n_cameras: number of cameras of the rig.
        previews: whether pictures are shown.
    """
    watch = None if sink is None else ReplayWatch(sink, n_cameras, previews, sink.clock)
    try:
        yield watch
    finally:
        if watch is not None:
            watch.close()
