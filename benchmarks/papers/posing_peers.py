"""Peers of posing: the nearest of the learned poses, and damped least squares from a given pose.

A pose is first placed where it fits the given points best, rotated about the vertical and translated; its inclination is kept.
"""

from dataclasses import dataclass

import numpy as np

from benchmarks.papers.posing_cases import PoseQuery, rotated_about_vertical
from calibration.camera import Camera
from config.arrays import Floats
from config.joints import N_JOINTS
from database.geometry.kinematics import compute_forward_kinematics, compute_markers_and_jacobian
from database.geometry.rotations import find_nearest_rotation, matrix_from_rotvec, rotvec_from_matrix
from database.geometry.skeleton import Skeleton

COARSE_RAD = np.radians(np.arange(0.0, 360.0, 10.0))
FINE_RAD = np.radians(np.arange(-6.0, 7.0, 1.0))
N_REFINED = 20  # poses whose heading is refined where image points are given
MIN_DEPTH_M = 0.3  # of a body in front of the camera
DEPTH_M = 4.0  # converts errors of normalised image points to metres
DAMPING_M = 0.1
MAX_ERROR_M = 0.1  # errors are clipped, as distant targets would make joints jump (Buss 2004)
MAX_STEPS = 300
N_UNKNOWN = 3 * N_JOINTS + 3


@dataclass(frozen=True, slots=True)
class PlacedPoses:
    """Poses in the world: rotvec (N, J, 3) [rad], root_m (N, 3) [m]; error_m: RMS distance from the given points, (N,)."""

    rotvec: Floats
    root_m: Floats
    error_m: Floats


def place(skeleton: Skeleton, rotvec: Floats, query: PoseQuery) -> PlacedPoses:
    """Rotate poses, (N, J, 3) [rad], about the vertical and translate them to the points of a query."""
    if query.target_m is not None:
        return _fit_in_space(skeleton, rotvec, query, query.target_m)
    assert query.image is not None and query.camera is not None
    coarse = _fit_in_image(skeleton, rotvec, query, COARSE_RAD)
    best = np.argsort(coarse.error_m, kind="stable")[:N_REFINED]
    fine = _fit_in_image(skeleton, coarse.rotvec[best], query, FINE_RAD)
    coarse.rotvec[best], coarse.root_m[best], coarse.error_m[best] = fine.rotvec, fine.root_m, fine.error_m
    return coarse


def _query_joints(skeleton: Skeleton, rotvec: Floats, query: PoseQuery) -> Floats:
    """Return the joints of a query with the root at the origin, (N, P, 3) [m]."""
    return compute_forward_kinematics(skeleton, rotvec, np.zeros(3))[1][:, query.joint]


def _fit_in_space(skeleton: Skeleton, rotvec: Floats, query: PoseQuery, target_m: Floats) -> PlacedPoses:
    """Fit heading and position: with a, b less their means, tan(angle) = sum(b_x a_z - b_z a_x) / sum(b_x a_x + b_z a_z)."""
    points = _query_joints(skeleton, rotvec, query)
    a, b = points - points.mean(axis=1, keepdims=True), target_m - target_m.mean(axis=0)
    sine = (b[:, 0] * a[..., 2] - b[:, 2] * a[..., 0]).sum(axis=1)
    cosine = (b[:, 0] * a[..., 0] + b[:, 2] * a[..., 2]).sum(axis=1)
    rotated = rotated_about_vertical(rotvec, np.arctan2(sine, cosine))
    points = _query_joints(skeleton, rotated, query)
    root_m = (target_m - points).mean(axis=1)
    error_m = np.linalg.norm(points + root_m[:, None] - target_m, axis=2)
    return PlacedPoses(rotated, root_m, np.sqrt((error_m**2).mean(axis=1)))


def _fit_in_image(skeleton: Skeleton, rotvec: Floats, query: PoseQuery, angles_rad: Floats) -> PlacedPoses:
    """Try angles about the vertical; for each, take the position nearest to the rays in the sense of least squares."""
    assert query.image is not None and query.camera is not None
    camera, n = query.camera, len(rotvec)
    rays = np.concatenate([query.image, np.ones((len(query.joint), 1))], axis=1) @ camera.rotation
    rays /= np.linalg.norm(rays, axis=1, keepdims=True)
    across = np.eye(3) - rays[:, :, None] * rays[:, None, :]
    inverse = np.linalg.inv(across.sum(axis=0))
    R = matrix_from_rotvec(np.stack([0.0 * angles_rad, angles_rad, 0.0 * angles_rad], axis=-1))
    points = np.einsum("tij,npj->ntpi", R, _query_joints(skeleton, rotvec, query))
    root_m = np.einsum("ij,pjk,ntpk->nti", inverse, across, camera.center_m - points, optimize=True)
    from_ray = np.einsum("pij,ntpj->ntpi", across, points + root_m[:, :, None] - camera.center_m)
    error_m = np.sqrt((from_ray**2).sum(axis=3).mean(axis=2))
    error_m[camera.to_camera(root_m)[..., 2] < MIN_DEPTH_M] = np.inf
    best, rows = error_m.argmin(axis=1), np.arange(n)
    return PlacedPoses(rotated_about_vertical(rotvec, angles_rad[best]), root_m[rows, best], error_m[rows, best])


def nearest(skeleton: Skeleton, poses: Floats, query: PoseQuery) -> tuple[Floats, Floats]:
    """Return the pose of many, (N, J, 3) [rad], that fits a query best, placed there: (J, 3) [rad] and root (3,) [m]."""
    placed = place(skeleton, poses, query)
    row = int(placed.error_m.argmin())
    return placed.rotvec[row], placed.root_m[row]


def residuals(skeleton: Skeleton, rotvec: Floats, root_m: Floats, query: PoseQuery) -> tuple[Floats, Floats]:
    """Return targets minus joints, (R,) [m], and the derivatives of the joints by rotation vectors and root, (R, 72)."""
    directions = np.concatenate([np.eye(3 * N_JOINTS).reshape(N_JOINTS, 3, -1), np.zeros((N_JOINTS, 3, 3))], axis=2)
    points, jacobian = compute_markers_and_jacobian(skeleton, rotvec, directions, query.joint, np.zeros((len(query.joint), 3)))
    jacobian[:, :, -3:] = np.eye(3)
    points = points + root_m
    if query.target_m is not None:
        return (query.target_m - points).ravel(), jacobian.reshape(-1, N_UNKNOWN)
    assert query.image is not None and query.camera is not None
    image, by_point = _project(query.camera, points)
    return DEPTH_M * (query.image - image).ravel(), DEPTH_M * (by_point @ jacobian).reshape(-1, N_UNKNOWN)


def _project(camera: Camera, points: Floats) -> tuple[Floats, Floats]:
    """Return normalised image points, (P, 2), and their derivatives by the points, (P, 2, 3)."""
    x = camera.to_camera(points)
    z = np.maximum(x[:, 2:], MIN_DEPTH_M)
    image = x[:, :2] / z
    by_point = np.zeros((len(x), 2, 3))
    by_point[:, 0, 0] = by_point[:, 1, 1] = 1.0 / z[:, 0]
    by_point[:, :, 2] = -image / z
    return image, by_point @ camera.rotation


def damped_least_squares(skeleton: Skeleton, start: tuple[Floats, Floats], query: PoseQuery) -> tuple[Floats, Floats]:
    """Move a pose, (J, 3) [rad] with its root (3,) [m], to the targets by steps dq = J' (J J' + damping^2)^-1 e."""
    rotvec, root_m = start[0].copy(), start[1].copy()
    for _ in range(MAX_STEPS):
        error, J = residuals(skeleton, rotvec, root_m, query)
        error = np.clip(error, -MAX_ERROR_M, MAX_ERROR_M)
        step = J.T @ np.linalg.solve(J @ J.T + DAMPING_M**2 * np.eye(len(error)), error)
        rotvec += step[:-3].reshape(N_JOINTS, 3)
        root_m += step[-3:]
        rotvec[0] = rotvec_from_matrix(matrix_from_rotvec(rotvec[0]))
        if float(np.abs(step).max()) < 1e-5:
            break
    return rotvec, root_m


def mean_pose(poses: Floats) -> Floats:
    """Return the mean of poses, (N, J, 3) [rad] -> (J, 3): mean joints as charted, mean inclination, facing ahead."""
    out = np.asarray(poses.mean(axis=0))
    R = matrix_from_rotvec(poses[:, 0])
    heading = np.arctan2(R[:, 0, 2], R[:, 2, 2])
    ahead = rotated_about_vertical(poses, -heading)
    out[0] = rotvec_from_matrix(find_nearest_rotation(matrix_from_rotvec(ahead[:, 0]).mean(axis=0)))
    return out
