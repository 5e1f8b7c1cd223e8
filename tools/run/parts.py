"""What a run is put together from besides its own processes, and how it fails."""

from dataclasses import dataclass, field

from capture.process.control import RoomSettings
from capture.sockets.endpoints import KeySettings
from config.errors import DuocapError
from config.settings import DetectorSettings


class RunError(DuocapError):
    """A process of the run could not do its part; the message is that process's own line."""


class ProcessFaultError(Exception):
    """A process of the run failed in a way that is not the user's fault."""


@dataclass(frozen=True, slots=True)
class AwaitedNode:
    """A camera that is a node on another machine: it is told the detector's settings, and of the room."""

    detector: DetectorSettings
    room: RoomSettings = field(default_factory=RoomSettings)


@dataclass(frozen=True, slots=True)
class NodeEntrance:
    """Where camera nodes come in.

    Attributes:
        address: address of the control socket.
        keys: keys that nodes are asked for.
    """

    address: str
    keys: KeySettings | None = None


@dataclass(frozen=True, slots=True)
class Receiver:
    """Where cameras send to when the process that supervises them takes what they send itself: no third process is started."""

    address: str
