"""What the stream says, decoded into plain values; numbers in metres, nanoseconds and x y z w, Y up, right-handed."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any

import msgpack

from duocap_client.kinematics import Quaternion, Vector, global_transforms

TOPICS = ("skeleton", "rig", "pose", "status", "event")


class MalformedMessageError(ValueError):
    """Bytes that are no message of duocap, or of a newer one than this client knows."""


@dataclass(frozen=True)
class Skeleton:
    """The skeleton of all poses with the same `hash`: parents come before their children, -1 is the root's.

    mass_kg: of the body, where forces were computed; they are in `Pose.all_fields["ground_forces"]`.
    """

    hash: str
    names: tuple[str, ...]
    parents: tuple[int, ...]
    offsets_m: tuple[Vector, ...]
    humanoid: dict[str, str]
    subject: str
    mass_kg: float | None = None

    def joint_positions(self, pose: Pose) -> dict[str, Vector]:
        """Return where every joint is in the world [m]."""
        return {name: place for name, (place, _) in self.joint_transforms(pose).items()}

    def joint_transforms(self, pose: Pose) -> dict[str, tuple[Vector, Quaternion]]:
        """Return place [m] and orientation of every joint in the world."""
        if pose.hash != self.hash:
            raise ValueError(f"the pose belongs to skeleton {pose.hash}, this is {self.hash}; wait for the new skeleton")
        placed = global_transforms(self.parents, self.offsets_m, pose.root_m, pose.rotations_xyzw)
        return dict(zip(self.names, placed, strict=True))


@dataclass(frozen=True)
class Marker:
    """A marker: place as the pose has it, residual [m] and place as measured where two cameras saw it or more; which did."""

    name: str
    xyz: Vector
    residual: float | None
    cameras: tuple[int, ...]
    measured: Vector | None


@dataclass(frozen=True)
class Pose:
    """One pose: local rotations from the rest pose, the root's in the world; state: tracking, coasting or lost.

    error_m: metres by which each joint may be off (68 % are nearer to the truth), empty where it is unknown.
    """

    hash: str
    session: str
    seq: int
    t_capture_ns: int
    t_publish_ns: int
    state: str
    root_m: Vector
    rotations_xyzw: tuple[Quaternion, ...]
    joint_source: bytes
    confidence: tuple[float, ...]
    contacts: tuple[str, ...]
    markers: tuple[Marker, ...]
    latency_ns: dict[str, int]
    all_fields: dict[str, Any] = field(repr=False, compare=False)
    error_m: tuple[float, ...] = ()


def decode(payload: bytes) -> tuple[str, Skeleton | Pose | dict[str, Any]]:
    """Return topic and content of a message: a Skeleton, a Pose, or for the other topics the map as it came.

    Raises MalformedMessageError.
    """
    name, _, body = payload.partition(b" ")
    topic = name.decode("ascii", "replace")
    if topic not in TOPICS:
        raise MalformedMessageError(f"unknown topic {topic[:20]!r}")
    try:
        content = msgpack.unpackb(body, raw=False)
        if content["schema"] != 1:
            raise MalformedMessageError(f"schema {content['schema']}, this client reads 1: update it")
        if topic == "skeleton":
            return topic, _skeleton(content)
        return topic, _pose(content) if topic == "pose" else content
    except MalformedMessageError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, struct.error, RecursionError) as error:
        raise MalformedMessageError(f"a {topic} message that cannot be read: {error!r}") from error


def _skeleton(content: dict[str, Any]) -> Skeleton:
    """Return a skeleton."""
    parents = tuple(content["parents"])
    offsets_m = tuple(_vector(row) for row in content["offsets_m"])
    names = tuple(content["names"])
    if not len(names) == len(parents) == len(offsets_m) or any(not -1 <= p < j for j, p in enumerate(parents)):
        raise MalformedMessageError("a skeleton whose parts do not fit together")
    return Skeleton(
        content["hash"], names, parents, offsets_m, dict(content["humanoid"]), content["subject"], content.get("mass_kg")
    )


def _pose(content: dict[str, Any]) -> Pose:
    """Return a pose."""
    rotations = tuple(struct.iter_unpack("<4f", content["rotations_xyzw"]))
    confidence = tuple(value for (value,) in struct.iter_unpack("<f", content["confidence"]))
    return Pose(
        hash=content["hash"],
        session=content["session"],
        seq=int(content["seq"]),
        t_capture_ns=int(content["t_capture_ns"]),
        t_publish_ns=int(content["t_publish_ns"]),
        state=content["state"],
        root_m=_vector(content["root_m"]),
        rotations_xyzw=rotations,
        joint_source=bytes(content["joint_source"]),
        confidence=confidence,
        contacts=tuple(content["contacts"]),
        markers=tuple(_marker(marker) for marker in content["markers"]),
        latency_ns=dict(content["latency_ns"]),
        all_fields=content,
        error_m=tuple(value for (value,) in struct.iter_unpack("<f", content.get("error_m", b""))),
    )


def _marker(content: dict[str, Any]) -> Marker:
    """Return a marker; `measured` came later than the rest of the schema."""
    measured = content.get("measured")
    return Marker(
        content["name"],
        _vector(content["xyz"]),
        content["residual"],
        tuple(content["cameras"]),
        None if measured is None else _vector(measured),
    )


def _vector(values: list[float]) -> Vector:
    """Return three numbers."""
    x, y, z = values
    return float(x), float(y), float(z)
