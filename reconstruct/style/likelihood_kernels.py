"""The kernel of L_IK: value, gradient and Hessian of how unlikely a pose is in a style (Grochow et al. 2004, eq. 6).

    L_IK(x, y) = |u|^2 / (2 s2) + D/2 ln s2 + 1/2 |x|^2,    u = W (y - f(x)),    J = W df/dx

The features y are affine in the static features s: W y = W s[column] - shift for known poses before. So, for a given x, L_IK is
a quadratic in s with a diagonal Hessian. The Hessian is exact, with a and b of x's components and indices for derivatives:

    H_ss = W W / s2,    H_sa = -W J_a / s2 - W u s2_a / s2^2,
    H_ab = (J_a.J_b - u.f_ab) / s2 + (J_a.u s2_b + J_b.u s2_a) / s2^2
           + (|u|^2 / s2 - D/2) s2_a s2_b / s2^2 + (D - |u|^2 / s2) s2_ab / (2 s2) + delta_ab

Far from a minimum H_ab can be indefinite; its expectation over the poses that the model gives for x, Fisher's information, never
is, and its diagonal, J_a.J_a / s2 + D/2 (s2_a / s2)^2 + 1, is the scale by which steps are damped.
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
def _curvature(x: Floats, u: Floats, model: Model, k: Floats, dk: Floats, solved: Floats, Fu: Floats, s2ab: Floats) -> None:
    """Write u.f_ab, (Q, Q), and s2_ab, (Q, Q), of which the lower triangles."""
    X, inverse, coefficients, gamma = model[0], model[1], model[2], model[6][2]
    n, n_latent = X.shape
    Fu[:] = 0.0
    s2ab[:] = 0.0
    for m in range(n):
        c = 0.0
        for i in range(u.shape[0]):
            c += coefficients[m, i] * u[i]
        for q in range(n_latent):
            v = 0.0
            for i in range(n):
                v += inverse[m, i] * dk[q, i]
            for p in range(q + 1):
                second = -gamma * ((x[q] - X[m, q]) * dk[p, m] + (k[m] if p == q else 0.0))
                Fu[q, p] += c * second
                s2ab[q, p] -= 2.0 * solved[m] * second
            for p in range(n_latent):
                s2ab[max(p, q), min(p, q)] -= (2.0 if p == q else 1.0) * v * dk[p, m]


@kernel
def _likelihood(
    x: Floats,
    s: Floats,
    model: Model,
    share: float,
    by_x: tuple[Floats, Floats, Floats],
    by_s: tuple[Floats, Floats, Floats],
    about: Floats,
) -> float:
    """Give share L_IK(x, y(s)); add its derivatives; write s2 to about[0].

    by_x: gradient (Q,), Hessian (Q, Q), scale of steps (Q,); by_s: gradient (S,), diagonal of the Hessian (S,), and H_sx (S, Q).
    """
    gx, Hxx, step = by_x
    gs, Hss, Hsx = by_s
    scale, column, parameters = model[4], model[5], model[6]
    n_latent, n, n_features = x.shape[0], model[0].shape[0], scale.shape[0]
    k, dk, solved = np.empty(n), np.empty((n_latent, n)), np.empty(n)
    u, J, ds2, Ju = np.empty(n_features), np.empty((n_latent, n_features)), np.zeros(n_latent), np.zeros(n_latent)
    Fu, s2ab = np.empty((n_latent, n_latent)), np.empty((n_latent, n_latent))
    s2, least = _process(x, model, k, dk, solved), LEAST_VARIANCE * parameters[0]
    known = s2 > least
    s2 = max(s2, least)
    about[0] = s2
    misfit = _residual(s, model, k, dk, u, J)
    _curvature(x, u, model, k, dk, solved, Fu, s2ab)
    a, rest = share / s2, n_features - misfit / s2
    value: float = 0.5 * misfit / s2 + 0.5 * n_features * math.log(s2)
    for q in range(n_latent):
        value += 0.5 * x[q] * x[q]
        for m in range(n):
            ds2[q] -= 2.0 * solved[m] * dk[q, m] if known else 0.0
        for i in range(n_features):
            Ju[q] += J[q, i] * u[i]
        gx[q] += share * x[q] - a * Ju[q] + 0.5 * a * rest * ds2[q]
        for p in range(q + 1):
            jj = 0.0
            for i in range(n_features):
                jj += J[q, i] * J[p, i]
            h = jj - Fu[q, p] + (Ju[q] * ds2[p] + Ju[p] * ds2[q]) / s2 + 0.5 * rest * (s2ab[q, p] if known else 0.0)
            h = a * (h + (0.5 * n_features - rest) * ds2[q] * ds2[p] / s2) + (share if p == q else 0.0)
            Hxx[q, p] += h
            if p != q:
                Hxx[p, q] += h
            else:
                step[q] += a * (jj + 0.5 * n_features * ds2[q] * ds2[q] / s2) + share
    for i in range(n_features):
        c, w = column[i], a * scale[i]
        gs[c] += w * u[i]
        Hss[c] += w * scale[i]
        for q in range(n_latent):
            Hsx[c, q] -= w * (J[q, i] + u[i] * ds2[q] / s2)
    return share * value
