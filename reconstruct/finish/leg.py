"""Move one foot to a target by the smallest rotations of hip, knee and ankle.

x: rotation vectors of the three joints (9), x0 those given, p(x): ankle and ball of the foot (6), t their targets:

    min  |p(x) - t|^2_S + |x - x0|^2_P

with S the tolerance of the targets, wider along the leg, where a straight knee would have to bend far for a centimetre, and P
the variance of each joint's rotations: a knee is nearly a hinge. Gauss-Newton, in the form whose matrix is 6x6 (Rodgers 2000,
chapter 5):
x = x0 + P J' (J P J' + S)^-1 (t - p + J (x - x0)). S and P are positive, so the matrix always has an inverse.
"""

import math
from typing import Final, NamedTuple

import numpy as np

from config.arrays import Floats
from config.jit import inline_kernel, kernel
from config.joints import JOINT_INDEX
from database.geometry.kinematics import _multiply_matrices, _write_rotation_and_jacobian
from database.geometry.skeleton import REFERENCE, Skeleton
from numerics.definite import eliminate_rows, substitute_rows

ITERATIONS = 3
ACROSS_M, ALONG_M = 0.001, 0.01  # tolerance of the targets across the leg and along it
REACH = 0.6  # share of what is left until the leg is straight that is used
MAX_SIGMAS = 4.0  # of any rotation
# Standard deviation of the rotations of hip, knee and ankle about x (bend), y (twist) and z (sideways).
SIGMA_RAD: Final = np.array([[0.1, 0.07, 0.1], [0.1, 0.05, 0.05], [0.3, 0.2, 0.2]])
_PARTS = ("UpperLeg", "LowerLeg", "Foot", "Toes")
LEGS: Final = tuple(np.array([JOINT_INDEX[side + part] for part in _PARTS], np.int64) for side in ("left", "right"))


class LegChain(NamedTuple):
    """A leg as the kernels take it.

    Attributes:
        rotation: rotation of the hips, (3, 3), world.
        position_m: position of the hips, (3,) [m], world.
        offsets_m: offsets of hip, knee, ankle and ball from their parents, (4, 3) [m].
        reference: rotations of the charts of hip, knee and ankle, (3, 3, 3).
    """

    rotation: Floats
    position_m: Floats
    offsets_m: Floats
    reference: Floats


def solve_leg(skeleton: Skeleton, rotvec: Floats, rotation: Floats, position_m: Floats, side: int, target_m: Floats) -> Floats:
    """Return the rotation vectors of hip, knee and ankle that move a foot to its targets, (3, 3) [rad].

    Args:
        skeleton: the skeleton.
        rotvec: charted, (J, 3) [rad].
        rotation: rotation of the hips, (3, 3), world.
        position_m: position of the hips, (3,) [m], world.
        side: 0 left, 1 right.
        target_m: targets of the ankle and the ball of the foot, (2, 3) [m], world, all finite.
    """
    leg = LEGS[side]
    x = np.ascontiguousarray(rotvec[leg[:3]], np.float64)
    chain = LegChain(
        np.ascontiguousarray(rotation), np.ascontiguousarray(position_m), skeleton.offsets_m[leg], REFERENCE[leg[:3]]
    )
    _solve_angles(x, chain, SIGMA_RAD.ravel(), np.array(target_m, np.float64))
    return x


@inline_kernel
def compute_leg_points(x: Floats, chain: LegChain, p: Floats, H: Floats) -> None:
    """Write the points of a leg and its axes of rotation.

    Args:
        x: rotation vectors of hip, knee and ankle, (9,) [rad].
        chain: the bones of the leg.
        p: hip, knee, ankle and ball, (4, 3) [m]; written.
        H: each joint's axes of rotation in the world, (3, 3, 3); written.
    """
    offsets_m = chain.offsets_m
    G, A = chain.rotation.copy(), np.empty((3, 3))
    R, J = np.empty((3, 3)), np.empty((3, 3))
    for i in range(3):
        p[0, i] = chain.position_m[i] + G[i, 0] * offsets_m[0, 0] + G[i, 1] * offsets_m[0, 1] + G[i, 2] * offsets_m[0, 2]
    for j in range(3):
        _write_rotation_and_jacobian(x[j], R, J)
        _multiply_matrices(G, chain.reference[j], A)
        _multiply_matrices(A, J, H[j])
        _multiply_matrices(A, R, G)
        o = offsets_m[j + 1]
        for i in range(3):
            p[j + 1, i] = p[j, i] + G[i, 0] * o[0] + G[i, 1] * o[1] + G[i, 2] * o[2]


@inline_kernel
def compute_leg_jacobian(p: Floats, H: Floats, jacobian: Floats) -> None:
    """Write the derivative of ankle and ball, (6, 9): axis x (point - joint).

    Args:
        p: hip, knee, ankle and ball, (4, 3) [m].
        H: each joint's axes of rotation in the world, (3, 3, 3).
        jacobian: Jacobian of ankle and ball, (6, 9); written.
    """
    for point in range(2):
        for j in range(3):
            a0, a1, a2 = p[2 + point, 0] - p[j, 0], p[2 + point, 1] - p[j, 1], p[2 + point, 2] - p[j, 2]
            for k in range(3):
                w0, w1, w2 = H[j, 0, k], H[j, 1, k], H[j, 2, k]
                jacobian[3 * point, 3 * j + k] = w1 * a2 - w2 * a1
                jacobian[3 * point + 1, 3 * j + k] = w2 * a0 - w0 * a2
                jacobian[3 * point + 2, 3 * j + k] = w0 * a1 - w1 * a0


@inline_kernel
def _limit_reach(p: Floats, target_m: Floats) -> None:
    """Move a target nearer, in place, that would straighten the leg: of the length left at most REACH is used."""
    length = then = now = 0.0
    for i in range(3):
        now += (p[2, i] - p[0, i]) ** 2
        then += (target_m[0, i] - p[0, i]) ** 2
    now, then = math.sqrt(now), math.sqrt(then)
    for j in range(2):
        length += math.sqrt((p[j + 1, 0] - p[j, 0]) ** 2 + (p[j + 1, 1] - p[j, 1]) ** 2 + (p[j + 1, 2] - p[j, 2]) ** 2)
    longer = then - now
    if longer <= 0.0:
        return
    room = max(REACH * (length - now), 1e-6)
    back = longer - room * (1.0 - math.exp(-longer / room))
    for i in range(3):
        shift = back * (target_m[0, i] - p[0, i]) / then
        target_m[0, i] -= shift
        target_m[1, i] -= shift


@inline_kernel
def _compute_direction(p: Floats, u: Floats) -> None:
    """Write the unit vector from hip to ankle, zero where they coincide."""
    length = math.sqrt((p[2, 0] - p[0, 0]) ** 2 + (p[2, 1] - p[0, 1]) ** 2 + (p[2, 2] - p[0, 2]) ** 2)
    for i in range(3):
        u[i] = (p[2, i] - p[0, i]) / length if length > 1e-6 else 0.0


@kernel
def _solve_angles(x: Floats, chain: LegChain, sigma_rad: Floats, target_m: Floats) -> None:
    """Update x (3, 3), in place, towards the targets (2, 3), which are moved within reach."""
    start = x.copy()
    p, H, J = np.empty((4, 3)), np.empty((3, 3, 3)), np.zeros((6, 9))
    S, e, u = np.empty((6, 6)), np.empty(6), np.empty(3)
    for iteration in range(ITERATIONS):
        compute_leg_points(x, chain, p, H)
        compute_leg_jacobian(p, H, J)
        if iteration == 0:
            _limit_reach(p, target_m)
            _compute_direction(p, u)
        for a in range(6):
            e[a] = target_m[a // 3, a % 3] - p[2 + a // 3, a % 3]
            for d in range(9):
                e[a] += J[a, d] * (x[d // 3, d % 3] - start[d // 3, d % 3])
            for b in range(6):
                S[a, b] = 0.0
                for d in range(9):
                    S[a, b] += J[a, d] * J[b, d] * sigma_rad[d] ** 2
                if a // 3 == b // 3:
                    S[a, b] += (ALONG_M**2 - ACROSS_M**2) * u[a % 3] * u[b % 3]
            S[a, a] += ACROSS_M**2
        eliminate_rows(S, e, 0)
        substitute_rows(S, e, 0)
        for d in range(9):
            total = 0.0
            for a in range(6):
                total += J[a, d] * e[a]
            change = min(max(sigma_rad[d] ** 2 * total, -MAX_SIGMAS * sigma_rad[d]), MAX_SIGMAS * sigma_rad[d])
            x[d // 3, d % 3] = start[d // 3, d % 3] + change
