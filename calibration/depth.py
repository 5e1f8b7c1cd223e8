"""How well a rig measures depth: the error at a distance for a given image noise, and where the performer stands.

Two cameras side by side measure depth by disparity: its error grows with the square of the distance and falls with the baseline,
z^2 sigma sqrt(2) / (f b) for parallel cameras with noise sigma in either image.
"""

import numpy as np

from calibration.camera import Camera, Rig
from calibration.triangulate import triangulate
from config.arrays import Floats
from config.errors import CalibrationError

BODY_M = 2.2  # height that must fit into an image: a performer with an arm up
FISHEYE_LEAST_M = 2.0  # room to move: before a fisheye a body would fit in much nearer
DISTANCES_M = (1.0, 6.0)  # of the performer, where none is given
VOLUME_M = (1.6, 1.9, 1.2)  # width, height and depth that a body takes which moves on the spot


def depth_sigma_m(rig: Rig, distance_m: float, sigma_px: float) -> float:
    """Return the standard deviation of a point along its worst direction, which is depth unless the cameras are wide apart [m].

    The point lies `distance_m` in front of the middle between the cameras; sigma_px: noise of a marker's centre in either image.
    Raises CalibrationError: a rig of one camera, which measures no depth.
    """
    if rig.is_monocular:
        raise CalibrationError("one camera alone measures no depth; calibrate it together with a second one")
    point = central_point_m(rig, distance_m)
    px = [camera.project(point[None]) for camera in rig.cameras]
    if not all(np.isfinite(side).all() for side in px):
        return float("inf")
    _, covariance = triangulate(rig, px[0], px[1], sigma_px, sigma_px)
    return float(np.sqrt(np.linalg.eigvalsh(covariance[0])[-1]))


def view_axes(rig: Rig) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the middle between the cameras and the directions right, down and ahead of it, (3,) each, world."""
    middle = 0.5 * (rig.left.center_m + rig.right.center_m)
    ahead = rig.left.rotation[2] + rig.right.rotation[2]
    length = float(np.linalg.norm(ahead))
    # Cameras that look at each other have no common direction: across their baseline then.
    ahead = ahead / length if length > 0.2 else np.cross(rig.left.rotation[2], rig.left.rotation[1])
    down = rig.left.rotation[1] + rig.right.rotation[1]
    down = down - ahead * (ahead @ down)
    down = down / max(float(np.linalg.norm(down)), 1e-9)
    return middle, np.cross(down, ahead), down, ahead


def central_point_m(rig: Rig, distance_m: float) -> Floats:
    """Return the point `distance_m` in front of the rig that is nearest to the middle of both images, (3,) world [m]."""
    middle, right, down, ahead = view_axes(rig)
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
    """Return the distance at which a performer just fits into both images, within what is usual [m].

    Farther where the fields of view overlap only then by half of the volume that a performer takes.
    """

    def needed(camera: Camera) -> float:
        if camera.fisheye:
            column = camera.matrix[0, 2]
            fits_m = BODY_M / float(np.ptp(camera.undistort([(column, 0.0), (column, camera.size[1] - 1.0)])[:, 1]))
            return max(fits_m, FISHEYE_LEAST_M)
        return BODY_M * float(camera.matrix[1, 1]) / camera.size[1]

    least = float(np.clip(max(needed(camera) for camera in rig.cameras), *DISTANCES_M))
    for distance_m in least * np.array([1.0, 1.2, 1.45, 1.75, 2.1, 2.5, 3.0]):
        points = volume_points_m(rig, float(distance_m))
        if len(points) and np.ptp(points, axis=0).max() >= 0.5 * min(VOLUME_M):
            return float(distance_m)
    return least


def volume_points_m(rig: Rig, distance_m: float) -> Floats:
    """Return points of the volume in which a performer moves that both cameras see, (N, 3) world [m].

    A grid of 4 x 4 x 3 over VOLUME_M about `central_point_m`, smaller where an image does not show all of it.
    """
    _, right, down, ahead = view_axes(rig)
    center = central_point_m(rig, distance_m)
    x, y, z = np.meshgrid(np.linspace(-0.5, 0.5, 4), np.linspace(-0.5, 0.5, 4), np.linspace(-0.5, 0.5, 3), indexing="ij")
    unit = np.stack([x, y, z], axis=-1).reshape(-1, 3)
    for share in (1.0, 0.8, 0.64, 0.5, 0.4, 0.3, 0.2):
        offsets = share * unit * VOLUME_M
        points = center + offsets @ np.stack([right, down, ahead])
        seen = np.all([in_view(camera, points) for camera in rig.cameras], axis=0)
        if seen.mean() > 0.7:
            return np.asarray(points[seen])
    return np.asarray(points[seen])


def in_view(camera: Camera, points_m: Floats) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Return which points a camera sees, (N,); the angle is bounded too, since a lens polynomial folds back far outside."""
    x = camera.to_camera(points_m)
    px = camera.project(points_m)
    wide = np.hypot(*camera.size) / camera.focal_px
    near = np.hypot(x[:, 0], x[:, 1]) < wide * np.maximum(x[:, 2], 1e-6)
    inside = np.all((np.nan_to_num(px, nan=-1.0) >= 0.0) & (px < np.array(camera.size)), axis=1)
    return np.asarray((x[:, 2] > 0.1) & near & inside)
