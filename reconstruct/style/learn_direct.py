"""Learning by the direct way: L_GP minimised over everything at once (Grochow et al. 2004, appendix B)."""

from collections.abc import Callable

import numpy as np

from database.rotations import Floats
from reconstruct.style.learn_parameters import FARTHEST, Fit, by_moved, moved, parameter_box, parameters_of, unmoved
from reconstruct.style.objective import Workspace, objective
from reconstruct.style.optimise import Optimiser, minimised
from reconstruct.style.scg import Box

STEPS = 60, 25  # cold, and from a style learned before; more make L_GP less and unseen poses worse: decision 0041
LEAST_LN_SCALE = -12.0
UNIT_X = 0.1  # tried with 0.02 to 0.3: decision 0041


def learned_directly(
    Y: Floats, start: Fit, most_scale: Floats, steps: int, optimiser: Optimiser, watch: Callable[[float], None]
) -> Fit:
    """Give the fit to poses, (N, D), in at most `steps` steps of the optimiser; scales stay below most_scale, (D,)."""
    n, n_features = Y.shape
    size = start.X.size
    unit = _units(n, size, n_features)
    work = Workspace.of(n, n_features)

    def value(u: Floats) -> tuple[float, Floats]:
        z = u * unit
        L, dX, dp, dw = objective(z[:size].reshape(n, -1), unmoved(z[size : size + 3]), z[size + 3 :], Y, work)
        return L, unit * np.concatenate([dX.ravel(), by_moved(dp), dw])

    parameters = parameter_box()
    lower = np.concatenate([np.full(size, -FARTHEST), parameters.lower, np.full(n_features, LEAST_LN_SCALE)])
    upper = np.concatenate([np.full(size, FARTHEST), parameters.upper, np.log(most_scale)])
    z = np.concatenate([start.X.ravel(), moved(start.parameters), start.ln_scale])
    z = unit * minimised(value, z / unit, Box(lower / unit, upper / unit), steps, optimiser, watch)
    return Fit(np.ascontiguousarray(z[:size].reshape(n, -1)), z[size + 3 :], parameters_of(z[size : size + 3]))


def _units(n: int, size: int, n_features: int) -> Floats:
    """Give in which units X, the parameters and ln w are moved, (P,): about 1 over the root of L_GP's curvature by each.

    Both optimisers need that: a step in ln alpha alone changes L_GP a thousandfold what one in a coordinate does.
    """
    by_parameters, by_scale = 1.0 / np.sqrt(0.5 * n * n_features), 1.0 / np.sqrt(2.0 * n)
    return np.concatenate([np.full(size, UNIT_X), np.full(3, by_parameters), np.full(n_features, by_scale)])
