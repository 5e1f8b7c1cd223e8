"""What the force field says of a motion: first state (eq. 5), forces given states, and soft subspaces (eq. 11)."""

from dataclasses import dataclass

import numpy as np

from config.arrays import Floats
from config.joints import N_JOINTS
from numerics.banded import BandedEquations
from reconstruct.models.physics.dynamics import N_TANGENT
from reconstruct.models.physics.field.field import ForceField
from reconstruct.models.physics.field.mixture import compute_log_terms
from reconstruct.models.physics.field.process import Prediction
from reconstruct.models.physics.field.state import ANGLES, RATES, StateDerivatives, compute_state_derivatives, compute_states
from reconstruct.models.physics.synthesis.kinematics import MotionJacobians, MotionKinematics
from reconstruct.models.physics.synthesis.normal import N3
from reconstruct.models.physics.synthesis.problem import PAPER_FPS, MotionProblem

AT = slice(N_TANGENT, 2 * N_TANGENT)  # columns of a frame itself, between those of the one before and the one after


@dataclass(frozen=True, slots=True)
class _FieldFrames:
    """Inner frames as the field sees them: states s (n, 142), forces u (n, 72), both in units; z: u in its subspace, (n, K); e:
    z less what is predicted, in standard deviations sigma, (n, K)."""

    s: Floats
    u: Floats
    got: Prediction
    sigma: Floats
    e: Floats
    state_out: Floats
    force_out: Floats


def compute_statistics_terms(
    problem: MotionProblem, motion: MotionKinematics, by: MotionJacobians | None, normal: BandedEquations | None
) -> dict[str, float]:
    """Return the terms of the field; add their derivatives to the normal equations where these are given.

    Args:
        problem: constraints and weights of the motion.
        motion: kinematics of its configurations.
        by: derivatives of these, or None.
        normal: the normal equations, added to; or None.
    """
    field, weights = problem.field, problem.weights
    assert field is not None
    seen = _compute_field_frames(problem, field, motion)
    per_frame = weights.field * PAPER_FPS / problem.fps
    of_state = per_frame * weights.state_subspace / float((field.state.spread**2).sum())
    of_force = per_frame * weights.force_subspace / float((field.force.spread**2).sum())
    K = seen.e.shape[1]
    wide_weight = 0.5 * K * weights.log_variance
    wide = wide_weight * np.log(seen.got.share / field.process.noise)
    y = field.state.coordinates(seen.s[:1])[0]
    first = compute_log_terms(field.first, y[None])[0]
    terms = {
        "field": per_frame * float(0.5 * (seen.e**2).sum() + wide.sum()),
        "subspaces": 0.5 * float(of_state * (seen.state_out**2).sum() + of_force * (seen.force_out**2).sum()),
        "first": -weights.first * float(np.logaddexp.reduce(first)),
    }
    if normal is None or by is None:
        return terms
    ds = compute_state_derivatives(motion.q[1:-1], problem.units)
    Jy = _derive_state_coordinates(field, ds, by)
    Ju = by.u / problem.units.force[:, None]
    Jz = (field.force.basis / field.force.spread).T @ Ju
    share_by = np.einsum("nd,ndi->ni", seen.got.share_by, Jy) / seen.got.share[:, None]
    Je = (Jz - seen.got.mean_by @ Jy) / seen.sigma[:, :, None] - 0.5 * seen.e[:, :, None] * share_by[:, None, :]
    # soft subspaces: |x - B B'x|^2 has the form J'J - (B'J)'(B'J)
    By, Bz = Jy * field.state.spread[:, None], Jz * field.force.spread[:, None]
    stacked = np.concatenate([np.sqrt(per_frame) * Je, np.sqrt(of_force) * Ju], axis=1)
    taken = np.concatenate([np.sqrt(of_state) * By, np.sqrt(of_force) * Bz], axis=1)
    H = np.swapaxes(stacked, 1, 2) @ stacked - np.swapaxes(taken, 1, 2) @ taken
    g = per_frame * (np.einsum("nki,nk->ni", Je, seen.e) + wide_weight * share_by)
    g += of_force * np.einsum("nri,nr->ni", Ju, seen.force_out)
    _add_states(of_state, ds, by, seen.state_out, H, g)
    shares = np.exp(first - np.logaddexp.reduce(first))
    for c, share in enumerate(shares):  # the components of the mixture by their shares
        J = field.first.root[c].T @ Jy[0]
        H[0] += weights.first * share * J.T @ J
        g[0] += weights.first * share * J.T @ (field.first.root[c].T @ (y - field.first.mean[c]))
    normal.add_triple_forms(H, g)
    return terms


def _compute_field_frames(problem: MotionProblem, field: ForceField, motion: MotionKinematics) -> _FieldFrames:
    """Return the inner frames of a motion as its field sees them."""
    inner = motion.q[1:-1]
    ground = problem.surroundings.height_m(inner[:, 0], inner[:, 2])
    s = compute_states(inner, motion.v, ground, problem.units)
    u = motion.u / problem.units.force
    got = field.predicted(s)
    sigma = np.sqrt(field.process.variance * got.share[:, None])
    e = (field.force.coordinates(u) - got.mean) / sigma
    return _FieldFrames(s, u, got, sigma, e, field.state.outside(s), field.force.outside(u))


def _derive_state_coordinates(field: ForceField, ds: StateDerivatives, by: MotionJacobians) -> Floats:
    """Return the derivatives of the states' coordinates in their subspace, (n, D, 216)."""
    n = len(by.v)
    basis = (field.state.basis / field.state.spread).T
    rows = np.ascontiguousarray(np.broadcast_to(basis, (n, *basis.shape)))
    Jy = ds.by_v(rows) @ by.v
    Jy[:, :, AT] += ds.by_q(rows)
    return np.asarray(Jy)


def _add_states(weight: float, ds: StateDerivatives, by: MotionJacobians, out: Floats, H: Floats, g: Floats) -> None:
    """Add weight J'J and weight J'out of states, (n, 142) outside of the subspace; joints do not mix in them."""
    n = len(H)
    H[:, AT, AT][:, :3, :3] += weight * ds.height[:, :, None] * ds.height[:, None, :]
    H[:, AT, AT][:, 3:6, 3:6] += weight * np.swapaxes(ds.inclination, 1, 2) @ ds.inclination
    turned = np.swapaxes(ds.angles, 2, 3)
    squares = weight * turned @ ds.angles
    gs = np.empty((n, N_TANGENT))
    gs[:, :3] = out[:, :1] * ds.height
    gs[:, 3:6] = np.einsum("nji,nj->ni", ds.inclination, out[:, 1:4])
    gs[:, 6:] = np.einsum("njki,njk->nji", ds.angles, out[:, ANGLES].reshape(n, N_JOINTS - 1, 3)).reshape(n, -1)
    g[:, AT] += weight * gs
    for joint in range(N_JOINTS - 1):
        rows = slice(N_TANGENT + 6 + 3 * joint, N_TANGENT + 9 + 3 * joint)
        H[:, rows, rows] += squares[:, joint]
    Jv = by.v * ds.rates[:, None]
    g += weight * np.einsum("nri,nr->ni", Jv, out[:, RATES])
    for first, stop in [(0, 6), *((6 + 3 * joint, 9 + 3 * joint) for joint in range(N_JOINTS - 1))]:
        columns = np.concatenate([np.arange(first, stop) + k * N_TANGENT for k in range(3)])
        own = Jv[:, first:stop][:, :, columns]
        H[:, columns[:, None], columns] += weight * np.swapaxes(own, 1, 2) @ own
    assert H.shape[1] == N3
