"""Contact forces and joint torques of a motion: eq. 1 of Wei et al. 2011 solved for what moves the body.

The generalized forces u = M q'' + C + h follow from the motion (eq. 3). Their first six rows, force and torque on the root, come
from the ground alone; contact forces f = B w with weights w >= 0 (eq. 2, w = exp(lambda)) at the points in contact are sought
that give them. There are more weights than equations, and between two feet any split is possible: forces that change less from
frame to frame are preferred, and even ones. What the contacts cannot give is the residual, which is told.
"""

from dataclasses import dataclass, replace

import numpy as np

from config.arrays import Bools, Floats
from config.errors import DuocapError
from config.words import format_count
from reconstruct.models.physics.contacts import (
    MIN_FRAMES,
    N_FEET,
    check_parts,
    find_contact_parts,
    spread_part_contacts,
)
from reconstruct.models.physics.dynamics import N_ROOT, Dynamics, MotionRates
from reconstruct.models.physics.friction import N_EDGES, build_cone_basis
from reconstruct.models.physics.interior import CoupledSquares, minimise_nonnegative
from reconstruct.models.physics.smoothing import smooth_motion

FRICTION = 0.8  # of shoes on a floor
FORCE_SIGMA = 0.05  # residual force that is expected, share of the weight (Hicks et al. 2015)
TORQUE_SIGMA = 0.01  # residual torque, share of the weight times the body's height (the same)
RATE_S = 10.0  # how fast the weight on an edge of a cone changes, in body weights a second
EVEN_SIGMA = 1.0  # how large it is, in body weights
CHUNK, MARGIN_S = 2000, 1.0  # frames solved at once, and seconds by which such parts overlap
LEAST_LOAD = 0.05  # of the weight: with less on a foot its centre of pressure is not defined


@dataclass(frozen=True, slots=True)
class ContactForces:
    """Forces that move a body, frame by frame.

    Attributes:
        motion: the motion and its rates that the forces were computed from.
        parts: parts of the feet that carry weight, (N, 2, 3).
        point_m: contact points, (N, P, 3) [m] world.
        force_n: force on each of them, (N, P, 3) [N] world.
        u: generalized forces (N, 72).
        torque: u less those of the contacts, (N, 72) [N, Nm], its first six rows the residual in the hips' axes.
        residual: force and torque about the hips that no contact gives, in the world's axes, (N, 6) [N, Nm].
        weight_n: weight of the body [N].
    """

    motion: MotionRates
    fps: float
    parts: Bools
    point_m: Floats
    force_n: Floats
    u: Floats
    torque: Floats
    residual: Floats
    weight_n: float
    cutoff_hz: float | None

    def foot_forces(self, feet: np.ndarray) -> Floats:
        """Return the force on each foot, (N, 2, 3) [N] world; feet: foot of each point, (P,)."""
        return np.stack([self.force_n[:, feet == foot].sum(axis=1) for foot in range(N_FEET)], axis=1)

    def pressure_centers(self, feet: np.ndarray) -> tuple[Floats, Bools]:
        """Return the centre of pressure of each foot, (N, 2, 3) [m] world, and where it is defined, (N, 2)."""
        load = self.force_n[..., 1:2]
        total = np.stack([load[:, feet == foot].sum(axis=1) for foot in range(N_FEET)], axis=1)
        sums = [(load * self.point_m)[:, feet == foot].sum(axis=1) for foot in range(N_FEET)]
        defined = total[..., 0] > LEAST_LOAD * self.weight_n
        return np.where(defined[..., None], np.stack(sums, axis=1) / np.where(defined[..., None], total, 1.0), 0.0), defined


@dataclass(frozen=True, slots=True)
class ForceOptions:
    """How forces are found.

    Attributes:
        friction: friction coefficient of the ground.
        cutoff_hz: cut-off frequency of the filter that the motion passes first [Hz]; None to choose it by residual analysis, inf
            for none.
        parts: contacts that are given, (N, 2, 3), None to detect them.
    """

    friction: float = FRICTION
    cutoff_hz: float | None = None
    parts: Bools | None = None


def compute_contact_forces(dynamics: Dynamics, q: Floats, fps: float, options: ForceOptions = ForceOptions()) -> ContactForces:
    """Return the forces of a motion at equal times, (N >= 3, 95). Raises DuocapError: too short, or not finite.

    Args:
        dynamics: the body's equations of motion.
        q: configurations at equal times, (N, 95).
        fps: frames a second.
        options: friction, contacts and smoothing.
    """
    if len(q) < MIN_FRAMES:
        raise DuocapError(f"a motion of {format_count(len(q), 'frame')} has no accelerations; give at least {MIN_FRAMES} frames")
    if not np.isfinite(q).all():
        raise DuocapError("the motion holds numbers that are not finite; give one without gaps")
    smooth = smooth_motion(dynamics.body.skeleton, q, fps, options.cutoff_hz)
    point_m = dynamics.contact_positions(smooth.q)
    parts = find_contact_parts(dynamics.points, point_m, fps) if options.parts is None else check_parts(options.parts, len(q))
    motion = dynamics.motion(smooth.q, 1.0 / fps)
    return replace(compute_motion_forces(dynamics, motion, fps, parts, options.friction), cutoff_hz=smooth.cutoff_hz)


def compute_motion_forces(
    dynamics: Dynamics, motion: MotionRates, fps: float, parts: Bools, friction: float = FRICTION
) -> ContactForces:
    """Return the forces of a motion whose velocities and accelerations are known.

    Args:
        dynamics: the body's equations of motion.
        motion: configurations, velocities and accelerations.
        fps: frames a second.
        parts: parts of the feet in contact, (N, 2, 3).
        friction: coefficient of friction.
    """
    u = dynamics.generalized_forces(motion)
    wrench = compute_root_wrench(dynamics, motion.q, u)
    point_m = dynamics.contact_positions(motion.q)
    carrying = spread_part_contacts(dynamics.points, parts)
    weight_n = dynamics.body.total_kg * float(np.linalg.norm(dynamics.gravity_m_s2))
    if not weight_n > 0.0:
        weight_n = dynamics.body.total_kg * 9.81  # without gravity: the unit that forces are compared with
    B = build_cone_basis(friction)
    A = compute_edge_wrench(point_m - motion.q[:, None, :3], B)
    weights = _compute_edge_weights(A, wrench, carrying, fps, weight_n, dynamics.body.skeleton.height_m)
    force_n = np.einsum("ik,npk->npi", B, weights)
    residual = wrench - np.einsum("nijk,njk->ni", A, weights)
    torque = dynamics.generalized_forces(motion, force_n)
    return ContactForces(motion, fps, parts, point_m, force_n, u, torque, residual, weight_n, None)


def compute_root_wrench(dynamics: Dynamics, q: Floats, u: Floats) -> Floats:
    """Return force and torque about the hips on the root, (N, 6) [N, Nm], in the world's axes.

    Args:
        dynamics: the body's equations of motion.
        q: configurations, (N, 95).
        u: generalized forces, (N, 72).
    """
    out = np.empty((len(q), N_ROOT))
    for n, row in enumerate(q):
        R = dynamics.placements(row)[0][0]
        out[n, :3], out[n, 3:] = R @ u[n, :3], R @ u[n, 3:6]
    return out


def compute_edge_wrench(arm_m: Floats, B: Floats) -> Floats:
    """Return force and torque about the hips of a weight of 1 on each edge: arm_m (N, P, 3) [m] from the hips -> (N, 6, P, 4)."""
    out = np.empty((len(arm_m), N_ROOT, arm_m.shape[1], N_EDGES))
    out[:, :3] = B[None, :, None, :]
    out[:, 3:] = np.moveaxis(np.cross(arm_m[:, :, None, :], B.T[None, None]), 3, 1)
    return out


def _compute_edge_weights(A: Floats, wrench: Floats, carrying: Bools, fps: float, weight_n: float, height_m: float) -> Floats:
    """Return the weights of the edges, (N, P, 4) [N], zero for points that carry nothing.

    Long motions are solved in parts that overlap: what is a second away hardly matters.
    """
    n, _, n_points, _ = A.shape
    margin = round(MARGIN_S * fps)
    out = np.empty((n, n_points, N_EDGES))
    for first in range(0, n, CHUNK):
        begin, end = max(first - margin, 0), min(first + CHUNK + margin, n)
        rows = slice(begin, end)
        found = _compute_part_weights(A[rows], wrench[rows] / weight_n, carrying[rows], fps, height_m)
        out[first : first + CHUNK] = weight_n * found[first - begin : first - begin + CHUNK]
    return out


def _compute_part_weights(A: Floats, wrench: Floats, carrying: Bools, fps: float, height_m: float) -> Floats:
    """Return the weights of the edges by weight, (n, P, 4); wrench by weight."""
    n, _, n_points, _ = A.shape
    sigma = np.concatenate([np.full(3, FORCE_SIGMA), np.full(3, TORQUE_SIGMA * height_m)])
    rows = A.reshape(n, N_ROOT, -1) / sigma[None, :, None]
    free = np.repeat(carrying, N_EDGES, axis=1)
    H = rows.swapaxes(1, 2) @ rows + np.eye(rows.shape[2]) / EVEN_SIGMA**2
    g = (rows.swapaxes(1, 2) @ (wrench / sigma)[..., None])[..., 0]
    rate = np.full(max(n - 1, 0), (fps / RATE_S) ** 2 / N_EDGES)
    return minimise_nonnegative(CoupledSquares(H, g, rate, free)).reshape(n, n_points, N_EDGES)
