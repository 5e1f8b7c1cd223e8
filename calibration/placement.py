"""Place a rig by hand: cameras with given lenses that look at one point of a Y-up world.

The performer's rest pose faces +Z, so the first two cameras are at +Z and look towards -Z; the left camera is then at -X. Further
ones stand around the performer.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from calibration.camera import Camera, Rig
from calibration.world import UP
from config.arrays import Floats
from config.errors import CalibrationError
from config.settings import CAMERA_NAMES

# A mild barrel, as small webcams have; the two lenses are not alike.
DISTORTIONS = (np.array([-0.11, 0.06, 0.0004, -0.0003, 0.0]), np.array([-0.10, 0.05, -0.0003, 0.0004, 0.0]))
MARGIN = 0.05  # share of an image's width that is kept free at every edge
# Where the third camera stands and those after it, from where the performer looks towards their left [degrees].
AROUND_DEG = (90.0, 180.0, -90.0, 135.0, -135.0, 45.0)


def intrinsics_from_fov(size: tuple[int, int], fov_deg: float) -> Floats:
    """Return K with f = (width / 2) / tan(fov / 2), fov the horizontal field of view, (3, 3) [px].

    Raises CalibrationError: a field of view outside 10..150 degrees, or an image below 16x16.
    """
    width, height = size
    if not 10.0 <= fov_deg <= 150.0:
        raise CalibrationError(f"a field of view of {fov_deg:g} degrees cannot be simulated; give one between 10 and 150")
    if width < 16 or height < 16:
        raise CalibrationError(f"an image of {width}x{height} pixels is too small; give at least 16x16")
    f = 0.5 * width / math.tan(0.5 * math.radians(fov_deg))
    return np.array([[f, 0.0, 0.5 * (width - 1)], [0.0, f, 0.5 * (height - 1)], [0.0, 0.0, 1.0]])


def make_camera_looking_at(
    name: str,
    size: tuple[int, int],
    matrix: Floats,
    position_m: ArrayLike,
    target_m: ArrayLike,
    distortions: ArrayLike | None = None,
) -> Camera:
    """Return the camera at `position_m` that looks at `target_m`, its image upright against world Y.

    Args:
        name: of the camera.
        size: width and height of the picture [px].
        matrix: intrinsics, (3, 3) [px].
        position_m, target_m: (3,) world [m].
        distortions: of the lens; None: none.
    Raises: CalibrationError: it would look straight up or down.
    """
    position = np.asarray(position_m, float)
    ahead = np.asarray(target_m, float) - position
    right = np.cross(ahead, UP)
    if np.linalg.norm(right) < 1e-6:
        raise CalibrationError(f"{name}: a camera at {position.tolist()} would look straight up or down; move it sideways")
    ahead, right = ahead / np.linalg.norm(ahead), right / np.linalg.norm(right)
    rotation = np.ascontiguousarray(np.stack([right, np.cross(ahead, right), ahead]))
    lens = np.zeros(5) if distortions is None else np.array(distortions, float)
    return Camera(name, size, matrix.copy(), lens, rotation, -rotation @ position)


def place_rig(
    size: tuple[int, int], fov_deg: float, left_m: ArrayLike, right_m: ArrayLike, target_m: ArrayLike, distorted: bool = True
) -> Rig:
    """Return two cameras that look at a point, world Y up, floor at 0.

    Args:
        size: width and height of the picture [px].
        fov_deg: horizontal field of view [degrees].
        left_m, right_m, target_m: where the cameras and the point are, (3,) each [m].
        distorted: the lenses have a usual distortion.
    Raises: CalibrationError: both in one position, or an impossible lens.
    """
    if np.linalg.norm(np.asarray(left_m, float) - np.asarray(right_m, float)) < 0.01:
        raise CalibrationError("the two cameras stand in one place; give a baseline of at least 0.01 m")
    matrix = intrinsics_from_fov(size, fov_deg)
    lenses = DISTORTIONS if distorted else (np.zeros(5), np.zeros(5))
    left = make_camera_looking_at("left", size, matrix, left_m, target_m, lenses[0])
    right = make_camera_looking_at("right", size, matrix, right_m, target_m, lenses[1])
    return Rig((left, right), error_px=0.0, floor_known=True)


def make_facing_rig(
    size: tuple[int, int],
    fov_deg: float,
    distance_m: float,
    baseline_m: float,
    height_m: float,
    target_m: ArrayLike = (0.0, 0.95, 0.0),
) -> Rig:
    """Return two cameras side by side in front of a performer who faces +Z at `target_m`.

    Args:
        size: width and height of the picture [px].
        fov_deg: horizontal field of view [degrees].
        distance_m: from the target to the middle of the baseline, along Z.
        baseline_m: distance between the two cameras.
        height_m: of both cameras above the floor.
        target_m: where the performer stands, (3,) world [m].
    """
    x, _, z = np.asarray(target_m, float)
    left = (x - 0.5 * baseline_m, height_m, z + distance_m)
    right = (x + 0.5 * baseline_m, height_m, z + distance_m)
    return place_rig(size, fov_deg, left, right, target_m)


def add_cameras_around(pair: Rig, n_cameras: int, fov_deg: float, distances_m: Sequence[float], height_m: float) -> Rig:
    """Return the first cameras of a `make_facing_rig`, and further ones around its performer, at AROUND_DEG.

    Args:
        pair: before a performer at the origin.
        n_cameras: of the rig, 1 to 8.
        fov_deg: of the further ones, whose images are as large as those of the pair.
        distances_m: of these from the performer, (n_cameras - 2,), empty for two cameras or one.
        height_m: of these above the floor.
    """
    size = pair.cameras[0].size
    cameras = list(pair.cameras[:n_cameras])
    for camera, distance_m in zip(range(2, n_cameras), distances_m, strict=True):
        cameras.append(_make_camera_around(camera, size, fov_deg, distance_m, height_m))
    return Rig(tuple(cameras), error_px=0.0, floor_known=True)


def _make_camera_around(camera: int, size: tuple[int, int], fov_deg: float, distance_m: float, height_m: float) -> Camera:
    """Return the third camera or a later one, by its number, at a distance from a performer at the origin."""
    angle = math.radians(AROUND_DEG[camera - 2])
    place = (distance_m * math.sin(angle), height_m, distance_m * math.cos(angle))
    matrix, lens = intrinsics_from_fov(size, fov_deg), DISTORTIONS[camera % len(DISTORTIONS)]
    return make_camera_looking_at(CAMERA_NAMES[camera], size, matrix, place, (0.0, 0.95, 0.0), lens)


def is_all_in_view(rig: Rig, points_m: ArrayLike, margin_px: float = 0.0) -> bool:
    """Return whether all cameras see every point.

    The lens polynomial folds back far outside the image, so the angle is bounded too.

    Args:
        rig: the cameras.
        points_m: the points, (..., 3) world [m].
        margin_px: least distance from the edge of the image.
    """
    points = np.asarray(points_m, float).reshape(-1, 3)
    for camera in rig.cameras:
        x = camera.to_camera(points)
        if np.any(x[:, 2] < 0.1):
            return False
        px = camera.project(points)
        corner = np.hypot(*camera.size) / camera.focal_px
        if np.any(np.hypot(x[:, 0], x[:, 1]) > 1.5 * corner * x[:, 2]):
            return False
        if np.any(px < margin_px) or np.any(px > np.array(camera.size) - 1.0 - margin_px):
            return False
    return True


def find_distance_in_view(
    size: tuple[int, int], fov_deg: float, baseline_m: float, height_m: float, points_m: ArrayLike, margin: float = MARGIN
) -> float:
    """Return the smallest distance at which `make_facing_rig` sees all points, to 1 cm [m].

    Args:
        size: width and height of the picture [px].
        fov_deg: horizontal field of view [degrees].
        baseline_m: distance between the two cameras.
        height_m: of all cameras above the floor.
        points_m: the points, (..., 3) [m].
        margin: share of the image width kept free at every edge.
    Raises: CalibrationError: 30 m are not enough.
    """
    return _find_nearest_m(lambda distance_m: make_facing_rig(size, fov_deg, distance_m, baseline_m, height_m), points_m, margin)


def find_distances_around(
    size: tuple[int, int], fov_deg: float, height_m: float, n_cameras: int, points_m: ArrayLike
) -> list[float]:
    """Return the smallest distance at which each camera from the third on sees all points, as `find_distance_in_view` does [m].

    Args:
        size: width and height of the picture [px].
        fov_deg: horizontal field of view [degrees].
        height_m: of all cameras above the floor.
        n_cameras: of the rig.
        points_m: the points, (..., 3) [m].
    """

    def find(camera: int) -> float:
        place = partial(_make_camera_around, camera, size, fov_deg, height_m=height_m)
        return _find_nearest_m(lambda distance_m: Rig((place(distance_m),)), points_m, MARGIN)

    return [find(camera) for camera in range(2, n_cameras)]


def _find_nearest_m(rig_at: Callable[[float], Rig], points_m: ArrayLike, margin: float) -> float:
    """Return the smallest distance at which a rig sees all points."""
    near, far = 0.3, 30.0

    def seen(distance_m: float) -> bool:
        rig = rig_at(distance_m)
        return is_all_in_view(rig, points_m, margin * rig.cameras[0].size[0])

    if not seen(far):
        raise CalibrationError("the motion does not fit into the view even from 30 m; use a part of it (--start, --seconds)")
    while far - near > 0.01:
        middle = 0.5 * (near + far)
        near, far = (near, middle) if seen(middle) else (middle, far)
    return far
