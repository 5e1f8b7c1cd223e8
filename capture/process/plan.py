"""What a camera process consists of: source, detector, clock and sinks."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol, runtime_checkable

from capture.clock import now_ns
from capture.packets import Blobs, Frame
from capture.sockets.endpoints import KeySettings
from capture.sources.source import Source


class FrameDetector(Protocol):
    """Turns frames into blobs."""

    def step(self, frame: Frame) -> Blobs:
        """Return the blobs of one frame."""


class FrameSink(Protocol):
    """Takes every frame with its blobs, in the reading thread; never waits."""

    def take(self, frame: Frame, blobs: Blobs, t_read_ns: int) -> None:
        """Receive a frame; its image is not modified afterwards.

        Args:
            frame: the frame.
            blobs: the markers detected in it.
            t_read_ns: when it was in memory.
        """

    def close(self) -> None:
        """Finish; no more frames come."""


@runtime_checkable
class FrameRecorder(Protocol):
    """A sink that writes frames to a folder."""

    def record(self, folder: str) -> None:
        """Begin to write to a folder, or end where it is empty. Raises DuocapError."""


@runtime_checkable
class ReportingSink(Protocol):
    """A sink with counts and notices."""

    def notices(self) -> list[str]:
        """Return the notices since the last call."""

    def counts(self) -> dict[str, int]:
        """Return figures by name, reported with those of the camera."""


class Clock(Protocol):
    """The clock of the machine that reconstructs; every timestamp that leaves the camera's process is in it."""

    def now_ns(self) -> int:
        """Return the time."""

    def of(self, t_ns: int) -> int:
        """Return what it showed when this machine's clock showed t_ns."""


@dataclass(frozen=True, slots=True)
class LocalClock:
    """The clock of this machine, for cameras at the machine that reconstructs."""

    def now_ns(self) -> int:
        """Return the time."""
        return now_ns()

    def of(self, t_ns: int) -> int:
        """Return t_ns."""
        return t_ns


@dataclass(frozen=True, slots=True)
class CameraPlan:
    """One camera process. All factories are called inside it, so they are picklable.

    camera: its number; paced: a recording or simulation, whose frames are released at their timestamps (from 0) after the
    start; preview: publish small images; clock: of the machine that reconstructs; keys: for sending blobs to other machines;
    sinks: get every frame; patience_s: how long to wait for a camera that is missing at first (one that was there is looked for
    as long as the run lasts); detector_again: for a process restarted within a run, None for the same: the background may not
    be learned while the performer is in view.
    """

    camera: int
    source: Callable[[], Source]
    detector: Callable[[Source], FrameDetector]
    paced: bool
    preview: bool = False
    clock: Clock = field(default_factory=LocalClock)
    keys: KeySettings | None = None
    sinks: tuple[Callable[[Source], FrameSink], ...] = ()
    patience_s: float = 0.0
    detector_again: Callable[[Source], FrameDetector] | None = None

    def again(self) -> "CameraPlan":
        """Return the plan of a process that is restarted within a run: it waits for its camera without limit."""
        return replace(self, patience_s=float("inf"), detector=self.detector_again or self.detector)
