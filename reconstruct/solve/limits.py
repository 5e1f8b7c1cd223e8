"""Joint limits, from the poses of the database: knees do not bend forwards.

A Gaussian knows no limits: with a leg a little too long, the markers are explained as well by a knee that bends the wrong way.
Where a solved pose oversteps what all poses of the database keep to, the local model is clamped there and the frame solved again.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from config.arrays import Floats
from config.joints import N_JOINTS
from reconstruct.models.local.model import LocalModel

RARE_PERCENT = 0.05  # of the poses may lie beyond a limit: flips and other faults of the recordings
MARGIN_RAD, MARGIN_SHARE = 0.03, 0.02  # and a performer may go a little farther than the database, by its range too
STILL_RAD = 0.1  # coordinates that move less than this are left to the local model, which hardly moves them either
SIGMA_RAD = 0.03  # of a clamped coordinate


@dataclass(frozen=True, slots=True)
class Limits:
    """Least and greatest value of every joint coordinate, (D,) [rad]; infinite where there is no limit."""

    low: Floats
    high: Floats


def limits_of(poses: NDArray[np.float32]) -> Limits:
    """Return the limits that poses, (N, D) [rad], keep to."""
    low, high = np.percentile(poses, [RARE_PERCENT, 100.0 - RARE_PERCENT], axis=0).astype(np.float64)
    margin = np.where(high - low < STILL_RAD, np.inf, MARGIN_RAD + MARGIN_SHARE * (high - low))
    return Limits(low - margin, high + margin)


def clamped(model: LocalModel, joints: Floats, limits: Limits) -> LocalModel | None:
    """Return the model with those coordinates clamped where a solved pose, (J, 3) [rad], oversteps a limit; None if none does."""
    pose = joints[1:].ravel()
    nearest = np.clip(pose, limits.low, limits.high)
    beyond = nearest != pose
    if not beyond.any():
        return None
    U = model.directions.reshape(3 * N_JOINTS, -1)[3:][beyond]
    stiff = SIGMA_RAD**-2.0
    precision = model.precision + stiff * U.T @ U
    target = nearest[beyond] - model.mean[1:].ravel()[beyond]
    center = np.linalg.solve(precision, model.precision @ model.center + stiff * U.T @ target)
    return LocalModel(model.mean, model.directions, center, precision)
