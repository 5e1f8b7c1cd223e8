"""Equation 1 of Wei et al. 2011, M(q) q'' + C(q, q') + h(q) = u, and its derivatives, by pinocchio.

One chart for everything. A configuration q (95,) is the position of the hips, then for each joint the quaternion xyzw of its
rotation L_j relative to its parent, all identity in the T-pose: no singularity anywhere. Velocities, accelerations, changes of a
configuration and generalized forces are in its tangent space (72,): the hips' linear and angular velocity in the hips' own axes,
then each joint's angular velocity relative to its parent in the joint's own axes. Joint j has rows `find_joint_rows(j)`.

Between configurations: `difference(a, b)` is the tangent vector at a that leads to b, `integrate` its inverse. Derivatives with
respect to a configuration are along changes in its tangent space. The charted rotation vectors of poses, in which splines and
principal components are taken, have rates r' with w = J_r(r) r' (`compute_right_jacobian`).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from config.arrays import Floats
from config.joints import JOINTS, N_JOINTS, PARENTS
from database.geometry.kinematics import charted_from_local, local_from_charted
from database.geometry.rotations import matrix_from_quaternion, quaternion_from_matrix, skew_from_vector
from reconstruct.models.physics.backend import import_pinocchio
from reconstruct.models.physics.body import Body, ContactPoints

N_CONFIGURATION = 3 + 4 * N_JOINTS
N_TANGENT = 3 + 3 * N_JOINTS
N_ROOT = 6  # rows of the root: force and torque that no muscle gives
GRAVITY_M_S2 = (0.0, -9.81, 0.0)


class MotionRates(NamedTuple):
    """Configurations (N, 95), velocities (N, 72) and accelerations (N, 72) at equal times."""

    q: Floats
    v: Floats
    a: Floats


Motion = MotionRates  # the name that the force field still uses


class ForceDerivatives(NamedTuple):
    """Generalized forces u (72,) of one frame, less those of contacts, and du/dq, du/dq', du/dq'' (72, 72)."""

    u: Floats
    by_q: Floats
    by_v: Floats
    by_a: Floats


def find_joint_rows(joint: int) -> slice:
    """Return the rows of a joint's rotation in the tangent space."""
    return slice(3 + 3 * joint, 6 + 3 * joint)


def configurations_from_poses(rotvec: ArrayLike, root_m: ArrayLike) -> Floats:
    """Return poses as configurations: charted (N, J, 3) [rad], (N, 3) [m] -> (N, 95)."""
    quaternion = quaternion_from_matrix(local_from_charted(rotvec))
    return np.concatenate([np.asarray(root_m, np.float64), quaternion.reshape(len(quaternion), -1)], axis=1)


def poses_from_configurations(q: ArrayLike) -> tuple[Floats, Floats]:
    """Return configurations as poses: (N, 95) -> charted rotation vectors (N, J, 3) [rad], root_m (N, 3) [m]."""
    rows = np.asarray(q, np.float64)
    local = matrix_from_quaternion(rows[:, 3:].reshape(-1, N_JOINTS, 4))
    return np.ascontiguousarray(charted_from_local(local)), np.ascontiguousarray(rows[:, :3])


def compute_right_jacobian(rotvec: ArrayLike) -> Floats:
    """Return J_r of rotation vectors, exp([r + d]x) = exp([r]x) exp([J_r d]x) to first order: (..., 3) -> (..., 3, 3)."""
    r = np.asarray(rotvec, np.float64)
    t2 = (r**2).sum(axis=-1)[..., None, None]
    near = t2 < 1e-8
    t = np.sqrt(np.where(near, 1.0, t2))
    b = np.where(near, 0.5 - t2 / 24.0, (1.0 - np.cos(t)) / t**2)
    c = np.where(near, 1.0 / 6.0 - t2 / 120.0, (t - np.sin(t)) / t**3)
    K = skew_from_vector(r)
    return np.asarray(np.eye(3) - b * K + c * (K @ K))


class Dynamics:
    """The equations of motion of a body. Not safe for threads: pinocchio's work space is the object's."""

    def __init__(self, body: Body, gravity_m_s2: ArrayLike = GRAVITY_M_S2) -> None:
        self.body = body
        self.gravity_m_s2 = np.asarray(gravity_m_s2, np.float64)
        self._pin = import_pinocchio()
        self.model = _build_pinocchio_model(body, self.gravity_m_s2)
        self.data = self.model.createData()
        self._forces = self._pin.StdVec_Force()
        self._forces.extend([self._pin.Force.Zero() for _ in range(N_JOINTS + 1)])
        joint = body.contacts.joint
        self._points_of = {row: np.flatnonzero(joint == row) for row in np.unique(joint).tolist()}

    @property
    def points(self) -> ContactPoints:
        """The contact points."""
        return self.body.contacts

    def difference(self, first: Floats, second: Floats) -> Floats:
        """Return the tangent vectors at `first` that lead to `second`: two (N, 95) -> (N, 72)."""
        return np.array([self._pin.difference(self.model, a, b) for a, b in zip(first, second, strict=True)]).reshape(
            -1, N_TANGENT
        )

    def integrate(self, q: Floats, change: Floats) -> Floats:
        """Return the configurations that tangent vectors lead to: (N, 95), (N, 72) -> (N, 95)."""
        return np.array([self._pin.integrate(self.model, a, d) for a, d in zip(q, change, strict=True)]).reshape(
            -1, N_CONFIGURATION
        )

    def difference_derivatives(self, first: Floats, second: Floats) -> tuple[Floats, Floats]:
        """Return the derivatives of `difference` of one pair by its first and second configuration, (72, 72) each."""
        pair = self._pin.dDifference(self.model, first, second)
        return np.asarray(pair[0]), np.asarray(pair[1])

    def motion(self, q: Floats, dt_s: float) -> MotionRates:
        """Return velocities and accelerations of configurations (N >= 3, 95) at equal times by central differences.

        With d+ and d- the tangent vectors from frame n to the next and the previous one: v = (d+ - d-) / (2 dt),
        a = (d+ + d-) / dt^2, of second order in dt. First and last frames have the acceleration of their neighbours.
        """
        ahead = self.difference(q[1:-1], q[2:])
        behind = self.difference(q[1:-1], q[:-2])
        a = (ahead + behind) / dt_s**2
        v = (ahead - behind) / (2.0 * dt_s)
        first = self.difference(q[:1], q[1:2]) / dt_s - 0.5 * dt_s * a[:1]
        last = -self.difference(q[-1:], q[-2:-1]) / dt_s + 0.5 * dt_s * a[-1:]
        return MotionRates(q, np.concatenate([first, v, last]), np.concatenate([a[:1], a, a[-1:]]))

    def generalized_forces(self, motion: MotionRates, contact_n: Floats | None = None) -> Floats:
        """Return u = M q'' + C + h of each frame, (N, 72) [N, Nm], eq. 3; less J' f of contact forces where these are given.

        contact_n: force on each contact point in the world, (N, P, 3) [N]. What is left is then the torques of the joints, and in
        the root's rows the residual of eq. 1.
        """
        out = np.empty((len(motion.q), N_TANGENT))
        for n, (q, v, a) in enumerate(zip(*motion, strict=True)):
            if contact_n is None:
                out[n] = self._pin.rnea(self.model, self.data, q, v, a)
            else:
                out[n] = self._pin.rnea(self.model, self.data, q, v, a, self._external(q, contact_n[n]))
        return out

    def force_derivatives(self, q: Floats, v: Floats, a: Floats, contact_n: Floats | None = None) -> ForceDerivatives:
        """Return the generalized forces of one frame as in `generalized_forces`, and their derivatives.

        Args:
            q: configuration, (95,).
            v: velocity, (72,).
            a: acceleration, (72,).
            contact_n: (P, 3) [N], constant in the world while q changes.
        """
        if contact_n is None:
            by = self._pin.computeRNEADerivatives(self.model, self.data, q, v, a)
            return ForceDerivatives(self.data.tau.copy(), *(np.array(each) for each in by))
        by = self._pin.computeRNEADerivatives(self.model, self.data, q, v, a, self._external(q, contact_n))
        by_q, by_v, by_a = (np.array(each) for each in by)
        u = self.data.tau.copy()
        if contact_n.any():
            self._pin.computeJointJacobians(self.model, self.data, q)
            for joint, rows in self._points_of.items():
                by_q -= self._turned_force(joint, self.points.offset_m[rows], contact_n[rows])
        return ForceDerivatives(u, by_q, by_v, by_a)

    def mass_matrix(self, q: Floats) -> Floats:
        """Return M(q) of one configuration, (72, 72)."""
        M = np.array(self._pin.crba(self.model, self.data, q))
        return np.asarray(np.triu(M) + np.triu(M, 1).T)

    def accelerations(self, q: Floats, v: Floats, u: Floats) -> Floats:
        """Return q'' of one frame under generalized forces u (72,): eq. 1 solved for it (articulated-body algorithm).

        Args:
            q: configuration, (95,).
            v: velocity, (72,).
            u: generalized forces, (72,).
        """
        return np.array(self._pin.aba(self.model, self.data, q, v, u))

    def placements(self, q: Floats) -> tuple[Floats, Floats]:
        """Return orientations (J, 3, 3) and positions (J, 3) [m] of all joints of one configuration in the world."""
        self._pin.forwardKinematics(self.model, self.data, q)
        placed = [self.data.oMi[joint + 1] for joint in range(N_JOINTS)]
        return np.array([each.rotation for each in placed]), np.array([each.translation for each in placed])

    def contact_positions(self, q: Floats) -> Floats:
        """Return the contact points of configurations in the world: (N, 95) -> (N, P, 3) [m]."""
        out = np.empty((len(q), len(self.points), 3))
        for n, row in enumerate(q):
            G, p = self.placements(row)
            joint = self.points.joint
            out[n] = p[joint] + np.einsum("pij,pj->pi", G[joint], self.points.offset_m)
        return out

    def contact_jacobian(self, q: Floats) -> Floats:
        """Return J_m of one configuration: changes of q to those of the points in the world, (P, 3, 72)."""
        return self.point_jacobian(q, self.points.joint, self.points.offset_m)

    def point_jacobian(self, q: Floats, joint: ArrayLike, offset_m: Floats) -> Floats:
        """Return the Jacobian of points fixed to joints, (P, 3, 72), world.

        Args:
            q: configuration, (95,).
            joint: joint of each point, (P,).
            offset_m: position in the joint's frame, (P, 3) [m].
        """
        self._pin.computeJointJacobians(self.model, self.data, q)
        out = np.empty((len(offset_m), 3, N_TANGENT))
        frames: dict[int, Floats] = {}
        for n, row in enumerate(np.asarray(joint).tolist()):
            if row not in frames:
                frames[row] = self._pin.getJointJacobian(
                    self.model, self.data, row + 1, self._pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
                )
            arm = self.data.oMi[row + 1].rotation @ offset_m[n]
            out[n] = frames[row][:3] - skew_from_vector(arm) @ frames[row][3:]
        return out

    def center_of_mass(self, q: Floats) -> Floats:
        """Return the centre of mass of one configuration, (3,) [m] world."""
        return np.array(self._pin.centerOfMass(self.model, self.data, q))

    def _external(self, q: Floats, contact_n: Floats) -> Any:
        """Return contact forces as forces on joints in their own frames; places the joints."""
        self._pin.forwardKinematics(self.model, self.data, q)
        for joint, rows in self._points_of.items():
            local = contact_n[rows] @ self.data.oMi[joint + 1].rotation
            torque = np.cross(self.points.offset_m[rows], local).sum(axis=0)
            self._forces[joint + 1] = self._pin.Force(local.sum(axis=0), torque)
        return self._forces

    def _turned_force(self, joint: int, offset_m: Floats, contact_n: Floats) -> Floats:
        """Return the part of d(J' f)/dq that comes from forces that stay in the world while their joint turns, (72, 72)."""
        if not contact_n.any():
            return np.zeros((N_TANGENT, N_TANGENT))
        J = self._pin.getJointJacobian(self.model, self.data, joint + 1, self._pin.ReferenceFrame.LOCAL)
        local = contact_n @ self.data.oMi[joint + 1].rotation
        turned = J[:3].T @ skew_from_vector(local.sum(axis=0)) + J[3:].T @ (
            skew_from_vector(offset_m) @ skew_from_vector(local)
        ).sum(axis=0)
        return np.asarray(turned @ J[3:])


def _build_pinocchio_model(body: Body, gravity_m_s2: Floats) -> Any:
    """Return pinocchio's model of a body; its joints are ours in our order, after its own `universe`."""
    pin = import_pinocchio()
    model = pin.Model()
    for joint, name in enumerate(JOINTS):
        kind = pin.JointModelFreeFlyer() if joint == 0 else pin.JointModelSpherical()
        placed = pin.SE3(np.eye(3), body.skeleton.offsets_m[joint].copy())
        row = model.addJoint(PARENTS[joint] + 1, kind, placed, name)
        inertia = pin.Inertia(float(body.mass_kg[joint]), body.center_m[joint].copy(), body.inertia_kg_m2[joint].copy())
        model.appendBodyToJoint(row, inertia, pin.SE3.Identity())
    model.gravity.linear = gravity_m_s2.copy()
    assert model.nq == N_CONFIGURATION and model.nv == N_TANGENT
    return model
