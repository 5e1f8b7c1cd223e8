"""What is done to poses before they are restored, and how the error is counted (Lai, Yuen & Lee 2012, section 4.2).

The error is the mean squared error of standardised coordinates. Each coordinate is standardised by itself: less its mean over the
training half, over its standard deviation there. Standard Gaussian noise then is as large as each coordinate's own variation; an
error of 1 is that of the mean pose, and what dense noise leaves if nothing is done; sparse noise leaves 0.21 (4 of 19 joints).
Coordinates that the skeleton alone determines are not counted (`poses`); any that varies by less than a millimetre is divided by
one millimetre.

The paper says neither how it standardises nor which share of joints sparse noise corrupts; both are chosen here. The Gaussian's
error follows from the covariance alone, so it tells standardisations apart (subjects 07, 09; the paper: dense noise 0.08, 0.10,
completion 0.23, 0.26): each coordinate by itself 0.13, 0.16 and 0.03, 0.04; one scale common to all 0.07, 0.12 and 0.006, 0.013.
None agrees with both rows; the first is the nearer to the second row, and the harder.
"""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from config.arrays import Floats
from config.joints import JOINTS
from tools.evaluate.poses.poses import MOVED, N_COORDINATES, columns

MIN_SCALE_M = 1e-3
SPARSE_SHARE = 0.2  # of the joints
# The paper's joints 5, 9, 16, 19, 20 and 23, counted from 1 in the order of `config.joints`: its 23 joints in five chains.
OBSERVED = tuple(JOINTS[number - 1] for number in (5, 9, 16, 19, 20, 23))


class Task(StrEnum):
    """Dense noise, sparse noise, completion."""

    DENSE = "dense noise"
    SPARSE = "sparse noise"
    COMPLETION = "completion"


@dataclass(frozen=True, slots=True)
class Standardisation:
    """Mean and scale of each coordinate over training poses, (D,) [m] each."""

    mean_m: Floats
    scale_m: Floats

    def apply(self, poses_m: Floats) -> Floats:
        """Return standardised poses, (N, D) [m] -> (N, D)."""
        return np.asarray((poses_m - self.mean_m) / self.scale_m)


def standardisation(poses_m: Floats) -> Standardisation:
    """Return the standardisation by training poses, (N, D) [m]."""
    return Standardisation(poses_m.mean(axis=0), np.maximum(poses_m.std(axis=0), MIN_SCALE_M))


@dataclass(frozen=True, slots=True)
class Corrupted:
    """Standardised poses as a model gets them: observed (N, D), 0 where missing; weight (N, D), 1 where observed, 0 elsewhere."""

    observed: Floats
    weight: Floats


def corrupt(task: Task, poses: Floats, rng: np.random.Generator) -> Corrupted:
    """Corrupt standardised poses, (N, D). Where sparse noise struck is not told."""
    if task is Task.COMPLETION:
        weight = np.zeros_like(poses)
        weight[:, columns(OBSERVED)] = 1.0
        return Corrupted(poses * weight, weight)
    noise = rng.standard_normal(poses.shape)
    if task is Task.SPARSE:
        n_struck = round(SPARSE_SHARE * len(MOVED))
        struck = rng.random((len(poses), len(MOVED))).argsort(axis=1) < n_struck
        noise *= np.repeat(struck, 3, axis=1)
    return Corrupted(poses + noise, np.ones_like(poses))


def mean_squared_error(restored: Floats, true: Floats) -> float:
    """Return the mean over poses and coordinates of the squared error, standardised, (N, D) twice."""
    return float(np.mean((restored - true) ** 2))


def mean_distance_mm(restored: Floats, true: Floats, scale_m: Floats) -> float:
    """Return the mean distance of the moved joints from the truth [mm], of standardised poses, (N, D) twice, and (D,) [m]."""
    error_m = ((restored - true) * scale_m).reshape(-1, N_COORDINATES // 3, 3)
    return float(1e3 * np.linalg.norm(error_m, axis=2).mean())
