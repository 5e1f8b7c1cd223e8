"""What a camera process consists of: source, detector, clock and sinks."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from capture.packets import Blobs, Frame
from capture.sockets.endpoints import KeySettings
from capture.sources.source import Source


class FrameDetector(Protocol):
    """Turns frames into blobs."""

    def step(self, frame: Frame) -> Blobs:
        """Return the blobs of one frame."""


class FrameSink:
    """Takes every frame with its blobs, in the reading thread; never waits."""

    def take(self, frame: Frame, blobs: Blobs, t_read_ns: int) -> None:
        """Receive a frame; its image is not modified afterwards.

        Args:
            blobs: the markers detected in it.
            t_read_ns: when it was in memory.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Finish; no more frames come."""
        raise NotImplementedError

    def record(self, folder: str) -> None:
        """Begin to write to a folder, or end where it is empty; for a sink that records. Raises DuocapError."""

    def notices(self) -> list[str]:
        """Return the notices since the last call."""
        return []

    def counts(self) -> dict[str, int]:
        """Return figures by name, reported with those of the camera."""
        return {}


def keep_time(t_ns: int) -> int:
    """Return t_ns: the clock of a camera at the machine that reconstructs."""
    return t_ns


@dataclass(frozen=True, slots=True)
class CameraPlan:
    """One camera process. All factories are called inside it, so they are picklable.

    camera: its number; paced: a recording or simulation, whose frames are released at their timestamps (from 0) after the
    start; preview: publish small images; clock: returns what the clock of the machine that reconstructs showed when this one's
    showed a time [ns]; every timestamp that leaves the process is in it; keys: for sending blobs to other machines;
    sinks: get every frame; patience_s: how long to wait for a camera that is missing at first (one that was there is looked for
    as long as the run lasts); detector_again: for a process restarted within a run, None for the same: the background may not
    be learned while the performer is in view.
    """

    camera: int
    source: Callable[[], Source]
    detector: Callable[[Source], FrameDetector]
    paced: bool
    preview: bool = False
    clock: Callable[[int], int] = keep_time
    keys: KeySettings | None = None
    sinks: tuple[Callable[[Source], FrameSink], ...] = ()
    patience_s: float = 0.0
    detector_again: Callable[[Source], FrameDetector] | None = None

    def again(self) -> "CameraPlan":
        """Return the plan of a process that is restarted within a run: it waits for its camera without limit."""
        return replace(self, patience_s=float("inf"), detector=self.detector_again or self.detector)
