"""The motion nearest to a given one that obeys physics (Wei et al. 2011, section 5.1), by Gauss-Newton over all frames at once.

Unknown are the configurations q_t and the weights w_t = exp(lambda_t) >= 0 of the contact forces' cones (eq. 2). Minimised is the
sum, each term over the standard deviation that is expected of it, of
    joints away from where they were, and rotations;     accelerations other than the given motion's, smoothed;
    force and torque on the root that no contact gives (the six rows of eq. 1 without muscles);     joint torques;
    points that stand: their slide from frame to frame, their height;     points below the ground;     changes of the forces.
For a motion the best weights are a convex problem, solved exactly (`interior`). A step of the motion is taken with weights that
follow to first order: lambda is eliminated from its frame's equations, which leaves a banded system.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from config.arrays import Floats
from config.joints import N_JOINTS
from numerics.banded import BandedEquations
from reconstruct.models.physics.body import FootPart
from reconstruct.models.physics.contacts import N_FEET, N_PARTS, ContactPlan, compute_part_positions, spread_part_contacts
from reconstruct.models.physics.dynamics import N_ROOT, N_TANGENT, Dynamics, MotionRates
from reconstruct.models.physics.forces import EVEN_SIGMA, RATE_S, compute_edge_wrench, compute_root_wrench
from reconstruct.models.physics.friction import N_EDGES, build_cone_basis
from reconstruct.models.physics.interior import CoupledSquares, minimise_nonnegative
from reconstruct.models.physics.steps import compute_rates, compute_steps, compute_velocities

MAX_STEPS, TOLERANCE = 12, 0.02  # tolerance: of the cost, that the last step still lowered it by
LOG_SIGMA = 1.0  # how far lambda follows a step of the motion
UNKNOWN = 1e4  # times the residual that is expected, where the feet do not bear the body
SMALL_WEIGHT = 0.01  # of the body's, that an edge without weight counts as: exp never reaches zero


@dataclass(frozen=True, slots=True)
class SpacetimeSigmas:
    """Standard deviation expected of each term.

    Attributes:
        joint_m, rotation_rad: standard deviations of a joint's position and rotation from the given motion.
        root_m_s2, joint_rad_s2: standard deviations of the accelerations of the hips and of rotations.
        force, torque: standard deviations of the root's residual, as shares of the weight, and of the weight times the height.
        muscle: standard deviation of a joint's torque, as a share of the weight times the height.
        slide_m: movement of a standing part from frame to frame [m].
        height_m: height of a standing part [m].
        below_m: depth of a point below the ground [m].
    """

    joint_m: float = 0.01
    rotation_rad: float = 0.15
    root_m_s2: float = 1.0
    joint_rad_s2: float = 10.0
    force: float = 0.005
    torque: float = 0.002
    muscle: float = 0.15
    slide_m: float = 0.0005
    height_m: float = 0.004
    below_m: float = 0.0015


SIGMAS = SpacetimeSigmas()


@dataclass(frozen=True, slots=True)
class SpacetimeProblem:
    """A motion to clean, and its constraints.

    Attributes:
        dynamics: dynamics of the body.
        fps: frames a second.
        given: configurations to stay near to, (N, 95).
        smooth: the same, smoothed: its accelerations are aimed at, (N, 95).
        plan: plan of the contacts with the ground.
        friction: friction coefficient of the ground.
        n_fixed: first frames that stay.
    """

    dynamics: Dynamics
    fps: float
    given: Floats
    smooth: Floats
    plan: ContactPlan
    friction: float
    n_fixed: int = 0
    sigmas: SpacetimeSigmas = SIGMAS

    @property
    def weight_n(self) -> float:
        """Return the body's weight [N]; with the earth's gravity where the scene has none."""
        g = float(np.linalg.norm(self.dynamics.gravity_m_s2))
        return self.dynamics.body.total_kg * (g if g > 0.0 else 9.81)


class SpacetimeState(NamedTuple):
    """A motion q (N, 95), the weights of its forces, (N, P, 4) by weight, and the cost; residuals by term, and its forces."""

    q: Floats
    weights: Floats
    cost: float
    terms: dict[str, Floats]
    forces: "InnerForces"


class InnerForces(NamedTuple):
    """Of inner frames, n: root wrench (n, 6) less contacts and its parts A (n, 6, 4 P), by weight; x (n, 4 P); contact forces."""

    motion: MotionRates
    u: Floats
    A: Floats
    wrench: Floats
    x: Floats
    force_n: Floats


def build_start_state(problem: SpacetimeProblem, q: Floats) -> SpacetimeState:
    """Return a motion with its best forces."""
    found = _compute_best_forces(problem, q)
    weights = np.zeros((len(q), len(problem.dynamics.points), N_EDGES))
    weights[1:-1] = found.x.reshape(len(q) - 2, -1, N_EDGES)
    terms = _compute_residual_terms(problem, q)
    return SpacetimeState(q, weights, _compute_cost(problem, terms, found), terms, found)


def take_damped_step(problem: SpacetimeProblem, state: SpacetimeState, damping: float) -> SpacetimeState | None:
    """Return the state after one damped step, None where the equations are singular or the cost is not finite.

    Args:
        problem: the motion's terms.
        state: state before the step.
        damping: added to the diagonal.
    """
    change = _build_normal_equations(problem, state).solve(damping, problem.n_fixed)
    if change is None or not np.isfinite(change).all():
        return None
    moved = build_start_state(problem, problem.dynamics.integrate(state.q, change))
    return moved if np.isfinite(moved.cost) else None


def minimise_motion(
    problem: SpacetimeProblem, q: Floats, max_steps: int = MAX_STEPS, tolerance: float = TOLERANCE
) -> SpacetimeState:
    """Return the state of least cost that Levenberg-Marquardt steps find from a motion.

    Args:
        problem: the motion's terms.
        q: motion to begin with, (N >= 3, 95).
        max_steps: greatest number of Levenberg-Marquardt steps.
        tolerance: relative decrease of the cost that ends the search.
    """
    state, damping = build_start_state(problem, q), 1e-4
    for _ in range(max_steps):
        tried = take_damped_step(problem, state, damping)
        if tried is None or tried.cost >= state.cost:
            damping *= 10.0
            if damping > 1e3:
                break
            continue
        gained = state.cost - tried.cost
        state, damping = tried, max(0.1 * damping, 1e-6)
        if gained < tolerance * state.cost:
            break
    return state


def _compute_best_forces(problem: SpacetimeProblem, q: Floats) -> InnerForces:
    """Return the best forces of a motion at its inner frames."""
    d = problem.dynamics
    inner = q[1:-1]
    motion = MotionRates(inner, *compute_velocities(d.difference(q[:-1], q[1:]), 1.0 / problem.fps))
    u = d.generalized_forces(motion)
    wrench = compute_root_wrench(d, inner, u) / problem.weight_n
    B = build_cone_basis(problem.friction)
    arm = d.contact_positions(inner) - inner[:, None, :3]
    A = compute_edge_wrench(arm, B).reshape(len(inner), N_ROOT, -1)
    free = np.repeat(spread_part_contacts(d.points, problem.plan.carrying[1:-1]), N_EDGES, axis=1)
    sigma = _compute_wrench_sigma(problem)
    rows = A / sigma[:, :, None]
    H = rows.swapaxes(1, 2) @ rows + np.eye(A.shape[2]) / EVEN_SIGMA**2
    g = (rows.swapaxes(1, 2) @ (wrench / sigma)[..., None])[..., 0]
    rate = np.full(max(len(inner) - 1, 0), _compute_weight_coupling(problem))
    x = minimise_nonnegative(CoupledSquares(H, g, rate, free))
    force_n = problem.weight_n * np.einsum("ik,npk->npi", B, x.reshape(len(inner), -1, N_EDGES))
    return InnerForces(motion, u, A, wrench, x, force_n)


def _compute_wrench_sigma(problem: SpacetimeProblem) -> Floats:
    """Return the standard deviations of the root's residual at inner frames, (N - 2, 6), by weight and by weight times metres.

    Where something else than the feet bears the body, the residual is what that does.
    """
    s = problem.sigmas
    sigma = np.concatenate([np.full(3, s.force), np.full(3, s.torque * problem.dynamics.body.skeleton.height_m)])
    return np.where(problem.plan.borne[1:-1, None], sigma, UNKNOWN * sigma)


def _compute_weight_coupling(problem: SpacetimeProblem) -> float:
    """Return the coupling of weights of neighbouring frames."""
    return (problem.fps / RATE_S) ** 2 / N_EDGES


def _compute_residual_terms(problem: SpacetimeProblem, q: Floats) -> dict[str, Floats]:
    """Return the residuals of a motion that its forces have no part in, by term, over their standard deviations."""
    s, d = problem.sigmas, problem.dynamics
    change = d.difference(problem.given, q)
    a, wanted = (compute_velocities(d.difference(x[:-1], x[1:]), 1.0 / problem.fps)[1] for x in (q, problem.smooth))
    point_m = d.contact_positions(q)
    middle = compute_part_positions(d.points, point_m)
    still = problem.plan.standing[1:] & problem.plan.standing[:-1]
    low = np.minimum(point_m[..., 1] - problem.plan.level_m, 0.0)
    return {
        "joints": (_compute_joint_positions(d, q) - _compute_joint_positions(d, problem.given)) / s.joint_m,
        "rotations": change[:, 3:] / s.rotation_rad,
        "accelerations": (a - wanted) / _compute_acceleration_sigma(problem),
        "slide": np.where(still[..., None], np.diff(middle, axis=0), 0.0) / s.slide_m,
        "height": np.where(problem.plan.standing, middle[..., 1] - problem.plan.part_levels(d.points), 0.0) / s.height_m,
        "below": low / s.below_m,
    }


def _compute_joint_positions(dynamics: Dynamics, q: Floats) -> Floats:
    """Return the positions of all joints, (N, J, 3) [m]."""
    return np.array([dynamics.placements(row)[1] for row in q])


def _compute_acceleration_sigma(problem: SpacetimeProblem) -> Floats:
    """Return the standard deviations of accelerations, (72,)."""
    return np.concatenate([np.full(3, problem.sigmas.root_m_s2), np.full(N_TANGENT - 3, problem.sigmas.joint_rad_s2)])


def _compute_cost(problem: SpacetimeProblem, terms: dict[str, Floats], found: InnerForces) -> float:
    """Return the sum of squares of all terms."""
    total = sum(float((e**2).sum()) for e in terms.values())
    residual = (found.wrench - np.einsum("nij,nj->ni", found.A, found.x)) / _compute_wrench_sigma(problem)
    torque = problem.dynamics.generalized_forces(found.motion, found.force_n)[:, N_ROOT:] / _compute_muscle_sigma(problem)
    total += float((residual**2).sum() + (torque**2).sum() + (found.x**2).sum() / EVEN_SIGMA**2)
    free = np.repeat(spread_part_contacts(problem.dynamics.points, problem.plan.carrying[1:-1]), N_EDGES, axis=1)
    coupled = free[1:] & free[:-1]
    return total + _compute_weight_coupling(problem) * float((np.diff(found.x, axis=0)[coupled] ** 2).sum())


def _compute_muscle_sigma(problem: SpacetimeProblem) -> float:
    """Return the standard deviation of joint torques [Nm]."""
    return problem.sigmas.muscle * problem.weight_n * problem.dynamics.body.skeleton.height_m


def _build_normal_equations(problem: SpacetimeProblem, state: SpacetimeState) -> BandedEquations:
    """Return the normal equations of a motion."""
    normal = BandedEquations.zero(len(state.q), N_TANGENT)
    _add_pose(problem, state, normal)
    _add_dynamics(problem, state, normal)
    return normal


def _add_pose(problem: SpacetimeProblem, state: SpacetimeState, normal: BandedEquations) -> None:
    """Add the terms of single frames and neighbouring pairs: joints, rotations, feet."""
    s, d = problem.sigmas, problem.dynamics
    n, e = len(state.q), state.terms
    joints, points = np.empty((n, 3 * N_JOINTS, N_TANGENT)), np.empty((n, len(d.points), 3, N_TANGENT))
    every, zero = np.arange(N_JOINTS), np.zeros((N_JOINTS, 3))
    for t, row in enumerate(state.q):
        joints[t] = d.point_jacobian(row, every, zero).reshape(-1, N_TANGENT)
        points[t] = d.contact_jacobian(row)
    normal.add_frames(joints / s.joint_m, e["joints"].reshape(n, -1))
    along = np.arange(3, N_TANGENT)
    normal.blocks[0][:, along, along] += s.rotation_rad**-2.0
    normal.gradient[:, 3:] += e["rotations"] / s.rotation_rad
    middle = np.empty((n, N_FEET, N_PARTS, 3, N_TANGENT))
    for foot in range(N_FEET):
        for part in FootPart:
            middle[:, foot, part] = points[:, (d.points.foot == foot) & (d.points.part == part)].mean(axis=1)
    still = (problem.plan.standing[1:] & problem.plan.standing[:-1])[..., None, None]
    after = np.where(still, middle[1:], 0.0).reshape(n - 1, -1, N_TANGENT) / s.slide_m
    before = np.where(still, -middle[:-1], 0.0).reshape(n - 1, -1, N_TANGENT) / s.slide_m
    normal.add_pairs(before, after, e["slide"].reshape(n - 1, -1))
    stands = problem.plan.standing[..., None]
    normal.add_frames(np.where(stands, middle[..., 1, :], 0.0).reshape(n, -1, N_TANGENT) / s.height_m, e["height"].reshape(n, -1))
    low = (e["below"] < 0.0)[..., None]
    normal.add_frames(np.where(low, points[:, :, 1], 0.0) / s.below_m, e["below"])


def _add_dynamics(problem: SpacetimeProblem, state: SpacetimeState, normal: BandedEquations) -> None:
    """Add accelerations, the root's residual with the weights eliminated, and joint torques."""
    d, found = problem.dynamics, state.forces
    rates = compute_rates(compute_steps(d, state.q), 1.0 / problem.fps)
    sigma = _compute_acceleration_sigma(problem)[:, None]
    accelerations = (rates.a_before / sigma, rates.a_at / sigma, rates.a_after / sigma, state.terms["accelerations"])
    normal.add_diagonal_triples(*accelerations, N_ROOT)
    n = len(found.u)
    by_q, by_v, by_a = (np.empty((n, N_TANGENT, N_TANGENT)) for _ in range(3))
    u = np.empty((n, N_TANGENT))
    whiten = np.zeros((n, N_TANGENT, N_TANGENT))
    for t, (row, v, a) in enumerate(zip(*found.motion, strict=True)):
        u[t], by_q[t], by_v[t], by_a[t] = d.force_derivatives(row, v, a, found.force_n[t])
        whiten[t, :N_ROOT, :N_ROOT] = _compute_root_whitening(problem, found, t, d.placements(row)[0][0])
    along = np.arange(N_ROOT, N_TANGENT)
    whiten[:, along, along] = 1.0 / _compute_muscle_sigma(problem)
    before = by_v @ rates.v_before + by_a @ rates.a_before
    at = by_q + by_v @ rates.v_at + by_a @ rates.a_at
    after = by_v @ rates.v_after + by_a @ rates.a_after
    normal.add_triples(whiten @ np.concatenate([before, at, after], axis=2), (whiten @ u[..., None])[..., 0])


def _compute_root_whitening(problem: SpacetimeProblem, found: InnerForces, t: int, R: Floats) -> Floats:
    """Return the root of the information of the root's residual in the hips' axes, (6, 6), with lambda free to follow.

    A weight x = exp(lambda) changes by x dlambda; each edge that does adds its wrench to what the residual may be.
    """
    sigma = _compute_wrench_sigma(problem)[t]
    free = np.repeat(spread_part_contacts(problem.dynamics.points, problem.plan.carrying[t + 1 : t + 2])[0], N_EDGES)
    spread = LOG_SIGMA * np.maximum(found.x[t], SMALL_WEIGHT) * free
    covariance = np.diag(sigma**2) + (found.A[t] * spread**2) @ found.A[t].T
    turn = np.zeros((N_ROOT, N_ROOT))
    turn[:3, :3] = turn[3:, 3:] = R
    upper = np.linalg.cholesky(np.linalg.inv(covariance)).T
    return np.asarray(upper @ turn / problem.weight_n)
