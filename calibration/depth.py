"""How well a rig measures depth: the error at a distance for a given image noise, and where the performer stands.

Two cameras side by side measure depth by disparity: its error grows with the square of the distance and falls with the baseline,
z^2 sigma sqrt(2) / (f b) for parallel cameras with noise sigma in either image.
"""

from collections.abc import Sequence

import numpy as np

from calibration.camera import Camera, Rig
from calibration.triangulate import triangulate_views
from config.arrays import Bools, Floats
from config.errors import CalibrationError

PARALLEL = 0.05  # of the smallest eigenvalue of the axes' normal equations to the largest: they meet nowhere
BODY_M = 2.2  # height that must fit into an image: a performer with an arm up
FISHEYE_LEAST_M = 2.0  # room to move: before a fisheye a body would fit in much nearer
DISTANCES_M = (1.0, 6.0)  # of the performer, where none is given
VOLUME_M = (1.6, 1.9, 1.2)  # width, height and depth that a body takes which moves on the spot


def compute_depth_sigma_m(rig: Rig, distance_m: float, sigma_px: float) -> float:
    """Return the standard deviation of a point along its worst direction [m], which is depth unless the cameras are wide apart.

    Args:
        rig: the cameras.
        distance_m: of the point, in front of the middle between the cameras.
        sigma_px: noise of a marker's centre in either image.
    Raises: CalibrationError: a rig of one camera, which measures no depth.
    """
    if rig.is_monocular:
        raise CalibrationError("one camera alone measures no depth; calibrate it together with a second one")
    point = compute_central_point_m(rig, distance_m)[None]
    px = np.stack([camera.project(point) for camera in rig.cameras])
    seen: Bools = np.asarray(np.isfinite(px).all(axis=2))
    if len(rig) > 2:
        seen &= np.array([is_in_view(camera, point) for camera in rig.cameras])
    if seen.sum() < 2:
        return float("inf")
    _, covariance = triangulate_views(rig, px, seen, sigma_px)
    return float(np.sqrt(np.linalg.eigvalsh(covariance[0])[-1]))


def compute_view_axes(rig: Rig) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the middle between the cameras and the directions right, down and ahead of it, (3,) each, world."""
    first = rig.cameras[0]
    ahead = np.sum([camera.rotation[2] for camera in rig.cameras], axis=0)
    length = float(np.linalg.norm(ahead))
    # Cameras that look at each other have no common direction: across their baseline then.
    ahead = ahead / length if length > 0.1 * len(rig) else np.cross(first.rotation[2], first.rotation[1])
    down = np.sum([camera.rotation[1] for camera in rig.cameras], axis=0)
    down = down - ahead * (ahead @ down)
    down = down / max(float(np.linalg.norm(down)), 1e-9)
    return rig.middle_m, np.cross(down, ahead), down, ahead


def compute_meeting_point_m(cameras: Sequence[Camera]) -> Floats | None:
    """Return the point nearest to all optical axes, (3,) [m], None where they are parallel or meet behind a camera."""
    across = [np.eye(3) - np.outer(camera.rotation[2], camera.rotation[2]) for camera in cameras]
    normal = np.sum(across, axis=0)
    size = np.linalg.eigvalsh(normal)
    if size[0] <= PARALLEL * size[-1]:
        return None
    point = np.linalg.solve(normal, np.sum([P @ camera.center_m for P, camera in zip(across, cameras, strict=True)], axis=0))
    ahead = all(camera.to_camera(point[None])[0, 2] > 0.0 for camera in cameras)
    return np.asarray(point) if ahead else None


def compute_central_point_m(rig: Rig, distance_m: float) -> Floats:
    """Return the point `distance_m` in front of the rig that is nearest to the middle of the images, (3,) world [m].

    Of more than two cameras, which may stand around the performer, it is where their axes meet.
    """
    meeting = compute_meeting_point_m(rig.cameras) if len(rig) > 2 else None
    if meeting is not None:
        return meeting
    middle, right, down, ahead = compute_view_axes(rig)
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


def choose_performer_distance_m(rig: Rig) -> float:
    """Return the distance at which a performer just fits into both images, within what is usual [m].

    Farther where the fields of view overlap only then by half of the volume that a performer takes. Of more than two cameras it
    is the mean distance of the point at which their axes meet.
    """
    meeting = compute_meeting_point_m(rig.cameras) if len(rig) > 2 else None
    if meeting is not None:
        return float(np.mean([np.linalg.norm(camera.center_m - meeting) for camera in rig.cameras]))

    def needed(camera: Camera) -> float:
        if camera.fisheye:
            column = camera.matrix[0, 2]
            fits_m = BODY_M / float(np.ptp(camera.undistort([(column, 0.0), (column, camera.size[1] - 1.0)])[:, 1]))
            return max(fits_m, FISHEYE_LEAST_M)
        return BODY_M * float(camera.matrix[1, 1]) / camera.size[1]

    least = float(np.clip(max(needed(camera) for camera in rig.cameras), *DISTANCES_M))
    for distance_m in least * np.array([1.0, 1.2, 1.45, 1.75, 2.1, 2.5, 3.0]):
        points = compute_volume_points_m(rig, float(distance_m))
        if len(points) and np.ptp(points, axis=0).max() >= 0.5 * min(VOLUME_M):
            return float(distance_m)
    return least


def compute_volume_points_m(rig: Rig, distance_m: float) -> Floats:
    """Return points of the volume in which a performer moves that two cameras see, (N, 3) world [m].

    A grid of 4 x 4 x 3 over VOLUME_M about `compute_central_point_m`, smaller where an image does not show all of it.
    """
    _, right, down, ahead = compute_view_axes(rig)
    center = compute_central_point_m(rig, distance_m)
    x, y, z = np.meshgrid(np.linspace(-0.5, 0.5, 4), np.linspace(-0.5, 0.5, 4), np.linspace(-0.5, 0.5, 3), indexing="ij")
    unit = np.stack([x, y, z], axis=-1).reshape(-1, 3)
    for share in (1.0, 0.8, 0.64, 0.5, 0.4, 0.3, 0.2):
        offsets = share * unit * VOLUME_M
        points = center + offsets @ np.stack([right, down, ahead])
        seen = np.sum([is_in_view(camera, points) for camera in rig.cameras], axis=0) >= min(len(rig), 2)
        if seen.mean() > 0.7:
            return np.asarray(points[seen])
    return np.asarray(points[seen])


def is_in_view(camera: Camera, points_m: Floats) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Return which points a camera sees, (N,); the angle is bounded too, since a lens polynomial folds back far outside."""
    x = camera.to_camera(points_m)
    px = camera.project(points_m)
    wide = np.hypot(*camera.size) / camera.focal_px
    near = np.hypot(x[:, 0], x[:, 1]) < wide * np.maximum(x[:, 2], 1e-6)
    inside = np.all((np.nan_to_num(px, nan=-1.0) >= 0.0) & (px < np.array(camera.size)), axis=1)
    return np.asarray((x[:, 2] > 0.1) & near & inside)
