"""The floor in a rig's frame, and the rig transformed to a world that stands on it.

That world is right-handed, in metres, Y up, the floor at y = 0; its origin is where the board, the markers or the walk were, and
+Z is where a performer's rest pose faces: towards the cameras, unless a board's edge or the long arm of an L-frame determines it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from calibration.camera import Rig
from calibration.quality.report import Finding
from calibration.world import move_rig, project_to_floor
from config.arrays import Floats
from database.geometry.rigid import RigidMotion

FloorMethod = Literal["board", "markers", "walk"]
NOWHERE = np.zeros((0, 3))


@dataclass(frozen=True, slots=True)
class Floor:
    """A floor in the frame of the rig it was found with.

    up: unit normal away from the ground, (3,); origin_m: a point of the floor, (3,) [m]; ahead: unit vector in the floor that
    becomes +Z, (3,); by: the method; scale: factor for the rig's lengths; tilt_sigma_rad, height_sigma_m: standard deviations,
    height at the origin; residual_mm: RMS of what touched it; touching_m: that, (T, 3) [m]; above_m: other points seen, which
    should be above it, (P, 3) [m]; size_ratio: length in the rig over true length of what is measured on the floor, NaN where
    unknown; size_sigma: its standard deviation; one_camera: found by one camera alone; findings: on how it was found; figures: by
    name with its unit.
    """

    up: Floats
    origin_m: Floats
    ahead: Floats
    by: FloorMethod
    tilt_sigma_rad: float
    height_sigma_m: float
    residual_mm: float
    touching_m: Floats
    above_m: Floats = field(default_factory=lambda: NOWHERE)
    scale: float = 1.0
    size_ratio: float = float("nan")
    size_sigma: float = float("nan")
    one_camera: bool = False
    findings: tuple[Finding, ...] = ()
    figures: Mapping[str, float] = field(default_factory=dict)

    @property
    def rotation(self) -> Floats:
        """From the rig's frame to the world, (3, 3): its rows are X, Y and Z in the rig's frame."""
        return np.stack([np.cross(self.up, self.ahead), self.up, self.ahead])

    def to_world(self, points_m: Floats) -> Floats:
        """Transform points to the world: (..., 3) rig [m] -> (..., 3) [m]."""
        return np.asarray(self.scale * (points_m - self.origin_m) @ self.rotation.T)


def place_on_floor(rig: Rig, floor: Floor) -> Rig:
    """Return the rig in the world that stands on the floor."""
    scaled = tuple(replace(camera, translation=floor.scale * camera.translation) for camera in rig.cameras)
    motion = RigidMotion(floor.rotation, -floor.scale * floor.rotation @ floor.origin_m)
    return move_rig(replace(rig, cameras=scaled, floor_known=True), motion)


def find_direction_to_cameras(rig: Rig, origin_m: Floats, up: Floats) -> Floats:
    """Return the direction along the floor from a point to the middle between the cameras, a unit vector (3,).

    Args:
        rig: the cameras.
        origin_m: the point, (3,) [m].
        up: the floor's normal, (3,), unit.
    """
    return project_to_floor(rig.middle_m - origin_m, up)
