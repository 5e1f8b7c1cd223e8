"""Joint angles of an Acclaim skeleton: the measure of Chai & Hodgins 2005, whose poses are the angles of ASF/AMC files.

The bones of the file between our parent and our joint turn by R(theta) = prod_i exp(theta_i [a_i]x), a_i the axes of their
degrees of freedom in the base pose. With A the turn between the rest poses (see `database.retarget`), ours is
L' = A_parent^T R(theta) A. Theta is recovered by Gauss-Newton from angles that are near: an estimate's from the truth's, those
from the file's. So no angle wraps or flips to the other solution with the same rotation; what the few degrees of freedom of an
elbow or a foot cannot reach is projected to the nearest rotation they can.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from config.joints import N_JOINTS, PARENTS
from database.asf_amc import axis_frame, read_amc, read_amc_angles
from database.kinematics import local_rotations
from database.retarget import mapping_from_source, path_to
from database.rotations import Floats, matrix_from_rotvec, rotvec_from_matrix

ITERATIONS = 12
DAMPING = 1e-4  # keeps an angle where its axis has lined up with another's
MAX_STEP_RAD = 0.5


@dataclass(frozen=True, slots=True)
class Chain:
    """The degrees of freedom that make up one of our joints.

    joint: index of ours; axes: (d, 3), outermost first; names: d, such as `lfemur.rx`; left, right: L' = left R right.
    """

    joint: int
    axes: Floats
    names: tuple[str, ...]
    left: Floats
    right: Floats


@dataclass(frozen=True, slots=True)
class AsfAngles:
    """A clip's joint angles as its file has them: chains, and for each its angles over the frames, (N, d) [rad]."""

    chains: tuple[Chain, ...]
    angles: tuple[Floats, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all angles, in the order of `angle_errors`."""
        return tuple(name for chain in self.chains for name in chain.names)

    def part(self, frames: slice) -> "AsfAngles":
        """Give some of the frames."""
        return AsfAngles(self.chains, tuple(np.ascontiguousarray(angles[frames]) for angles in self.angles))


def asf_angles(amc: Path) -> AsfAngles:
    """Read the joint angles of a motion; fingers and whatever else our skeleton lacks are left out. Raises FileFormatError."""
    motion = read_amc(amc)
    skeleton, values = read_amc_angles(amc)
    mapping = mapping_from_source(str(amc), motion)
    chains, angles = [], []
    for joint in range(1, N_JOINTS):
        axes, names, columns = [], [], []
        for bone in (skeleton.bones[k] for k in path_to(motion, mapping, joint)):
            if bone.name not in values:
                continue
            C = axis_frame(bone, skeleton.angle_scale)
            turns = [dof for dof in bone.dofs if dof.startswith("r")]
            for k in reversed(range(len(turns))):  # the first listed is applied first: innermost
                axes.append(C[:, "xyz".index(turns[k][1])])
                names.append(f"{bone.name}.{turns[k]}")
                columns.append(values[bone.name][:, k])
        if axes:
            left, right = mapping.rest[PARENTS[joint]].T, mapping.rest[joint]
            chains.append(Chain(joint, np.array(axes), tuple(names), left, right))
            angles.append(np.stack(columns, axis=1))
    return AsfAngles(tuple(chains), tuple(angles))


def angles_near(chain: Chain, rotations: Floats, near: Floats) -> Floats:
    """Give the angles of a chain whose rotation comes closest to L', (N, 3, 3), on the branch of `near`, (N, d) [rad]."""
    target = chain.left.T @ rotations @ chain.right.T
    theta = near.copy()
    eye = DAMPING * np.eye(theta.shape[1])
    for _ in range(ITERATIONS):
        R, axes = _turned(chain, theta)
        error = rotvec_from_matrix(target @ np.swapaxes(R, -1, -2))
        normal = axes @ np.swapaxes(axes, -1, -2) + eye
        step = np.linalg.solve(normal, (axes @ error[:, :, None]))[:, :, 0]
        theta += np.clip(step, -MAX_STEP_RAD, MAX_STEP_RAD)
    return theta


def _turned(chain: Chain, theta: Floats) -> tuple[Floats, Floats]:
    """Give R (N, 3, 3) and the axes as the turns before them leave them, (N, d, 3)."""
    R = np.broadcast_to(np.eye(3), (len(theta), 3, 3))
    axes = np.empty((*theta.shape, 3))
    for i, axis in enumerate(chain.axes):
        axes[:, i] = R @ axis
        R = R @ matrix_from_rotvec(theta[:, i, None] * axis)
    return R, axes


def own_angles(asf: AsfAngles, rotvec: Floats) -> AsfAngles:
    """Give the angles of poses of ours, (N, J, 3) charted [rad], each near the one `asf` has for its frame."""
    local = local_rotations(rotvec)
    near = zip(asf.chains, asf.angles, strict=True)
    return AsfAngles(asf.chains, tuple(angles_near(chain, local[:, chain.joint], angles) for chain, angles in near))


def angle_errors(estimated: AsfAngles, true: AsfAngles) -> Floats:
    """Give |difference| of every angle, wrapped to half a turn, (N, D) [deg]."""
    difference = np.concatenate(estimated.angles, axis=1) - np.concatenate(true.angles, axis=1)
    return np.degrees(np.abs((difference + np.pi) % (2.0 * np.pi) - np.pi))
