"""How wrong a world is: the error of distances between points that one rig sees and another measures, and its derivatives.

A world may be rotated or translated and is none the worse; distances count. An error of 0.02 means that some two points in the
performer's volume are measured 2 % too near to each other or too far apart.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from calibration.camera import Camera, Rig, camera_from_intrinsics
from calibration.depth import is_in_view
from calibration.triangulate import triangulate_views
from config.arrays import Floats
from database.geometry.rotations import matrix_from_rotvec

N_LENS = 9  # fx, fy, cx, cy, k1, k2, p1, p2, k3; of a fisheye fx, fy, cx, cy, k1, k2, k3, k4 and nothing
SHORTEST = 0.3  # of the largest distance: shorter ones do not count
LENS_STEPS = np.array([1e-4, 1e-4, 1e-4, 1e-4, 1e-4, 1e-4, 1e-5, 1e-5, 1e-4])  # the first four times the focal length
POSE_STEP = 1e-5  # [rad, m]


def list_point_pairs(points_m: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the pairs of points whose distance counts, as two lists of indices."""
    i, j = np.triu_indices(len(points_m), 1)
    d = np.linalg.norm(points_m[i] - points_m[j], axis=1)
    far = d >= SHORTEST * d.max() if len(d) else np.zeros(0, bool)
    return i[far], j[far]


def remeasure_points(points_m: Floats, true_rig: Rig, rig: Rig) -> Floats:
    """Return the points, (N, 3) [m], as one rig measures them in the images of another; a single camera is given their depth.

    Args:
        points_m: the points, (N, 3) [m].
        true_rig: sees the points.
        rig: measures them.
    """
    if true_rig.is_monocular:
        x = true_rig.cameras[0].to_camera(points_m)
        return np.asarray(rig.cameras[0].rays(true_rig.cameras[0].project(points_m)) * x[:, 2:])
    px = np.stack([camera.project(points_m) for camera in true_rig.cameras])
    seen = np.ones(px.shape[:2], bool)
    if len(true_rig) > 2:
        seen = np.stack([is_in_view(camera, points_m) for camera in true_rig.cameras])
        seen |= seen.sum(axis=0) < 2  # as of two cameras, whose points are all taken to be seen
    return triangulate_views(rig, px, seen & np.isfinite(px).all(axis=2))[0]


def compute_distance_errors(points_m: Floats, measured_m: Floats) -> Floats:
    """Return the relative error of the distance of every pair that counts, signed, (P,)."""
    i, j = list_point_pairs(points_m)
    true = np.linalg.norm(points_m[i] - points_m[j], axis=1)
    return np.asarray(np.linalg.norm(measured_m[i] - measured_m[j], axis=1) / true - 1.0)


def compute_error_derivatives(rig: Rig, points_m: Floats) -> Floats:
    """Return the derivatives of the relative distance errors by the rig's parameters, (P, n).

    In the order: lenses of all cameras (fx, fy, cx, cy, k1, k2, p1, p2, k3 each), then of all but the first, which is the world,
    rotation (a small vector from the left) and translation.
    """
    n = N_LENS * len(rig) + 6 * (len(rig) - 1)
    out = np.empty((len(list_point_pairs(points_m)[0]), n))
    for column in range(n):
        step = np.zeros(n)
        step[column] = _choose_step_size(rig, column)
        ahead, back = (
            compute_distance_errors(points_m, remeasure_points(points_m, rig, perturb_rig(rig, sign * step)))
            for sign in (1.0, -1.0)
        )
        out[:, column] = (ahead - back) / (2.0 * step[column])
    return out


def _choose_step_size(rig: Rig, column: int) -> float:
    """Return the step for the central difference by one of the rig's parameters."""
    if column < len(rig) * N_LENS:
        camera = rig.cameras[column // N_LENS]
        return float(LENS_STEPS[column % N_LENS]) * (camera.focal_px if column % N_LENS < 4 else 1.0)
    return POSE_STEP


def perturb_rig(rig: Rig, step: Floats) -> Rig:
    """Return the rig with its parameters changed by `step`, (n,), in the order of `compute_error_derivatives`."""
    C = len(rig)
    lenses, poses = step[: C * N_LENS].reshape(C, N_LENS), step[C * N_LENS :].reshape(C - 1, 6)
    first, *others = (_change_lens(camera, lens) for camera, lens in zip(rig.cameras, lenses, strict=True))
    moved = (
        replace(camera, rotation=matrix_from_rotvec(pose[:3]) @ camera.rotation, translation=camera.translation + pose[3:])
        for camera, pose in zip(others, poses, strict=True)
    )
    return Rig((first, *moved))


def _change_lens(camera: Camera, step: Floats) -> Camera:
    """Return a camera with its nine intrinsics changed by `step`, (9,)."""
    lens = camera.intrinsics + np.append(step, 0.0)
    return camera_from_intrinsics(camera.name, camera.size, lens, camera.rotation, camera.translation)
