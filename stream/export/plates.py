"""Forces of the ground as force plates of a C3D file: one virtual plate a foot, both where the whole floor is.

A plate of type 2 has six channels: force [N] and moment about the middle of its surface [Nmm], in its own axes. Corners 1 to 4
are at +x +y, -x +y, -x -y, +x -y of these; x is the world's, z points into the floor, so that the weight of a body gives a
negative Fz, as of real plates. The surface is the plane of the centres of pressure: floors of recordings are level to some
millimetres only.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from config.arrays import Floats, Ints
from config.units import MM_PER_M
from stream.take.ground import FEET, GroundForces

MARGIN_M = 0.5  # of the plates around the centres of pressure
NARROW_M = 0.1  # centres that are not spread wider than this do not tell how the floor is tilted
AXES = ("Fx", "Fy", "Fz", "Mx", "My", "Mz")
CORNERS = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
PLATE_TYPE = 2


@dataclass(frozen=True, slots=True)
class ForcePlates:
    """Plates, all of one surface.

    Attributes:
        labels: names of their channels, 6 for each plate.
        channels: (N, C) [N, Nmm].
        corners_mm: (4, 3) world.
    """

    labels: tuple[str, ...]
    channels: Floats
    corners_mm: Floats

    def analog(self) -> Mapping[str, Sequence[str] | Sequence[int] | Floats]:
        """Return the parameters of the group ANALOG that describe channels."""
        if not self.labels:
            return {}
        n = len(self.labels)
        described = [f"{what} on the {side} foot" for side in ("left", "right") for what in ("force",) * 3 + ("moment",) * 3]
        units = ["N", "N", "N", "Nmm", "Nmm", "Nmm"] * (n // len(AXES))
        return {
            "LABELS": self.labels,
            "DESCRIPTIONS": described,
            "SCALE": np.ones(n),
            "OFFSET": [0] * n,
            "UNITS": units,
        }

    def parameters(self) -> Mapping[str, int | Sequence[int] | Floats | Ints]:
        """Return the parameters of the group FORCE_PLATFORM."""
        n = len(self.labels) // len(AXES)
        if not n:
            return {"USED": 0}
        return {
            "USED": n,
            "TYPE": [PLATE_TYPE] * n,
            "ZERO": [1, 0],
            "CORNERS": np.tile(self.corners_mm, (n, 1, 1)),
            "ORIGIN": np.zeros((n, 3)),
            "CHANNEL": np.arange(1, 1 + n * len(AXES)).reshape(n, -1),
        }


def plates_from_forces(forces: GroundForces | None, n: int) -> ForcePlates:
    """Return the plates of both feet in n frames; none without forces. Where forces are unknown they are zero."""
    if forces is None or not forces.loaded.any():
        return ForcePlates((), np.zeros((n, 0)), np.zeros((4, 3)))
    middle_m, R, half_m = _fit_plate_surface(forces.center_m[forces.loaded])
    loaded = forces.loaded[..., None]
    arm_m = np.where(loaded, forces.center_m - middle_m, 0.0)
    moment_nm = forces.moment_nm + np.cross(arm_m, forces.force_n)
    channels = np.concatenate([forces.force_n @ R, MM_PER_M * moment_nm @ R], axis=2)
    corners_m = middle_m + (CORNERS * half_m) @ R[:, :2].T
    labels = tuple(f"{axis}{k}" for k in range(1, 1 + len(FEET)) for axis in AXES)
    return ForcePlates(labels, channels.reshape(n, -1), MM_PER_M * corners_m)


def _fit_plate_surface(center_m: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the middle of a surface at centres of pressure (S, 3), its axes as columns (3, 3), and half its sides (2,) [m]."""
    A = center_m[:, [0, 2]] - center_m[:, [0, 2]].mean(axis=0)
    slope = np.linalg.solve(A.T @ A / len(A) + NARROW_M**2 * np.eye(2), A.T @ (center_m[:, 1] - center_m[:, 1].mean()) / len(A))
    z = np.array([slope[0], -1.0, slope[1]]) / np.linalg.norm([*slope, 1.0])
    y = np.cross(z, (1.0, 0.0, 0.0))
    y /= np.linalg.norm(y)
    R = np.stack([np.cross(y, z), y, z], axis=1)
    at = center_m @ R
    low, high = at[:, :2].min(axis=0) - MARGIN_M, at[:, :2].max(axis=0) + MARGIN_M
    middle = np.array([*(0.5 * (low + high)), at[:, 2].mean()])
    return R @ middle, R, 0.5 * (high - low)
