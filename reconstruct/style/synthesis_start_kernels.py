"""Kernel of `reconstruct.style.synthesis_start`: lay poses on what is asked by a turn about the vertical and a shift."""

import math

import numpy as np

from config.jit import kernel
from database.kinematics import _rodrigues
from database.rotations import Floats
from reconstruct.style.synthesis_rows_kernels import NEAREST_M, Handled, Rooted

N_YAWS, N_HALVINGS = 12, 4  # turns that are tried all round, even; then around the best


@kernel
def _solve3(A: Floats, b: Floats, x: Floats) -> None:
    """Write A^-1 b of a symmetric positive definite matrix (3, 3), by cofactors."""
    c00, c01, c02 = A[1, 1] * A[2, 2] - A[1, 2] ** 2, A[0, 2] * A[1, 2] - A[0, 1] * A[2, 2], A[0, 1] * A[1, 2] - A[0, 2] * A[1, 1]
    c11, c12, c22 = A[0, 0] * A[2, 2] - A[0, 2] ** 2, A[0, 1] * A[0, 2] - A[0, 0] * A[1, 2], A[0, 0] * A[1, 1] - A[0, 1] ** 2
    f = 1.0 / (A[0, 0] * c00 + A[0, 1] * c01 + A[0, 2] * c02)
    x[0] = f * (c00 * b[0] + c01 * b[1] + c02 * b[2])
    x[1] = f * (c01 * b[0] + c11 * b[1] + c12 * b[2])
    x[2] = f * (c02 * b[0] + c12 * b[1] + c22 * b[2])


@kernel
def _add_row(d: Floats, e: float, A: Floats, b: Floats) -> float:
    """Add the row d with residual e (at no shift) to normal equations; give e^2."""
    for i in range(3):
        b[i] -= d[i] * e
        for k in range(3):
            A[i, k] += d[i] * d[k]
    return e * e


@kernel
def _shift(y: Floats, handled: Handled, rooted: Rooted, depth_m: Floats, t: Floats) -> float:
    """Write the shift t (3,) that brings y (P, 3) nearest to what is asked; give the sum of squares that is left.

    depth_m: of each handle in each camera, (2, P), by which lines are weighed; replaced by what follows from t.
    """
    _, _, point, root_info, ideal, weight_px, views = handled
    rotation, translation, focal = views
    A, b, d, c = 1e-6 * np.eye(3), np.zeros(3), np.empty(3), np.empty(3)
    rest = 0.0
    for i in range(3):
        A[i, i] += rooted[3]
        b[i] += rooted[3] * rooted[1][i]
        rest += rooted[3] * rooted[1][i] ** 2
    for m in range(y.shape[0]):
        if root_info[m, 0, 0] > 0.0:
            for i in range(3):
                e = 0.0
                for k in range(3):
                    d[k] = root_info[m, i, k]
                    e += d[k] * (y[m, k] - point[m, k])
                rest += _add_row(d, e, A, b)
            continue
        for camera in range(2):
            if not weight_px[camera, m] > 0.0:
                continue
            for i in range(3):
                c[i] = translation[camera, i]
                for k in range(3):
                    c[i] += rotation[camera, i, k] * y[m, k]
            scale = math.sqrt(weight_px[camera, m]) * focal[camera] / depth_m[camera, m]
            for i in range(2):
                for k in range(3):
                    d[k] = scale * (rotation[camera, i, k] - ideal[camera, m, i] * rotation[camera, 2, k])
                rest += _add_row(d, scale * (c[i] - ideal[camera, m, i] * c[2]), A, b)
    _solve3(A, b, t)
    for m in range(y.shape[0]):
        for camera in range(2):
            z = translation[camera, 2]
            for k in range(3):
                z += rotation[camera, 2, k] * (y[m, k] + t[k])
            depth_m[camera, m] = max(z, NEAREST_M)
    left: float = rest - (b[0] * t[0] + b[1] * t[1] + b[2] * t[2])
    return left


@kernel
def _best_yaw(y: Floats, handled: Handled, up: Floats) -> float:
    """Give the turn about up that brings y (P, 3) nearest to the world points, both about their weighted means."""
    point, root_info = handled[2], handled[3]
    total, my, mp = 1e-12, np.zeros(3), np.zeros(3)
    for m in range(y.shape[0]):
        w = root_info[m, 0, 0] ** 2
        total += w
        for i in range(3):
            my[i] += w * y[m, i]
            mp[i] += w * point[m, i]
    sine, cosine = 0.0, 0.0
    for m in range(y.shape[0]):
        w = root_info[m, 0, 0] ** 2
        a0, a1, a2 = y[m, 0] - my[0] / total, y[m, 1] - my[1] / total, y[m, 2] - my[2] / total
        b0, b1, b2 = point[m, 0] - mp[0] / total, point[m, 1] - mp[1] / total, point[m, 2] - mp[2] / total
        sine += w * (up[0] * (a1 * b2 - a2 * b1) + up[1] * (a2 * b0 - a0 * b2) + up[2] * (a0 * b1 - a1 * b0))
        level = (up[0] * a0 + up[1] * a1 + up[2] * a2) * (up[0] * b0 + up[1] * b1 + up[2] * b2)
        cosine += w * (a0 * b0 + a1 * b1 + a2 * b2 - level)
    angle: float = math.atan2(sine, cosine)
    return angle


@kernel
def _laid(y: Floats, yaw: float, handled: Handled, rooted: Rooted, up: Floats, t: Floats) -> float:
    """Write the best shift of y turned by yaw about up; give the sum of squares that is left, more if behind a camera."""
    turn, left, z, depth_m = np.empty((3, 3)), np.empty((3, 3)), np.empty_like(y), np.full((2, y.shape[0]), 3.0)
    _rodrigues(yaw * up, turn, left)
    seen = False
    for m in range(y.shape[0]):
        for i in range(3):
            z[m, i] = turn[i, 0] * y[m, 0] + turn[i, 1] * y[m, 1] + turn[i, 2] * y[m, 2]
        seen = seen or (root_is_free(handled[3], m) and (handled[5][0, m] > 0.0 or handled[5][1, m] > 0.0))
    cost = 0.0
    for _ in range(2 if seen else 1):  # the second time with the depths that follow from the first
        cost = _shift(z, handled, rooted, depth_m, t)
    for m in range(y.shape[0] if seen else 0):
        for camera in range(2):
            if handled[5][camera, m] > 0.0 and depth_m[camera, m] <= NEAREST_M:
                cost += 1e6
    return cost


@kernel
def root_is_free(root_info: Floats, m: int) -> bool:
    """Tell whether a handle has no world point."""
    return not root_info[m, 0, 0] > 0.0


@kernel
def _lay(
    points: Floats,
    yaws: Floats,
    handled: Handled,
    rooted: Rooted,
    up: Floats,
    sampled: bool,
    cost: Floats,
    yaw: Floats,
    shift: Floats,
) -> None:
    """Lay N poses' handles (N, P, 3) on what is asked: write the cost (N,), the turn about up (N,) and the shift (N, 3).

    yaws: the turn of each pose, (N,), used where it is finite; else by the world points, or by trying all round where sampled.
    """
    t = np.empty(3)
    for n in range(points.shape[0]):
        around, width = sampled and not math.isfinite(yaws[n]), 2.0 * math.pi / N_YAWS
        yaw[n] = yaws[n] if math.isfinite(yaws[n]) else (0.0 if sampled else _best_yaw(points[n], handled, up))
        cost[n], shift[n] = np.inf, 0.0
        for i in range(N_YAWS + 2 * N_HALVINGS if around else 1):  # one call of _laid: compiling more takes seconds
            if i < N_YAWS:
                at = yaw[n] if not around else i * width
            elif i % 2 == 0:
                width *= 0.5
                at = yaw[n] - width
            else:
                at = yaw[n] + width
            c = _laid(points[n], at, handled, rooted, up, t)
            if c < cost[n]:
                cost[n], yaw[n] = c, at
                for k in range(3):
                    shift[n, k] = t[k]
