"""What a camera process is made of: its source, its detector, its clock, and what else gets the frames."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol, runtime_checkable

from capture.clock import now_ns
from capture.endpoints import KeySettings
from capture.packets import Blobs, Frame
from capture.sources import Source


class Detects(Protocol):
    """Turns frames into blobs."""

    def step(self, frame: Frame) -> Blobs:
        """Give the blobs of one frame."""


class Taker(Protocol):
    """Takes every frame with its blobs, in the reading thread: a recorder of pictures; it never waits."""

    def take(self, frame: Frame, blobs: Blobs, t_read_ns: int) -> None:
        """Take a frame; its image is not changed any more. t_read_ns: when it was in memory."""

    def close(self) -> None:
        """Finish, when no more frames come."""


@runtime_checkable
class Recorder(Protocol):
    """A taker that writes frames to a folder when told to."""

    def record(self, folder: str) -> None:
        """Begin to write to a folder, or end where it is empty. Raises DuocapError."""


@runtime_checkable
class Telling(Protocol):
    """A taker that has something to say."""

    def news(self) -> list[str]:
        """Give in words what happened since the last time."""

    def counts(self) -> dict[str, int]:
        """Give figures by name, to be told with those of the camera."""


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
    every frame, picklable factories; patience_s: for so long a camera is waited for that is not there at first, as a phone whose
    app is not running yet; one that was there is looked for as long as the run lasts; detector_again: for a process that was
    started again within a run, None for the same: the room may not be learned while the performer stands in it.
    """

    camera: int
    source: Callable[[], Source]
    detector: Callable[[Source], Detects]
    paced: bool
    preview: bool = False
    clock: Clock = field(default_factory=OwnClock)
    keys: KeySettings | None = None
    takers: tuple[Callable[[Source], Taker], ...] = ()
    patience_s: float = 0.0
    detector_again: Callable[[Source], Detects] | None = None

    def again(self) -> "CameraPlan":
        """Give the plan of a process that is started again within a run: its camera is looked for until it is back."""
        return replace(self, patience_s=float("inf"), detector=self.detector_again or self.detector)
