"""From points to pixels through a lens of either model, and the derivatives, as the adjustments use them.

Intrinsics are (10,): fx, fy, cx, cy, five coefficients of the lens, and 1 for a fisheye.
"""

import numpy as np

from calibration.solve.solution import N_INTRINSICS
from config.arrays import Floats

NEAREST_M = 1e-3  # least depth in front of a camera


def project_points(intrinsics: Floats, points_m: Floats) -> Floats:
    """Project points in a camera's frame: (10,), (..., 3) [m] -> (..., 2) [px]; meaningless nearer than `NEAREST_M`."""
    fx, fy, cx, cy, k1, k2, p1, p2, k3, fisheye = intrinsics
    z = np.maximum(points_m[..., 2], NEAREST_M)
    x, y = points_m[..., 0] / z, points_m[..., 1] / z
    out = np.empty((*points_m.shape[:-1], 2))
    if fisheye:
        radial = _compute_fisheye(intrinsics, x, y)[0]
        out[..., 0], out[..., 1] = fx * x * radial + cx, fy * y * radial + cy
        return out
    r2 = x * x + y * y
    radial = 1.0 + r2 * (k1 + r2 * (k2 + r2 * k3))
    out[..., 0] = fx * (x * radial + 2.0 * p1 * x * y + p2 * (r2 + 2.0 * x * x)) + cx
    out[..., 1] = fy * (y * radial + p1 * (r2 + 2.0 * y * y) + 2.0 * p2 * x * y) + cy
    return out


def _compute_fisheye(intrinsics: Floats, x: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
    """Return radial with x' = x radial, its slope with d radial / d x = slope x, and the square of the angle from the axis."""
    k1, k2, k3, k4 = intrinsics[4:8]
    r2 = np.maximum(x * x + y * y, 1e-12)
    r = np.sqrt(r2)
    theta = np.arctan(r)
    t2 = theta * theta
    radial = theta / r * (1.0 + t2 * (k1 + t2 * (k2 + t2 * (k3 + t2 * k4))))
    rate = (1.0 + t2 * (3.0 * k1 + t2 * (5.0 * k2 + t2 * (7.0 * k3 + t2 * 9.0 * k4)))) / (1.0 + r2)
    return radial, np.where(r2 > 1e-8, (rate - radial) / r2, 0.0), t2


def compute_point_derivatives(intrinsics: Floats, points_m: Floats) -> Floats:
    """Return d pixel / d point: (10,), (..., 3) [m] -> (..., 2, 3)."""
    fx, fy, _, _, k1, k2, p1, p2, k3, fisheye = intrinsics
    z = np.maximum(points_m[..., 2], NEAREST_M)
    x, y = points_m[..., 0] / z, points_m[..., 1] / z
    if fisheye:
        radial, slope = _compute_fisheye(intrinsics, x, y)[:2]
        p1 = p2 = 0.0
    else:
        r2 = x * x + y * y
        radial = 1.0 + r2 * (k1 + r2 * (k2 + r2 * k3))
        slope = 2.0 * (k1 + r2 * (2.0 * k2 + r2 * 3.0 * k3))  # d radial / d x = slope * x
    xx = fx * (radial + slope * x * x + 2.0 * p1 * y + 6.0 * p2 * x)
    cross = slope * x * y + 2.0 * p1 * x + 2.0 * p2 * y
    yy = fy * (radial + slope * y * y + 6.0 * p1 * y + 2.0 * p2 * x)
    P = np.empty((*points_m.shape[:-1], 2, 3))
    P[..., 0, 0], P[..., 0, 1], P[..., 1, 0], P[..., 1, 1] = xx / z, fx * cross / z, fy * cross / z, yy / z
    P[..., 0, 2] = -(x * xx + y * fx * cross) / z
    P[..., 1, 2] = -(x * fy * cross + y * yy) / z
    return P


def compute_lens_derivatives(intrinsics: Floats, points_m: Floats) -> Floats:
    """Return d pixel / d intrinsics: (10,), (..., 3) [m] -> (..., 2, 9); a fisheye's last is 0."""
    fx, fy, _, _, k1, k2, p1, p2, k3, fisheye = intrinsics
    z = np.maximum(points_m[..., 2], NEAREST_M)
    x, y = points_m[..., 0] / z, points_m[..., 1] / z
    Q = np.zeros((*points_m.shape[:-1], 2, N_INTRINSICS))
    if fisheye:
        radial, _, t2 = _compute_fisheye(intrinsics, x, y)
        Q[..., 0, 0], Q[..., 1, 1], Q[..., 0, 2], Q[..., 1, 3] = x * radial, y * radial, 1.0, 1.0
        power = np.sqrt(t2 / np.maximum(x * x + y * y, 1e-300))
        for column in (4, 5, 6, 7):
            power = power * t2
            Q[..., 0, column], Q[..., 1, column] = fx * x * power, fy * y * power
        return Q
    r2 = x * x + y * y
    radial = 1.0 + r2 * (k1 + r2 * (k2 + r2 * k3))
    Q[..., 0, 0] = x * radial + 2.0 * p1 * x * y + p2 * (r2 + 2.0 * x * x)
    Q[..., 1, 1] = y * radial + p1 * (r2 + 2.0 * y * y) + 2.0 * p2 * x * y
    Q[..., 0, 2] = Q[..., 1, 3] = 1.0
    for column, power in ((4, r2), (5, r2 * r2), (8, r2 * r2 * r2)):
        Q[..., 0, column], Q[..., 1, column] = fx * x * power, fy * y * power
    Q[..., 0, 6], Q[..., 1, 6] = fx * 2.0 * x * y, fy * (r2 + 2.0 * y * y)
    Q[..., 0, 7], Q[..., 1, 7] = fx * (r2 + 2.0 * x * x), fy * 2.0 * x * y
    return Q
