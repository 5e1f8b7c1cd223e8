"""What the frames after one say of it: their velocities and accelerations count from it (Grochow et al. 2004, section 4).

L_IK of a motion is the sum over its frames n of L_IK(x_n, y_n), y_n = (s_n, s_n - s_{n-1}, s_n - 2 s_{n-1} + s_{n-2}). For given
x the terms of frames n+1 and n+2 are, as functions of s_n, Gaussians in each component:

    s_{n+1} - s_n,    s_{n+1} - 2 s_n + s_{n-1},    s_{n+2} - 2 s_{n+1} + s_n        near f(x), precision w^2 / s2(x)
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from config.joints import N_JOINTS
from database.rotations import Floats, matrix_from_rotvec, rotvec_from_matrix
from reconstruct.style.constraints import FixedJoints, RootPrior
from reconstruct.style.features import N_ANGLES, N_STATIC
from reconstruct.style.model import Level, Style, levels, predicted
from reconstruct.style.synthesis import Synthesis

WEAKEST_RAD = 3.0  # a joint that is pulled less is not pulled
ROOT_M, ROOT_RAD = 0.01, 0.04  # acceleration of the root within a step, of which styles say nothing: 9 m/s^2, 36 rad/s^2


@dataclass(frozen=True, slots=True)
class Expected:
    """What a frame's velocity and acceleration should be: centre and precision of each static feature's, (S,)."""

    velocity: Floats
    velocity_precision: Floats
    acceleration: Floats
    acceleration_precision: Floats


class Expectations:
    """The styles, ready to say what velocity and acceleration go with latent points."""

    def __init__(self, styles: Sequence[Style]) -> None:
        """Prepare."""
        self._levels: list[tuple[Level, NDArray[np.int64]]] = [
            (levels(style)[2], np.flatnonzero(style.modelled)) for style in styles
        ]

    def at(self, latent: Sequence[Floats], shares: Sequence[float]) -> Expected:
        """Give what goes with the latent points of all styles, (Q,) each."""
        precision, weighted = np.zeros(3 * N_STATIC), np.zeros(3 * N_STATIC)
        for (level, column), x, share in zip(self._levels, latent, shares, strict=True):
            f, variance = predicted(level, x[None])
            own = share * level.scale**2 / variance[0]
            precision[column] += own
            weighted[column] += own * f[0]
        centre = weighted / np.maximum(precision, 1e-12)
        v, a = slice(N_STATIC, 2 * N_STATIC), slice(2 * N_STATIC, None)
        return Expected(centre[v], precision[v], centre[a], precision[a])


def pull(n: int, static: Floats, expected: Sequence[Expected], held: NDArray[np.int64]) -> FixedJoints:
    """Give what frames n+1 and n+2 say of the joints of frame n; held: joints that are not to be pulled.

    static: features of all frames, (N, S). Of the three components of a joint the precisions are made one, their mean.
    """
    precision, weighted = np.zeros(N_STATIC), np.zeros(N_STATIC)
    if n + 1 < len(static):
        late = expected[n + 1]
        precision += late.velocity_precision
        weighted += late.velocity_precision * (static[n + 1] - late.velocity)
        if n > 0:
            precision += 4.0 * late.acceleration_precision
            weighted += 2.0 * late.acceleration_precision * (static[n + 1] + static[n - 1] - late.acceleration)
    if n + 2 < len(static):
        later = expected[n + 2]
        precision += later.acceleration_precision
        weighted += later.acceleration_precision * (later.acceleration - static[n + 2] + 2.0 * static[n + 1])
    each = precision[:N_ANGLES].reshape(-1, 3)
    centre = (weighted[:N_ANGLES] / np.maximum(precision[:N_ANGLES], 1e-12)).reshape(-1, 3)
    centre = np.where(each > 0.0, centre, static[n, :N_ANGLES].reshape(-1, 3))
    sigma = 1.0 / np.sqrt(np.maximum(each.mean(axis=1), 1e-12))
    joint = 1 + np.flatnonzero(sigma < WEAKEST_RAD)
    joint = joint[~np.isin(joint, held)]
    assert joint.max(initial=0) < N_JOINTS
    return FixedJoints(joint, np.ascontiguousarray(centre[joint - 1]), np.ascontiguousarray(sigma[joint - 1]))


def root_pull(n: int, poses: Sequence[Synthesis], own: RootPrior) -> RootPrior:
    """Give where the frames beside one expect its root, halfway between them, together with what is asked of it, `own`."""
    if not 0 < n < len(poses) - 1:
        return own
    before, after = poses[n - 1], poses[n + 1]
    R = matrix_from_rotvec(before.rotvec[0])
    R = R @ matrix_from_rotvec(0.5 * rotvec_from_matrix(R.T @ matrix_from_rotvec(after.rotvec[0])))
    # s_{n-1} - 2 s_n + s_{n+1} has the deviation ROOT_M, hence s_n half of it about the middle.
    middle = 0.5 * (before.root_m + after.root_m)
    precision_m, precision_rad = (0.5 * ROOT_M) ** -2 + own.sigma_m**-2, (0.5 * ROOT_RAD) ** -2 + own.sigma_rad**-2
    share_m, share_rad = own.sigma_m**-2 / precision_m, own.sigma_rad**-2 / precision_rad
    turn = matrix_from_rotvec(share_rad * rotvec_from_matrix(R.T @ own.rotation))
    place = (1.0 - share_m) * middle + share_m * own.position_m
    return RootPrior(R @ turn, place, precision_rad**-0.5, precision_m**-0.5)
