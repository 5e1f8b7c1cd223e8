"""What takes the results of the reconstruction: poses, the status of the run, events."""

from dataclasses import dataclass, field
from typing import Protocol

from calibration.camera import Rig
from capture.process.control import RequestedOrder
from reconstruct.pose import Pose, TrackingState


@dataclass(frozen=True, slots=True)
class RunStatus:
    """The status of a run over the last second: rates [1/s], drops since the start, skew [ns], status of each camera.

    Attributes:
        calibration: values estimated of the rig during the run, such as the time offset of the right camera's timestamps.
        resting: optional work that rests while frames come faster than they can be solved.
        lag_ns: delay of the poses behind the newest views, which they are decided with [ns].
    """

    t_ns: int
    state: TrackingState
    rates_hz: dict[str, float]
    drops: dict[str, int]
    skew_ns: dict[str, float]
    cameras: dict[str, dict[str, int | float | str]]
    calibration: dict[str, float] = field(default_factory=dict)
    resting: tuple[str, ...] = ()
    lag_ns: int = 0


class Sink(Protocol):
    """Where poses go; the stream's publisher is one."""

    def pose(self, pose: Pose) -> None:
        """Take a pose."""

    def rig(self, rig: Rig) -> None:
        """Take the rig where the poses from now on are of a world that was moved."""

    def status(self, status: RunStatus) -> None:
        """Take the status of the run."""

    def event(self, t_ns: int, kind: str, text: str) -> None:
        """Take an event, as text for the user.

        Args:
            t_ns: time of the frame [ns].
            kind: kind of event.
            text: text for the user.
        """

    def serve(self, t_ns: int) -> None:
        """Serve requests, such as those of clients that join."""

    def asks(self) -> list[RequestedOrder]:
        """Return orders to other processes that clients of the service asked for, once."""

    def close(self) -> None:
        """Send what is left and close."""
