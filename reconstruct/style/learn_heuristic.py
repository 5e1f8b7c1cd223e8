"""Learning by the heuristic way: with active sets, step by step (Grochow et al. 2004, appendix B; Lawrence 2004).

new active set; least L_GP of the active poses over alpha, beta, gamma
new active set; least L_IK(x_i, y_i) over x_i of every other pose
new active set; w_k = sqrt(M / Y_k' K^-1 Y_k) of the active poses
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from database.rotations import Floats
from reconstruct.style.active_set import active_set
from reconstruct.style.learn_latent import asked, placed
from reconstruct.style.learn_parameters import FARTHEST, Fit, relearned
from reconstruct.style.model import Level, prepared
from reconstruct.style.objective import Workspace
from reconstruct.style.optimise import Optimiser

STEPS = 15, 6  # cold, and from a style learned before
PLACE_STEPS = 8  # of every pose's place in each round: the next round goes on from there


def learned_by_heuristic(
    Y: Floats, start: Fit, most_scale: Floats, active: int, steps: int, optimiser: Optimiser, watch: Callable[[float], None]
) -> Fit:
    """Give the fit to poses, (N, D), in `steps` rounds; scales stay below most_scale, (D,)."""
    fit, work = start, Workspace.of(*Y.shape)
    for _ in range(steps):
        rows = active_set(fit.X, fit.parameters, active)
        fit = Fit(fit.X, fit.ln_scale, relearned(fit.X[rows], fit.ln_scale, Y[rows], fit.parameters, optimiser))
        fit = Fit(_others_placed(fit, Y, active_set(fit.X, fit.parameters, active)), fit.ln_scale, fit.parameters)
        fit = Fit(fit.X, _rescaled(fit, Y, active_set(fit.X, fit.parameters, active), most_scale), fit.parameters)
        watch(fit.value(Y, work))
    return fit


def level_at(fit: Fit, Y: Floats, rows: NDArray[np.int64]) -> Level:
    """Give the level of a fit with an active set, (M,)."""
    return prepared(fit.X[rows], Y[rows], np.zeros(Y.shape[1]), np.exp(fit.ln_scale), fit.parameters)


def _others_placed(fit: Fit, Y: Floats, rows: NDArray[np.int64]) -> Floats:
    """Give latent points, (N, Q), those outside the active set where their L_IK is least."""
    others = np.setdiff1d(np.arange(len(Y)), rows)
    X = fit.X.copy()
    X[others] = np.clip(placed(asked(level_at(fit, Y, rows), Y[others]), X[others], PLACE_STEPS), -FARTHEST, FARTHEST)
    return X


def _rescaled(fit: Fit, Y: Floats, rows: NDArray[np.int64], most_scale: Floats) -> Floats:
    """Give ln w at which L_GP of the active poses is least, (D,)."""
    level = level_at(fit, Y, rows)
    explained = np.einsum("md,md->d", Y[rows], level.coefficients)
    best = 0.5 * np.log(len(rows) / np.maximum(explained, 1e-12))
    return np.asarray(np.minimum(best, np.log(most_scale)))
