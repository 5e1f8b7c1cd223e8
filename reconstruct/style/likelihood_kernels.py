"""The kernel of L_IK: value, gradient and Hessian of how unlikely a pose is in a style (Grochow et al. 2004, eq. 6).

    L_IK(x, y) = |u|^2 / (2 s2) + D/2 ln s2 + 1/2 |x|^2,    u = W (y - f(x))

The features y are affine in the static features s: W y = W s[column] - shift for known poses before. So, for a given x, L_IK is
a quadratic in s with a diagonal Hessian. In x the Hessian is Fisher's information, the expectation over the poses that the
model gives for x, which is never indefinite:

    H_ss = W W / s2,    H_xs = -J W / s2,    H_xx = J J' / s2 + D / (2 s2^2) ds2 ds2' + I,    J = W df/dx
"""

import math

import numpy as np
from numpy.typing import NDArray

from config.jit import kernel
from database.rotations import Floats

LEAST_VARIANCE = 1e-9  # of alpha: rounding could make s2 negative

# Of one style and level: active x (M, Q), K^-1 (M, M), K^-1 Y W (M, K), W b (K,) where y = s - b, w (K,), s of each feature (K,),
# and (alpha, 1 / beta, gamma). The K features are those that count: without a past, the static ones that the style models.
Model = tuple[Floats, Floats, Floats, Floats, Floats, NDArray[np.int64], Floats]


@kernel
def _process(x: Floats, model: Model, k: Floats, dk: Floats, solved: Floats) -> float:
    """Write k(x) (M,), its derivatives (Q, M) and K^-1 k (M,); give s2(x) (Grochow et al. 2004, eqs. 4 and 5)."""
    X, inverse, parameters = model[0], model[1], model[6]
    n, n_latent = X.shape
    alpha, noise, gamma = parameters[0], parameters[1], parameters[2]
    for m in range(n):
        distance2 = 0.0
        for q in range(n_latent):
            distance2 += (x[q] - X[m, q]) ** 2
        k[m] = alpha * math.exp(-0.5 * gamma * distance2)
        for q in range(n_latent):
            dk[q, m] = -gamma * (x[q] - X[m, q]) * k[m]
    explained = 0.0
    for m in range(n):
        s = 0.0
        for i in range(n):
            s += inverse[m, i] * k[i]
        solved[m] = s
        explained += s * k[m]
    s2: float = alpha + noise - explained
    return s2


@kernel
def _residual(s: Floats, model: Model, k: Floats, dk: Floats, u: Floats, J: Floats) -> float:
    """Write u (K,) and J (Q, K); give |u|^2."""
    coefficients, shift, scale, column = model[2], model[3], model[4], model[5]
    n, n_features = coefficients.shape
    n_latent = dk.shape[0]
    for i in range(n_features):
        u[i] = scale[i] * s[column[i]] - shift[i]
    J[:] = 0.0
    for m in range(n):
        a = k[m]
        for i in range(n_features):
            u[i] -= a * coefficients[m, i]
        for q in range(n_latent):
            b = dk[q, m]
            for i in range(n_features):
                J[q, i] += b * coefficients[m, i]
    total = 0.0
    for i in range(n_features):
        total += u[i] * u[i]
    return total


@kernel
def _likelihood(
    x: Floats,
    s: Floats,
    model: Model,
    share: float,
    by_x: tuple[Floats, Floats],
    by_s: tuple[Floats, Floats, Floats],
    about: Floats,
) -> float:
    """Give share L_IK(x, y(s)); add its derivatives; write s2 to about[0].

    by_x: gradient (Q,) and Hessian (Q, Q); by_s: gradient (S,), diagonal of the Hessian (S,) and H_sx (S, Q).
    """
    gx, Hxx = by_x
    gs, Hss, Hsx = by_s
    scale, column, parameters = model[4], model[5], model[6]
    n_latent, n, n_features = x.shape[0], model[0].shape[0], scale.shape[0]
    k, dk, solved = np.empty(n), np.empty((n_latent, n)), np.empty(n)
    u, J, ds2 = np.empty(n_features), np.empty((n_latent, n_features)), np.zeros(n_latent)
    s2, least = _process(x, model, k, dk, solved), LEAST_VARIANCE * parameters[0]
    if s2 > least:
        for q in range(n_latent):
            for m in range(n):
                ds2[q] -= 2.0 * solved[m] * dk[q, m]
    s2 = max(s2, least)
    about[0] = s2
    misfit = _residual(s, model, k, dk, u, J)
    a = share / s2
    value: float = 0.5 * misfit / s2 + 0.5 * n_features * math.log(s2)
    for q in range(n_latent):
        value += 0.5 * x[q] * x[q]
        ju = 0.0
        for i in range(n_features):
            ju += J[q, i] * u[i]
        gx[q] += share * x[q] - a * ju + 0.5 * a * ds2[q] * (n_features - misfit / s2)
        for p in range(q + 1):
            jj = 0.0
            for i in range(n_features):
                jj += J[q, i] * J[p, i]
            h = a * jj + 0.5 * a * n_features / s2 * ds2[q] * ds2[p] + (share if p == q else 0.0)
            Hxx[q, p] += h
            if p != q:
                Hxx[p, q] += h
    for i in range(n_features):
        c, w = column[i], a * scale[i]
        gs[c] += w * u[i]
        Hss[c] += w * scale[i]
        for q in range(n_latent):
            Hsx[c, q] -= w * J[q, i]
    return share * value
