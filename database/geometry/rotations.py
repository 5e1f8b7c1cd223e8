"""Rotations as vectors, matrices and quaternions (xyzw), on arrays of any leading shape.

A rotation vector r stands for exp([r]x): axis r / |r|, angle |r| in radians (Rodrigues). Distances are geodesic.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from config.arrays import Floats
from config.jit import kernel

NEXT_AXES = {"x": (1, 2), "y": (2, 0), "z": (0, 1)}


@kernel
def _write_matrices(rotvec: Floats, out: Floats) -> None:
    """Write exp([r]x) of rotation vectors (N, 3) to out (N, 3, 3)."""
    for n in range(rotvec.shape[0]):
        x, y, z = rotvec[n, 0], rotvec[n, 1], rotvec[n, 2]
        t2 = x * x + y * y + z * z
        if t2 < 1e-8:
            a, b = 1.0 - t2 / 6.0, 0.5 - t2 / 24.0
        else:
            t = math.sqrt(t2)
            a, b = math.sin(t) / t, (1.0 - math.cos(t)) / t2
        out[n, 0, 0], out[n, 0, 1], out[n, 0, 2] = 1.0 - b * (y * y + z * z), b * x * y - a * z, b * x * z + a * y
        out[n, 1, 0], out[n, 1, 1], out[n, 1, 2] = b * x * y + a * z, 1.0 - b * (x * x + z * z), b * y * z - a * x
        out[n, 2, 0], out[n, 2, 1], out[n, 2, 2] = b * x * z - a * y, b * y * z + a * x, 1.0 - b * (x * x + y * y)


@kernel
def _write_quaternions(R: Floats, out: Floats) -> None:
    """Write unit quaternions xyzw, w >= 0, of matrices (N, 3, 3) to out (N, 4)."""
    for n in range(R.shape[0]):
        q, m0, m1, m2 = out[n], R[n, 0, 0], R[n, 1, 1], R[n, 2, 2]
        # 4 q q' row by row (Bar-Itzhack); the row with the largest diagonal is the best conditioned.
        xx, yy, zz, ww = 1.0 + m0 - m1 - m2, 1.0 - m0 + m1 - m2, 1.0 - m0 - m1 + m2, 1.0 + m0 + m1 + m2
        xy, xz, yz = R[n, 0, 1] + R[n, 1, 0], R[n, 0, 2] + R[n, 2, 0], R[n, 1, 2] + R[n, 2, 1]
        xw, yw, zw = R[n, 2, 1] - R[n, 1, 2], R[n, 0, 2] - R[n, 2, 0], R[n, 1, 0] - R[n, 0, 1]
        largest = max(xx, yy, zz, ww)
        if ww == largest:
            q[0], q[1], q[2], q[3] = xw, yw, zw, ww
        elif xx == largest:
            q[0], q[1], q[2], q[3] = xx, xy, xz, xw
        elif yy == largest:
            q[0], q[1], q[2], q[3] = xy, yy, yz, yw
        else:
            q[0], q[1], q[2], q[3] = xz, yz, zz, zw
        scale = 1.0 / math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
        if q[3] < 0.0:
            scale = -scale
        for i in range(4):
            q[i] *= scale


@kernel
def _write_rotvecs(R: Floats, out: Floats) -> None:
    """Write the rotation vectors of smallest angle of matrices (N, 3, 3) to out (N, 3)."""
    quaternion = np.empty((1, 4))
    q = quaternion[0]
    for n in range(R.shape[0]):
        _write_quaternions(R[n : n + 1], quaternion)
        sine = math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2])
        scale = 2.0 if sine < 1e-9 else 2.0 * math.atan2(sine, q[3]) / sine
        for i in range(3):
            out[n, i] = scale * q[i]


def skew_from_vector(vector: ArrayLike) -> Floats:
    """Return [v]x with [v]x u = v x u: vector (..., 3) -> (..., 3, 3)."""
    v = np.asarray(vector, float)
    out = np.zeros((*v.shape, 3))
    out[..., 0, 1], out[..., 0, 2], out[..., 1, 2] = -v[..., 2], v[..., 1], -v[..., 0]
    out[..., 1, 0], out[..., 2, 0], out[..., 2, 1] = v[..., 2], -v[..., 1], v[..., 0]
    return out


def matrix_from_rotvec(rotvec: ArrayLike) -> Floats:
    """Return exp([r]x) by Rodrigues' formula: rotvec (..., 3) [rad] -> (..., 3, 3)."""
    r = np.array(rotvec, np.float64, order="C")
    out = np.empty((*r.shape, 3))
    _write_matrices(r.reshape(-1, 3), out.reshape(-1, 3, 3))
    return out


def rotation_about(axis: ArrayLike, angle_rad: ArrayLike) -> Floats:
    """Return rotations about a unit axis: (3,), (...) [rad] -> (..., 3, 3)."""
    return matrix_from_rotvec(np.asarray(angle_rad, float)[..., None] * np.asarray(axis, float))


def matrix_from_euler(angles_rad: ArrayLike, axes: Sequence[str]) -> Floats:
    """Return R = R_a0(angle 0) R_a1(angle 1)...: angles (N, k) [rad], axes k of "x", "y", "z" -> (N, 3, 3)."""
    angles = np.asarray(angles_rad, float)
    # Columns first: a factor on the right, a rotation about one axis, mixes the two other columns.
    columns = np.zeros((3, 3, len(angles)))
    for i in range(3):
        columns[i, i] = 1.0
    for k, axis in enumerate(axes):
        cosine, sine = np.cos(angles[:, k]), np.sin(angles[:, k])
        i, j = NEXT_AXES[axis]
        first, second = columns[i].copy(), columns[j]
        columns[i] = cosine * first + sine * second
        columns[j] = cosine * second - sine * first
    return np.ascontiguousarray(columns.transpose(2, 1, 0))


def quaternion_from_matrix(matrix: ArrayLike) -> Floats:
    """Return unit quaternions xyzw with w >= 0: matrix (..., 3, 3) -> (..., 4)."""
    R = np.array(matrix, np.float64, order="C")
    out = np.empty((*R.shape[:-2], 4))
    _write_quaternions(R.reshape(-1, 3, 3), out.reshape(-1, 4))
    return out


def matrix_from_quaternion(quaternion_xyzw: ArrayLike) -> Floats:
    """Return the rotation of a quaternion, normalised first: (..., 4) xyzw -> (..., 3, 3)."""
    q = np.asarray(quaternion_xyzw, float)
    q = q / np.linalg.norm(q, axis=-1, keepdims=True)
    K = skew_from_vector(q[..., :3])
    return np.asarray(np.eye(3) + 2.0 * (q[..., 3, None, None] * K + K @ K))


def rotvec_from_matrix(matrix: ArrayLike) -> Floats:
    """Return the rotation vector of smallest angle, in [0, pi]: matrix (..., 3, 3) -> (..., 3) [rad]."""
    R = np.array(matrix, np.float64, order="C")
    out = np.empty(R.shape[:-1])
    _write_rotvecs(R.reshape(-1, 3, 3), out.reshape(-1, 3))
    return out


def rotvec_between(source: Floats, target: Floats) -> Floats:
    """Return the rotation vector about the world's axes that turns one orientation, (3, 3), to another: (3,) [rad]."""
    out = np.empty(3)
    _write_rotvecs((target @ source.T)[None], out[None])
    return out


def compute_geodesic_rad(first: ArrayLike, second: ArrayLike) -> Floats:
    """Return the angle between rotations: two matrices (..., 3, 3) -> (...) [rad]."""
    relative = np.swapaxes(np.asarray(first, float), -1, -2) @ np.asarray(second, float)
    return np.asarray(np.linalg.norm(rotvec_from_matrix(relative), axis=-1))


def rotation_between(source: ArrayLike, target: ArrayLike) -> Floats:
    """Return the smallest rotation that takes direction `source` to `target`: two (3,) -> (3, 3)."""
    a = np.asarray(source, float) / np.linalg.norm(source)
    b = np.asarray(target, float) / np.linalg.norm(target)
    axis = np.cross(a, b)
    sine, cosine = float(np.linalg.norm(axis)), float(a @ b)
    if sine < 1e-12:
        if cosine > 0:
            return np.eye(3)
        # Opposite directions: pi about any perpendicular axis.
        return matrix_from_rotvec(np.pi * compute_tangents(a)[0])
    return matrix_from_rotvec(axis / sine * np.arctan2(sine, cosine))


def compute_tangents(up: Floats) -> Floats:
    """Return two unit vectors orthogonal to a unit vector and to each other, (2, 3)."""
    first = np.eye(3)[int(np.argmin(np.abs(up)))]
    first = first - up * (up @ first)
    first = first / np.linalg.norm(first)
    return np.stack([first, np.cross(up, first)])


def find_nearest_rotation(matrix: Floats) -> Floats:
    """Return the rotation nearest to a matrix; of a sum of rotations, the one nearest to them all, (3, 3) -> (3, 3)."""
    U, _, Vt = np.linalg.svd(matrix)
    return np.asarray(U @ np.diag([1.0, 1.0, np.linalg.det(U @ Vt)]) @ Vt)
