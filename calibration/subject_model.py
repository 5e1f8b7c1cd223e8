"""Where the markers of a body are, and how that changes with its lengths, its markers' offsets and its pose.

m = p_j + G_j o_m with p_j = p_parent + G_parent v_j, G_j = G_parent exp([r_j]x); r from the rest pose, not charted. Moving r_j
turns all that hangs on joint j by G_parent J_l(r_j) dr_j, with J_l the left Jacobian of the exponential map.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from config.joints import N_JOINTS, PARENTS
from database.rotations import Floats, matrix_from_rotvec


def _above() -> NDArray[np.bool_]:
    """Tell which joint (row) hangs on which (column) or is it, (J, J)."""
    result = np.eye(N_JOINTS, dtype=bool)
    for joint in range(1, N_JOINTS):
        result[joint] |= result[PARENTS[joint]]
    return result


ABOVE = _above()


@dataclass(frozen=True, slots=True)
class Placed:
    """A body in a pose: orientations G (J, 3, 3), places p (J, 3) and markers (M, 3), world [m]."""

    G: Floats
    p: Floats
    marker_m: Floats


@dataclass(frozen=True, slots=True)
class Slopes:
    """Derivatives of the markers: by the parameters of the skeleton (M, 3, P), by each one's own offset (M, 3, 3), by the
    rotation vectors of all joints (M, 3, J, 3); by the root's place it is the identity."""

    shape: Floats
    offset: Floats
    pose: Floats


def place(vectors: Floats, offset_m: Floats, joint: NDArray[np.int64], rotvec: Floats, root_m: Floats) -> Placed:
    """Place a body: vectors (>= J, 3) offsets of joints [m], offset_m (M, 3), joint (M,), rotvec (J, 3) [rad], root_m (3,)."""
    L = matrix_from_rotvec(rotvec)
    G, p = np.empty((N_JOINTS, 3, 3)), np.empty((N_JOINTS, 3))
    G[0], p[0] = L[0], root_m
    for j in range(1, N_JOINTS):
        G[j] = G[PARENTS[j]] @ L[j]
        p[j] = p[PARENTS[j]] + G[PARENTS[j]] @ vectors[j]
    return Placed(G, p, p[joint] + np.einsum("mij,mj->mi", G[joint], offset_m))


def slopes(placed: Placed, vector_slopes: Floats, joint: NDArray[np.int64], rotvec: Floats) -> Slopes:
    """Give the derivatives of the markers of a placed body; vector_slopes: of the offsets by the parameters, (>= J, 3, P)."""
    n_parameters = vector_slopes.shape[2]
    by_shape = np.zeros((N_JOINTS, 3, n_parameters))
    turning = left_jacobian(rotvec)
    for j in range(1, N_JOINTS):
        by_shape[j] = by_shape[PARENTS[j]] + placed.G[PARENTS[j]] @ vector_slopes[j]
        turning[j] = placed.G[PARENTS[j]] @ turning[j]
    arm = placed.marker_m[:, None] - placed.p[None]
    by_pose = -_cross_matrix(arm) @ turning[None] * ABOVE[joint][:, :, None, None]
    return Slopes(by_shape[joint], placed.G[joint], by_pose.swapaxes(1, 2))


def left_jacobian(rotvec: Floats) -> Floats:
    """Give the left Jacobian of the exponential map, (..., 3) -> (..., 3, 3)."""
    t = np.linalg.norm(rotvec, axis=-1)[..., None, None]
    safe = np.maximum(t, 1e-4)
    b = np.where(t > 1e-4, (1.0 - np.cos(safe)) / safe**2, 0.5)
    c = np.where(t > 1e-4, (safe - np.sin(safe)) / safe**3, 1.0 / 6.0)
    K = _cross_matrix(rotvec)
    return np.asarray(np.eye(3) + b * K + c * K @ K)


def _cross_matrix(v: Floats) -> Floats:
    """Give [v]x, (..., 3) -> (..., 3, 3)."""
    zero = np.zeros_like(v[..., 0])
    rows = [[zero, -v[..., 2], v[..., 1]], [v[..., 2], zero, -v[..., 0]], [-v[..., 1], v[..., 0], zero]]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
