"""A motion found at the rate of the features, at any other: splines through its poses."""

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation, RotationSpline

from database.rotations import Floats, matrix_from_rotvec, rotvec_from_matrix
from reconstruct.style.features import RATE_HZ


def at_rate(rotvec: Floats, root_m: Floats, fps: float) -> tuple[Floats, Floats]:
    """Give poses, (N, J, 3) [rad] and (N, 3) [m] at RATE_HZ, at fps frames a second, as long as the motion lasts.

    Joints and place follow cubic splines, the root's orientation one of rotations, so that velocity and acceleration are steady.
    """
    count = int((len(rotvec) - 1) * fps / RATE_HZ + 1e-6) + 1
    if len(rotvec) < 2 or fps == RATE_HZ:
        return rotvec, root_m
    own_s, wanted_s = np.arange(len(rotvec)) / RATE_HZ, np.arange(count) / fps
    wanted_s = np.minimum(wanted_s, own_s[-1])
    joints = np.array(CubicSpline(own_s, rotvec)(wanted_s))
    turned = RotationSpline(own_s, Rotation.from_matrix(matrix_from_rotvec(rotvec[:, 0])))(wanted_s)
    joints[:, 0] = rotvec_from_matrix(turned.as_matrix())
    return np.ascontiguousarray(joints), np.ascontiguousarray(CubicSpline(own_s, root_m)(wanted_s))
