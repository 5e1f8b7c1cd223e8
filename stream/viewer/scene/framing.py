"""Viewpoints from which the whole performer is in the picture."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import viser

from calibration.camera import Camera
from config.arrays import Floats
from database.geometry.rotations import matrix_from_rotvec
from stream.protocol.messages import CameraReading, RigMessage

HEIGHT_M, WIDTH_M = 3.4, 2.7  # that should be in the picture; below, the player covers some of it
TOP_WIDTH_M = 3.6
MIDDLE_M = 0.6
EYE_M = 0.75  # above the middle
FOV_RAD = 0.72
SIDE_TANGENTS = (0.4, 0.7, -0.7, 1.0, -1.0, 1.5, -1.5)  # the first viewpoint is a little to the side, which shows depth
NEAR_M = 2.5
DRAWN_M = 0.45  # extent of a drawn camera about its centre
AROUND = 0.3  # cameras whose middle is nearer to the performer than by this share of their distance stand around


class View(StrEnum):
    """A view of the scene that is no camera's, by the label of its button."""

    FRONT = "Front"
    SIDE = "Side"
    TOP = "Top"


@dataclass(frozen=True, slots=True)
class Viewpoint:
    """A camera of the scene.

    Attributes:
        position, look_at: (3,) [m].
        up: (3,).
        fov_rad: vertical.
    """

    position: Floats
    look_at: Floats
    up: Floats
    fov_rad: float = FOV_RAD


def compute_view_distance_m(aspect: float, height_m: float, width_m: float) -> float:
    """Return the distance at which a height and a width fill a picture of an aspect (width by height).

    Args:
        aspect: width by height of the picture.
        height_m: height that fills the picture [m].
        width_m: width that fills the picture [m].
    """
    half = np.tan(0.5 * FOV_RAD)
    return float(0.5 * max(height_m / half, width_m / (half * max(aspect, 0.1))))


def compute_viewpoint(
    view: View | int, root_m: Floats, rig: RigMessage | None, aspect: float = 1.3, apart_m: float = 0.0
) -> Viewpoint:
    """Return the viewpoint of a view on a performer whose hips are at root_m, (3,).

    The view of a camera that does not exist is the front.

    Args:
        view: the view, or the number of a camera.
        root_m: place of the hips, (3,) world [m].
        rig: the cameras; None: not known.
        aspect: width of the picture by its height.
        apart_m: distance between the outer performers.
    """
    if isinstance(view, int) and rig is not None and view < len(rig.cameras):
        return viewpoint_from_camera(camera_from_reading(rig.cameras[view]))
    target = np.array([root_m[0], MIDDLE_M, root_m[2]])
    front = compute_facing_direction(rig, root_m)
    side = np.array([front[2], 0.0, -front[0]])
    up = np.array([0.0, 1.0, 0.0])
    if view is View.TOP:
        return Viewpoint(target + compute_view_distance_m(aspect, TOP_WIDTH_M, TOP_WIDTH_M + apart_m) * up, target, -front)
    out = side if view is View.SIDE else front
    return Viewpoint(target + out * compute_view_distance_m(aspect, HEIGHT_M, WIDTH_M + apart_m) + EYE_M * up, target, up)


def compute_first_viewpoint(root_m: Floats, rig: RigMessage | None, aspect: float = 1.3, apart_m: float = 0.0) -> Viewpoint:
    """Return the viewpoint that the page opens with: at the front, and so far to the side that no camera covers the picture.

    Args:
        root_m: place of the hips, (3,) world [m].
        rig: the cameras; None: not known.
        aspect: width by height of the picture.
        apart_m: distance between the outer performers [m].
    """
    front = compute_viewpoint(View.FRONT, root_m, rig, aspect, apart_m)
    candidates = [_orbit_viewpoint(front, tangent) for tangent in SIDE_TANGENTS]
    free = (seen for seen in candidates if not any(is_view_covered(seen, each_m, aspect) for each_m in _find_centers_m(rig)))
    return next(free, candidates[0])


def _orbit_viewpoint(front: Viewpoint, tangent: float) -> Viewpoint:
    """Move a viewpoint around its target, by an angle of this tangent."""
    out = front.position - front.look_at
    sideways = np.array([out[2], 0.0, -out[0]]) * tangent
    position = front.look_at + (out + sideways) / np.sqrt(1.0 + tangent**2) * np.array([1.0, 1.3, 1.0])
    return Viewpoint(position, front.look_at, front.up)


def is_view_covered(seen: Viewpoint, camera_m: Floats, aspect: float) -> bool:
    """Return whether a camera drawn at camera_m, (3,), covers a large part of the picture: near the viewpoint and in its view.

    Args:
        seen: the viewpoint.
        camera_m: (3,) world [m].
        aspect: width by height of the picture.
    """
    forward = seen.look_at - seen.position
    forward = forward / np.linalg.norm(forward)
    right = np.cross(forward, seen.up)
    right = right / np.linalg.norm(right)
    ray = camera_m - seen.position
    depth_m, half = float(ray @ forward), float(np.tan(0.5 * seen.fov_rad))
    if not -DRAWN_M < depth_m < NEAR_M:
        return False
    reach_m = max(depth_m, 0.0) * half
    up = np.cross(right, forward)
    return bool(abs(ray @ right) < reach_m * aspect + DRAWN_M and abs(ray @ up) < reach_m + DRAWN_M)


def compute_facing_direction(rig: RigMessage | None, root_m: Floats) -> Floats:
    """Return the horizontal direction from the performer to the middle of the cameras, (3,); z where they are around."""
    if not (centers_m := _find_centers_m(rig)):
        return np.array([0.0, 0.0, 1.0])
    out = (np.array(centers_m) - root_m) * [1.0, 0.0, 1.0]
    middle, distance_m = out.mean(axis=0), float(np.linalg.norm(out, axis=1).mean())
    length = float(np.linalg.norm(middle))
    return np.asarray(middle / length) if length > max(AROUND * distance_m, 0.1) else np.array([0.0, 0.0, 1.0])


def camera_from_reading(reading: CameraReading) -> Camera:
    """Return a camera as the stream describes it."""
    rotation = matrix_from_rotvec(reading.rotation)
    matrix, lens, R, t = (np.array(a, float) for a in (reading.matrix, reading.distortions, rotation, reading.translation))
    return Camera(reading.name, reading.size, matrix, lens, R, t, reading.fisheye)


def _find_centers_m(rig: RigMessage | None) -> list[Floats]:
    """Return where the cameras stand, (3,) [m] each; none of an unknown rig."""
    return [] if rig is None else [camera_from_reading(reading).center_m for reading in rig.cameras]


def viewpoint_from_camera(camera: Camera) -> Viewpoint:
    """Return the viewpoint of a camera: its z axis points into the picture, its y axis down."""
    fov_rad = 2.0 * float(np.arctan2(0.5 * camera.size[1], camera.matrix[1, 1]))
    return Viewpoint(camera.center_m, camera.center_m + 3.0 * camera.rotation[2], -camera.rotation[1], fov_rad)


def set_first_viewpoint(server: viser.ViserServer, seen: Viewpoint) -> None:
    """Set the viewpoint of the pages to come."""
    camera = server.initial_camera
    camera.position, camera.look_at, camera.up, camera.fov = seen.position, seen.look_at, seen.up, seen.fov_rad


def set_client_viewpoint(client: viser.ClientHandle, seen: Viewpoint) -> None:
    """Set the viewpoint of one page."""
    with client.atomic():
        client.camera.up_direction = seen.up
        client.camera.position = seen.position
        client.camera.look_at = seen.look_at
        client.camera.fov = seen.fov_rad
