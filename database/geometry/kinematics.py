"""Forward kinematics, markers, and their derivatives along directions in the space of poses.

Symbols: r_j rotation vector of joint j, L_j = reference_j exp([r_j]x), G_j = G_parent L_j its orientation,
p_j = p_parent + G_parent offset_j its position, marker m = p_j + G_j v_m. For a direction u of the coordinates the
angular velocity is w_j = w_parent + G_parent reference_j J_l(r_j) u_j with J_l the left Jacobian of the exponential
map, and positions move with v_j = v_parent + w_parent x (p_j - p_parent).
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from config.arrays import Floats, Ints, make_read_only
from config.jit import inline_kernel, kernel
from config.joints import N_JOINTS
from database.geometry.rotations import matrix_from_rotvec, rotvec_from_matrix
from database.geometry.skeleton import PARENT_ARRAY, REFERENCE, Skeleton


class KinematicChain(NamedTuple):
    """A skeleton for the kernels: parents (J,), -1 for the root; offsets_m (J, 3); reference rotations (J, 3, 3)."""

    parents: Ints
    offsets_m: Floats
    reference: Floats


class KinematicsWork(NamedTuple):
    """Work of `_write_markers_and_jacobian`: G (J, 3, 3), p (J, 3), angular velocity spin and velocity (J, 3, B) by direction."""

    G: Floats
    p: Floats
    spin: Floats
    velocity: Floats


@kernel
def _write_rotation_and_jacobian(r: Floats, R: Floats, J: Floats) -> None:
    """Write exp([r]x) to R and its left Jacobian to J, both (3, 3)."""
    x, y, z = r[0], r[1], r[2]
    t2 = x * x + y * y + z * z
    if t2 < 1e-8:
        a, b, c = 1.0 - t2 / 6.0, 0.5 - t2 / 24.0, 1.0 / 6.0 - t2 / 120.0
    else:
        t = math.sqrt(t2)
        a, b = math.sin(t) / t, (1.0 - math.cos(t)) / t2
        c = (1.0 - a) / t2
    R[0, 0], R[0, 1], R[0, 2] = 1.0 - b * (y * y + z * z), b * x * y - a * z, b * x * z + a * y
    R[1, 0], R[1, 1], R[1, 2] = b * x * y + a * z, 1.0 - b * (x * x + z * z), b * y * z - a * x
    R[2, 0], R[2, 1], R[2, 2] = b * x * z - a * y, b * y * z + a * x, 1.0 - b * (x * x + y * y)
    J[0, 0], J[0, 1], J[0, 2] = 1.0 - c * (y * y + z * z), c * x * y - b * z, c * x * z + b * y
    J[1, 0], J[1, 1], J[1, 2] = c * x * y + b * z, 1.0 - c * (x * x + z * z), c * y * z - b * x
    J[2, 0], J[2, 1], J[2, 2] = c * x * z - b * y, c * y * z + b * x, 1.0 - c * (x * x + y * y)


@inline_kernel
def _write_rotation(r: Floats, R: Floats) -> None:
    """Write exp([r]x), (3, 3), to R."""
    x, y, z = r[0], r[1], r[2]
    t2 = x * x + y * y + z * z
    if t2 < 1e-8:
        a, b = 1.0 - t2 / 6.0, 0.5 - t2 / 24.0
    else:
        t = math.sqrt(t2)
        a, b = math.sin(t) / t, (1.0 - math.cos(t)) / t2
    R[0, 0], R[0, 1], R[0, 2] = 1.0 - b * (y * y + z * z), b * x * y - a * z, b * x * z + a * y
    R[1, 0], R[1, 1], R[1, 2] = b * x * y + a * z, 1.0 - b * (x * x + z * z), b * y * z - a * x
    R[2, 0], R[2, 1], R[2, 2] = b * x * z - a * y, b * y * z + a * x, 1.0 - b * (x * x + y * y)


@kernel
def _multiply_matrices(A: Floats, B: Floats, out: Floats) -> None:
    """Write the product of two 3x3 matrices to `out`, which is neither of them."""
    for i in range(3):
        for j in range(3):
            out[i, j] = A[i, 0] * B[0, j] + A[i, 1] * B[1, j] + A[i, 2] * B[2, j]


@kernel
def _place_joint(j: int, r: Floats, root_m: Floats, chain: KinematicChain, G: Floats, p: Floats, R: Floats, L: Floats) -> None:
    """Write orientation and position of joint j with rotation vector r to G[j] and p[j]; its parent's are there."""
    parents, offsets_m, reference = chain
    _write_rotation(r, R)
    parent = parents[j]
    if parent < 0:
        _multiply_matrices(reference[j], R, G[j])
        for i in range(3):
            p[j, i] = root_m[i]
    else:
        _multiply_matrices(reference[j], R, L)
        _multiply_matrices(G[parent], L, G[j])
        for i in range(3):
            p[j, i] = p[parent, i]
            for k in range(3):
                p[j, i] += G[parent, i, k] * offsets_m[j, k]


@kernel
def _compute_forward(rotvec: Floats, root_m: Floats, chain: KinematicChain, G: Floats, p: Floats) -> None:
    """Write orientations G (J, 3, 3) and positions p (J, 3) of one pose."""
    R, L = np.empty((3, 3)), np.empty((3, 3))
    for j in range(rotvec.shape[0]):
        _place_joint(j, rotvec[j], root_m, chain, G, p, R, L)


@kernel
def _compute_forward_many(rotvec: Floats, root_m: Floats, chain: KinematicChain, G: Floats, p: Floats) -> None:
    """Write G (N, J, 3, 3) and p (N, J, 3) of N poses."""
    for n in range(rotvec.shape[0]):
        _compute_forward(rotvec[n], root_m[n], chain, G[n], p[n])


@kernel
def _write_marker_positions_many(rotvec: Floats, chain: KinematicChain, joint: Ints, offset_m: Floats, out: Floats) -> None:
    """Write marker positions (N, M, 3) of N poses with the root at the origin, unrotated (root row ignored)."""
    n_joints = rotvec.shape[1]
    G, p, R, L = np.empty((n_joints, 3, 3)), np.empty((n_joints, 3)), np.empty((3, 3)), np.empty((3, 3))
    zero, moves = np.zeros(3), np.zeros(n_joints, np.bool_)
    for m in range(joint.shape[0]):
        j = joint[m]
        while j >= 0 and not moves[j]:  # it and those before it move the marker, others do not
            moves[j] = True
            j = chain.parents[j]
    for n in range(rotvec.shape[0]):
        for j in range(n_joints):
            if moves[j]:
                _place_joint(j, rotvec[n, j] if j > 0 else zero, zero, chain, G, p, R, L)
        for m in range(joint.shape[0]):
            j = joint[m]
            for i in range(3):
                out[n, m, i] = p[j, i] + G[j, i, 0] * offset_m[m, 0] + G[j, i, 1] * offset_m[m, 1] + G[j, i, 2] * offset_m[m, 2]


@kernel
def _write_markers_and_jacobian(
    rotvec: Floats,
    directions: Floats,
    chain: KinematicChain,
    joint: Ints,
    offset_m: Floats,
    work: KinematicsWork,
    points: Floats,
    jacobian: Floats,
) -> None:
    """Write markers (M, 3) and their derivatives (M, 3, B) along `directions` (J, 3, B), root at the origin.

    The root's own row of `rotvec` and `directions` is used as it is.
    """
    parents, offsets_m, reference = chain
    G, p, spin, velocity = work
    n_joints, n_directions = rotvec.shape[0], directions.shape[2]
    R, J, L, H = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3))
    for j in range(n_joints):
        _write_rotation_and_jacobian(rotvec[j], R, J)
        parent = parents[j]
        if parent < 0:
            _multiply_matrices(reference[j], R, G[j])
            _multiply_matrices(reference[j], J, H)
            for i in range(3):
                p[j, i] = 0.0
                for b in range(n_directions):
                    velocity[j, i, b] = 0.0
                    spin[j, i, b] = 0.0
        else:
            _multiply_matrices(G[parent], reference[j], L)
            _multiply_matrices(L, R, G[j])
            _multiply_matrices(L, J, H)
            a0 = G[parent, 0, 0] * offsets_m[j, 0] + G[parent, 0, 1] * offsets_m[j, 1] + G[parent, 0, 2] * offsets_m[j, 2]
            a1 = G[parent, 1, 0] * offsets_m[j, 0] + G[parent, 1, 1] * offsets_m[j, 1] + G[parent, 1, 2] * offsets_m[j, 2]
            a2 = G[parent, 2, 0] * offsets_m[j, 0] + G[parent, 2, 1] * offsets_m[j, 1] + G[parent, 2, 2] * offsets_m[j, 2]
            p[j, 0], p[j, 1], p[j, 2] = p[parent, 0] + a0, p[parent, 1] + a1, p[parent, 2] + a2
            for b in range(n_directions):
                w0, w1, w2 = spin[parent, 0, b], spin[parent, 1, b], spin[parent, 2, b]
                velocity[j, 0, b] = velocity[parent, 0, b] + w1 * a2 - w2 * a1
                velocity[j, 1, b] = velocity[parent, 1, b] + w2 * a0 - w0 * a2
                velocity[j, 2, b] = velocity[parent, 2, b] + w0 * a1 - w1 * a0
                spin[j, 0, b], spin[j, 1, b], spin[j, 2, b] = w0, w1, w2
        for i in range(3):
            for b in range(n_directions):
                spin[j, i, b] += H[i, 0] * directions[j, 0, b] + H[i, 1] * directions[j, 1, b] + H[i, 2] * directions[j, 2, b]
    for m in range(joint.shape[0]):
        j = joint[m]
        a0 = G[j, 0, 0] * offset_m[m, 0] + G[j, 0, 1] * offset_m[m, 1] + G[j, 0, 2] * offset_m[m, 2]
        a1 = G[j, 1, 0] * offset_m[m, 0] + G[j, 1, 1] * offset_m[m, 1] + G[j, 1, 2] * offset_m[m, 2]
        a2 = G[j, 2, 0] * offset_m[m, 0] + G[j, 2, 1] * offset_m[m, 1] + G[j, 2, 2] * offset_m[m, 2]
        points[m, 0], points[m, 1], points[m, 2] = p[j, 0] + a0, p[j, 1] + a1, p[j, 2] + a2
        for b in range(n_directions):
            w0, w1, w2 = spin[j, 0, b], spin[j, 1, b], spin[j, 2, b]
            jacobian[m, 0, b] = velocity[j, 0, b] + w1 * a2 - w2 * a1
            jacobian[m, 1, b] = velocity[j, 1, b] + w2 * a0 - w0 * a2
            jacobian[m, 2, b] = velocity[j, 2, b] + w0 * a1 - w1 * a0


def _pack_chain(skeleton: Skeleton) -> KinematicChain:
    """Return a skeleton as the kernels take it."""
    return KinematicChain(PARENT_ARRAY, skeleton.offsets_m, REFERENCE)


def compute_forward_kinematics(skeleton: Skeleton, rotvec: ArrayLike, root_m: ArrayLike) -> tuple[Floats, Floats]:
    """Return world orientations and positions of all joints.

    Args:
        skeleton: of the performer.
        rotvec: (..., J, 3) [rad], row 0 the root's orientation, charted as in `database.geometry.skeleton`.
        root_m: (..., 3) [m].
    Returns: G (..., J, 3, 3) and p (..., J, 3) [m], world frame.
    """
    r = make_read_only(np.asarray(rotvec, np.float64))
    shape = r.shape[:-2]
    if not shape:
        G, p = np.empty((N_JOINTS, 3, 3)), np.empty((N_JOINTS, 3))
        _compute_forward(r, make_read_only(np.asarray(root_m, np.float64)), _pack_chain(skeleton), G, p)
        return G, p
    root = make_read_only(np.broadcast_to(np.asarray(root_m, np.float64), (*shape, 3)))
    G, p = np.empty((*shape, N_JOINTS, 3, 3)), np.empty((*shape, N_JOINTS, 3))
    flat_G, flat_p = G.reshape(-1, N_JOINTS, 3, 3), p.reshape(-1, N_JOINTS, 3)  # share memory
    _compute_forward_many(r.reshape(-1, N_JOINTS, 3), root.reshape(-1, 3), _pack_chain(skeleton), flat_G, flat_p)
    return G, p


def compute_local_markers(skeleton: Skeleton, rotvec: ArrayLike, joint: Ints, offset_m: Floats) -> Floats:
    """Return the markers with the root at the origin and unrotated, c_n = f(q_n; s, v, z0), (N, M, 3) [m] (Chai & Hodgins 2005,
    eq. 1).

    Args:
        skeleton: of the performer.
        rotvec: (N, J, 3) [rad].
        joint: joint of each marker, (M,).
        offset_m: marker in its joint's frame, (M, 3) [m].
    """
    r = make_read_only(np.asarray(rotvec, np.float64))
    out = np.empty((len(r), len(joint), 3))
    _write_marker_positions_many(
        r, _pack_chain(skeleton), make_read_only(joint), make_read_only(np.asarray(offset_m, np.float64)), out
    )
    return out


@kernel
def _write_world_markers(
    rotvec: Floats, root_m: Floats, chain: KinematicChain, joint: Ints, offset_m: Floats, out: Floats
) -> None:
    """Write the markers of a pose, (M, 3), world frame."""
    G, p = np.empty((rotvec.shape[0], 3, 3)), np.empty((rotvec.shape[0], 3))
    _compute_forward(rotvec, root_m, chain, G, p)
    for m in range(joint.shape[0]):
        j = joint[m]
        for i in range(3):
            out[m, i] = p[j, i] + G[j, i, 0] * offset_m[m, 0] + G[j, i, 1] * offset_m[m, 1] + G[j, i, 2] * offset_m[m, 2]


def compute_world_markers(skeleton: Skeleton, rotvec: Floats, root_m: Floats, joint: Ints, offset_m: Floats) -> Floats:
    """Return the markers of a pose, (M, 3) world [m].

    Args:
        skeleton: of the performer.
        rotvec: (J, 3) [rad], row 0 the root's orientation.
        root_m: (3,) [m].
        joint: joint of each marker, (M,).
        offset_m: marker in its joint's frame, (M, 3) [m].
    """
    out = np.empty((len(joint), 3))
    _write_world_markers(
        make_read_only(rotvec),
        make_read_only(root_m),
        _pack_chain(skeleton),
        make_read_only(joint),
        make_read_only(offset_m),
        out,
    )
    return out


def compute_markers_and_jacobian(
    skeleton: Skeleton, rotvec: ArrayLike, directions: ArrayLike, joint: Ints, offset_m: Floats
) -> tuple[Floats, Floats]:
    """Return markers and their derivatives along directions in the space of poses, the root's position at the origin.

    Args:
        skeleton: of the performer.
        rotvec: (J, 3) [rad], row 0 the root's orientation.
        directions: (J, 3, B), change of `rotvec` per unit of each coordinate.
        joint: joint of each marker, (M,).
        offset_m: marker in its joint's frame, (M, 3) [m].
    Returns: Points (M, 3) [m] and jacobian (M, 3, B) [m per unit].
    """
    U = make_read_only(np.asarray(directions, np.float64))
    B = U.shape[2]
    points, jacobian = np.empty((len(joint), 3)), np.empty((len(joint), 3, B))
    G, p, spin, velocity = (np.empty((N_JOINTS, *shape)) for shape in ((3, 3), (3,), (3, B), (3, B)))
    work = KinematicsWork(G, p, spin, velocity)
    r, offset = np.array(rotvec, np.float64, order="C"), make_read_only(np.asarray(offset_m, np.float64))
    _write_markers_and_jacobian(r, U, _pack_chain(skeleton), make_read_only(joint), offset, work, points, jacobian)
    return points, jacobian


def local_from_charted(rotvec: ArrayLike) -> Floats:
    """Return each joint's rotation relative to its parent from charted rotation vectors: (..., J, 3) -> (..., J, 3, 3)."""
    return REFERENCE @ matrix_from_rotvec(rotvec)


def charted_from_local(local: ArrayLike) -> Floats:
    """Return charted rotation vectors from rotations relative to the parent: (..., J, 3, 3) -> (..., J, 3) [rad]."""
    return rotvec_from_matrix(np.swapaxes(REFERENCE, -1, -2) @ np.asarray(local, float))
