"""Learning by the direct way: L_GP minimised over everything at once (Grochow et al. 2004, appendix B)."""

from collections.abc import Callable

import numpy as np

from database.rotations import Floats
from reconstruct.style.learn_parameters import FARTHEST, Fit, by_moved, moved, parameter_box, parameters_of, unmoved
from reconstruct.style.objective import Workspace, objective
from reconstruct.style.optimise import Optimiser, minimised
from reconstruct.style.scg import Box

STEPS = 150, 50  # cold, and from a style learned before
LEAST_LN_SCALE = -12.0


def learned_directly(
    Y: Floats, start: Fit, most_scale: Floats, steps: int, optimiser: Optimiser, watch: Callable[[float], None]
) -> Fit:
    """Give the fit to poses, (N, D), in at most `steps` steps of the optimiser; scales stay below most_scale, (D,)."""
    n, n_features = Y.shape
    size = start.X.size
    work = Workspace.of(n, n_features)

    def value(z: Floats) -> tuple[float, Floats]:
        L, dX, dp, dw = objective(z[:size].reshape(n, -1), unmoved(z[size : size + 3]), z[size + 3 :], Y, work)
        return L, np.concatenate([dX.ravel(), by_moved(dp), dw])

    parameters = parameter_box()
    lower = np.concatenate([np.full(size, -FARTHEST), parameters.lower, np.full(n_features, LEAST_LN_SCALE)])
    upper = np.concatenate([np.full(size, FARTHEST), parameters.upper, np.log(most_scale)])
    z = np.concatenate([start.X.ravel(), moved(start.parameters), start.ln_scale])
    z = minimised(value, z, Box(lower, upper), steps, optimiser, watch)
    return Fit(np.ascontiguousarray(z[:size].reshape(n, -1)), z[size + 3 :], parameters_of(z[size : size + 3]))
