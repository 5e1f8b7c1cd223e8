"""The kinematic state s of a body and its generalized forces u as the force field sees them, with derivatives.

s (142,): height of the hips over the ground, the world's up direction in the hips' axes, the charted rotation vectors of the
other joints; then all velocities, of which the hips' are in the hips' own axes: place and heading, and the root relative to the
frame before, as section 5.2 of Wei et al. 2011 wants them. Lengths are shares of the hips' height when standing, velocities are
times `VELOCITY_S`, which makes them as large as angles. Forces u (72,) are in body weights, torques in body weights times the
radius of gyration of what the joint carries in the rest pose: equal components mean equal accelerations, whether of a leg or of a
hand, so that principal components keep what moves the body.
"""

from dataclasses import dataclass

import numpy as np

from config.arrays import Floats
from config.joints import N_JOINTS
from database.geometry.kinematics import charted_from_local
from database.geometry.rotations import matrix_from_quaternion, skew_from_vector
from reconstruct.models.physics.body import Body
from reconstruct.models.physics.dynamics import N_TANGENT, Dynamics, compute_right_jacobian, configurations_from_poses

VELOCITY_S = 0.15  # about 1 / (2 pi 1 Hz): a joint that swings once a second has rates and angles of one size
STANDARD_GRAVITY = 9.81
SLOWEST = 0.2  # in hardly any gravity
N_POSE = 4 + 3 * (N_JOINTS - 1)
N_STATE = N_POSE + N_TANGENT
INCLINATION, ANGLES, RATES = slice(1, 4), slice(4, N_POSE), slice(N_POSE, N_STATE)


def compute_similar_tempo(gravity_m_s2: float) -> float:
    """Return how fast steps are in a gravity, over those on earth, by dynamic similarity; at least `SLOWEST`."""
    return max(float(np.sqrt(gravity_m_s2 / STANDARD_GRAVITY)), SLOWEST)


@dataclass(frozen=True, slots=True)
class Units:
    """Units that make states and forces independent of a body's size.

    Attributes:
        length_m: height of the hips.
        force: unit of each component of u, (72,).
    """

    length_m: float
    force: Floats


def compute_units(body: Body) -> Units:
    """Return the units of a body, those of its weight on earth."""
    rest = body.skeleton.rest_positions_m()
    standing = configurations_from_poses(charted_from_local(np.broadcast_to(np.eye(3), (1, N_JOINTS, 3, 3))), np.zeros((1, 3)))[0]
    force = STANDARD_GRAVITY * np.sqrt(body.total_kg * np.diagonal(Dynamics(body).mass_matrix(standing)))
    return Units(float(-(rest + body.skeleton.tails_m)[:, 1].min()), force)


def compute_states(q: Floats, v: Floats, ground_m: Floats | float, units: Units) -> Floats:
    """Return the states of configurations and velocities, (N, 142).

    Args:
        q: configurations, (N, 95).
        v: velocities, (N, 72).
        ground_m: height of the ground, (N,) or of all [m].
        units: units of the state's parts.
    """
    local = matrix_from_quaternion(q[:, 3:].reshape(len(q), N_JOINTS, 4))
    out = np.empty((len(q), N_STATE))
    out[:, 0] = (q[:, 1] - ground_m) / units.length_m
    out[:, INCLINATION] = local[:, 0, 1]
    out[:, ANGLES] = charted_from_local(local)[:, 1:].reshape(len(q), -1)
    out[:, RATES] = v * compute_rate_units(units)
    return out


@dataclass(frozen=True, slots=True)
class StateDerivatives:
    """Derivatives of the states of N frames: the parts of ds/dq and ds/dv that are not zero.

    Attributes:
        height: derivative of the hips' height with respect to their position, (N, 3).
        inclination: derivative of the up direction with respect to the hips' rotation, (N, 3, 3).
        angles: derivative of each other joint's rotation vector with respect to its rotation, (N, J - 1, 3, 3).
        rates: diagonal of ds/dv, the same for all frames, (72,).
    """

    height: Floats
    inclination: Floats
    angles: Floats
    rates: Floats

    def by_q(self, rows: Floats) -> Floats:
        """Return rows @ ds/dq: (N, R, 142) -> (N, R, 72)."""
        out = np.empty((*rows.shape[:2], N_TANGENT))
        out[:, :, :3] = rows[:, :, :1] * self.height[:, None, :]
        out[:, :, 3:6] = rows[:, :, INCLINATION] @ self.inclination
        joints = rows[:, :, ANGLES].reshape(*rows.shape[:2], N_JOINTS - 1, 3)
        out[:, :, 6:] = np.einsum("nrji,njik->nrjk", joints, self.angles).reshape(*rows.shape[:2], -1)
        return out

    def by_v(self, rows: Floats) -> Floats:
        """Return rows @ ds/dv: (N, R, 142) -> (N, R, 72)."""
        return np.asarray(rows[:, :, RATES] * self.rates)


def compute_state_derivatives(q: Floats, units: Units) -> StateDerivatives:
    """Return the derivatives of states by changes of configurations (N, 95) in their tangent spaces, and by velocities."""
    local = matrix_from_quaternion(q[:, 3:].reshape(len(q), N_JOINTS, 4))
    up = local[:, 0, 1]
    angles: Floats = np.asarray(np.linalg.inv(compute_right_jacobian(charted_from_local(local)[:, 1:])), np.float64)
    return StateDerivatives(up / units.length_m, skew_from_vector(up), angles, compute_rate_units(units))


def compute_rate_units(units: Units) -> Floats:
    """Return the factors that velocities are multiplied by, (72,)."""
    out = np.full(N_TANGENT, VELOCITY_S)
    out[:3] /= units.length_m
    return out
