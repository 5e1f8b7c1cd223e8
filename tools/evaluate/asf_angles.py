"""Joint angles of an Acclaim skeleton: the measure of Chai & Hodgins 2005, whose poses are the angles of ASF/AMC files.

The bones of the file between our joint and its parent rotate by R(theta) = prod_i exp(theta_i [a_i]x), where a_i are the axes
of their degrees of freedom in the base pose. With A the rotation between the rest poses (`database.files.retarget`), the
rotation of our joint is L' = A_parent^T R(theta) A. Theta is recovered by Gauss-Newton from nearby angles: for an estimate from
the true ones, for these from the file's. So no angle wraps or jumps to the other solution of the same rotation. A rotation that
the degrees of freedom of an elbow or a foot cannot reach is projected to the nearest one that they can.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from config.arrays import Floats
from config.joints import N_JOINTS, PARENTS
from database.files.asf_amc import compute_axis_frame, read_amc, read_amc_angles
from database.files.retarget import find_joint_path, map_source_joints
from database.geometry.kinematics import local_from_charted
from database.geometry.rotations import matrix_from_rotvec, rotvec_from_matrix

ITERATIONS = 12
DAMPING = 1e-4  # keeps angles finite where two axes line up
MAX_STEP_RAD = 0.5


@dataclass(frozen=True, slots=True)
class JointChain:
    """The file's degrees of freedom between one of our joints and its parent.

    Attributes:
        joint: index of the joint.
        axes: (d, 3), outermost first.
        names: d, such as `lfemur.rx`.
        left, right: L' = left R right.
    """

    joint: int
    axes: Floats
    names: tuple[str, ...]
    left: Floats
    right: Floats


@dataclass(frozen=True, slots=True)
class AsfAngles:
    """Joint angles of a clip in its file's own skeleton: chains, and for each its angles, (N, d) [rad]."""

    chains: tuple[JointChain, ...]
    angles: tuple[Floats, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all angles, in the order of `angle_errors`."""
        return tuple(name for chain in self.chains for name in chain.names)

    def part(self, frames: slice) -> "AsfAngles":
        """Return the angles of some frames."""
        return AsfAngles(self.chains, tuple(np.ascontiguousarray(angles[frames]) for angles in self.angles))


def asf_angles(amc: Path, asf: Path | None = None) -> AsfAngles:
    """Read the joint angles of a motion, without those our skeleton lacks, such as fingers. Raises FileFormatError.

    asf: the motion's skeleton, None: found in its folder.
    """
    motion = read_amc(amc, asf)
    skeleton, values = read_amc_angles(amc, asf)
    mapping = map_source_joints(str(amc), motion)
    chains, angles = [], []
    for joint in range(1, N_JOINTS):
        axes, names, columns = [], [], []
        for bone in (skeleton.bones[k] for k in find_joint_path(motion, mapping, joint)):
            if bone.name not in values:
                continue
            C = compute_axis_frame(bone, skeleton.angle_scale)
            rotations = [dof for dof in bone.dofs if dof.startswith("r")]
            for k in reversed(range(len(rotations))):  # the first listed is applied first: innermost
                axes.append(C[:, "xyz".index(rotations[k][1])])
                names.append(f"{bone.name}.{rotations[k]}")
                columns.append(values[bone.name][:, k])
        if axes:
            left, right = mapping.rest[PARENTS[joint]].T, mapping.rest[joint]
            chains.append(JointChain(joint, np.array(axes), tuple(names), left, right))
            angles.append(np.stack(columns, axis=1))
    return AsfAngles(tuple(chains), tuple(angles))


def angles_near(chain: JointChain, rotations: Floats, near: Floats) -> Floats:
    """Return the angles, (N, d) [rad], whose rotation is closest to L', (N, 3, 3), on the branch of the angles `near`."""
    target = chain.left.T @ rotations @ chain.right.T
    theta = near.copy()
    eye = DAMPING * np.eye(theta.shape[1])
    for _ in range(ITERATIONS):
        R, axes = _rotated(chain, theta)
        error = rotvec_from_matrix(target @ np.swapaxes(R, -1, -2))
        normal = axes @ np.swapaxes(axes, -1, -2) + eye
        step = np.linalg.solve(normal, (axes @ error[:, :, None]))[:, :, 0]
        theta += np.clip(step, -MAX_STEP_RAD, MAX_STEP_RAD)
    return theta


def _rotated(chain: JointChain, theta: Floats) -> tuple[Floats, Floats]:
    """Return R, (N, 3, 3), and each axis after the rotations before it, (N, d, 3)."""
    R = np.broadcast_to(np.eye(3), (len(theta), 3, 3))
    axes = np.empty((*theta.shape, 3))
    for i, axis in enumerate(chain.axes):
        axes[:, i] = R @ axis
        R = R @ matrix_from_rotvec(theta[:, i, None] * axis)
    return R, axes


def own_angles(asf: AsfAngles, rotvec: Floats) -> AsfAngles:
    """Convert poses, (N, J, 3) charted [rad], to the file's angles, each on the branch of the one `asf` has for its frame."""
    local = local_from_charted(rotvec)
    near = zip(asf.chains, asf.angles, strict=True)
    return AsfAngles(asf.chains, tuple(angles_near(chain, local[:, chain.joint], angles) for chain, angles in near))


def angle_errors(estimated: AsfAngles, true: AsfAngles) -> Floats:
    """Return the absolute difference of every angle, at most 180, (N, D) [deg]."""
    difference = np.concatenate(estimated.angles, axis=1) - np.concatenate(true.angles, axis=1)
    return np.degrees(np.abs((difference + np.pi) % (2.0 * np.pi) - np.pi))
