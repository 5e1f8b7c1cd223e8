"""Kernels of synthesis: the rows that points in space and in pictures and orientations add to the energy's linearisation.

Unknowns: a, the coordinates of the joints (A = 3 (J - 1)); p, the root's turn about the point it starts from, its place, and x
of all styles. A row is the derivative of one number that is asked for, over its sigma.
"""

import math

import numpy as np
from numpy.typing import NDArray

from config.jit import inlined, kernel
from database.kinematics import _product, _rodrigues
from database.rotations import Floats

NEAREST_M = 0.05  # of a point before a camera; nearer or behind, it is pulled to the front

Ints = NDArray[np.int64]
Body = tuple[Ints, Floats, Floats]
Views = tuple[Floats, Floats, Floats]
# All styles' models (`likelihood_kernels.Model`), a row each, the lesser ones filled up with zeros. So one compiled kernel serves
# any number of styles.
Styles = tuple[Floats, Floats, Floats, Floats, Floats, Ints, Floats]
# Styles, shares (S,), start of each style's x and their end (S + 1,); weights and centres of static features that are held,
# (A + 3,) each; the world's up (3,).
Prior = tuple[Styles, Floats, Ints, Floats, Floats, Floats]
Handled = tuple[Ints, Floats, Floats, Floats, Floats, Floats, Views]  # joint, offset, then Observations.arrays()
Turned = tuple[Ints, Floats, Floats]  # joint, rotation, sigma
Rooted = tuple[Floats, Floats, float, float]  # rotation, place, 1 / sigma^2 of both
Asked = tuple[Handled, Turned, Rooted, float]  # and the square of robust_sigmas
State = tuple[Floats, Floats, Floats, Floats]  # pose (J, 3), its row 0 unused; R (3, 3), root (3,), x
# D (A,), H_ap (A, P), g_a (A,), H_pp (P, P), g_p (P,) without the rows; rows by a (R, A), by p (R, P), and their values (R,);
# the scale of steps of p (P,).
Linear = tuple[Floats, Floats, Floats, Floats, Floats, Floats, Floats, Floats, Floats]


@kernel
def _rotation_error(R: Floats, target: Floats, e: Floats) -> None:
    """Write the rotation vector of R target', in the world, to e (3,)."""
    T = np.empty((3, 3))
    for i in range(3):
        for j in range(3):
            T[i, j] = R[i, 0] * target[j, 0] + R[i, 1] * target[j, 1] + R[i, 2] * target[j, 2]
    x, y, z = T[2, 1] - T[1, 2], T[0, 2] - T[2, 0], T[1, 0] - T[0, 1]
    sine2, cosine2 = math.sqrt(x * x + y * y + z * z), T[0, 0] + T[1, 1] + T[2, 2] - 1.0
    angle = math.atan2(sine2, cosine2)
    if sine2 > 1e-6:
        scale = angle / sine2
        e[0], e[1], e[2] = scale * x, scale * y, scale * z
    elif cosine2 > 0.0:
        e[0], e[1], e[2] = 0.5 * x, 0.5 * y, 0.5 * z
    else:  # half a turn: its axis is the column of T + I that is longest
        best = 0
        for j in range(3):
            if T[j, j] > T[best, best]:
                best = j
        norm = 0.0
        for i in range(3):
            e[i] = T[i, best] + (1.0 if i == best else 0.0)
            norm += e[i] * e[i]
        for i in range(3):
            e[i] *= angle / math.sqrt(max(norm, 1e-12))


@kernel
def _frames(pose: Floats, R: Floats, root_m: Floats, body: Body, G: Floats, p: Floats, H: Floats) -> None:
    """Write joints' orientations G, places p, and angular velocities by their coordinates, H = G_parent reference J_l(r)."""
    parents, offsets_m, reference = body
    turn, left, L = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    for i in range(3):
        p[0, i] = root_m[i]
        for k in range(3):
            G[0, i, k] = R[i, k]
    for j in range(1, pose.shape[0]):
        parent = parents[j]
        _rodrigues(pose[j], turn, left)
        _product(G[parent], reference[j], L)
        _product(L, turn, G[j])
        _product(L, left, H[j])
        for i in range(3):
            p[j, i] = p[parent, i]
            for k in range(3):
                p[j, i] += G[parent, i, k] * offsets_m[j, k]


@kernel
def _point_rows(x: Floats, joint: int, frame: tuple[Floats, Floats, Floats], parents: Ints, full: Floats) -> None:
    """Write a world point's derivatives by a and the root's six to full (3, A + 6); the point moves with joint."""
    p, H = frame[1], frame[2]
    n_a = 3 * (parents.shape[0] - 1)
    full[:] = 0.0
    j = joint
    while parents[j] >= 0:
        a0, a1, a2 = x[0] - p[j, 0], x[1] - p[j, 1], x[2] - p[j, 2]
        first = 3 * (j - 1)
        for c in range(3):
            w0, w1, w2 = H[j, 0, c], H[j, 1, c], H[j, 2, c]
            full[0, first + c] = w1 * a2 - w2 * a1
            full[1, first + c] = w2 * a0 - w0 * a2
            full[2, first + c] = w0 * a1 - w1 * a0
        j = parents[j]
    a0, a1, a2 = x[0] - p[0, 0], x[1] - p[0, 1], x[2] - p[0, 2]
    full[0, n_a + 1], full[0, n_a + 2] = a2, -a1
    full[1, n_a], full[1, n_a + 2] = -a2, a0
    full[2, n_a], full[2, n_a + 1] = a1, -a0
    for i in range(3):
        full[i, n_a + 3 + i] = 1.0


@kernel
def _image_error(x: Floats, camera: int, views: Views, ideal: Floats, e: Floats, D: Floats) -> None:
    """Write pi(x) - u [px of an ideal camera] to e and its derivative to D; third: how far it is behind NEAREST_M, in pixels."""
    rotation, translation, focal = views
    c = np.empty(3)
    for i in range(3):
        c[i] = translation[camera, i]
        for k in range(3):
            c[i] += rotation[camera, i, k] * x[k]
    before = c[2] > NEAREST_M
    f, iz = focal[camera], 1.0 / (c[2] if before else NEAREST_M)
    u, v = c[0] * iz, c[1] * iz
    e[0], e[1], e[2] = f * (u - ideal[0]), f * (v - ideal[1]), 0.0 if before else f * (1.0 - c[2] * iz)
    for i in range(3):
        forward = rotation[camera, 2, i] if before else 0.0
        D[0, i] = f * iz * (rotation[camera, 0, i] - u * forward)
        D[1, i] = f * iz * (rotation[camera, 1, i] - v * forward)
        D[2, i] = 0.0 if before else -f * iz * rotation[camera, 2, i]


@kernel
def _add_rows(row: int, scale: float, D: Floats, e: Floats, full: Floats, lin: Linear) -> int:
    """Append rows scale D full with values scale e; give the row after the last one."""
    by_a, by_p, value = lin[5], lin[6], lin[7]
    n_a = by_a.shape[1]
    for i in range(3):
        if D[i, 0] == 0.0 and D[i, 1] == 0.0 and D[i, 2] == 0.0:
            continue
        d0, d1, d2 = scale * D[i, 0], scale * D[i, 1], scale * D[i, 2]
        for b in range(n_a):
            by_a[row, b] = d0 * full[0, b] + d1 * full[1, b] + d2 * full[2, b]
        for b in range(6):
            by_p[row, b] = d0 * full[0, n_a + b] + d1 * full[1, n_a + b] + d2 * full[2, n_a + b]
        value[row] = scale * e[i]
        row += 1
    return row


@kernel
def _handle_terms(
    frame: tuple[Floats, Floats, Floats], parents: Ints, handled: Handled, scale2: float, lin: Linear, rows: Ints
) -> float:
    """Append the rows of the handles; give their energy, sum rho(|e|^2) with pseudo-Huber's rho."""
    joint, offset_m, point, root_info, ideal, weight_px, views = handled
    G, p, _ = frame
    x, e, D, full = np.empty(3), np.empty(3), np.empty((3, 3)), np.empty((3, 3 * (parents.shape[0] - 1) + 6))
    energy = 0.0
    for m in range(joint.shape[0]):
        has3 = root_info[m, 0, 0] > 0.0
        if not (has3 or weight_px[0, m] > 0.0 or weight_px[1, m] > 0.0):
            continue
        j = joint[m]
        for i in range(3):
            x[i] = p[j, i] + G[j, i, 0] * offset_m[m, 0] + G[j, i, 1] * offset_m[m, 1] + G[j, i, 2] * offset_m[m, 2]
        _point_rows(x, j, frame, parents, full)
        for camera in range(1 if has3 else 2):
            weight = 1.0 if has3 else weight_px[camera, m]
            if not weight > 0.0:
                continue
            if has3:
                for i in range(3):
                    e[i] = 0.0
                    for k in range(3):
                        D[i, k] = root_info[m, i, k]
                        e[i] += root_info[m, i, k] * (x[k] - point[m, k])
            else:
                _image_error(x, camera, views, ideal[camera, m], e, D)
            s = weight * (e[0] * e[0] + e[1] * e[1] + e[2] * e[2])
            root = math.sqrt(1.0 + s / scale2)
            energy += s / (1.0 + root)
            rows[0] = _add_rows(rows[0], math.sqrt(weight / root), D, e, full, lin)
    return energy


@kernel
def _orientation_terms(frame: tuple[Floats, Floats, Floats], parents: Ints, turned: Turned, lin: Linear, rows: Ints) -> float:
    """Append the rows of the orientations; give their energy, half of squared angles over sigma."""
    joint, rotation, sigma = turned
    G, _, H = frame
    n_a = 3 * (parents.shape[0] - 1)
    e, full, unit = np.empty(3), np.empty((3, n_a + 6)), np.zeros((3, 3))
    unit[0, 0] = unit[1, 1] = unit[2, 2] = 1.0
    energy = 0.0
    for o in range(joint.shape[0]):
        if not (sigma[o] > 0.0 and sigma[o] < np.inf):
            continue
        full[:] = 0.0
        j = joint[o]
        _rotation_error(G[j], rotation[o], e)
        while parents[j] >= 0:
            for i in range(3):
                for c in range(3):
                    full[i, 3 * (j - 1) + c] = H[j, i, c]
            j = parents[j]
        for i in range(3):
            full[i, n_a + i] = 1.0
            energy += 0.5 * (e[i] / sigma[o]) ** 2
        rows[0] = _add_rows(rows[0], 1.0 / sigma[o], unit, e, full, lin)
    return energy


@inlined
def _most_rows(handled: Handled, turned: Turned) -> int:
    """Give how many rows there can be."""
    n_handles, n_turned = handled[0].shape[0], turned[0].shape[0]
    return int(6 * n_handles + 3 * n_turned + 1)


@inlined
def _linear(n_rows: int, n_a: int, n_p: int) -> Linear:
    """Make room for a linearisation."""
    by_a, by_p = np.empty((n_rows, n_a)), np.empty((n_rows, n_p))
    D, cross, ga, H, gp = np.empty(n_a), np.empty((n_a, n_p)), np.empty(n_a), np.empty((n_p, n_p)), np.empty(n_p)
    return D, cross, ga, H, gp, by_a, by_p, np.empty(n_rows), np.empty(n_p)


@kernel
def _handle_jacobian(state: State, body: Body, joint: Ints, offset_m: Floats, points: Floats, jacobian: Floats) -> None:
    """Write the places of handles, (N, 3), and their derivatives by a and the root's six, (N, 3, A + 6)."""
    pose, R, root_m, _ = state
    n_joints = pose.shape[0]
    G, p, H = np.empty((n_joints, 3, 3)), np.empty((n_joints, 3)), np.empty((n_joints, 3, 3))
    _frames(pose, R, root_m, body, G, p, H)
    for m in range(joint.shape[0]):
        j = joint[m]
        for i in range(3):
            points[m, i] = p[j, i]
            for k in range(3):
                points[m, i] += G[j, i, k] * offset_m[m, k]
        _point_rows(points[m], j, (G, p, H), body[0], jacobian[m])
