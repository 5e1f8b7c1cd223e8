"""The messages of the stream: skeleton, rig, pose, status and event; docs/messages.md explains every field.

Metres, right-handed, Y up, quaternions xyzw; times on the clock of `capture.clock`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from config.arrays import Floats
from config.settings import CAMERA_NAMES
from reconstruct.pose import TrackingState

SCHEMA = 1


class PropReading(NamedTuple):
    """A prop in a hand: joint that carries it, its origin and axes in that joint's frame; z points along it.

    length_m: from the origin to its far end; behind_m: how far behind the origin the other hand holds it, 0: it does not.
    """

    name: str
    joint: str
    offset_m: tuple[float, float, float]
    rotation_xyzw: tuple[float, float, float, float]
    length_m: float
    behind_m: float


@dataclass(frozen=True, slots=True)
class SkeletonMessage:
    """The skeleton of all poses with the same `hash`.

    Attributes:
        names: (J,) parent first.
        parents: (J,), -1 for the root.
        offsets_m: joint from its parent in the rest pose, (J, 3).
        rest_xyzw: rotation of each joint in the rest pose (T-pose), (J, 4).
        humanoid: joint -> VRM 1.0 bone.
        markers: names.
        tails_m: end of each joint's own bone from the joint in the rest pose, (J, 3), None if unknown.
        mass_kg: mass of the whole body [kg] if forces were computed, None otherwise.
        props: what the hands hold.
    """

    hash: str
    names: tuple[str, ...]
    parents: tuple[int, ...]
    offsets_m: Floats
    rest_xyzw: Floats
    humanoid: dict[str, str]
    markers: tuple[str, ...]
    subject: str
    units: str = "m"
    handedness: str = "right"
    up: str = "Y"
    quaternion: str = "xyzw"
    tails_m: Floats | None = None
    mass_kg: float | None = None
    props: tuple[PropReading, ...] = ()
    schema: int = SCHEMA


@dataclass(frozen=True, slots=True)
class CameraReading:
    """One calibrated camera as rig.toml has it: size [px], matrix (3, 3), distortions (4,) or (5,), world to camera.

    Attributes:
        rotation: Rodrigues vector, (3,).
        translation: (3,) [m].
        fisheye: distortions are of the fisheye model, (4,).
    """

    name: str
    size: tuple[int, int]
    matrix: Floats
    distortions: Floats
    rotation: Floats
    translation: Floats
    fisheye: bool = False


@dataclass(frozen=True, slots=True)
class RigMessage:
    """The cameras of the run, one to eight, in the rig's order.

    Attributes:
        floor_known: always true, since the world has Y up and its floor at 0; false only in older recordings, which are levelled
            when they are opened.
        up_xyz: the world's up direction, of length 1, (0, 1, 0) or that of an older recording.
    """

    session: str
    cameras: tuple[CameraReading, ...]
    floor_known: bool = True
    up_xyz: tuple[float, float, float] | None = (0.0, 1.0, 0.0)
    schema: int = SCHEMA


class MarkerReading(NamedTuple):
    """One marker: position in the pose [m], residual [m] where it was measured, cameras that saw it, by number.

    measured: position triangulated from two cameras at least [m], None if fewer saw it.
    """

    name: str
    xyz: tuple[float, float, float]
    residual: float | None
    cameras: tuple[int, ...]
    measured: tuple[float, float, float] | None = None


class PlacedProp(NamedTuple):
    """A prop in the world: place of its origin [m], rotation of its axes."""

    name: str
    xyz: tuple[float, float, float]
    rotation_xyzw: tuple[float, float, float, float]


class FootForce(NamedTuple):
    """The force of the ground on a foot.

    Attributes:
        joint: the ankle.
        force_n: [N] world.
        center_m: centre of pressure [m] world, None where the foot bears nothing.
        moment_nm: moment about that centre [Nm] world, hardly more than one about the vertical.
    """

    joint: str
    force_n: tuple[float, float, float]
    center_m: tuple[float, float, float] | None
    moment_nm: tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class PoseMessage:
    """One pose.

    Attributes:
        rotations_xyzw: local, (J, 4) float32.
        joint_source: (J,) uint8.
        confidence: (J,) float32.
        contacts: joints that touch the ground.
        latency_ns: latency by stage [ns].
        predicted_ns: time from t_capture_ns to that of the pose, 0 if it was not predicted.
        ground_forces: forces on both feet, left first; empty if they are unknown, as live.
        error_m: expected error of each joint, one standard deviation, (J,) float32 [m], or (0,) if unknown.
        views: number of cameras with a view of the moment, 0 if unknown.
        landmarks: what the landmarks of each camera's picture have left and right exchanged: `nothing`, `arms`, `legs`, `limbs`
            (both), `upper` (all down to the hips), `body`; None where it has none; () if the body is not followed by landmarks.
        props: what the hands hold, in the order of the skeleton's.
    """

    hash: str
    session: str
    seq: int
    t_capture_ns: int
    t_publish_ns: int
    skew_ns: int
    state: TrackingState
    root_m: tuple[float, float, float]
    rotations_xyzw: NDArray[np.float32]
    joint_source: NDArray[np.uint8]
    confidence: NDArray[np.float32]
    contacts: tuple[str, ...]
    markers: tuple[MarkerReading, ...]
    latency_ns: dict[str, int]
    predicted_ns: int = 0
    ground_forces: tuple[FootForce, ...] = ()
    error_m: NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, np.float32))
    views: int = 0
    landmarks: tuple[str | None, ...] = ()
    props: tuple[PlacedProp, ...] = ()
    schema: int = SCHEMA


def read_number(value: object) -> float | None:
    """Return a number of the stream, None for anything else."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


class CameraTimeOffset(NamedTuple):
    """How late the stamps of a camera are [ms], and the standard deviation of that, None where unknown."""

    late_ms: float
    sigma_ms: float | None


@dataclass(frozen=True, slots=True)
class StatusMessage:
    """The state of the run, once a second.

    Attributes:
        rates_hz, drops, skew_ns: figures by name.
        calibration: health in figures.
        cameras: state and counts of each camera.
        service: address for requests, empty for none.
        recording: file that is being written, empty for none.
        resting: names of optional work that rests, as frames come faster than they can be solved.
        lag_ns: delay of the poses behind the newest views, with which they are decided [ns].
    """

    session: str
    t_ns: int
    state: str
    rates_hz: dict[str, float]
    drops: dict[str, int]
    skew_ns: dict[str, float]
    calibration: dict[str, float]
    cameras: dict[str, dict[str, Any]]
    service: str = ""
    recording: str = ""
    resting: tuple[str, ...] = ()
    lag_ns: int = 0
    schema: int = SCHEMA

    def camera(self, name: str) -> Mapping[str, Any]:
        """Return the details of a camera; empty where the stream holds nothing, or no map."""
        details = self.cameras.get(name)
        return details if isinstance(details, dict) else {}

    def time_offset(self, camera: str) -> CameraTimeOffset | None:
        """Return how late a camera's timestamps are relative to the first camera's; None where unknown."""
        prefix = "" if camera == CAMERA_NAMES[1] else f"{camera}_"
        late_ms, sigma_ms = (read_number(self.calibration.get(f"{prefix}time_offset_{figure}")) for figure in ("ms", "sigma_ms"))
        return None if late_ms is None else CameraTimeOffset(late_ms, sigma_ms)


@dataclass(frozen=True, slots=True)
class EventMessage:
    """Something happened; kind: one word, text: for the user."""

    session: str
    t_ns: int
    kind: str
    text: str
    schema: int = SCHEMA


class EventKind(StrEnum):
    """Kinds of events of the outputs; those of the run are in docs/messages.md."""

    RECORDING = "recording"
    OUTPUT = "output"


class OutputEvent(NamedTuple):
    """An event of an output, before it is published."""

    kind: EventKind
    text: str


Message = SkeletonMessage | RigMessage | PoseMessage | StatusMessage | EventMessage


def find_publish_time_ns(message: Message, now_ns: int) -> int:
    """Return when a message was published; now_ns: the time of those that do not tell it."""
    if isinstance(message, PoseMessage):
        return message.t_publish_ns
    return message.t_ns if isinstance(message, EventMessage | StatusMessage) else now_ns
