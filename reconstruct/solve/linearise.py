"""Markers of a trial pose in the world and their derivatives, which all terms of the energy on markers share.

Variables x = (w, d, s), (B + 6,): coordinates w of the local model (q = p + U w, Chai & Hodgins 2005, eq. 3), a rotation vector d
of the root about the world's axes (R = exp([d]x) R_0), and its position s. A marker moves with the joints of its own limb only:
its part of the Hessian is made of the columns that are not zero.
"""

import math
from typing import NamedTuple

import numpy as np

from config.arrays import Floats, Ints
from config.jit import kernel
from database.geometry.kinematics import KinematicChain, KinematicsWork, _markers_and_jacobian, _rodrigues


class MarkerBody(NamedTuple):
    """A subject as the kernels take it: parents, offsets_m, reference of the joints; joint (M,) and offset_m (M, 3) of the
    markers.
    """

    parents: Ints
    offsets_m: Floats
    reference: Floats
    joint: Ints
    offset_m: Floats


class PoseSpace(NamedTuple):
    """Poses q = mean + directions w, (J, 3) and (J, 3, B) with row 0 unused, and the root's rotation R_0 (3, 3) where d = 0."""

    mean: Floats
    directions: Floats
    rotation: Floats


class PosedMarkers(NamedTuple):
    """M markers of one pose: world_m and arm_m from the root, (M, 3); their derivatives by w in the root's frame, (M, 3, B).

    columns (B + 6,), by_x (3, B + 6) and rows (3, B + 6) are scratch memory of the terms.
    """

    rotation: Floats
    world_m: Floats
    arm_m: Floats
    jacobian: Floats
    columns: Ints
    by_x: Floats
    rows: Floats


@kernel
def _posed_markers(x: Floats, space: PoseSpace, body: MarkerBody) -> PosedMarkers:
    """Return the markers of the pose at x."""
    mean, U, R0 = space.mean, space.directions, space.rotation
    n_joints, n_w, n_markers = U.shape[0], U.shape[2], body.joint.shape[0]
    pose = np.zeros((n_joints, 3))
    for j in range(1, n_joints):
        for i in range(3):
            s = mean[j, i]
            for b in range(n_w):
                s += U[j, i, b] * x[b]
            pose[j, i] = s
    G, p, spin = np.empty((n_joints, 3, 3)), np.empty((n_joints, 3)), np.empty((n_joints, 3, n_w))
    work = KinematicsWork(G, p, spin, np.empty((n_joints, 3, n_w)))
    y, jacobian = np.empty((n_markers, 3)), np.empty((n_markers, 3, n_w))
    chain = KinematicChain(body.parents, body.offsets_m, body.reference)
    _markers_and_jacobian(pose, U, chain, body.joint, body.offset_m, work, y, jacobian)
    # d is a rotation from where it starts; its left Jacobian is within 1e-3 of I for the rotations of one frame.
    step, left, R = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    _rodrigues(x[n_w : n_w + 3], step, left)
    for i in range(3):
        for j in range(3):
            R[i, j] = step[i, 0] * R0[0, j] + step[i, 1] * R0[1, j] + step[i, 2] * R0[2, j]
    world, arm = np.empty((n_markers, 3)), np.empty((n_markers, 3))
    for m in range(n_markers):
        for i in range(3):
            world[m, i] = R[i, 0] * y[m, 0] + R[i, 1] * y[m, 1] + R[i, 2] * y[m, 2] + x[n_w + 3 + i]
            arm[m, i] = world[m, i] - x[n_w + 3 + i]
    scratch = (np.empty(n_w + 6, np.int64), np.empty((3, n_w + 6)), np.empty((3, n_w + 6)))
    return PosedMarkers(R, world, arm, jacobian, scratch[0], scratch[1], scratch[2])


@kernel
def _marker_jacobian(posed: PosedMarkers, m: int) -> int:
    """Write the derivative of marker m in the world by x to `by_x` (3, n), its columns' numbers to `columns`; return n."""
    R, J, arm, columns, full = posed.rotation, posed.jacobian[m], posed.arm_m[m], posed.columns, posed.by_x
    n, n_w = 0, J.shape[1]
    for b in range(n_w):
        if J[0, b] != 0.0 or J[1, b] != 0.0 or J[2, b] != 0.0:
            columns[n] = b
            n += 1
    for i in range(6):
        columns[n + i] = n_w + i
    for i in range(3):
        for k in range(n):
            b = columns[k]
            full[i, k] = R[i, 0] * J[0, b] + R[i, 1] * J[1, b] + R[i, 2] * J[2, b]
        for k in range(n, n + 6):
            full[i, k] = 0.0
        full[i, n + 3 + i] = 1.0
    full[0, n + 1], full[0, n + 2] = arm[2], -arm[1]
    full[1, n], full[1, n + 2] = -arm[2], arm[0]
    full[2, n], full[2, n + 1] = arm[1], -arm[0]
    return n + 6


@kernel
def _add_residual(posed: PosedMarkers, n: int, e: Floats, D: Floats, weight: float, A: Floats, g: Floats) -> None:
    """Add weight J'J to the lower triangle of A and weight J'e to g, where J = D by_x has n columns; e (3,), D (3, 3)."""
    columns, full, J = posed.columns, posed.by_x, posed.rows
    for i in range(3):
        for k in range(n):
            J[i, k] = D[i, 0] * full[0, k] + D[i, 1] * full[1, k] + D[i, 2] * full[2, k]
    for i in range(n):
        a0, a1, a2 = weight * J[0, i], weight * J[1, i], weight * J[2, i]
        row = columns[i]
        g[row] += a0 * e[0] + a1 * e[1] + a2 * e[2]
        for j in range(i + 1):
            A[row, columns[j]] += a0 * J[0, j] + a1 * J[1, j] + a2 * J[2, j]


@kernel
def _robust(s: float, scale2: float) -> float:
    """Return rho(s) = c^2 (sqrt(1 + s / c^2) - 1) of a squared distance (pseudo-Huber), scale2 = c^2."""
    return scale2 * (math.sqrt(1.0 + s / scale2) - 1.0)


@kernel
def _robust_weight(s: float, scale2: float) -> float:
    """Return 2 rho'(s), the weight of a squared distance in the linearised problem."""
    return 1.0 / math.sqrt(1.0 + s / scale2)
