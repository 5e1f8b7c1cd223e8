"""The local model: a Gaussian over poses learned from the nearest examples of every frame.

Chai & Hodgins 2005, eq. 3: q = p + U w from the K nearest poses. Here the covariance is not truncated hard but widened by that of
the whole database, so that markers may pull a limb off the examples' plane, and more easily the way limbs usually go. The
smoothness term of eq. 9, quadratic in q, is folded into the same quadratic form; it is a Gaussian too (`reconstruct.motion`).
"""

from dataclasses import dataclass

import numpy as np

from config.joints import N_JOINTS
from database.rotations import Floats
from reconstruct.cross_validation import COUNTS, cross_validated_pca
from reconstruct.motion import Motion, weighted_moments

DOFS = 3 * (N_JOINTS - 1)


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A quadratic energy over poses q = mean + directions w.

    mean: (J, 3) [rad], row 0 zero; directions: (J, 3, B), row 0 zero; center: minimum in w, (B,); precision: (B, B).
    """

    mean: Floats
    directions: Floats
    center: Floats
    precision: Floats


def _identity_directions() -> Floats:
    """Give directions along every coordinate of every joint but the root, (J, 3, D)."""
    directions = np.zeros((N_JOINTS, 3, DOFS))
    directions.reshape(3 * N_JOINTS, DOFS)[3:] = np.eye(DOFS)
    directions.setflags(write=False)
    return directions


FULL = _identity_directions()


def local_gaussian(
    examples: Floats, weights: Floats, motion: Motion | None, background: Floats, *, floor_rad: float, shrinkage: float
) -> LocalModel:
    """Fit a Gaussian to the K nearest poses and multiply it with the one around the pose that motion leads to.

    examples: (K, D) [rad]; weights: (K,), any positive scale; motion: where the last poses lead, or None at the start;
    background: covariance (D, D) [rad^2] added to the neighbours', what they do not span; floor_rad: standard deviation
    granted in every direction on top; shrinkage: share of the neighbours' covariance replaced by its diagonal.
    """
    mean, C = weighted_moments(examples, weights)
    diagonal = np.einsum("ii->i", C)
    spread = diagonal.copy()
    C *= 1.0 - shrinkage
    C += background
    diagonal += shrinkage * spread + floor_rad**2
    precision = np.linalg.inv(C)
    center = np.zeros(DOFS)
    if motion is not None:
        steadiness = np.linalg.inv(motion.covariance)
        precision += steadiness
        center = np.linalg.solve(precision, steadiness @ (motion.expected - mean))
    pose = np.zeros((N_JOINTS, 3))
    pose[1:] = mean.reshape(-1, 3)
    return LocalModel(pose, FULL, center, np.ascontiguousarray(precision))


def local_pca(
    examples: Floats, predicted: Floats | None, *, dimensions: int, smooth_sigma_rad: float, prior_weight: float
) -> LocalModel:
    """Fit the paper's model: principal directions of the nearest poses (Chai & Hodgins 2005, eqs. 3 and 9).

    examples: (K, D) [rad], nearest first; how many of them count and how many directions are kept, at most `dimensions`, is
    chosen by leave-one-out cross-validation. The smoothness term |p + U w - q_pred|^2 collapses to |w - U'(q_pred - p)|^2 as U is
    orthonormal.
    """
    counts = [count for count in COUNTS if count < len(examples)] + [len(examples)]
    chosen = cross_validated_pca(examples, counts, dimensions) if len(examples) > 1 else None
    mean = examples[0] if chosen is None else chosen.mean
    U, variance = _some_direction() if chosen is None or not len(chosen.variances) else (chosen.directions, chosen.variances)
    B = U.shape[1]
    precision = np.diag(prior_weight / np.maximum(variance, 1e-10))
    center = np.zeros(B)
    if predicted is not None:
        smooth = smooth_sigma_rad**-2.0
        target = U.T @ (predicted - mean)
        total = precision + smooth * np.eye(B)
        center = np.linalg.solve(total, smooth * target)
        precision = total
    pose, directions = np.zeros((N_JOINTS, 3)), np.zeros((N_JOINTS, 3, B))
    pose[1:] = mean.reshape(-1, 3)
    directions[1:] = U.reshape(-1, 3, B)
    return LocalModel(pose, directions, center, precision)


def _some_direction() -> tuple[Floats, Floats]:
    """Give a direction, (D, 1), along which equal examples do not spread; the solver wants at least one."""
    return np.eye(DOFS, 1), np.zeros(1)
