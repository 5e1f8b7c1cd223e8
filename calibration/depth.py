"""How well a rig can tell depth: what a given error in the pictures is at a given distance, and where a performer stands.

Two cameras side by side measure depth by the small difference of two directions: its error grows with the square of the distance
and shrinks with the baseline, z^2 sigma sqrt(2) / (f b) for parallel cameras with sigma in either picture.
"""

import numpy as np

from calibration.camera import Camera, Rig
from calibration.triangulate import triangulate
from config.errors import CalibrationError
from database.rotations import Floats

BODY_M = 2.2  # of height that shall fit into a picture: a performer with an arm up
DISTANCES_M = (1.0, 6.0)  # where a performer stands, when nobody says
VOLUME_M = (1.6, 1.9, 1.2)  # width, height and depth of the room of a body that moves on the spot


def depth_sigma_m(rig: Rig, distance_m: float, sigma_px: float) -> float:
    """Give the standard deviation of a point's place along its worst direction, depth unless cameras stand wide apart [m].

    The point lies `distance_m` in front of both cameras' middle; sigma_px: of a marker's centre in either picture. Raises
    CalibrationError: a rig of one camera, which measures no depth.
    """
    if rig.is_lone:
        raise CalibrationError("one camera alone measures no depth; calibrate it together with a second one")
    point = place_m(rig, distance_m)
    px = [camera.project(point[None]) for camera in rig.cameras]
    if not all(np.isfinite(side).all() for side in px):
        return float("inf")
    _, covariance = triangulate(rig, px[0], px[1], sigma_px, sigma_px)
    return float(np.sqrt(np.linalg.eigvalsh(covariance[0])[-1]))


def axes_of_view(rig: Rig) -> tuple[Floats, Floats, Floats, Floats]:
    """Give the middle of both cameras and the directions to the right, down and ahead between them, (3,) each, world."""
    middle = 0.5 * (rig.left.center_m + rig.right.center_m)
    ahead = rig.left.rotation[2] + rig.right.rotation[2]
    length = float(np.linalg.norm(ahead))
    # Cameras that look at each other have no common way ahead: across their baseline then.
    ahead = ahead / length if length > 0.2 else np.cross(rig.left.rotation[2], rig.left.rotation[1])
    down = rig.left.rotation[1] + rig.right.rotation[1]
    down = down - ahead * (ahead @ down)
    down = down / max(float(np.linalg.norm(down)), 1e-9)
    return middle, np.cross(down, ahead), down, ahead


def place_m(rig: Rig, distance_m: float) -> Floats:
    """Give the point `distance_m` in front of the rig that is most in the middle of both pictures, (3,) [m] world."""
    middle, right, down, ahead = axes_of_view(rig)
    half = 0.6 * distance_m
    steps = np.linspace(-half, half, 25)
    grid = np.stack(np.meshgrid(steps, steps), axis=-1).reshape(-1, 2)
    points = middle + distance_m * ahead + grid[:, :1] * right + grid[:, 1:] * down
    off = np.zeros(len(points))
    for camera in rig.cameras:
        x = camera.to_camera(points)
        ideal = x[:, :2] / np.maximum(x[:, 2:], 1e-6)
        center = (np.array([0.5 * camera.size[0], 0.5 * camera.size[1]]) - camera.matrix[:2, 2]) / camera.focal_px
        off = off + np.where(x[:, 2] > 0.0, ((ideal - center) ** 2).sum(axis=1), 1e6)
    return np.asarray(points[np.argmin(off)])


def performer_distance_m(rig: Rig) -> float:
    """Give the distance at which a performer just fits into both pictures, within what is usual [m].

    Further off where the cameras' views only then overlap by half of the room that a performer takes.
    """

    def needed(camera: Camera) -> float:
        return BODY_M * float(camera.matrix[1, 1]) / camera.size[1]

    least = float(np.clip(max(needed(camera) for camera in rig.cameras), *DISTANCES_M))
    for distance_m in least * np.array([1.0, 1.2, 1.45, 1.75, 2.1, 2.5, 3.0]):
        points = volume_points_m(rig, float(distance_m))
        if len(points) and np.ptp(points, axis=0).max() >= 0.5 * min(VOLUME_M):
            return float(distance_m)
    return least


def volume_points_m(rig: Rig, distance_m: float) -> Floats:
    """Give points of the room in which a performer moves, those that both cameras see, (N, 3) [m] world.

    A grid of 4 x 4 x 3 over VOLUME_M about `place_m`, drawn together where a picture is too small for it.
    """
    _, right, down, ahead = axes_of_view(rig)
    center = place_m(rig, distance_m)
    x, y, z = np.meshgrid(np.linspace(-0.5, 0.5, 4), np.linspace(-0.5, 0.5, 4), np.linspace(-0.5, 0.5, 3), indexing="ij")
    unit = np.stack([x, y, z], axis=-1).reshape(-1, 3)
    for share in (1.0, 0.8, 0.64, 0.5, 0.4, 0.3, 0.2):
        offsets = share * unit * VOLUME_M
        points = center + offsets @ np.stack([right, down, ahead])
        seen = np.all([_in_view(camera, points) for camera in rig.cameras], axis=0)
        if seen.mean() > 0.7:
            return np.asarray(points[seen])
    return np.asarray(points[seen])


def _in_view(camera: Camera, points_m: Floats) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Tell which points a camera sees, (N,); the angle is bounded too, since a lens polynomial folds back far outside."""
    x = camera.to_camera(points_m)
    px = camera.project(points_m)
    wide = np.hypot(*camera.size) / camera.focal_px
    near = np.hypot(x[:, 0], x[:, 1]) < wide * np.maximum(x[:, 2], 1e-6)
    inside = np.all((np.nan_to_num(px, nan=-1.0) >= 0.0) & (px < np.array(camera.size)), axis=1)
    return np.asarray((x[:, 2] > 0.1) & near & inside)
