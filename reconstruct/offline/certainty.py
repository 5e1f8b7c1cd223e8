"""How sure the poses of a take are, given past and future: Laplace's approximation of all frames together.

The inverse of the Hessian of a chain's energy is the covariance of all its poses. Of it the blocks of single frames are needed
(`banded.marginals`).
"""

from typing import Final

import numpy as np

from calibration.subject.subject import Subject
from config.arrays import Floats
from config.joints import N_JOINTS
from database.geometry.kinematics import compute_markers_and_jacobian
from database.geometry.rotations import skew_from_vector
from reconstruct.models.local.model import FULL
from reconstruct.offline.motion import TakeMotion
from reconstruct.solve.certainty import MAX_ERROR_M

# error = ERROR_SCALE laplace^BY_LAPLACE (strangeness + LEAST_STRANGE_RAD)^BY_STRANGENESS, as in `reconstruct/solve/certainty.py`.
ERROR_SCALE: Final = 23.3
BY_LAPLACE, BY_STRANGENESS, LEAST_STRANGE_RAD = 1.06, 0.94, 0.02


def compute_joint_deviations_m(subject: Subject, motion: TakeMotion, covariance: Floats) -> Floats:
    """Return the standard deviations of the joints' positions, (N, J) [m].

    Args:
        subject: the performer.
        motion: the poses of the take.
        covariance: covariance of joint coordinates, rotation vector of the root about the world's axes and its position, (N, V,
            V).
    """
    joints, origins = np.arange(N_JOINTS), np.zeros((N_JOINTS, 3))
    result = np.empty((len(motion), N_JOINTS))
    for n, block in enumerate(covariance):
        pose = np.concatenate([np.zeros((1, 3)), motion.joints[n, 1:]])
        local, by_joints = compute_markers_and_jacobian(subject.skeleton, pose, FULL, joints, origins)
        R = motion.rotation[n].T  # in the root's frame, where the deviation is the same as in the world
        J = np.concatenate([by_joints, -skew_from_vector(local) @ R, np.broadcast_to(R, (N_JOINTS, 3, 3))], axis=2)
        flat = J.reshape(-1, J.shape[2])
        result[n] = np.sqrt(((flat @ block) * flat).sum(axis=1).reshape(-1, 3).sum(axis=1) / 3.0)
    return result


def estimate_take_error_m(deviation_m: Floats, strange_rad: Floats) -> Floats:
    """Return how far from the truth the joints of solved poses may be, (N, J) [m]: 68 % of them are nearer, 95 % twice as near.

    strange_rad: of every frame, root mean square of the joint coordinates' distance from the nearest example, (N,). The law is
    that of single frames; its constants are fitted to the tuning clips solved offline, people whom the database lacks counting
    half, as most performers are such.
    """
    error_m = ERROR_SCALE * deviation_m**BY_LAPLACE * (strange_rad[:, None] + LEAST_STRANGE_RAD) ** BY_STRANGENESS
    return np.asarray(np.minimum(error_m, MAX_ERROR_M))
