"""The way out of the reconstruction: poses, the state of the run and news go to a sink, whatever becomes of them there."""

from dataclasses import dataclass, field
from typing import Protocol

from capture.control import Ask
from reconstruct.pose import Pose, State


@dataclass(frozen=True, slots=True)
class RunStatus:
    """The state of a run over the last second: rates [1/s], drops since the start, skew [ns], what each camera does.

    calibration: what is followed of the rig while it runs, such as the time offset of the right camera's stamps.
    """

    t_ns: int
    state: State
    rates_hz: dict[str, float]
    drops: dict[str, int]
    skew_ns: dict[str, float]
    cameras: dict[str, dict[str, int | float | str]]
    calibration: dict[str, float] = field(default_factory=dict)


class Sink(Protocol):
    """Where poses go; the stream's publisher is one."""

    def pose(self, pose: Pose) -> None:
        """Take a pose."""

    def status(self, status: RunStatus) -> None:
        """Take the state of the run."""

    def event(self, t_ns: int, kind: str, text: str) -> None:
        """Take news in words."""

    def serve(self, t_ns: int) -> None:
        """Attend to whoever joins."""

    def asks(self) -> list[Ask]:
        """Give what other processes are to be told because somebody asked the service for it, once."""

    def close(self) -> None:
        """Let the last of it leave."""
