"""The local model: a Gaussian over poses learned from the nearest examples of every frame.

Chai & Hodgins 2005, eq. 3: q = p + U w from the K nearest poses. Here the covariance is not truncated hard: its
eigenvalues are kept above a noise floor in all directions, so that markers may pull a limb off the examples' plane
at a price. The smoothness term of eq. 9, quadratic in q, is folded into the same quadratic form.
"""

from dataclasses import dataclass

import numpy as np

from config.joints import N_JOINTS
from database.rotations import Floats

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
    examples: Floats, weights: Floats, predicted: Floats | None, *, floor_rad: float, shrinkage: float, smooth_sigma_rad: float
) -> LocalModel:
    """Fit a Gaussian to the K nearest poses and multiply it with the one around the predicted pose.

    examples: (K, D) [rad]; weights: (K,), any positive scale; predicted: 2 q_{t-1} - q_{t-2}, (D,), or None at the start;
    floor_rad: standard deviation granted in every direction; shrinkage: share of the covariance replaced by its diagonal;
    smooth_sigma_rad: standard deviation of the acceleration per frame.
    """
    w = weights / weights.sum()
    mean = w @ examples
    centred = (examples - mean) * np.sqrt(w)[:, None]
    C = centred.T @ centred
    C *= 1.0 - shrinkage
    diagonal = np.einsum("ii->i", C)
    diagonal += shrinkage / max(1.0 - shrinkage, 1e-9) * diagonal + floor_rad**2
    precision = np.linalg.inv(C)
    center = np.zeros(DOFS)
    if predicted is not None:
        smooth = smooth_sigma_rad**-2.0
        total = precision + smooth * np.eye(DOFS)
        center = np.linalg.solve(total, smooth * (predicted - mean))
        precision = total
    pose = np.zeros((N_JOINTS, 3))
    pose[1:] = mean.reshape(-1, 3)
    return LocalModel(pose, FULL, center, np.ascontiguousarray(precision))


def local_pca(
    examples: Floats, predicted: Floats | None, *, dimensions: int, smooth_sigma_rad: float, prior_weight: float
) -> LocalModel:
    """Fit the paper's model: B principal directions of the K nearest poses (Chai & Hodgins 2005, eqs. 3 and 9).

    examples: (K, D) [rad]. The smoothness term |p + U w - q_pred|^2 collapses to |w - U'(q_pred - p)|^2 as U is orthonormal.
    """
    mean = examples.mean(axis=0)
    _, singular, Vt = np.linalg.svd(examples - mean, full_matrices=False)
    variance = singular**2 / max(len(examples) - 1, 1)
    B = max(1, min(dimensions, int((variance > 1e-10).sum())))
    U = Vt[:B].T
    precision = np.diag(prior_weight / np.maximum(variance[:B], 1e-10))
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
