"""Where to look from so that the whole performer is in the picture; places in the view's own level, y up."""

from dataclasses import dataclass

import numpy as np

from database.rotations import Floats, matrix_from_rotvec
from stream.messages import CameraReading, RigMessage
from stream.viewer.stage_level import Level

FRONT, SIDE, TOP, LEFT_CAMERA, RIGHT_CAMERA = VIEWS = ("Front", "Side", "Top", "Left camera", "Right camera")
DISTANCE_M = 4.2
TOP_M = 5.5
MIDDLE_M = 0.95
EYE_M = 0.55  # over the middle of the body
FOV_RAD = 0.75
ASIDE = 0.35  # the first look is from a little to the side, which tells depth


@dataclass(frozen=True, slots=True)
class Look:
    """A camera. position, look_at: (3,) [m]; up: (3,); fov_rad: vertical."""

    position: Floats
    look_at: Floats
    up: Floats
    fov_rad: float = FOV_RAD


def look_from(view: str, root_m: Floats, rig: RigMessage | None, level: Level, apart_m: float = 0.0) -> Look:
    """Give the look of a view at a performer whose hips are at root_m in the view.

    apart_m: how wide more than one performer stands. A camera's view falls back to the front where there is no such camera.
    """
    cameras = rig.cameras if rig is not None else ()
    if view == LEFT_CAMERA and cameras:
        return camera_look(cameras[0], level)
    if view == RIGHT_CAMERA and len(cameras) > 1:
        return camera_look(cameras[1], level)
    target = np.array([root_m[0], MIDDLE_M, root_m[2]])
    front = facing(rig, root_m, level)
    side = np.array([front[2], 0.0, -front[0]])
    distance_m = DISTANCE_M + apart_m
    if view == TOP:
        return Look(target + [0.0, TOP_M + apart_m, 0.0], target, -front)
    if view == SIDE:
        return Look(target + side * distance_m + [0.0, EYE_M, 0.0], target, np.array([0.0, 1.0, 0.0]))
    return Look(target + front * distance_m + [0.0, EYE_M, 0.0], target, np.array([0.0, 1.0, 0.0]))


def first_look(root_m: Floats, rig: RigMessage | None, level: Level, apart_m: float = 0.0) -> Look:
    """Give the look that the page opens with: from the front, a little to the side."""
    look = look_from(FRONT, root_m, rig, level, apart_m)
    out = look.position - look.look_at
    aside = np.array([out[2], 0.0, -out[0]]) * ASIDE
    position = look.look_at + (out + aside) * np.array([1.0, 1.2, 1.0])
    return Look(position, look.look_at, look.up)


def facing(rig: RigMessage | None, root_m: Floats, level: Level) -> Floats:
    """Give the horizontal direction from the performer to the cameras' middle, (3,); z where there are none."""
    if rig is None or not rig.cameras:
        return np.array([0.0, 0.0, 1.0])
    middle = np.mean([level.to_view(place_of(camera)) for camera in rig.cameras], axis=0)
    out = (middle - root_m) * [1.0, 0.0, 1.0]
    length = float(np.linalg.norm(out))
    return np.asarray(out / length) if length > 0.1 else np.array([0.0, 0.0, 1.0])


def place_of(camera: CameraReading) -> Floats:
    """Give a camera's centre in the world, C = -R^T t, (3,) [m]."""
    return np.asarray(-matrix_from_rotvec(camera.rotation).T @ camera.translation)


def camera_look(camera: CameraReading, level: Level) -> Look:
    """Look as a camera does: its z axis into the picture, its y axis down."""
    R = matrix_from_rotvec(camera.rotation)
    position = level.to_view(place_of(camera))
    forward, up = level.rotation @ R[2], -(level.rotation @ R[1])
    fov_rad = 2.0 * float(np.arctan2(0.5 * camera.size[1], camera.matrix[1, 1]))
    return Look(position, position + 3.0 * forward, up, fov_rad)
