"""How the other frames of a motion draw one frame, by velocities and accelerations (Grochow et al. 2004, section 4).

L_IK of a motion is the sum over its frames n of L_IK(x_n, y_n), y_n = (s_n, s_n - s_{n-1}, s_n - 2 s_{n-1} + s_{n-2}). For given
x the terms of frames n+1 and n+2 are, as functions of s_n, Gaussians in each component:

    s_{n+1} - s_n,    s_{n+1} - 2 s_n + s_{n-1},    s_{n+2} - 2 s_{n+1} + s_n        near f(x), precision w^2 / s2(x)
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from config.arrays import Floats, Ints
from config.joints import N_JOINTS
from database.geometry.rotations import matrix_from_rotvec, rotvec_from_matrix
from reconstruct.constraints import FixedJoints, RootConstraint
from reconstruct.models.style.features import N_ANGLES, N_STATIC
from reconstruct.models.style.model import Style, StyleEvaluator, build_evaluator, predict_features
from reconstruct.models.style.synthesis.synthesizer import Synthesis

MAX_SIGMA_RAD = 3.0  # a joint that is drawn less is left alone
ROOT_M, ROOT_RAD = 0.01, 0.04  # acceleration of the root within a step, which styles do not model: 9 m/s^2, 36 rad/s^2


@dataclass(frozen=True, slots=True)
class ExpectedStep:
    """Expected velocity and acceleration of a frame: centre and precision of each static feature's, (S,)."""

    velocity: Floats
    velocity_precision: Floats
    acceleration: Floats
    acceleration_precision: Floats


class StepPredictor:
    """Predicts velocity and acceleration from latent points."""

    def __init__(self, styles: Sequence[Style]) -> None:
        self._styles: list[tuple[StyleEvaluator, Ints]] = [
            (build_evaluator(style, style.learned), np.flatnonzero(style.modelled)) for style in styles
        ]

    def at(self, latent: Sequence[Floats], shares: Sequence[float]) -> ExpectedStep:
        """Return the prediction at the latent points of all styles, (Q,) each."""
        precision, weighted = np.zeros(3 * N_STATIC), np.zeros(3 * N_STATIC)
        for (style, column), x, share in zip(self._styles, latent, shares, strict=True):
            f, variance = predict_features(style, x[None])
            own = share * style.scale**2 / variance[0]
            precision[column] += own
            weighted[column] += own * f[0]
        centre = weighted / np.maximum(precision, 1e-12)
        v, a = slice(N_STATIC, 2 * N_STATIC), slice(2 * N_STATIC, None)
        return ExpectedStep(centre[v], precision[v], centre[a], precision[a])


def pull_joints(n: int, static: Floats, expected: Sequence[ExpectedStep], excluded: Ints) -> FixedJoints:
    """Return how frames n+1 and n+2 draw the joints of frame n.

    The three components of a joint share the mean of their precisions.

    Args:
        n: number of the frame.
        static: features of all frames, (N, S).
        expected: expected steps of each frame.
        excluded: joints that are not drawn.
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
    joint = 1 + np.flatnonzero(sigma < MAX_SIGMA_RAD)
    joint = joint[~np.isin(joint, excluded)]
    assert joint.max(initial=0) < N_JOINTS
    return FixedJoints(joint, np.ascontiguousarray(centre[joint - 1]), np.ascontiguousarray(sigma[joint - 1]))


def pull_root(n: int, poses: Sequence[Synthesis], own: RootConstraint) -> RootConstraint:
    """Return the root constraint of frame n from its neighbours, halfway between them, combined with its own.

    Args:
        n: number of the frame.
        poses: poses of all frames.
        own: the frame's own constraint.
    """
    if not 0 < n < len(poses) - 1:
        return own
    before, after = poses[n - 1], poses[n + 1]
    R = matrix_from_rotvec(before.rotvec[0])
    R = R @ matrix_from_rotvec(0.5 * rotvec_from_matrix(R.T @ matrix_from_rotvec(after.rotvec[0])))
    # s_{n-1} - 2 s_n + s_{n+1} has the deviation ROOT_M, hence s_n half of it about the middle.
    middle = 0.5 * (before.root_m + after.root_m)
    precision_m, precision_rad = (0.5 * ROOT_M) ** -2 + own.sigma_m**-2, (0.5 * ROOT_RAD) ** -2 + own.sigma_rad**-2
    share_m, share_rad = own.sigma_m**-2 / precision_m, own.sigma_rad**-2 / precision_rad
    towards_own = matrix_from_rotvec(share_rad * rotvec_from_matrix(R.T @ own.rotation))
    position_m = (1.0 - share_m) * middle + share_m * own.position_m
    return RootConstraint(R @ towards_own, position_m, precision_rad**-0.5, precision_m**-0.5)
