"""A Gaussian process latent variable model of a few hundred poses (Lawrence 2004), for comparison.

With latent points X (N, Q), poses Y (N, D) less their mean and scaled as one, k(x, x') = a exp(-g/2 |x - x'|^2) + d(x, x') / b:

    L(X, a, b, g) = D/2 ln|K| + 1/2 tr(K^-1 Y Y') + 1/2 sum |x_i|^2 + ln a + ln b + ln g

is minimised over all of them by L-BFGS from X by PCA: the objective of styles with all scales 1. A new pose is reconstructed by
the mean f(x) = Y' K^-1 k(x) that is nearest to it, as the other methods' projections do.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from config.arrays import Floats
from reconstruct.models.style.learn.objective import compute_objective as style_objective
from reconstruct.models.style.model import Hyperparameters, build_evaluator_at

STEPS = 150
BOUNDS = ((-8.0, 8.0),) * 3  # of ln a, ln b, ln g


@dataclass(frozen=True, slots=True)
class Gplvm:
    """A learned model.

    latent: X, (N, Q); mean, (D,), and scale of the poses [rad]; coefficients: K^-1 Y, (N, D); ln_parameters: of a, b, g; poses:
    Y.
    """

    latent: Floats
    mean: Floats
    scale: float
    coefficients: Floats
    ln_parameters: Floats
    poses: Floats


def objective(x: Floats, Y: Floats, width: int) -> tuple[float, Floats]:
    """Return L and its gradient at x = (X flattened, ln a, ln b, ln g); Y: (N, D) scaled poses; width: Q."""
    L, dX, d_ln, _ = style_objective(x[:-3].reshape(len(Y), width), x[-3:], np.zeros(Y.shape[1]), Y)
    return L, np.concatenate([dX.ravel(), d_ln])


def learn(poses: Floats, width: int, steps: int = STEPS) -> Gplvm:
    """Learn a model with `width` latent dimensions of poses (N, D) [rad]."""
    mean = poses.mean(axis=0)
    scale = float((poses - mean).std()) or 1.0
    Y = (poses - mean) / scale
    U, singular, _ = np.linalg.svd(Y, full_matrices=False)
    # Principal components, each scaled to unit variance, as the prior of X has it.
    start = np.zeros((len(Y), width))
    used = min(width, int((singular > 1e-9).sum()))
    start[:, :used] = U[:, :used] * np.sqrt(len(Y))
    first = np.concatenate([start.ravel(), [0.0, np.log(100.0), 0.0]])
    bounds = [(None, None)] * start.size + list(BOUNDS)
    found = minimize(objective, first, args=(Y, width), jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": steps}).x
    X, ln_parameters = found[:-3].reshape(len(Y), width), found[-3:]
    level = build_evaluator_at(X, Y, np.zeros(Y.shape[1]), np.ones(Y.shape[1]), Hyperparameters(*np.exp(ln_parameters)))
    return Gplvm(X, mean, scale, level.coefficients, ln_parameters, Y)


def predicted(model: Gplvm, x: Floats) -> tuple[Floats, Floats]:
    """Return the scaled mean pose f(x), (D,), and its derivative, (D, Q)."""
    a, _, g = np.exp(model.ln_parameters)
    difference = model.latent - x
    k = a * np.exp(-0.5 * g * np.einsum("ij,ij->i", difference, difference))
    return k @ model.coefficients, model.coefficients.T @ (g * k[:, None] * difference)


def reconstructed(model: Gplvm, pose: Floats, starts: int = 3) -> Floats:
    """Return the nearest pose to `pose`, (D,) [rad], on the model's surface, started at latent points of nearby poses."""
    y = (pose - model.mean) / model.scale

    def error(x: Floats) -> tuple[float, Floats]:
        f, J = predicted(model, x)
        return float((f - y) @ (f - y)), 2.0 * (f - y) @ J

    order = np.argsort(np.sum((model.poses - y) ** 2, axis=1))
    # Near poses of different rank, so that the starts lie on different parts of the surface.
    from_rows = order[np.linspace(0, min(30, len(order) - 1), starts).astype(int)]
    found = [minimize(error, model.latent[row], jac=True, method="L-BFGS-B") for row in from_rows]
    best = min(found, key=lambda result: float(result.fun))
    return np.asarray(model.mean + model.scale * predicted(model, best.x)[0])
