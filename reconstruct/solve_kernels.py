"""Kernels of `reconstruct.solve`: the energy of its docstring with gradient and Hessian, and Levenberg-Marquardt on it.

A marker moves with the joints of its own limb only, so its part of the Hessian is made of the columns that are not zero.
"""

import math

import numpy as np
from numpy.typing import NDArray

from config.jit import kernel
from database.kinematics import _markers_and_jacobian, _rodrigues
from database.rotations import Floats

Views = tuple[Floats, Floats, Floats]
Body = tuple[NDArray[np.int64], Floats, Floats]


@kernel
def _robust(s: float, scale2: float) -> float:
    """Give pseudo-Huber's rho of a squared distance."""
    return scale2 * (math.sqrt(1.0 + s / scale2) - 1.0)


@kernel
def _weight(s: float, scale2: float) -> float:
    """Give 2 rho'(s), the weight of a squared distance in the linearised problem."""
    return 1.0 / math.sqrt(1.0 + s / scale2)


@kernel
def _world(R: Floats, t: Floats, y: Floats, x: Floats) -> None:
    """Write R y + t."""
    for i in range(3):
        x[i] = R[i, 0] * y[0] + R[i, 1] * y[1] + R[i, 2] * y[2] + t[i]


@kernel
def _image_residual(x: Floats, camera: int, views: Views, ideal: Floats, e: Floats, D: Floats) -> bool:
    """Write pi(x) - u [px of an ideal camera] to e and its derivative by x to D, their third rows 0; e (3,), D (3, 3)."""
    rotation, translation, focal = views
    c = np.empty(3)
    _world(rotation[camera], translation[camera], x, c)
    if c[2] < 0.05:
        return False
    f, iz = focal[camera], 1.0 / c[2]
    u, v = c[0] * iz, c[1] * iz
    e[0], e[1], e[2] = f * (u - ideal[0]), f * (v - ideal[1]), 0.0
    for i in range(3):
        D[0, i] = f * iz * (rotation[camera, 0, i] - u * rotation[camera, 2, i])
        D[1, i] = f * iz * (rotation[camera, 1, i] - v * rotation[camera, 2, i])
        D[2, i] = 0.0
    return True


@kernel
def _offset_residual(x: Floats, point: Floats, root_info: Floats, e: Floats, D: Floats) -> None:
    """Write L (x - point) to e (3,) and its derivative by the world point x, L, to D (3, 3)."""
    for i in range(3):
        e[i] = 0.0
        for k in range(3):
            D[i, k] = root_info[i, k]
            e[i] += root_info[i, k] * (x[k] - point[k])


@kernel
def _active_columns(Jy: Floats, columns: NDArray[np.int64]) -> int:
    """Write the columns of Jy (3, B) that are not zero to `columns`, then those of the root's six; give their number.

    A marker moves with the joints of its own limb only: where directions are single joints, most columns are zero.
    """
    n, n_w = 0, Jy.shape[1]
    for b in range(n_w):
        if Jy[0, b] != 0.0 or Jy[1, b] != 0.0 or Jy[2, b] != 0.0:
            columns[n] = b
            n += 1
    for i in range(6):
        columns[n + i] = n_w + i
    return n + 6


@kernel
def _world_jacobian(R: Floats, arm: Floats, Jy: Floats, columns: NDArray[np.int64], n: int, full: Floats) -> None:
    """Write a marker's derivatives in the world to full (3, n), by the `n` columns of `_active_columns`; arm: from the root."""
    for i in range(3):
        for k in range(n - 6):
            b = columns[k]
            full[i, k] = R[i, 0] * Jy[0, b] + R[i, 1] * Jy[1, b] + R[i, 2] * Jy[2, b]
        for k in range(n - 6, n):
            full[i, k] = 0.0
        full[i, n - 3 + i] = 1.0
    k = n - 6
    full[0, k + 1], full[0, k + 2] = arm[2], -arm[1]
    full[1, k], full[1, k + 2] = -arm[2], arm[0]
    full[2, k], full[2, k + 1] = arm[1], -arm[0]


@kernel
def _accumulate(A: Floats, g: Floats, D: Floats, e: Floats, weight: float, columns: NDArray[np.int64], n: int) -> None:
    """Add weight D'D to the lower triangle of A and weight D'e to g, where D (3, n) has the given, rising columns; e (3,)."""
    for i in range(n):
        a0, a1, a2 = weight * D[0, i], weight * D[1, i], weight * D[2, i]
        row = columns[i]
        g[row] += a0 * e[0] + a1 * e[1] + a2 * e[2]
        for j in range(i + 1):
            A[row, columns[j]] += a0 * D[0, j] + a1 * D[1, j] + a2 * D[2, j]


@kernel
def _quadratic(x: Floats, center: Floats, precision: Floats, A: Floats, g: Floats) -> float:
    """Add the quadratic term's Hessian and gradient; give its energy."""
    n = center.shape[0]
    energy = 0.0
    for i in range(n):
        s = 0.0
        for j in range(n):
            s += precision[i, j] * (x[j] - center[j])
        g[i] += s
        energy += 0.5 * s * (x[i] - center[i])
        for j in range(i + 1):
            A[i, j] += precision[i, j]
    return energy


@kernel
def _linearise(
    R: Floats,
    t: Floats,
    y: Floats,
    Jy: Floats,
    observed: tuple[Floats, Floats, Floats, Floats, Views],
    scale2: float,
    A: Floats,
    g: Floats,
) -> float:
    """Add the marker terms' Gauss-Newton Hessian and gradient in (w, d, s); give their energy."""
    point, root_info, ideal, weight_px, views = observed
    n_markers, n_w = y.shape[0], Jy.shape[2]
    x, arm, e, Dx = np.empty(3), np.empty(3), np.empty(3), np.zeros((3, 3))
    columns, full, D = np.empty(n_w + 6, np.int64), np.empty((3, n_w + 6)), np.empty((3, n_w + 6))
    energy = 0.0
    for m in range(n_markers):
        has3 = root_info[m, 0, 0] > 0.0
        if not (has3 or weight_px[0, m] > 0.0 or weight_px[1, m] > 0.0):
            continue
        _world(R, t, y[m], x)
        for i in range(3):
            arm[i] = x[i] - t[i]
        n = _active_columns(Jy[m], columns)
        _world_jacobian(R, arm, Jy[m], columns, n, full)
        for camera in range(1 if has3 else 2):
            weight = 1.0 if has3 else weight_px[camera, m]
            if has3:
                _offset_residual(x, point[m], root_info[m], e, Dx)
            elif not weight > 0.0 or not _image_residual(x, camera, views, ideal[camera, m], e, Dx):
                continue
            s = weight * (e[0] * e[0] + e[1] * e[1] + e[2] * e[2])
            for i in range(3):
                for k in range(n):
                    D[i, k] = Dx[i, 0] * full[0, k] + Dx[i, 1] * full[1, k] + Dx[i, 2] * full[2, k]
            energy += _robust(s, scale2)
            _accumulate(A, g, D, e, weight * _weight(s, scale2), columns, n)
    return energy


@kernel
def _solve_damped(A: Floats, g: Floats, damping: float, C: Floats, step: Floats) -> bool:
    """Write -(A + damping diag A)^-1 g to step by Cholesky of the lower triangle; False where not positive definite.

    C'C = A with C lower triangular, from the last row up: every inner loop then runs along rows from their first element and
    sums nothing up, and becomes vector instructions.
    """
    n = g.shape[0]
    for i in range(n):
        for j in range(i + 1):
            C[i, j] = A[i, j]
        C[i, i] += damping * A[i, i] + 1e-12
        step[i] = -g[i]
    for back in range(n):
        i = n - 1 - back
        if not C[i, i] > 0.0:
            return False
        scale = 1.0 / math.sqrt(C[i, i])
        for j in range(i + 1):
            C[i, j] *= scale
        step[i] *= scale
        for k in range(i):
            a = C[i, k]
            step[k] -= a * step[i]
            for j in range(k + 1):
                C[k, j] -= a * C[i, j]
    for i in range(n):
        s = step[i]
        for k in range(i):
            s -= C[i, k] * step[k]
        step[i] = s / C[i, i]
    return True


@kernel
def _energy(
    x: Floats,
    problem: tuple[Floats, Floats, Floats, Floats, Floats, Floats, Floats],
    body: Body,
    markers: tuple[NDArray[np.int64], Floats],
    observed: tuple[Floats, Floats, Floats, Floats, Views],
    scale2: float,
    A: Floats,
    g: Floats,
) -> float:
    """Give the energy at x; write its gradient to g and the lower triangle of its Hessian's approximation to A."""
    mean, U, center, precision, R0, root_center, root_precision = problem
    joint, offset_m = markers
    n_joints, n_w = U.shape[0], U.shape[2]
    A[:] = 0.0
    g[:] = 0.0
    pose = np.zeros((n_joints, 3))
    for j in range(1, n_joints):
        for i in range(3):
            s = mean[j, i]
            for b in range(n_w):
                s += U[j, i, b] * x[b]
            pose[j, i] = s
    work = (np.empty((n_joints, 3, 3)), np.empty((n_joints, 3)), np.empty((n_joints, 3, n_w)), np.empty((n_joints, 3, n_w)))
    y, Jy = np.empty((joint.shape[0], 3)), np.empty((joint.shape[0], 3, n_w))
    _markers_and_jacobian(pose, U, body, joint, offset_m, work, y, Jy)
    turn, left, R = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    _rodrigues(x[n_w : n_w + 3], turn, left)
    for i in range(3):
        for j in range(3):
            R[i, j] = turn[i, 0] * R0[0, j] + turn[i, 1] * R0[1, j] + turn[i, 2] * R0[2, j]
    # d enters as a turn about the point it starts from; J_l(d) is within 1e-3 of I for the turns of one frame.
    energy = _linearise(R, x[n_w + 3 :], y, Jy, observed, scale2, A, g)
    energy += _quadratic(x[:n_w], center, precision, A, g)
    for i in range(6):
        e = x[n_w + i] - root_center[i]
        energy += 0.5 * root_precision[i] * e * e
        g[n_w + i] += root_precision[i] * e
        A[n_w + i, n_w + i] += root_precision[i]
    return energy


@kernel
def _levenberg_marquardt(
    x: Floats,
    problem: tuple[Floats, Floats, Floats, Floats, Floats, Floats, Floats],
    body: Body,
    markers: tuple[NDArray[np.int64], Floats],
    observed: tuple[Floats, Floats, Floats, Floats, Views],
    scale2: float,
    max_iterations: int,
    history: Floats,
) -> int:
    """Move x to a minimum; write the energy after every iteration to history; give the number of iterations."""
    n = x.shape[0]
    A, g, C, step = np.empty((n, n)), np.empty(n), np.zeros((n, n)), np.empty(n)
    A2, g2 = np.empty((n, n)), np.empty(n)
    energy = _energy(x, problem, body, markers, observed, scale2, A, g)
    history[0] = energy
    damping = 1e-3
    for iteration in range(max_iterations):
        if not _solve_damped(A, g, damping, C, step):
            damping = max(10.0 * damping, 1e-6)
            history[iteration + 1] = energy
            continue
        trial = x + step
        new = _energy(trial, problem, body, markers, observed, scale2, A2, g2)
        if new <= energy:
            gain = energy - new
            x[:] = trial
            energy = new
            A, A2, g, g2 = A2, A, g2, g
            damping = 0.2 * damping
            history[iteration + 1] = energy
            if gain < 1e-4 * (1.0 + energy):
                return iteration + 1
        else:
            damping = max(10.0 * damping, 1e-4)
            history[iteration + 1] = energy
    return max_iterations
