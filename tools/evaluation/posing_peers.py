"""What posing is compared with: nearest neighbour among the poses learned of, and damped least squares from a given pose.

A pose is first put where it fits best what is told: turned about the vertical and shifted. Its lean is kept: up is known to all.
"""

from dataclasses import dataclass

import numpy as np

from calibration.camera import Camera
from config.joints import N_JOINTS
from database.kinematics import forward, markers_and_jacobian
from database.rotations import Floats, matrix_from_rotvec, rotvec_from_matrix
from database.skeleton import Skeleton
from tools.evaluation.posing_cases import Asked, turned_about_vertical

TURNS_RAD = np.radians(np.arange(0.0, 360.0, 10.0))
FINER_RAD = np.radians(np.arange(-6.0, 7.0, 1.0))
REFINED = 20  # poses whose turn is sought more finely where image points are told
NEAREST_M = 0.3  # what is nearer to the camera, or behind it, is no place for a person
DEPTH_M = 4.0  # brings errors of normalised image points to metres
DAMPING_M = 0.1
LARGEST_M = 0.1  # errors are cut to this, as far goals would throw joints about (Buss 2004)
STEPS = 300
N_UNKNOWN = 3 * N_JOINTS + 3


@dataclass(frozen=True, slots=True)
class Placed:
    """Poses in the world: rotvec (N, J, 3) [rad], root_m (N, 3) [m]; off: how far from what is told, (N,)."""

    rotvec: Floats
    root_m: Floats
    off: Floats


def placed(skeleton: Skeleton, rotvec: Floats, asked: Asked) -> Placed:
    """Turn poses, (N, J, 3) [rad], about the vertical and shift them to what is told of one."""
    if asked.target_m is not None:
        return _placed_in_space(skeleton, rotvec, asked, asked.target_m)
    assert asked.image is not None and asked.camera is not None
    coarse = _placed_in_image(skeleton, rotvec, asked, TURNS_RAD)
    best = np.argsort(coarse.off, kind="stable")[:REFINED]
    fine = _placed_in_image(skeleton, coarse.rotvec[best], asked, FINER_RAD)
    coarse.rotvec[best], coarse.root_m[best], coarse.off[best] = fine.rotvec, fine.root_m, fine.off
    return coarse


def _handles(skeleton: Skeleton, rotvec: Floats, asked: Asked) -> Floats:
    """Give the joints told of, root at the origin, (N, P, 3) [m]."""
    return forward(skeleton, rotvec, np.zeros(3))[1][:, asked.joint]


def _placed_in_space(skeleton: Skeleton, rotvec: Floats, asked: Asked, target_m: Floats) -> Placed:
    """Fit turn and place: with a, b less their means, tan(turn) = sum(b_x a_z - b_z a_x) / sum(b_x a_x + b_z a_z)."""
    handles = _handles(skeleton, rotvec, asked)
    a, b = handles - handles.mean(axis=1, keepdims=True), target_m - target_m.mean(axis=0)
    sine = (b[:, 0] * a[..., 2] - b[:, 2] * a[..., 0]).sum(axis=1)
    cosine = (b[:, 0] * a[..., 0] + b[:, 2] * a[..., 2]).sum(axis=1)
    turned = turned_about_vertical(rotvec, np.arctan2(sine, cosine))
    moved = _handles(skeleton, turned, asked)
    root_m = (target_m - moved).mean(axis=1)
    off = np.linalg.norm(moved + root_m[:, None] - target_m, axis=2)
    return Placed(turned, root_m, np.sqrt((off**2).mean(axis=1)))


def _placed_in_image(skeleton: Skeleton, rotvec: Floats, asked: Asked, turns_rad: Floats) -> Placed:
    """Try turns; for each, the place nearest to the lines of sight in the sense of least squares."""
    assert asked.image is not None and asked.camera is not None
    camera, n = asked.camera, len(rotvec)
    lines = np.concatenate([asked.image, np.ones((len(asked.joint), 1))], axis=1) @ camera.rotation
    lines /= np.linalg.norm(lines, axis=1, keepdims=True)
    across = np.eye(3) - lines[:, :, None] * lines[:, None, :]
    whole = np.linalg.inv(across.sum(axis=0))
    handles = _handles(skeleton, rotvec, asked)
    turn = matrix_from_rotvec(np.stack([0.0 * turns_rad, turns_rad, 0.0 * turns_rad], axis=-1))
    points = np.einsum("tij,npj->ntpi", turn, handles)
    root_m = np.einsum("ij,pjk,ntpk->nti", whole, across, camera.center_m - points, optimize=True)
    from_line = np.einsum("pij,ntpj->ntpi", across, points + root_m[:, :, None] - camera.center_m)
    off = np.sqrt((from_line**2).sum(axis=3).mean(axis=2))
    off[camera.to_camera(root_m)[..., 2] < NEAREST_M] = np.inf
    best, rows = off.argmin(axis=1), np.arange(n)
    return Placed(turned_about_vertical(rotvec, turns_rad[best]), root_m[rows, best], off[rows, best])


def nearest(skeleton: Skeleton, poses: Floats, asked: Asked) -> tuple[Floats, Floats]:
    """Give the pose of many, (N, J, 3) [rad], that fits best what is told, put there: (J, 3) [rad] and root (3,) [m]."""
    at = placed(skeleton, poses, asked)
    row = int(at.off.argmin())
    return at.rotvec[row], at.root_m[row]


def residuals(skeleton: Skeleton, rotvec: Floats, root_m: Floats, asked: Asked) -> tuple[Floats, Floats]:
    """Give what is missing to what is told, (R,) [m], and the derivative of what is, (R, 72), by rotation vectors and root."""
    directions = np.concatenate([np.eye(3 * N_JOINTS).reshape(N_JOINTS, 3, -1), np.zeros((N_JOINTS, 3, 3))], axis=2)
    points, jacobian = markers_and_jacobian(skeleton, rotvec, directions, asked.joint, np.zeros((len(asked.joint), 3)))
    jacobian[:, :, -3:] = np.eye(3)
    points = points + root_m
    if asked.target_m is not None:
        return (asked.target_m - points).ravel(), jacobian.reshape(-1, N_UNKNOWN)
    assert asked.image is not None and asked.camera is not None
    image, by_point = _seen(asked.camera, points)
    return DEPTH_M * (asked.image - image).ravel(), DEPTH_M * (by_point @ jacobian).reshape(-1, N_UNKNOWN)


def _seen(camera: Camera, points: Floats) -> tuple[Floats, Floats]:
    """Give normalised image points, (P, 2), and their derivatives by the points, (P, 2, 3)."""
    x = camera.to_camera(points)
    z = np.maximum(x[:, 2:], NEAREST_M)
    image = x[:, :2] / z
    by_point = np.zeros((len(x), 2, 3))
    by_point[:, 0, 0] = by_point[:, 1, 1] = 1.0 / z[:, 0]
    by_point[:, :, 2] = -image / z
    return image, by_point @ camera.rotation


def damped_least_squares(
    skeleton: Skeleton, start: tuple[Floats, Floats], asked: Asked, damping_m: float = DAMPING_M, steps: int = STEPS
) -> tuple[Floats, Floats]:
    """Move a pose, (J, 3) [rad] with its root (3,) [m], to what is told: dq = J' (J J' + damping^2)^-1 e, again and again."""
    rotvec, root_m = start[0].copy(), start[1].copy()
    for _ in range(steps):
        missing, J = residuals(skeleton, rotvec, root_m, asked)
        missing = np.clip(missing, -LARGEST_M, LARGEST_M)
        step = J.T @ np.linalg.solve(J @ J.T + damping_m**2 * np.eye(len(missing)), missing)
        rotvec += step[:-3].reshape(N_JOINTS, 3)
        root_m += step[-3:]
        rotvec[0] = rotvec_from_matrix(matrix_from_rotvec(rotvec[0]))
        if float(np.abs(step).max()) < 1e-5:
            break
    return rotvec, root_m


def mean_pose(poses: Floats) -> Floats:
    """Give the mean of poses, (N, J, 3) [rad] -> (J, 3): joints as charted, leaning as they do on average, facing ahead."""
    out = np.asarray(poses.mean(axis=0))
    R = matrix_from_rotvec(poses[:, 0])
    heading = np.arctan2(R[:, 0, 2], R[:, 2, 2])
    ahead = turned_about_vertical(poses, -heading)
    U, _, V = np.linalg.svd(matrix_from_rotvec(ahead[:, 0]).mean(axis=0))
    out[0] = rotvec_from_matrix(U @ np.diag([1.0, 1.0, np.linalg.det(U @ V)]) @ V)
    return out
