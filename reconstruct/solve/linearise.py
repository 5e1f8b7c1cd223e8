"""Markers of a trial pose in the world and their derivatives, which all terms of the energy on markers share.

Variables x = (w, d, s), (B + 6,): coordinates w of the local model (q = p + U w, Chai & Hodgins 2005, eq. 3), a rotation vector d
of the root about the world's axes (R = exp([d]x) R_0), and its position s. A marker moves with the joints of its own limb only:
its part of the Hessian is made of their columns.
"""

import math
from typing import NamedTuple

import numpy as np

from config.arrays import Floats, Ints
from config.jit import inline_kernel, kernel
from database.geometry.kinematics import _multiply_matrices, _write_rotation_and_jacobian


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
    """Poses q = mean + directions w, (J, 3) and (J, 3, B) with row 0 unused, and the root's rotation R_0 (3, 3) where d = 0.

    span: the first of the directions that move a joint, and the one after the last, (J, 2); those of two joints are the same or
    apart, a child's behind its parent's. A joint without any is left where it is without a rotation of its own.
    """

    mean: Floats
    directions: Floats
    span: Ints
    rotation: Floats


class PosedMarkers(NamedTuple):
    """M markers of one pose, with scratch memory for the terms of the energy.

    Attributes:
        world_m: positions in the world, (M, 3) [m].
        arm_m: positions relative to the root, in the world's axes, (M, 3) [m].
        joint_m: positions of the joints, (J, 3) [m].
        turns: change of a joint's rotation by each direction that moves it, (J, W, 3), world.
        span, parents: as in the pose space and the body.
        joint: joint of each marker, (M,).
        columns, by_x, rows: scratch memory, (B + 6,), (B + 6, 3) and (3, B + 6).
    """

    world_m: Floats
    arm_m: Floats
    joint_m: Floats
    turns: Floats
    span: Ints
    parents: Ints
    joint: Ints
    columns: Ints
    by_x: Floats
    rows: Floats


@inline_kernel
def _find_widest_span(span: Ints) -> int:
    """Return the most directions that move a joint."""
    most = 0
    for j in range(span.shape[0]):
        most = max(most, span[j, 1] - span[j, 0])
    return most


@kernel
def compute_posed_markers(x: Floats, space: PoseSpace, body: MarkerBody) -> PosedMarkers:
    """Return the markers of the pose at x.

    Args:
        x: coordinates of the pose, (B,).
        space: affine map from the coordinates of a pose to joint coordinates.
        body: bones and markers.
    """
    U, span, n_joints, n_markers, n = space.directions, space.span, body.parents.shape[0], body.joint.shape[0], x.shape[0]
    G, p = np.empty((n_joints, 3, 3)), np.empty((n_joints, 3))
    turns = np.empty((n_joints, _find_widest_span(span), 3))
    r, R, J, L, H = np.empty(3), np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    # d is a rotation from where it starts; its left Jacobian is within 1e-3 of I for the rotations of one frame.
    _write_rotation_and_jacobian(x[n - 6 : n - 3], R, J)
    _multiply_matrices(R, space.rotation, L)
    _multiply_matrices(L, body.reference[0], G[0])
    for i in range(3):
        p[0, i] = x[n - 3 + i]
    for j in range(1, n_joints):
        parent, first, last = body.parents[j], span[j, 0], span[j, 1]
        for i in range(3):
            r[i], p[j, i] = space.mean[j, i], p[parent, i]
            for b in range(first, last):
                r[i] += U[j, i, b] * x[b]
            for k in range(3):
                p[j, i] += G[parent, i, k] * body.offsets_m[j, k]
        if first == last:
            G[j] = G[parent]
            continue
        _write_rotation_and_jacobian(r, R, J)
        _multiply_matrices(G[parent], body.reference[j], L)
        _multiply_matrices(L, R, G[j])
        _multiply_matrices(L, J, H)
        for b in range(first, last):
            for i in range(3):
                turns[j, b - first, i] = H[i, 0] * U[j, 0, b] + H[i, 1] * U[j, 1, b] + H[i, 2] * U[j, 2, b]
    world, arm = np.empty((n_markers, 3)), np.empty((n_markers, 3))
    for m in range(n_markers):
        j, v = body.joint[m], body.offset_m[m]
        for i in range(3):
            world[m, i] = p[j, i] + G[j, i, 0] * v[0] + G[j, i, 1] * v[1] + G[j, i, 2] * v[2]
            arm[m, i] = world[m, i] - p[0, i]
    scratch = np.empty(n, np.int64), np.empty((n, 3)), np.empty((3, n))
    return PosedMarkers(world, arm, p, turns, span, body.parents, body.joint, scratch[0], scratch[1], scratch[2])


@kernel
def compute_marker_jacobian(posed: PosedMarkers, m: int) -> int:
    """Write the derivative of marker m in the world by x to `by_x` (n, 3) and its rising columns to `columns`; return n."""
    span, parents, columns, full = posed.span, posed.parents, posed.columns, posed.by_x
    n, before, j = 0, -1, posed.joint[m]
    while j > 0:  # from the marker's joint to the root
        if span[j, 0] != before:
            n += span[j, 1] - span[j, 0]
        before, j = span[j, 0], parents[j]
    at, before, j = n, -1, posed.joint[m]
    while j > 0:
        first, width = span[j, 0], span[j, 1] - span[j, 0]
        if first != before:
            at -= width
            for k in range(width):
                columns[at + k] = first + k
                full[at + k, 0] = full[at + k, 1] = full[at + k, 2] = 0.0
        a0 = posed.world_m[m, 0] - posed.joint_m[j, 0]
        a1 = posed.world_m[m, 1] - posed.joint_m[j, 1]
        a2 = posed.world_m[m, 2] - posed.joint_m[j, 2]
        for k in range(width):
            w0, w1, w2 = posed.turns[j, k, 0], posed.turns[j, k, 1], posed.turns[j, k, 2]
            full[at + k, 0] += w1 * a2 - w2 * a1
            full[at + k, 1] += w2 * a0 - w0 * a2
            full[at + k, 2] += w0 * a1 - w1 * a0
        before, j = first, parents[j]
    arm, n_w = posed.arm_m[m], columns.shape[0] - 6
    for k in range(6):
        columns[n + k] = n_w + k
        for i in range(3):
            full[n + k, i] = 1.0 if k == 3 + i else 0.0
    full[n + 1, 0], full[n + 2, 0] = arm[2], -arm[1]
    full[n, 1], full[n + 2, 1] = -arm[2], arm[0]
    full[n, 2], full[n + 1, 2] = arm[1], -arm[0]
    return n + 6


@kernel
def _derive_markers_by_pose(x: Floats, space: PoseSpace, body: MarkerBody, world_m: Floats, by_x: Floats) -> None:
    """Write the markers of the pose at x, (M, 3), and their derivatives by x, (3 M, B + 6)."""
    posed = compute_posed_markers(x, space, body)
    world_m[:] = posed.world_m
    by_x[:] = 0.0
    for m in range(world_m.shape[0]):
        for k in range(compute_marker_jacobian(posed, m)):
            for i in range(3):
                by_x[3 * m + i, posed.columns[k]] = posed.by_x[k, i]


@kernel
def add_residual(posed: PosedMarkers, n: int, e: Floats, D: Floats, weight: float, A: Floats, g: Floats) -> None:
    """Add weight J'J to the lower triangle of A and weight J'e to g, where J = D by_x' has n columns; e (3,), D (3, 3).

    Args:
        posed: the markers of the pose at x, and their derivatives.
        n: number of columns of J.
        e: residual, (3,).
        D: derivative of the residual with respect to the marker, (3, 3).
        weight: weight of the residual.
        A: lower triangle of the Hessian, (B, B); added to.
        g: gradient, (B,); added to.
    """
    columns, full, J = posed.columns, posed.by_x, posed.rows
    for i in range(3):
        for k in range(n):
            J[i, k] = D[i, 0] * full[k, 0] + D[i, 1] * full[k, 1] + D[i, 2] * full[k, 2]
    for i in range(n):
        a0, a1, a2 = weight * J[0, i], weight * J[1, i], weight * J[2, i]
        row = columns[i]
        g[row] += a0 * e[0] + a1 * e[1] + a2 * e[2]
        for j in range(i + 1):
            A[row, columns[j]] += a0 * J[0, j] + a1 * J[1, j] + a2 * J[2, j]


@kernel
def compute_robust_loss(s: float, scale2: float) -> float:
    """Return rho(s) = c^2 (sqrt(1 + s / c^2) - 1) of a squared distance (pseudo-Huber), scale2 = c^2."""
    return scale2 * (math.sqrt(1.0 + s / scale2) - 1.0)


@kernel
def compute_robust_weight(s: float, scale2: float) -> float:
    """Return 2 rho'(s), the weight of a squared distance in the linearised problem."""
    return 1.0 / math.sqrt(1.0 + s / scale2)
