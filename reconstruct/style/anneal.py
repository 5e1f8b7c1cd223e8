"""Annealed parameters: a smoother model of the same latent points (Grochow et al. 2004, section 6.1.1).

Gaussian noise is added to the active poses' features, and alpha, beta and gamma are learned again, latent points and scales held.
The noise has its variance in the scaled features W y, where a style's scales are such that these have a variance of 1 on average
(`Fit.normal`): so 0.05 is a twentieth of what the features vary by.
"""

import numpy as np
from numpy.typing import NDArray

from database.rotations import Floats
from reconstruct.style.learn_parameters import Fit, relearned
from reconstruct.style.model import Hyperparameters
from reconstruct.style.optimise import Optimiser

SMALL_SET = 200  # poses
SMALL_SET_VARIANCE, LARGE_SET_VARIANCE = 0.05, 0.1


def annealed(
    fit: Fit, Y: Floats, active: NDArray[np.int64], variance: float | None, seed: int, optimiser: Optimiser
) -> Hyperparameters:
    """Give the parameters learned of noisy active poses; variance: None, by the number of poses (N, D)."""
    if variance is None:
        variance = SMALL_SET_VARIANCE if len(Y) <= SMALL_SET else LARGE_SET_VARIANCE
    noise = np.random.default_rng(seed).normal(scale=np.sqrt(variance), size=(len(active), Y.shape[1]))
    noisy = Y[active] + noise * np.exp(-fit.ln_scale)
    return relearned(fit.X[active], fit.ln_scale, noisy, fit.parameters, optimiser)
