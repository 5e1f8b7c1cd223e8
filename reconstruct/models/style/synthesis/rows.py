"""Kernels of synthesis: residuals of points in space and in images and of orientations, and their derivatives.

Unknowns as in `arrays`. A row is the derivative of one residual over its standard deviation.
"""

import math

import numpy as np

from config.arrays import Floats, Ints
from config.jit import inline_kernel, kernel
from database.geometry.kinematics import _multiply_matrices, _write_rotation_and_jacobian
from reconstruct.models.style.synthesis.arrays import (
    HandleTargets,
    JointFrames,
    JointTree,
    Linearisation,
    OrientationTargets,
    SynthesisState,
    ViewArrays,
)

MIN_DEPTH_M = 0.05  # of a point before a camera; one nearer or behind is drawn to the front


@kernel
def compute_rotation_error(R: Floats, target: Floats, e: Floats) -> None:
    """Write the rotation vector of R target', in the world, to e (3,).

    Args:
        R: rotation, (3, 3).
        target: wanted rotation, (3, 3).
        e: (3,) [rad]; written.
    """
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


@inline_kernel
def allocate_joint_frames(n_joints: int) -> JointFrames:
    """Return room for the frames of joints."""
    return JointFrames(np.empty((n_joints, 3, 3)), np.empty((n_joints, 3)), np.empty((n_joints, 3, 3)))


@inline_kernel
def compute_joint_frames(state: SynthesisState, tree: JointTree, frames: JointFrames) -> None:
    """Write the joints in the world; their axes are G_parent reference J_l(r).

    Args:
        state: the joints' rotations and the root.
        tree: the skeleton's joints.
        frames: rotations, positions and axes in the world; written.
    """
    pose, G, p, H = state.rotvec, frames.rotation, frames.position, frames.axes
    rotation, left, L = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    for i in range(3):
        p[0, i] = state.root_m[i]
        for k in range(3):
            G[0, i, k] = state.rotation[i, k]
    for j in range(1, pose.shape[0]):
        parent = tree.parents[j]
        _write_rotation_and_jacobian(pose[j], rotation, left)
        _multiply_matrices(G[parent], tree.reference[j], L)
        _multiply_matrices(L, rotation, G[j])
        _multiply_matrices(L, left, H[j])
        for i in range(3):
            p[j, i] = p[parent, i]
            for k in range(3):
                p[j, i] += G[parent, i, k] * tree.offsets_m[j, k]


@inline_kernel
def _write_point_rows(x: Floats, joint: int, frames: JointFrames, parents: Ints, full: Floats) -> None:
    """Write the derivatives of a world point on a joint by a and the root's six to full (3, A + 6)."""
    p, H = frames.position, frames.axes
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


@inline_kernel
def _compute_image_error(x: Floats, camera: int, views: ViewArrays, ideal: Floats, e: Floats, D: Floats) -> None:
    """Write pi(x) - u [px of an ideal camera] to e and its derivative to D; third: how far x is behind MIN_DEPTH_M [px]."""
    rotation, translation, focal = views.rotation, views.translation, views.focal
    c = np.empty(3)
    for i in range(3):
        c[i] = translation[camera, i]
        for k in range(3):
            c[i] += rotation[camera, i, k] * x[k]
    before = c[2] > MIN_DEPTH_M
    f, iz = focal[camera], 1.0 / (c[2] if before else MIN_DEPTH_M)
    u, v = c[0] * iz, c[1] * iz
    e[0], e[1], e[2] = f * (u - ideal[0]), f * (v - ideal[1]), 0.0 if before else f * (1.0 - c[2] * iz)
    for i in range(3):
        forward = rotation[camera, 2, i] if before else 0.0
        D[0, i] = f * iz * (rotation[camera, 0, i] - u * forward)
        D[1, i] = f * iz * (rotation[camera, 1, i] - v * forward)
        D[2, i] = 0.0 if before else -f * iz * rotation[camera, 2, i]


@kernel
def _add_rows(row: int, scale: float, D: Floats, e: Floats, full: Floats, lin: Linearisation) -> int:
    """Append rows scale D full with residuals scale e; return the number of rows."""
    by_a, by_p, value = lin.rows_a, lin.rows_p, lin.residual
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


@inline_kernel
def add_handle_terms(
    frames: JointFrames, parents: Ints, handles: HandleTargets, robust2: float, lin: Linearisation, rows: Ints
) -> float:
    """Append the rows of the handles; return their energy, sum rho(|e|^2) with the pseudo-Huber rho.

    Args:
        frames: the joints in the world.
        parents: the parent of each joint, (J,).
        handles: and their targets.
        robust2: squared distance beyond which the energy grows linearly, in sigmas.
        lin: rows of residuals and derivatives; added to.
        rows: rows used so far; changed.
    """
    joint, offset_m, point, root_info = handles.joint, handles.offset_m, handles.point_m, handles.root_info
    ideal, weight_px = handles.ideal, handles.weight_px
    G, p = frames.rotation, frames.position
    x, e, D, full = np.empty(3), np.empty(3), np.empty((3, 3)), np.empty((3, 3 * (parents.shape[0] - 1) + 6))
    energy = 0.0
    for m in range(joint.shape[0]):
        has3 = root_info[m, 0, 0] > 0.0
        if not (has3 or weight_px[:, m].max() > 0.0):
            continue
        j = joint[m]
        for i in range(3):
            x[i] = p[j, i] + G[j, i, 0] * offset_m[m, 0] + G[j, i, 1] * offset_m[m, 1] + G[j, i, 2] * offset_m[m, 2]
        _write_point_rows(x, j, frames, parents, full)
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
                _compute_image_error(x, camera, handles.views, ideal[camera, m], e, D)
            s = weight * (e[0] * e[0] + e[1] * e[1] + e[2] * e[2])
            root = math.sqrt(1.0 + s / robust2)
            energy += s / (1.0 + root)
            rows[0] = _add_rows(rows[0], math.sqrt(weight / root), D, e, full, lin)
    return energy


@inline_kernel
def add_orientation_terms(
    frames: JointFrames, parents: Ints, targets: OrientationTargets, lin: Linearisation, rows: Ints
) -> float:
    """Append the rows of the orientations; return their energy, half the squared angles over sigma.

    Args:
        frames: the joints in the world.
        parents: the parent of each joint, (J,).
        targets: wanted orientations.
        lin: rows of residuals and derivatives; added to.
        rows: rows used so far; changed.
    """
    joint, rotation, sigma = targets.joint, targets.rotation, targets.sigma_rad
    G, H = frames.rotation, frames.axes
    n_a = 3 * (parents.shape[0] - 1)
    e, full, unit = np.empty(3), np.empty((3, n_a + 6)), np.zeros((3, 3))
    unit[0, 0] = unit[1, 1] = unit[2, 2] = 1.0
    energy = 0.0
    for o in range(joint.shape[0]):
        if not (sigma[o] > 0.0 and sigma[o] < np.inf):
            continue
        full[:] = 0.0
        j = joint[o]
        compute_rotation_error(G[j], rotation[o], e)
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


@inline_kernel
def count_max_rows(handles: HandleTargets, orientations: OrientationTargets) -> int:
    """Return the largest possible number of rows."""
    return int(6 * handles.joint.shape[0] + 3 * orientations.joint.shape[0] + 1)


@inline_kernel
def allocate_linearisation(n_rows: int, n_a: int, n_p: int) -> Linearisation:
    """Return room for a linearisation.

    Args:
        n_rows: residuals at most.
        n_a: angles.
        n_p: coordinates of the root and latent positions.
    """
    by_a, by_p = np.empty((n_rows, n_a)), np.empty((n_rows, n_p))
    D, cross, ga, H, gp = np.empty(n_a), np.empty((n_a, n_p)), np.empty(n_a), np.empty((n_p, n_p)), np.empty(n_p)
    return Linearisation(D, cross, ga, H, gp, by_a, by_p, np.empty(n_rows), np.empty(n_p))
