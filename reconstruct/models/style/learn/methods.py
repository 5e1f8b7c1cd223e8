"""The two ways of learning (Grochow et al. 2004, appendix B): everything at once, or alternating with active sets.

Direct: L_GP minimised over all variables. Heuristic (Lawrence 2004), in each round:

    new active set; minimise L_GP of the active poses over alpha, beta, gamma
    new active set; minimise L_IK(x_i, y_i) over x_i of every other pose
    new active set; w_k = sqrt(M / Y_k' K^-1 Y_k) of the active poses
"""

from collections.abc import Callable

import numpy as np

from config.arrays import Floats, Ints
from reconstruct.models.style.learn.active_set import choose_active_set
from reconstruct.models.style.learn.latent import build_latent_query, find_latent
from reconstruct.models.style.learn.objective import Workspace, compute_objective
from reconstruct.models.style.learn.optimise import Optimiser, VariableBounds, minimise_value
from reconstruct.models.style.learn.parameters import (
    MAX_LATENT,
    StyleFit,
    build_variable_bounds,
    convert_gradient,
    learn_parameters,
    ln_parameters_from_variables,
    parameters_from_variables,
    variables_from_parameters,
)
from reconstruct.models.style.model import StyleEvaluator, build_evaluator_at

DIRECT_STEPS = 60, 25  # cold, and from a style; more lower L_GP but make unseen poses worse: decision 0041
HEURISTIC_STEPS = 15, 6  # likewise
LATENT_STEPS = 8  # of every pose's latent point in each round: the next round continues
MIN_LN_SCALE = -12.0
UNIT_X = 0.1  # chosen from 0.02 to 0.3: decision 0041


def learn_directly(
    Y: Floats, start: StyleFit, max_scale: Floats, steps: int, optimiser: Optimiser, watch: Callable[[float], None]
) -> StyleFit:
    """Return the fit to poses, (N, D), after at most `steps` steps of the optimiser; scales are at most max_scale, (D,).

    Args:
        Y: features, (N, D), centred.
        start: the fit to begin with.
        max_scale: largest scales, (D,).
        steps: greatest number of steps of the optimiser.
        optimiser: optimiser to use.
        watch: called with the value after each step.
    """
    n, n_features = Y.shape
    size = start.X.size
    unit = _compute_units(n, size, n_features)
    work = Workspace.of(n, n_features)

    def value(u: Floats) -> tuple[float, Floats]:
        z = u * unit
        L, dX, dp, dw = compute_objective(
            z[:size].reshape(n, -1), ln_parameters_from_variables(z[size : size + 3]), z[size + 3 :], Y, work
        )
        return L, unit * np.concatenate([dX.ravel(), convert_gradient(dp), dw])

    parameters = build_variable_bounds()
    lower = np.concatenate([np.full(size, -MAX_LATENT), parameters.lower, np.full(n_features, MIN_LN_SCALE)])
    upper = np.concatenate([np.full(size, MAX_LATENT), parameters.upper, np.log(max_scale)])
    z = np.concatenate([start.X.ravel(), variables_from_parameters(start.parameters), start.ln_scale])
    z = unit * minimise_value(value, z / unit, VariableBounds(lower / unit, upper / unit), steps, optimiser, watch)
    return StyleFit(np.ascontiguousarray(z[:size].reshape(n, -1)), z[size + 3 :], parameters_from_variables(z[size : size + 3]))


def _compute_units(n: int, size: int, n_features: int) -> Floats:
    """Return the units of X, the parameters and ln w, (P,): about 1 over the root of L_GP's curvature by each.

    Both optimisers need that: a step in ln alpha alone changes L_GP a thousand times as much as one in a coordinate.
    """
    by_parameters, by_scale = 1.0 / np.sqrt(0.5 * n * n_features), 1.0 / np.sqrt(2.0 * n)
    return np.concatenate([np.full(size, UNIT_X), np.full(3, by_parameters), np.full(n_features, by_scale)])


def learn_by_heuristic(
    Y: Floats, start: StyleFit, max_scale: Floats, active: int, steps: int, optimiser: Optimiser, watch: Callable[[float], None]
) -> StyleFit:
    """Return the fit to poses, (N, D), after `steps` rounds; scales are at most max_scale, (D,).

    Args:
        Y: features, (N, D), centred.
        start: the fit to begin with.
        max_scale: largest scales, (D,).
        active: number of active poses.
        steps: rounds.
        optimiser: optimiser to use.
        watch: called with the value after each step.
    """
    fit, work = start, Workspace.of(*Y.shape)
    for _ in range(steps):
        rows = choose_active_set(fit.X, fit.parameters, active)
        fit = StyleFit(fit.X, fit.ln_scale, learn_parameters(fit.X[rows], fit.ln_scale, Y[rows], fit.parameters, optimiser))
        fit = StyleFit(
            _find_other_latents(fit, Y, choose_active_set(fit.X, fit.parameters, active)), fit.ln_scale, fit.parameters
        )
        fit = StyleFit(fit.X, _fit_ln_scale(fit, Y, choose_active_set(fit.X, fit.parameters, active), max_scale), fit.parameters)
        watch(fit.value(Y, work))
    return fit


def _build_evaluator(fit: StyleFit, Y: Floats, rows: Ints) -> StyleEvaluator:
    """Return the evaluator of a fit with an active set, (M,)."""
    return build_evaluator_at(fit.X[rows], Y[rows], np.zeros(Y.shape[1]), np.exp(fit.ln_scale), fit.parameters)


def _find_other_latents(fit: StyleFit, Y: Floats, rows: Ints) -> Floats:
    """Return latent points, (N, Q), those outside the active set where their L_IK is least."""
    others = np.setdiff1d(np.arange(len(Y)), rows)
    query = build_latent_query(_build_evaluator(fit, Y, rows), Y[others])
    X = fit.X.copy()
    X[others] = np.clip(find_latent(query, X[others], LATENT_STEPS), -MAX_LATENT, MAX_LATENT)
    return X


def _fit_ln_scale(fit: StyleFit, Y: Floats, rows: Ints, max_scale: Floats) -> Floats:
    """Return ln w that minimises L_GP of the active poses, (D,)."""
    explained = np.einsum("md,md->d", Y[rows], _build_evaluator(fit, Y, rows).coefficients)
    best = 0.5 * np.log(len(rows) / np.maximum(explained, 1e-12))
    return np.asarray(np.minimum(best, np.log(max_scale)))
