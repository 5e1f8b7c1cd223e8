"""The forces of the ground on the feet of a take: as arrays, at other times and places, and as messages of its poses."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from config.arrays import Bools, Floats
from database.contacts import CONTACT_JOINTS
from stream.protocol.messages import FootForce, PoseMessage

FEET = ("leftFoot", "rightFoot")
LEAST_N = 1.0  # a foot that bears less bears nothing


@dataclass(frozen=True, slots=True)
class GroundForces:
    """The force of the ground on each foot, left first, with its body's mass.

    Attributes:
        force_n: (N, 2, 3) [N] world, zero where a foot bears nothing.
        center_m: centre of pressure, (N, 2, 3) [m] world.
        moment_nm: moment about it, (N, 2, 3) [Nm] world.
        known: frames whose forces are known, (N,).
        contacts: contact joints (`CONTACT_JOINTS`) that bear a force, (N, 4).
        mass_kg: mass of the whole body [kg].
    """

    force_n: Floats
    center_m: Floats
    moment_nm: Floats
    known: Bools
    contacts: Bools
    mass_kg: float

    def __post_init__(self) -> None:
        assert self.force_n.shape == self.center_m.shape == self.moment_nm.shape == (len(self.known), len(FEET), 3)
        assert self.contacts.shape == (len(self.known), len(CONTACT_JOINTS))
        for array in (self.force_n, self.center_m, self.moment_nm, self.known, self.contacts):
            array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.known)

    @property
    def loaded(self) -> Bools:
        """Which feet bear something, so that their centre of pressure is defined, (N, 2)."""
        return np.asarray(self.force_n[..., 1] > 0.0)

    def rows(self, kept: Sequence[int] | NDArray[np.int64]) -> "GroundForces":
        """Return the forces of some frames."""
        k = np.asarray(kept, np.int64)
        force_n, center_m, moment_nm = self.force_n[k], self.center_m[k], self.moment_nm[k]
        return GroundForces(force_n, center_m, moment_nm, self.known[k], self.contacts[k], self.mass_kg)

    def only(self, known: Bools) -> "GroundForces":
        """Return the forces with those of all but some frames, (N,), unknown."""
        parts = (np.where(known[:, None, None], each, 0.0) for each in (self.force_n, self.center_m, self.moment_nm))
        force_n, center_m, moment_nm = parts
        return GroundForces(force_n, center_m, moment_nm, self.known & known, self.contacts & known[:, None], self.mass_kg)

    def moved(self, R: Floats, t_m: Floats) -> "GroundForces":
        """Return the forces where x becomes R x + t; t_m: (3,), or of each frame, (N, 3)."""
        t = np.broadcast_to(t_m, (len(self), 3))[:, None]
        center_m = np.where(self.loaded[..., None], self.center_m @ R.T + t, 0.0)
        return replace(self, force_n=self.force_n @ R.T, center_m=center_m, moment_nm=self.moment_nm @ R.T)

    def between(self, after: NDArray[np.int64], share: Floats) -> "GroundForces":
        """Return the forces between the frames before `after` and at it, (K,): forces linearly, centres by their loads.

        Next to an unknown frame they are those of the other, or unknown, as the nearer one.
        """
        a, b = self.rows(after - 1), self.rows(after)
        known = np.where(share < 0.5, a.known, b.known)
        share = np.where(a.known == b.known, share, np.where(a.known, 0.0, 1.0))
        s = share[:, None, None]
        loads = np.stack([a.force_n[..., 1] * (1.0 - s[..., 0]), b.force_n[..., 1] * s[..., 0]])
        total = loads.sum(axis=0)
        weights = loads / np.where(total > 0.0, total, 1.0)
        center_m = weights[0, ..., None] * a.center_m + weights[1, ..., None] * b.center_m
        borne = (known[:, None] & (total > 0.0))[..., None]
        force_n = np.where(borne, a.force_n * (1.0 - s) + b.force_n * s, 0.0)
        moment_nm = np.where(borne, a.moment_nm * (1.0 - s) + b.moment_nm * s, 0.0)
        contacts = np.where((share < 0.5)[:, None], a.contacts, b.contacts) & known[:, None]
        return GroundForces(force_n, np.where(borne, center_m, 0.0), moment_nm, known, contacts, self.mass_kg)

    def messages(self, n: int) -> tuple[FootForce, ...]:
        """Return the forces of a frame as its pose message has them; none where they are unknown."""
        if not self.known[n]:
            return ()
        rows = zip(FEET, self.force_n[n].tolist(), self.center_m[n].tolist(), self.moment_nm[n].tolist(), strict=True)
        return tuple(FootForce(joint, tuple(f), tuple(c) if f[1] > 0.0 else None, tuple(m)) for joint, f, c, m in rows)


def forces_from_points(points_n: Floats, point_m: Floats, joints: Sequence[str], mass_kg: float) -> GroundForces:
    """Return the forces of contact points as one force a foot.

    Args:
        points_n: force at each point, (N, P, 3) [N].
        point_m: place of each, (N, P, 3) world [m].
        joints: joints of the P points, each one of `CONTACT_JOINTS`.
        mass_kg: mass of the body [kg].
    """
    n = len(points_n)
    force_n, center_m, moment_nm = (np.zeros((n, len(FEET), 3)) for _ in range(3))
    at = np.array([CONTACT_JOINTS.index(joint) for joint in joints])
    foot = at // 2
    contacts = np.stack([points_n[:, at == k, 1].sum(axis=1) > LEAST_N for k in range(len(CONTACT_JOINTS))], axis=1)
    for k in range(len(FEET)):
        f, p = points_n[:, foot == k], point_m[:, foot == k]
        load = f[..., 1].sum(axis=1)
        bears = load > LEAST_N
        center = (f[..., 1:2] * p).sum(axis=1) / np.where(bears, load, 1.0)[:, None]
        moment = np.cross(p - center[:, None], f).sum(axis=1)
        force_n[bears, k], center_m[bears, k], moment_nm[bears, k] = f.sum(axis=1)[bears], center[bears], moment[bears]
    return GroundForces(force_n, center_m, moment_nm, np.ones(n, bool), contacts, mass_kg)


def place_in_frames(parts: Sequence[tuple[int, GroundForces]], n: int) -> GroundForces:
    """Return the forces of parts of a take, each from its first frame on, as those of all its n frames."""
    force_n, center_m, moment_nm = (np.zeros((n, len(FEET), 3)) for _ in range(3))
    known, contacts = np.zeros(n, bool), np.zeros((n, len(CONTACT_JOINTS)), bool)
    for first, part in parts:
        rows = slice(first, first + len(part))
        force_n[rows], center_m[rows], moment_nm[rows] = part.force_n, part.center_m, part.moment_nm
        known[rows], contacts[rows] = part.known, part.contacts
    return GroundForces(force_n, center_m, moment_nm, known, contacts, parts[0][1].mass_kg)


def forces_from_messages(messages: Sequence[PoseMessage], mass_kg: float | None) -> GroundForces | None:
    """Return the forces that poses carry; None where they carry none, or the mass of the body is unknown."""
    if mass_kg is None or not any(message.ground_forces for message in messages):
        return None
    force_n, center_m, moment_nm = (np.zeros((len(messages), len(FEET), 3)) for _ in range(3))
    known = np.array([bool(message.ground_forces) for message in messages])
    contacts = np.array([[joint in message.contacts for joint in CONTACT_JOINTS] for message in messages])
    for n, message in enumerate(messages):
        for foot in message.ground_forces:
            if foot.joint in FEET and foot.center_m is not None and foot.force_n[1] > 0.0:
                k = FEET.index(foot.joint)
                force_n[n, k], center_m[n, k], moment_nm[n, k] = foot.force_n, foot.center_m, foot.moment_nm
    return GroundForces(force_n, center_m, moment_nm, known, contacts & known[:, None], mass_kg)
