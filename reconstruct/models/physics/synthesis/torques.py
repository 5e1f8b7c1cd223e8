"""Joint torques of a motion: the squared ones, for motion without a force field, and those beyond what people can.

For a given motion torques follow from eq. 1 and the loads of the contacts, which follow from the motion as well: both move with
it in the derivatives. What is beyond a limit counts squared, which is smooth, and nothing below.
"""

from typing import NamedTuple

import numpy as np

from config.arrays import Floats
from numerics.banded import BandedEquations
from reconstruct.models.physics.dynamics import N_ROOT, N_TANGENT, Dynamics, Motion
from reconstruct.models.physics.synthesis.kinematics import MotionJacobians, MotionKinematics
from reconstruct.models.physics.synthesis.problem import PAPER_FPS, MotionProblem
from reconstruct.models.physics.synthesis.strength import compute_torque_limits

TORQUE_UNIT = 0.1  # of the weight times the height


class LoadResponse(NamedTuple):
    """How the loads of the inner frames follow the motion: changes of forces on the P contact points [N], of the wrench that is
    needed, (N - 2, 3 P, 6), and of that by the motion, (N - 2, 6, 216)."""

    by_wrench: Floats
    wrench_by: Floats


class TorqueTerms:
    """The terms of joint torques of one problem."""

    def __init__(self, problem: MotionProblem, dynamics: Dynamics) -> None:
        self.weights, self.dynamics, self.dt_s = problem.weights, dynamics, 1.0 / problem.fps
        unit = TORQUE_UNIT * problem.body.skeleton.height_m * problem.weight_n
        self.scale = np.sqrt(PAPER_FPS / problem.fps) / unit
        least, largest = compute_torque_limits(problem.body)
        self.least, self.largest = least[N_ROOT:], largest[N_ROOT:]
        limited = np.isfinite(self.least) | np.isfinite(self.largest)
        self.rows = np.flatnonzero(limited | (self.weights.torque > 0.0))

    def compute(
        self,
        motion: MotionKinematics,
        force_n: Floats,
        by: MotionJacobians | None,
        response: LoadResponse | None,
        normal: BandedEquations | None,
    ) -> dict[str, float]:
        """Return the terms; add their derivatives to the normal equations where these are given.

        Args:
            motion: kinematics of the configurations.
            force_n: forces on the contact points, then external ones, in the inner frames, (N - 2, P + E, 3) [N] world.
            by: derivatives of the kinematics, or None.
            response: how the loads follow the motion, or None.
            normal: the normal equations, or None.
        """
        u = self.dynamics.generalized_forces(Motion(motion.q[1:-1], motion.v, motion.a), force_n)
        torque = self.scale * u[:, N_ROOT:][:, self.rows]
        least, largest = self.scale * self.least[self.rows], self.scale * self.largest[self.rows]
        beyond = torque - np.clip(torque, least, largest)
        squared, strength = self.weights.torque, self.weights.strength
        slope, curve = squared * torque + strength * beyond, squared + strength * (beyond != 0.0)
        if normal is not None and by is not None and response is not None and curve.any():
            J = np.zeros((*torque.shape, 3 * N_TANGENT))
            for t in np.flatnonzero(curve.any(axis=1)).tolist():
                J[t] = self.scale * self._derive(t, motion, force_n, by, response)[N_ROOT:][self.rows]
            root = np.sqrt(curve)
            normal.add_triples(root[..., None] * J, np.divide(slope, root, out=np.zeros_like(slope), where=root > 0.0))
        terms = {"strength": 0.5 * strength * float((beyond**2).sum())}
        return terms if squared == 0.0 else terms | {"torque": 0.5 * squared * float((torque**2).sum())}

    def _derive(self, t: int, motion: MotionKinematics, force_n: Floats, by: MotionJacobians, response: LoadResponse) -> Floats:
        """Return the derivatives of u of an inner frame with respect to three frames, (72, 216)."""
        before, at, after = motion.q[t], motion.q[t + 1], motion.q[t + 2]
        A, B = self.dynamics.difference_derivatives(at, after)
        C, D = self.dynamics.difference_derivatives(at, before)
        own = self.dynamics.force_derivatives(at, motion.v[t], motion.a[t], force_n[t])
        h = self.dt_s
        blocks = (
            own.by_v @ (-D / (2.0 * h)) + own.by_a @ (D / h**2),
            own.by_q + own.by_v @ ((A - C) / (2.0 * h)) + own.by_a @ ((A + C) / h**2),
            own.by_v @ (B / (2.0 * h)) + own.by_a @ (B / h**2),
        )
        n_points = response.by_wrench.shape[1] // 3
        points = by.point[t + 1, :n_points].reshape(-1, N_TANGENT)
        return np.asarray(np.concatenate(blocks, axis=1) - points.T @ (response.by_wrench[t] @ response.wrench_by[t]))
