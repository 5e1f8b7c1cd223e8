"""Velocities and accelerations of a motion at equal times, and their derivatives, all frames at once.

d_t is the tangent vector at frame t that leads to frame t + 1; v_t = (d_t + d_(t-1)) / (2 dt), a_t = (d_t - d_(t-1)) / dt^2, the
central differences of `Dynamics.motion`. With frames changed by tangent vectors e: d_t changes by R_t e_(t+1) - L_t e_t, where
R_t and L_t are the inverses of the right and left Jacobians of the exponential map at d_t.
"""

from typing import NamedTuple

import numpy as np

from config.arrays import Floats
from config.joints import N_JOINTS
from database.geometry.rotations import skew_from_vector
from reconstruct.models.physics.dynamics import N_ROOT, N_TANGENT, Dynamics


class Steps(NamedTuple):
    """Tangent vectors between frames d (N - 1, 72), and R, L (N - 1, 72, 72)."""

    d: Floats
    R: Floats
    L: Floats


class Rates(NamedTuple):
    """Derivatives of v_t and a_t of inner frames by the frames before, at and after: (N - 2, 72, 72) each."""

    v_before: Floats
    v_at: Floats
    v_after: Floats
    a_before: Floats
    a_at: Floats
    a_after: Floats


def compute_steps(dynamics: Dynamics, q: Floats) -> Steps:
    """Return the steps of a motion, (N, 95)."""
    d = dynamics.difference(q[:-1], q[1:])
    return Steps(d, compute_inverse_right_jacobian(d), compute_inverse_right_jacobian(-d))


def compute_rates(steps: Steps, dt_s: float) -> Rates:
    """Return the derivatives of the velocities and accelerations of the inner frames."""
    R, L = steps.R, steps.L
    two, square = 2.0 * dt_s, dt_s**2
    return Rates(
        v_before=-L[:-1] / two,
        v_at=(R[:-1] - L[1:]) / two,
        v_after=R[1:] / two,
        a_before=L[:-1] / square,
        a_at=-(R[:-1] + L[1:]) / square,
        a_after=R[1:] / square,
    )


def compute_velocities(d: Floats, dt_s: float) -> tuple[Floats, Floats]:
    """Return velocities and accelerations of the inner frames, (N - 2, 72) each, from the steps, (N - 1, 72)."""
    return 0.5 * (d[1:] + d[:-1]) / dt_s, (d[1:] - d[:-1]) / dt_s**2


def compute_inverse_right_jacobian(d: Floats) -> Floats:
    """Return the inverse right Jacobians of tangent vectors, (N, 72) -> (N, 72, 72): of a rigid motion for the root."""
    out = np.zeros((len(d), N_TANGENT, N_TANGENT))
    rotation = _compute_so3_jacobian(d[:, 3:].reshape(-1, N_JOINTS, 3))
    for joint in range(1, N_JOINTS):
        rows = slice(3 + 3 * joint, 6 + 3 * joint)
        out[:, rows, rows] = rotation[:, joint]
    out[:, :3, :3] = out[:, 3:N_ROOT, 3:N_ROOT] = rotation[:, 0]
    out[:, :3, 3:N_ROOT] = -rotation[:, 0] @ _compute_jacobian_coupling(d[:, :3], d[:, 3:N_ROOT]) @ rotation[:, 0]
    return out


def _compute_so3_jacobian(r: Floats) -> Floats:
    """Return the inverse right Jacobian of rotations, (..., 3) -> (..., 3, 3)."""
    t2 = (r**2).sum(axis=-1)[..., None, None]
    near = t2 < 1e-6
    t = np.sqrt(np.where(near, 1.0, t2))
    c = np.where(near, 1.0 / 12.0 + t2 / 720.0, (1.0 - 0.5 * t / np.tan(0.5 * t)) / t**2)
    K = skew_from_vector(r)
    return np.asarray(np.eye(3) + 0.5 * K + c * (K @ K))


def _compute_jacobian_coupling(linear: Floats, angular: Floats) -> Floats:
    """Return the upper right block of the right Jacobian of rigid motions, two (N, 3) -> (N, 3, 3) (Barfoot 2017, eq. 7.86)."""
    P, K = skew_from_vector(-linear), skew_from_vector(-angular)  # the right Jacobian at d is the left one at -d
    t2 = (angular**2).sum(axis=1)[:, None, None]
    near = t2 < 1e-4
    t = np.sqrt(np.where(near, 1.0, t2))
    s, c = np.sin(t), np.cos(t)
    b = np.where(near, 1.0 / 6.0 - t2 / 120.0, (t - s) / t**3)
    e = np.where(near, 1.0 / 24.0 - t2 / 720.0, (t**2 + 2.0 * c - 2.0) / (2.0 * t**4))
    f = np.where(near, 1.0 / 120.0 - t2 / 2520.0, (2.0 * t - 3.0 * s + t * c) / (2.0 * t**5))
    KP, PK = K @ P, P @ K
    KPK = K @ PK
    first = 0.5 * P + b * (KP + PK + KPK)
    return np.asarray(first + e * (K @ KP + PK @ K - 3.0 * KPK) + f * (KPK @ K + K @ KPK))
