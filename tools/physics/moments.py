"""Joint moments with signs: the torque of a joint about the axes of its angles (`database.geometry.joint_angles`).

A moment is internal, what muscles and ligaments do to the distal segment, and positive in the direction in which its angle grows:
`hip_flexion` is positive where the flexors prevail and negative where the extensors do. It is the torque's component along the
axis, which is the generalised force of that angle: together, times their rates, they are the joint's power.
"""

from dataclasses import dataclass

import numpy as np

from config.arrays import Floats
from database.geometry.joint_angles import TRIPLES, compute_joint_angles
from database.geometry.kinematics import compute_forward_kinematics
from reconstruct.models.physics.body import Body
from reconstruct.models.physics.dynamics import find_joint_rows, poses_from_configurations
from reconstruct.models.physics.forces import ContactForces

OF_JOINTS = tuple(triple for triple in TRIPLES if triple.proximal)  # the pelvis' angles are to the world: no joint moves them


@dataclass(frozen=True, slots=True)
class JointMoments:
    """Moments about the axes of joint angles. names: of the angles, A; moment_nm: (N, A) [Nm]."""

    names: tuple[str, ...]
    moment_nm: Floats

    def find(self, name: str) -> Floats:
        """Return the moments of one angle, (N,) [Nm]."""
        return np.asarray(self.moment_nm[:, self.names.index(name)])


def compute_joint_moments(body: Body, forces: ContactForces) -> JointMoments:
    """Return the moments of a motion whose forces are known; body: the one they were computed for."""
    rotvec, root_m = poses_from_configurations(forces.motion.q)
    G = compute_forward_kinematics(body.skeleton, rotvec, root_m)[0]
    angles = compute_joint_angles(body.skeleton, rotvec, OF_JOINTS)
    out = np.empty(angles.angle_rad.shape)
    for k, joint in enumerate(angles.joint):
        torque = np.einsum("nij,nj->ni", G[:, joint], forces.torque[:, find_joint_rows(joint)])
        out[:, k] = (torque * angles.axis[:, k]).sum(axis=1)
    return JointMoments(angles.names, out)
