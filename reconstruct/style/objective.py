"""What learning minimises, L_GP, with its gradient by everything (Grochow et al. 2004, eq. 2).

    L_GP = D/2 ln|K| + 1/2 sum_k w_k^2 Y_k' K^-1 Y_k + 1/2 sum_i |x_i|^2 + ln(alpha beta gamma / prod_k w_k^N)
    dL_GP/dK = 1/2 (D K^-1 - K^-1 Y W W Y' K^-1)

The text of the paper has ln|K| with a factor D where the likelihood of D dimensions has D/2 (its own eq. 11).
"""

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from database.rotations import Floats


def objective(X: Floats, ln_parameters: Floats, ln_scale: Floats, Y: Floats) -> tuple[float, Floats, Floats, Floats]:
    """Give L_GP and its gradients by X, (N, Q), by ln(alpha, beta, gamma), (3,), and by ln w, (D,); Y: (N, D), means taken off.

    Raises numpy.linalg.LinAlgError: K is not positive definite.
    """
    n, n_features = Y.shape
    a, b, g = np.exp(ln_parameters)
    norm = np.einsum("ij,ij->i", X, X)
    distance2 = np.maximum(norm[:, None] + norm - 2.0 * X @ X.T, 0.0)
    smooth = a * np.exp(-0.5 * g * distance2)
    factor = cho_factor(smooth + np.eye(n) / b, lower=True)
    WY = Y * np.exp(ln_scale)
    inverse, solved = cho_solve(factor, np.eye(n)), cho_solve(factor, WY)
    fit = np.einsum("nd,nd->d", WY, solved)
    log_det = 2.0 * np.log(np.diag(factor[0])).sum()
    L = 0.5 * n_features * log_det + 0.5 * fit.sum() + 0.5 * np.sum(X**2) + ln_parameters.sum() - n * ln_scale.sum()
    dK = 0.5 * (n_features * inverse - solved @ solved.T)
    weight = dK * smooth
    dX = X - 2.0 * g * (weight.sum(axis=1)[:, None] * X - weight @ X)
    d_parameters = 1.0 + np.array([weight.sum(), -np.trace(dK) / b, -0.5 * g * np.sum(weight * distance2)])
    return float(L), dX, d_parameters, fit - n
