"""What a replay lets its viewers see beside the poses: once a second its status, and previews while somebody looks."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from capture.clock import now_ns
from capture.packets import Blobs, Frame
from capture.preview import PreviewPublisher
from config.cameras import CAMERAS
from reconstruct.pose import Pose, State
from reconstruct.sink import RunStatus

PERIOD_NS = 1_000_000_000


class TakesStatus(Protocol):
    """Where the status goes: the stream's sink."""

    def status(self, status: RunStatus) -> None:
        """Take the state of the run."""


class ReplayWatch:
    """The status and the previews of one replay; call it from one thread.

    clock: gives now [ns]; previews are offered with it, as a replay may be faster or slower than its recording.
    """

    def __init__(self, sink: TakesStatus, n_cameras: int, previews: bool, clock: Callable[[], int] = now_ns) -> None:
        self._sink, self._clock = sink, clock
        self._previews = [PreviewPublisher() for _ in range(n_cameras)] if previews else []
        self._frames, self._n_before = [0] * n_cameras, [0] * n_cameras
        self._poses = 0
        self._state = State.LOST
        self._begun_ns = clock()

    def frame(self, frame: Frame, blobs: Blobs) -> None:
        """Take a frame with what was detected in it."""
        n = min(frame.camera, len(self._frames) - 1)
        self._frames[n] += 1
        if self._previews:
            self._previews[n].offer(Frame(frame.camera, frame.index, self._clock(), frame.image), blobs)

    def pose(self, pose: Pose) -> None:
        """Take a pose that was published; tell the status when it is time."""
        self._poses, self._state = self._poses + 1, pose.state
        now = self._clock()
        if now - self._begun_ns >= PERIOD_NS:
            self._tell(now)

    def _tell(self, now: int) -> None:
        """Publish the state of the last second and begin another."""
        seconds = (now - self._begun_ns) * 1e-9
        rates = [(n - before) / seconds for n, before in zip(self._frames, self._n_before, strict=True)]
        cameras: dict[str, dict[str, int | float | str]] = {}
        for n, name in enumerate(CAMERAS[: len(rates)]):
            cameras[name] = {"state": "live", "frames": self._frames[n], "fps": rates[n]}
            if self._previews:
                cameras[name]["preview"] = self._previews[n].address
        rates_hz = {**dict(zip(CAMERAS, rates, strict=False)), "pose": self._poses / seconds}
        self._sink.status(RunStatus(now, self._state, rates_hz, {}, {}, cameras))
        self._poses, self._n_before, self._begun_ns = 0, list(self._frames), now

    def close(self) -> None:
        """Show no more."""
        for preview in self._previews:
            preview.close()


@contextmanager
def replay_watch(sink: TakesStatus | None, n_cameras: int, previews: bool) -> Iterator[ReplayWatch | None]:
    """Give what watches a replay, or None where nothing is published."""
    watch = None if sink is None else ReplayWatch(sink, n_cameras, previews)
    try:
        yield watch
    finally:
        if watch is not None:
            watch.close()
