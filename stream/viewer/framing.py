"""Where to look from so that the whole performer is in the picture; places in the view's own level, y up."""

from dataclasses import dataclass

import numpy as np

from database.rotations import Floats, matrix_from_rotvec
from stream.messages import CameraReading, RigMessage
from stream.viewer.stage_level import Level

FRONT, SIDE, TOP, LEFT_CAMERA, RIGHT_CAMERA = VIEWS = ("Front", "Side", "Top", "Left camera", "Right camera")
HIGH_M, WIDE_M = 3.4, 2.7  # what should be seen of a performer; below, the player covers some of the picture
TOP_WIDE_M = 3.6
MIDDLE_M = 0.6
EYE_M = 0.75  # over the middle
FOV_RAD = 0.72
ASIDES = (0.4, 0.7, -0.7, 1.0, -1.0, 1.5, -1.5)  # tangents: the first look is from a little to the side, which tells depth
NEAR_M = 2.5
DRAWN_M = 0.45  # how far from its centre a camera is drawn


@dataclass(frozen=True, slots=True)
class Look:
    """A camera. position, look_at: (3,) [m]; up: (3,); fov_rad: vertical."""

    position: Floats
    look_at: Floats
    up: Floats
    fov_rad: float = FOV_RAD


def distance_m(aspect: float, high_m: float, wide_m: float) -> float:
    """Give from how far something so high and so wide is in a picture of that aspect (width by height)."""
    half = np.tan(0.5 * FOV_RAD)
    return float(0.5 * max(high_m / half, wide_m / (half * max(aspect, 0.1))))


def look_from(view: str, root_m: Floats, rig: RigMessage | None, level: Level, aspect: float = 1.3, apart_m: float = 0.0) -> Look:
    """Give the look of a view at a performer whose hips are at root_m in the view.

    aspect: width of the picture by its height; apart_m: how wide more than one performer stands. A camera's view falls back to
    the front where there is no such camera.
    """
    cameras = rig.cameras if rig is not None else ()
    if view == LEFT_CAMERA and cameras:
        return camera_look(cameras[0], level)
    if view == RIGHT_CAMERA and len(cameras) > 1:
        return camera_look(cameras[1], level)
    target = np.array([root_m[0], MIDDLE_M, root_m[2]])
    front = facing(rig, root_m, level)
    side = np.array([front[2], 0.0, -front[0]])
    up = np.array([0.0, 1.0, 0.0])
    if view == TOP:
        return Look(target + distance_m(aspect, TOP_WIDE_M, TOP_WIDE_M + apart_m) * up, target, -front)
    out = side if view == SIDE else front
    return Look(target + out * distance_m(aspect, HIGH_M, WIDE_M + apart_m) + EYE_M * up, target, up)


def first_look(root_m: Floats, rig: RigMessage | None, level: Level, aspect: float = 1.3, apart_m: float = 0.0) -> Look:
    """Give the look that the page opens with: from the front and so far to the side that no camera stands before the eye."""
    front = look_from(FRONT, root_m, rig, level, aspect, apart_m)
    looks = [_aside(front, tangent) for tangent in ASIDES]
    places = [level.to_view(place_of(camera)) for camera in rig.cameras] if rig is not None else []
    return next((look for look in looks if not any(in_the_way(look, place, aspect) for place in places)), looks[0])


def _aside(look: Look, tangent: float) -> Look:
    """Go around what is looked at."""
    out = look.position - look.look_at
    aside = np.array([out[2], 0.0, -out[0]]) * tangent
    position = look.look_at + (out + aside) / np.sqrt(1.0 + tangent**2) * np.array([1.0, 1.3, 1.0])
    return Look(position, look.look_at, look.up)


def in_the_way(look: Look, place_m: Floats, aspect: float) -> bool:
    """Tell whether a camera drawn at place_m would cover a good part of the picture: near the eye and in sight of it."""
    forward = look.look_at - look.position
    forward = forward / np.linalg.norm(forward)
    right = np.cross(forward, look.up)
    right = right / np.linalg.norm(right)
    ray = place_m - look.position
    depth_m, half = float(ray @ forward), float(np.tan(0.5 * look.fov_rad))
    if not -DRAWN_M < depth_m < NEAR_M:
        return False
    reach_m = max(depth_m, 0.0) * half
    up = np.cross(right, forward)
    return bool(abs(ray @ right) < reach_m * aspect + DRAWN_M and abs(ray @ up) < reach_m + DRAWN_M)


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
