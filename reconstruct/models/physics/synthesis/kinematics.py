"""What the terms of the energy need of a motion: velocities, accelerations, forces, places of points, and their derivatives."""

from dataclasses import dataclass

import numpy as np

from config.arrays import Floats
from config.joints import N_JOINTS
from database.geometry.rotations import matrix_from_quaternion
from reconstruct.models.physics.dynamics import N_TANGENT, Dynamics, Motion


@dataclass(frozen=True, slots=True)
class MotionKinematics:
    """A motion q (N, 95).

    Attributes:
        v, a, u: velocities, accelerations and forces of the inner frames by central differences, (N - 2, 72).
        root: the hips' orientation, (N, 3, 3).
        point_m: contact points, then those of external forces, (N, P, 3) [m].
    """

    q: Floats
    v: Floats
    a: Floats
    u: Floats
    root: Floats
    point_m: Floats


@dataclass(frozen=True, slots=True)
class MotionJacobians:
    """Derivatives by changes of configurations.

    Attributes:
        v, u: derivatives of v and u of the inner frames with respect to the frame before, itself and the frame after, (N - 2, 72,
            216).
        point: (N, P, 3, 72).
    """

    v: Floats
    u: Floats
    point: Floats


def compute_kinematics(dynamics: Dynamics, q: Floats, dt_s: float) -> MotionKinematics:
    """Return what follows from configurations.

    Args:
        dynamics: the body's equations of motion.
        q: configurations, (N >= 3, 95).
        dt_s: time since the frame before [s].
    """
    ahead, behind = dynamics.difference(q[1:-1], q[2:]), dynamics.difference(q[1:-1], q[:-2])
    v, a = (ahead - behind) / (2.0 * dt_s), (ahead + behind) / dt_s**2
    u = dynamics.generalized_forces(Motion(q[1:-1], v, a))
    root = matrix_from_quaternion(q[:, 3:7])
    return MotionKinematics(q, v, a, u, root, dynamics.contact_positions(q))


def compute_jacobians(dynamics: Dynamics, motion: MotionKinematics, dt_s: float) -> MotionJacobians:
    """Return the derivatives of a motion's velocities, forces and points.

    Args:
        dynamics: the body's equations of motion.
        motion: kinematics of its configurations.
        dt_s: time since the frame before [s].
    """
    n = len(motion.v)
    T = N_TANGENT
    Jv, Ju = np.empty((n, T, 3 * T)), np.empty((n, T, 3 * T))
    for t in range(n):
        before, at, after = motion.q[t], motion.q[t + 1], motion.q[t + 2]
        A, B = dynamics.difference_derivatives(at, after)
        C, D = dynamics.difference_derivatives(at, before)
        blocks_v = (-D / (2.0 * dt_s), (A - C) / (2.0 * dt_s), B / (2.0 * dt_s))
        blocks_a = (D / dt_s**2, (A + C) / dt_s**2, B / dt_s**2)
        by = dynamics.force_derivatives(at, motion.v[t], motion.a[t])
        for k in range(3):
            rows = slice(k * T, (k + 1) * T)
            Jv[t, :, rows] = blocks_v[k]
            Ju[t, :, rows] = by.by_v @ blocks_v[k] + by.by_a @ blocks_a[k]
        Ju[t, :, T : 2 * T] += by.by_q
    point = np.array([dynamics.contact_jacobian(row) for row in motion.q])
    return MotionJacobians(Jv, Ju, point)


def compute_joint_positions(dynamics: Dynamics, q: Floats) -> Floats:
    """Return the places of all joints: (N, 95) -> (N, J, 3) [m]."""
    return np.array([dynamics.placements(row)[1] for row in q]).reshape(-1, N_JOINTS, 3)
