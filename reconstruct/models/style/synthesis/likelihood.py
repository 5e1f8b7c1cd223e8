"""The kernel of L_IK: value, gradient and Hessian of the negative log-likelihood of a pose (Grochow et al. 2004, eq. 6).

    L_IK(x, y) = |u|^2 / (2 s2) + D/2 ln s2 + 1/2 |x|^2,    u = W (y - f(x)),    J = W df/dx

The features y are affine in the static features s: W y = W s[column] - shift for known previous poses. So, for a given x, L_IK
is a quadratic in s with a diagonal Hessian. The Hessian is exact, with a and b of x's components and indices for derivatives:

    H_ss = W W / s2,    H_sa = -W J_a / s2 - W u s2_a / s2^2,
    H_ab = (J_a.J_b - u.f_ab) / s2 + (J_a.u s2_b + J_b.u s2_a) / s2^2
           + (|u|^2 / s2 - D/2) s2_a s2_b / s2^2 + (D - |u|^2 / s2) s2_ab / (2 s2) + delta_ab

Far from a minimum H_ab can be indefinite; its expectation over the poses that the model gives for x, Fisher's information, never
is, and its diagonal, J_a.J_a / s2 + D/2 (s2_a / s2)^2 + 1, is the scale by which steps are damped.
"""

import math

import numpy as np

from config.arrays import Floats
from config.jit import inline_kernel, kernel
from reconstruct.models.style.synthesis.arrays import LatentDerivatives, LikelihoodModel, StaticDerivatives

MIN_VARIANCE = 1e-9  # of alpha: rounding could make s2 negative
VARIANCE, ENERGY = 0, 1  # of a style's summary: s2 and share times L_IK


@inline_kernel
def _evaluate_process(x: Floats, model: LikelihoodModel, k: Floats, dk: Floats, solved: Floats) -> float:
    """Write k(x) (M,), its derivatives (Q, M) and K^-1 k (M,); return s2(x) (Grochow et al. 2004, eqs. 4 and 5)."""
    X, inverse, parameters = model.latent, model.inverse, model.parameters
    n, n_latent = X.shape[0], x.shape[0]
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


@inline_kernel
def _compute_residual(s: Floats, model: LikelihoodModel, k: Floats, dk: Floats, u: Floats, J: Floats) -> float:
    """Write u (K,) and J (Q, K); return |u|^2."""
    coefficients, shift, scale, column = model.coefficients, model.shift, model.scale, model.column
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
def _multiply_matrices(V: Floats, B: Floats, out: Floats) -> None:
    """Write V B, (P, M) by (M, K); four rows of B at once, as loading and storing costs more than multiplying."""
    n_rows, n_columns = V.shape[0], B.shape[1]
    n = B.shape[0]
    fours = n - n % 4
    for p in range(n_rows):
        for i in range(n_columns):
            out[p, i] = 0.0
    for m in range(0, fours, 4):
        for p in range(n_rows):
            a, b, c, d = V[p, m], V[p, m + 1], V[p, m + 2], V[p, m + 3]
            for i in range(n_columns):
                out[p, i] += a * B[m, i] + b * B[m + 1, i] + c * B[m + 2, i] + d * B[m + 3, i]
    for m in range(fours, n):
        for p in range(n_rows):
            for i in range(n_columns):
                out[p, i] += V[p, m] * B[m, i]


@kernel
def compute_gram(A: Floats, B: Floats, out: Floats) -> None:
    """Write the lower triangle of A B'.

    Args:
        A: (P, M).
        B: (P, M).
        out: (P, P); written.
    """
    for p in range(A.shape[0]):
        for q in range(p + 1):
            s = 0.0
            for i in range(A.shape[1]):
                s += A[p, i] * B[q, i]
            out[p, q] = s


@inline_kernel
def add_likelihood(
    x: Floats,
    s: Floats,
    model: LikelihoodModel,
    share: float,
    by_x: LatentDerivatives,
    by_s: StaticDerivatives,
    summary: Floats,
) -> None:
    """Add the derivatives of share L_IK(x, y(s)) by x and s; write s2 and the value to summary, (2,).

    Args:
        x: latent position, (Q,).
        s: static features, (S,).
        model: arrays of the style.
        share: share of the style.
        by_x: derivatives by x; added to.
        by_s: derivatives by s; added to.
        summary: s2 and value, (2,); written.
    """
    gx, Hxx, step = by_x.gradient, by_x.hessian, by_x.scale
    gs, Hss, Hsx = by_s.gradient, by_s.diagonal, by_s.cross
    X, coefficients, scale, column, parameters = model.latent, model.coefficients, model.scale, model.column, model.parameters
    n_latent, n, n_features = x.shape[0], X.shape[0], scale.shape[0]
    k, dk, solved, K_dk = np.empty(n), np.empty((n_latent, n)), np.empty(n), np.empty((n_latent, n))
    u, J, bent = np.empty(n_features), np.empty((n_latent, n_features)), np.empty(n)
    G, JJ, ds2, Ju = np.empty((n_latent, n_latent)), np.empty((n_latent, n_latent)), np.zeros(n_latent), np.zeros(n_latent)
    s2, least = _evaluate_process(x, model, k, dk, solved), MIN_VARIANCE * parameters[0]
    known = 1.0 if s2 > least else 0.0
    s2 = max(s2, least)
    summary[VARIANCE] = s2
    misfit, n_counting = _compute_residual(s, model, k, dk, u, J), parameters[3]
    a, rest = share / s2, n_counting - misfit / s2
    _multiply_matrices(dk, model.inverse, K_dk)
    compute_gram(K_dk, dk, G)
    compute_gram(J, J, JJ)
    for m in range(n):  # what multiplies the second derivatives of k in f_ab and s2_ab
        c = known * rest * solved[m]
        for i in range(n_features):
            c += coefficients[m, i] * u[i]
        bent[m] = c
    value = 0.5 * misfit / s2 + 0.5 * n_counting * math.log(s2)
    for q in range(n_latent):
        value += 0.5 * x[q] * x[q]
        for m in range(n):
            ds2[q] -= 2.0 * known * solved[m] * dk[q, m]
        for i in range(n_features):
            Ju[q] += J[q, i] * u[i]
        gx[q] += share * x[q] - a * Ju[q] + 0.5 * a * rest * ds2[q]
        for p in range(q + 1):
            h = JJ[q, p] - known * rest * G[q, p]
            for m in range(n):
                h += bent[m] * parameters[2] * ((x[q] - X[m, q]) * dk[p, m] + (k[m] if p == q else 0.0))
            h += (Ju[q] * ds2[p] + Ju[p] * ds2[q] + (0.5 * n_counting - rest) * ds2[q] * ds2[p]) / s2
            Hxx[q, p] += a * h
            if p != q:
                Hxx[p, q] += a * h
        Hxx[q, q] += share
        step[q] += a * (JJ[q, q] + 0.5 * n_counting * ds2[q] * ds2[q] / s2) + share
    for i in range(n_features):
        j, w = column[i], a * scale[i]
        gs[j] += w * u[i]
        Hss[j] += w * scale[i]
        for q in range(n_latent):
            Hsx[j, q] -= w * (J[q, i] + u[i] * ds2[q] / s2)
    summary[ENERGY] = share * value
