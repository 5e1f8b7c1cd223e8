"""Rotations as vectors, matrices and quaternions (xyzw), on arrays of any leading shape.

A rotation vector r stands for exp([r]x): axis r / |r|, angle |r| in radians (Rodrigues). Distances are geodesic.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def skew(vector: ArrayLike) -> Floats:
    """Give [v]x with [v]x u = v x u: vector (..., 3) -> (..., 3, 3)."""
    v = np.asarray(vector, float)
    out = np.zeros((*v.shape, 3))
    out[..., 0, 1], out[..., 0, 2], out[..., 1, 2] = -v[..., 2], v[..., 1], -v[..., 0]
    out[..., 1, 0], out[..., 2, 0], out[..., 2, 1] = v[..., 2], -v[..., 1], v[..., 0]
    return out


def matrix_from_rotvec(rotvec: ArrayLike) -> Floats:
    """Give exp([r]x) by Rodrigues' formula: rotvec (..., 3) [rad] -> (..., 3, 3)."""
    r = np.asarray(rotvec, float)
    angle = np.linalg.norm(r, axis=-1)[..., None, None]
    safe = np.where(angle < 1e-8, 1.0, angle)
    a = np.where(angle < 1e-8, 1.0, np.sin(safe) / safe)
    b = np.where(angle < 1e-8, 0.5, (1.0 - np.cos(safe)) / safe**2)
    K = skew(r)
    return np.eye(3) + a * K + b * (K @ K)


def quaternion_from_matrix(matrix: ArrayLike) -> Floats:
    """Give unit quaternions xyzw with w >= 0: matrix (..., 3, 3) -> (..., 4)."""
    R = np.asarray(matrix, float)
    m = [R[..., i, i] for i in range(3)]
    # 4 q q' row by row (Bar-Itzhack); the row with the largest diagonal is the best conditioned.
    rows = np.empty((*R.shape[:-2], 4, 4))
    rows[..., 0, 0] = 1 + m[0] - m[1] - m[2]
    rows[..., 1, 1] = 1 - m[0] + m[1] - m[2]
    rows[..., 2, 2] = 1 - m[0] - m[1] + m[2]
    rows[..., 3, 3] = 1 + m[0] + m[1] + m[2]
    rows[..., 0, 1] = rows[..., 1, 0] = R[..., 0, 1] + R[..., 1, 0]
    rows[..., 0, 2] = rows[..., 2, 0] = R[..., 0, 2] + R[..., 2, 0]
    rows[..., 1, 2] = rows[..., 2, 1] = R[..., 1, 2] + R[..., 2, 1]
    rows[..., 0, 3] = rows[..., 3, 0] = R[..., 2, 1] - R[..., 1, 2]
    rows[..., 1, 3] = rows[..., 3, 1] = R[..., 0, 2] - R[..., 2, 0]
    rows[..., 2, 3] = rows[..., 3, 2] = R[..., 1, 0] - R[..., 0, 1]
    best = np.argmax(np.diagonal(rows, axis1=-2, axis2=-1), axis=-1)
    q = np.take_along_axis(rows, best[..., None, None], axis=-2)[..., 0, :]
    q = q / np.linalg.norm(q, axis=-1, keepdims=True)
    return np.asarray(np.where(q[..., 3:] < 0, -q, q))


def matrix_from_quaternion(quaternion_xyzw: ArrayLike) -> Floats:
    """Give the rotation of a quaternion, normalised first: (..., 4) xyzw -> (..., 3, 3)."""
    q = np.asarray(quaternion_xyzw, float)
    q = q / np.linalg.norm(q, axis=-1, keepdims=True)
    K = skew(q[..., :3])
    return np.asarray(np.eye(3) + 2.0 * (q[..., 3, None, None] * K + K @ K))


def rotvec_from_matrix(matrix: ArrayLike) -> Floats:
    """Give the rotation vector of smallest angle, in [0, pi]: matrix (..., 3, 3) -> (..., 3) [rad]."""
    q = quaternion_from_matrix(matrix)
    sine = np.linalg.norm(q[..., :3], axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(sine, q[..., 3:])
    return np.asarray(q[..., :3] * np.where(sine < 1e-9, 2.0, angle / np.where(sine < 1e-9, 1.0, sine)))


def geodesic_rad(first: ArrayLike, second: ArrayLike) -> Floats:
    """Give the angle between rotations: two matrices (..., 3, 3) -> (...) [rad]."""
    relative = np.swapaxes(np.asarray(first, float), -1, -2) @ np.asarray(second, float)
    return np.asarray(np.linalg.norm(rotvec_from_matrix(relative), axis=-1))


def rotation_between(source: ArrayLike, target: ArrayLike) -> Floats:
    """Give the smallest rotation that turns direction `source` to `target`: two (3,) -> (3, 3)."""
    a = np.asarray(source, float) / np.linalg.norm(source)
    b = np.asarray(target, float) / np.linalg.norm(target)
    axis = np.cross(a, b)
    sine, cosine = float(np.linalg.norm(axis)), float(a @ b)
    if sine < 1e-12:
        if cosine > 0:
            return np.eye(3)
        # Opposite directions: half a turn about any axis across them.
        axis = np.cross(a, np.eye(3)[int(np.argmin(np.abs(a)))])
        return matrix_from_rotvec(np.pi * axis / np.linalg.norm(axis))
    return matrix_from_rotvec(axis / sine * np.arctan2(sine, cosine))


def rigid_fit(source: ArrayLike, target: ArrayLike, weights: ArrayLike | None = None) -> tuple[Floats, Floats]:
    """Give R, t minimising sum w |R a + t - b|^2 (Kabsch 1976; Umeyama 1991, eq. 40 without scale).

    source, target: corresponding points, (n, 3) [m], n >= 3; weights: (n,), default equal.
    Returns R (3, 3), t (3,).
    """
    a, b = np.asarray(source, float), np.asarray(target, float)
    w = np.ones(len(a)) if weights is None else np.asarray(weights, float)
    w = w / w.sum()
    mean_a, mean_b = w @ a, w @ b
    U, _, Vt = np.linalg.svd((b - mean_b).T @ (w[:, None] * (a - mean_a)))
    R = U @ np.diag([1.0, 1.0, np.sign(np.linalg.det(U @ Vt))]) @ Vt
    return R, mean_b - R @ mean_a
