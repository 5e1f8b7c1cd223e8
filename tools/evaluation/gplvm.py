"""A Gaussian process latent variable model of a few hundred poses (Lawrence 2004), for comparison.

With latent points X (N, Q), poses Y (N, D) less their mean and scaled as one, k(x, x') = a exp(-g/2 |x - x'|^2) + d(x, x') / b:

    L(X, a, b, g) = D/2 ln|K| + 1/2 tr(K^-1 Y Y') + 1/2 sum |x_i|^2 + ln a + ln b + ln g

is minimised over everything at once, from X by PCA, by L-BFGS. A new pose is brought to the x whose mean f(x) = Y' K^-1 k(x) is
nearest to it, as the other methods' projections do.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize

from database.rotations import Floats

STEPS = 150
LIMITS = ((-8.0, 8.0),) * 3  # of ln a, ln b, ln g


@dataclass(frozen=True, slots=True)
class Gplvm:
    """A learned model.

    latent: X, (N, Q); mean (D,) and scale: of the poses [rad]; coefficients: K^-1 Y, (N, D); ln_parameters: of a, b, g; poses: Y.
    """

    latent: Floats
    mean: Floats
    scale: float
    coefficients: Floats
    ln_parameters: Floats
    poses: Floats


def _covariance(X: Floats, ln_parameters: Floats) -> tuple[Floats, Floats]:
    """Give squared distances and the covariance without noise, both (N, N)."""
    a, _, g = np.exp(ln_parameters)
    norm = np.einsum("ij,ij->i", X, X)
    distance2 = np.maximum(norm[:, None] + norm - 2.0 * X @ X.T, 0.0)
    return distance2, a * np.exp(-0.5 * g * distance2)


def objective(x: Floats, Y: Floats, width: int) -> tuple[float, Floats]:
    """Give L and its gradient at x = (X flattened, ln a, ln b, ln g); Y: (N, D) scaled poses; width: Q.

    dL/dK = 1/2 (D K^-1 - K^-1 Y Y' K^-1), then through the kernel (Grochow et al. 2004, appendix, in our signs).
    """
    n, n_angles = Y.shape
    X, ln_parameters = x[:-3].reshape(n, width), x[-3:]
    _, b, g = np.exp(ln_parameters)
    distance2, smooth = _covariance(X, ln_parameters)
    factor = cho_factor(smooth + np.eye(n) / b, lower=True)
    inverse, solved = cho_solve(factor, np.eye(n)), cho_solve(factor, Y)
    log_det = 2.0 * np.log(np.diag(factor[0])).sum()
    L = 0.5 * n_angles * log_det + 0.5 * np.sum(Y * solved) + 0.5 * np.sum(X**2) + ln_parameters.sum()
    dK = 0.5 * (n_angles * inverse - solved @ solved.T)
    weight = dK * smooth
    dX = X - 2.0 * g * (weight.sum(axis=1)[:, None] * X - weight @ X)
    d_ln = 1.0 + np.array([weight.sum(), -np.trace(dK) / b, -0.5 * g * np.sum(weight * distance2)])
    return float(L), np.concatenate([dX.ravel(), d_ln])


def learn(poses: Floats, width: int, steps: int = STEPS) -> Gplvm:
    """Learn a model with `width` latent dimensions of poses (N, D) [rad]."""
    mean = poses.mean(axis=0)
    scale = float((poses - mean).std()) or 1.0
    Y = (poses - mean) / scale
    U, singular, _ = np.linalg.svd(Y, full_matrices=False)
    # Principal components, each brought to unit variance as the prior on X has it.
    start = np.zeros((len(Y), width))
    used = min(width, int((singular > 1e-9).sum()))
    start[:, :used] = U[:, :used] * np.sqrt(len(Y))
    first = np.concatenate([start.ravel(), [0.0, np.log(100.0), 0.0]])
    bounds = [(None, None)] * start.size + list(LIMITS)
    found = minimize(objective, first, args=(Y, width), jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": steps}).x
    X, ln_parameters = found[:-3].reshape(len(Y), width), found[-3:]
    K = _covariance(X, ln_parameters)[1] + np.eye(len(Y)) / np.exp(ln_parameters[1])
    return Gplvm(X, mean, scale, np.linalg.solve(K, Y), ln_parameters, Y)


def predicted(model: Gplvm, x: Floats) -> tuple[Floats, Floats]:
    """Give the scaled mean pose f(x), (D,), and its derivative, (D, Q)."""
    a, _, g = np.exp(model.ln_parameters)
    difference = model.latent - x
    k = a * np.exp(-0.5 * g * np.einsum("ij,ij->i", difference, difference))
    return k @ model.coefficients, model.coefficients.T @ (g * k[:, None] * difference)


def reconstructed(model: Gplvm, pose: Floats, starts: int = 3) -> Floats:
    """Give the pose nearest to `pose`, (D,) [rad], on the model's surface; from the latent points of the nearest poses."""
    y = (pose - model.mean) / model.scale

    def error(x: Floats) -> tuple[float, Floats]:
        f, J = predicted(model, x)
        return float((f - y) @ (f - y)), 2.0 * (f - y) @ J

    order = np.argsort(np.sum((model.poses - y) ** 2, axis=1))
    # Near poses of different rank, so that the starts lie on different strands of the surface.
    from_rows = order[np.linspace(0, min(30, len(order) - 1), starts).astype(int)]
    found = [minimize(error, model.latent[row], jac=True, method="L-BFGS-B") for row in from_rows]
    best = min(found, key=lambda result: float(result.fun))
    return np.asarray(model.mean + model.scale * predicted(model, best.x)[0])
