"""The floor as it was found in a rig's frame, and the rig brought into a world that stands on it.

That world is right-handed, in metres, Y up, the floor at y = 0; its origin lies where the board, the markers or the walk were,
and +Z is where a performer's rest pose faces, towards the cameras unless a board's edge or the long arm of an L-frame says
otherwise.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from calibration.camera import Camera, Rig
from database.rotations import Floats

Way = Literal["board", "markers", "walk"]
NOWHERE = np.zeros((0, 3))


@dataclass(frozen=True, slots=True)
class Floor:
    """A floor in the frame of the rig it was found with.

    up: unit normal away from the ground, (3,); origin_m: a point of the floor, (3,) [m]; ahead: unit vector in the floor that
    becomes +Z, (3,); scale: what the rig's lengths are to be multiplied with; by: what told it; tilt_sigma_rad, height_sigma_m:
    how well it is known, height at the origin; residual_mm: RMS of what touched it; touching_m: that, (T, 3) [m]; above_m:
    other points seen, which should be above it, (P, 3) [m]; size_ratio: of what is measured on the floor, length in the rig
    over true length, NaN where nothing is known; size_sigma: its standard deviation; one_camera: found by one camera alone;
    notes: in words, what is worth telling; doubts: in words, what makes it less sure; figures: by name with its unit.
    """

    up: Floats
    origin_m: Floats
    ahead: Floats
    by: Way
    tilt_sigma_rad: float
    height_sigma_m: float
    residual_mm: float
    touching_m: Floats
    above_m: Floats = field(default_factory=lambda: NOWHERE)
    scale: float = 1.0
    size_ratio: float = float("nan")
    size_sigma: float = float("nan")
    one_camera: bool = False
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    figures: Mapping[str, float] = field(default_factory=dict)

    @property
    def rotation(self) -> Floats:
        """From the rig's frame to the world, (3, 3): its rows are X, Y and Z in the rig's frame."""
        return np.stack([np.cross(self.up, self.ahead), self.up, self.ahead])

    def to_world(self, points_m: Floats) -> Floats:
        """Give points of the rig's frame in the world: (..., 3) [m] -> (..., 3) [m]."""
        return np.asarray(self.scale * (points_m - self.origin_m) @ self.rotation.T)


def floored(rig: Rig, floor: Floor) -> Rig:
    """Give the rig in the world that stands on the floor."""
    left = _on_floor(rig.left, floor)
    right = left if rig.is_lone else _on_floor(rig.right, floor)
    return replace(rig, left=left, right=right, floor_known=True)


def _on_floor(camera: Camera, floor: Floor) -> Camera:
    """Give a camera in the world: with p_rig = M' p_world / s + o, x_camera s = R M' p_world + s (R o + t)."""
    rotation = np.ascontiguousarray(camera.rotation @ floor.rotation.T)
    translation = floor.scale * (camera.rotation @ floor.origin_m + camera.translation)
    return replace(camera, rotation=rotation, translation=translation)


def up_of_images(rig: Rig) -> Floats:
    """Give the mean of what is up in the cameras' pictures, (3,), unit, in the rig's frame."""
    up = -(rig.left.rotation[1] + rig.right.rotation[1])
    return np.asarray(up / max(float(np.linalg.norm(up)), 1e-12))


def along_floor(direction: Floats, up: Floats) -> Floats:
    """Give a direction's part within the floor as a unit vector, (3,); any such vector where it has none."""
    part = direction - up * (up @ direction)
    length = float(np.linalg.norm(part))
    if length < 1e-6:
        part = np.eye(3)[int(np.argmin(np.abs(up)))]
        part = part - up * (up @ part)
        length = float(np.linalg.norm(part))
    return np.asarray(part / length)


def to_cameras(rig: Rig, origin_m: Floats, up: Floats) -> Floats:
    """Give the direction along the floor from a point to the middle between the cameras, (3,), unit."""
    return along_floor(0.5 * (rig.left.center_m + rig.right.center_m) - origin_m, up)
