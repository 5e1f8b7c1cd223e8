"""Motion that follows a force field: eq. 1 integrated with the forces it expects (Wei et al. 2011, section 6.1)."""

import numpy as np

from config.arrays import Floats
from config.joints import N_JOINTS
from database.geometry.kinematics import local_from_charted
from database.geometry.rotations import quaternion_from_matrix
from reconstruct.models.physics.dynamics import Dynamics, Motion
from reconstruct.models.physics.field.field import ForceField
from reconstruct.models.physics.field.state import ANGLES, RATES, Units, compute_rate_units, compute_states, compute_units

FASTEST = 100.0  # m/s or rad/s; beyond it the motion has left all that is known


def roll_out(field: ForceField, dynamics: Dynamics, q: Floats, v: Floats, n_frames: int, fps: float) -> Floats:
    """Return configurations, (n_frames, 95), by semi-implicit Euler.

    The force field predicts the resultant of joint torques and contacts, so nothing else acts. The body is held to the velocities
    v = V c that its states have in their subspace, V' M V c' = V' (u - C - h) (Gauss's principle), and its joint angles to
    theirs: what lies outside, the field has never seen, and knows no force that would bring it back. It ends early where the
    state leaves all that is known, with the frames so far.

    Args:
        field: the force field.
        dynamics: the body's equations of motion.
        q: configuration at the start, (95,).
        v: velocity at the start, (72,).
        n_frames: number of frames.
        fps: frames a second.
    """
    units = compute_units(dynamics.body)
    V = np.linalg.qr(field.state.basis[RATES] / compute_rate_units(units)[:, None])[0]
    out = [q]
    for _ in range(n_frames - 1):
        u = field.mean_forces(compute_states(q[None], v[None], 0.0, units))[0] * units.force
        own = dynamics.generalized_forces(Motion(q[None], v[None], np.zeros((1, len(v)))))[0]
        v = v + V @ np.linalg.solve(V.T @ dynamics.mass_matrix(q) @ V, V.T @ (u - own)) / fps
        if not (np.isfinite(v).all() and np.abs(v).max() < FASTEST):
            break
        q, v = _project_on_subspace(field, dynamics.integrate(q[None], v[None] / fps)[0], v, units)
        out.append(q)
    return np.array(out)


def _project_on_subspace(field: ForceField, q: Floats, v: Floats, units: Units) -> tuple[Floats, Floats]:
    """Return a configuration and velocity with joint angles and velocities projected into the subspace of states."""
    s = compute_states(q[None], v[None], 0.0, units)
    s = s - field.state.outside(s)
    rotvec = np.zeros((1, N_JOINTS, 3))
    rotvec[0, 1:] = s[0, ANGLES].reshape(-1, 3)
    quaternion = quaternion_from_matrix(local_from_charted(rotvec))[0]
    return np.concatenate([q[:7], quaternion[1:].ravel()]), s[0, RATES] / compute_rate_units(units)
