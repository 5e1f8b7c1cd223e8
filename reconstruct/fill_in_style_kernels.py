"""Kernels of `reconstruct.fill_in_style`: the energy of its docstring with derivatives, the x of the least, the Gaussian there.

The small system of a step is solved as in `reconstruct.solve_kernels` (decision 0011).
"""

import math

import numpy as np
from numpy.typing import NDArray

from config.jit import kernel
from database.rotations import Floats
from reconstruct.solve_kernels import _solve_damped

STARTS, STEPS = 2, 4
ENOUGH = 0.01  # of energy: steps that gain less end the search for x
TYPICAL = 0.1  # s2 of a pose that the style knows, as a share of alpha
LEAST_SHARE = 1e-9  # of alpha: rounding could make s2 negative

# Of one style: active x (M, Q), K^-1 (M, M), coefficients (M, K) and mean (K,) of f, and alpha, 1 / beta, gamma (3,).
Model = tuple[Floats, Floats, Floats, Floats, Floats]
# Features asked for, y (K,), 1 / w^2 of each, (K,), and how much they vary but for the style's own variance, (K,).
Asked = tuple[Floats, Floats, Floats]
# What comes out at x: f(x) and its derivatives, (1 + Q, K), and s2 with the mean square of misses in standard deviations, (2,).
Found = tuple[Floats, Floats]


@kernel
def _predict(x: Floats, model: Model, V: Floats, solved: Floats, F: Floats) -> float:
    """Write k(x) and its derivatives (1 + Q, M), K^-1 k (M,), f and its derivatives (1 + Q, K); give s2(x).

    Grochow et al. 2004, eqs. 4 and 5.
    """
    X, inverse, coefficients, mean, parameters = model
    n, alpha, gamma = X.shape[0], parameters[0], parameters[2]
    s2: float = alpha + parameters[1]
    for i in range(mean.shape[0]):
        F[0, i] = mean[i]
        for row in range(1, F.shape[0]):
            F[row, i] = 0.0
    for m in range(n):
        distance2 = 0.0
        for q in range(x.shape[0]):
            distance2 += (x[q] - X[m, q]) ** 2
        V[0, m] = alpha * math.exp(-0.5 * gamma * distance2)
        for q in range(x.shape[0]):
            V[1 + q, m] = -gamma * (x[q] - X[m, q]) * V[0, m]
        for row in range(V.shape[0]):
            a = V[row, m]
            for i in range(mean.shape[0]):
                F[row, i] += a * coefficients[m, i]
    for m in range(n):
        s = 0.0
        for i in range(n):
            s += inverse[m, i] * V[0, i]
        solved[m] = s
        s2 -= s * V[0, m]
    least: float = LEAST_SHARE * alpha
    return max(s2, least)


@kernel
def _fit(x: Floats, model: Model, asked: Asked, found: Found, g: Floats, H: Floats) -> float:
    """Give the energy at x; write what comes out there, the gradient (Q,) and Gauss-Newton's Hessian (Q, Q)."""
    y, spread, variance = asked
    F, about = found
    n_latent, n_features, n = x.shape[0], y.shape[0], model[0].shape[0]
    V, solved, W, pull = np.empty((1 + n_latent, n)), np.empty(n), np.empty(n_features), np.empty(n_features)
    s2 = _predict(x, model, V, solved, F)
    energy, misfit, by_s2 = 0.0, 0.0, 0.0
    for i in range(n_features):
        v = s2 * spread[i] + variance[i]
        W[i], u = 1.0 / v, F[0, i] - y[i]
        pull[i] = W[i] * u
        miss = pull[i] * u
        misfit += miss
        energy += 0.5 * (math.log(v) + miss)
        by_s2 += 0.5 * W[i] * (1.0 - miss) * spread[i]  # v grows with s2, W' = -W^2 / w^2
    about[0], about[1] = s2, misfit / max(n_features, 1)
    for q in range(n_latent):
        energy += 0.5 * x[q] * x[q]
        g[q] = x[q]
        for m in range(n):
            g[q] -= 2.0 * by_s2 * solved[m] * V[1 + q, m]
        for i in range(n_features):
            g[q] += F[1 + q, i] * pull[i]
        for p in range(q + 1):
            h = 1.0 if p == q else 0.0
            for i in range(n_features):
                h += F[1 + q, i] * W[i] * F[1 + p, i]
            H[q, p], H[p, q] = h, h
    return energy


@kernel
def _nearest(known: Floats, asked: Asked, typical: float, rows: NDArray[np.int64]) -> None:
    """Write the rows of training poses, (N, D), whose first K features are nearest to those asked for, nearest first."""
    y, spread, variance = asked
    weight, nearest = np.empty(y.shape[0]), np.empty(rows.shape[0])
    for i in range(y.shape[0]):
        weight[i] = 1.0 / (typical * spread[i] + variance[i])
    for place in range(rows.shape[0]):
        nearest[place], rows[place] = np.inf, -1
    for row in range(known.shape[0]):
        distance = 0.0
        for i in range(y.shape[0]):
            distance += weight[i] * (known[row, i] - y[i]) ** 2
        new = row
        for place in range(rows.shape[0]):
            if distance < nearest[place]:
                nearest[place], distance = distance, nearest[place]
                rows[place], new = new, rows[place]


@kernel
def _find(model: Model, training: tuple[Floats, Floats], asked: Asked, before: Floats, x: Floats, found: Found) -> float:
    """Write the x, (Q,), of least energy and what comes out there; give that energy, no finite one if there is none.

    The search begins at the best of the nearest training poses and of x `before`, (P, Q). training: features (N, D) and x (N, Q).
    """
    known, latent = training
    n, n_starts = x.shape[0], STARTS + before.shape[0]
    g, H, g2, H2 = np.empty(n), np.empty((n, n)), np.empty(n), np.empty((n, n))
    trial, step, C, rows = np.empty(n), np.zeros(n), np.zeros((n, n)), np.empty(STARTS, np.int64)
    _nearest(known, asked, TYPICAL * model[4][0], rows)
    energy, damping, searching = np.inf, 1e-3, True
    for turn in range(n_starts + STEPS + 1):  # one place that calls _fit: it is compiled into each
        if turn == n_starts + STEPS:
            searching = False
        elif turn >= n_starts and searching:
            searching = energy < np.inf and _solve_damped(H, g, damping, C, step)
        start = turn < n_starts
        for q in range(n):
            if start:
                trial[q] = latent[max(rows[turn], 0), q] if turn < STARTS else before[turn - STARTS, q]
            else:
                trial[q] = x[q] + (step[q] if searching else 0.0)
        new = _fit(trial, model, asked, found, g2, H2)
        if not start and not searching:
            return new
        gain = energy - new
        if gain > 0.0:
            energy = new
            for q in range(n):
                x[q], g[q] = trial[q], g2[q]
                for p in range(n):
                    H[q, p] = H2[q, p]
        if not start:
            damping = 0.2 * damping if gain > 0.0 else max(10.0 * damping, 1e-2)
            searching = not 0.0 <= gain < ENOUGH
    return energy


@kernel
def _gaussian(
    found: Found,
    taken: Floats,
    angle: NDArray[np.int64],
    share: Floats,
    of_angle: Floats,
    floor2: float,
    expected: Floats,
    precision: Floats,
) -> None:
    """Write the Gaussian over the angles at x, where x is as free as its prior leaves it: mean (A,), inverse covariance (A, A).

    taken: what was taken off the angles to make features, (K,); angle: which each feature is of, A and more for none; share: of
    each in what is known of its angle, (K,); of_angle: variance where s2 is 1, (A,), infinite where there is nothing; floor2:
    variance that is added.
    """
    F, about = found
    n, n_latent = expected.shape[0], F.shape[0] - 1
    M, A, L = np.zeros((n, n_latent)), np.empty((n, n_latent)), np.zeros((n_latent, n_latent))
    for a in range(n):
        expected[a] = 0.0
    for k in range(angle.shape[0]):
        a = angle[k]
        if a < n:
            expected[a] += share[k] * (F[0, k] + taken[k])
            for q in range(n_latent):
                M[a, q] += share[k] * F[1 + q, k]
    for a in range(n):
        p = 1.0 / (about[0] * of_angle[a] + floor2)
        precision[a, a] = p
        for q in range(n_latent):
            A[a, q] = p * M[a, q]
            for i in range(q + 1):
                L[q, i] += A[a, q] * M[a, i]
    for q in range(n_latent):  # I + M'A = L L', and A becomes A L'^-1: the precision less A A' (Woodbury), as x has variance 1
        for i in range(q + 1):
            for j in range(i):
                L[q, i] -= L[q, j] * L[i, j]
            L[q, i] = math.sqrt(1.0 + L[q, q]) if i == q else L[q, i] / L[i, i]
        for a in range(n):
            for i in range(q):
                A[a, q] -= A[a, i] * L[q, i]
            A[a, q] /= L[q, q]
    for a in range(n):
        for b in range(a + 1):
            s = precision[a, a] if a == b else 0.0
            for q in range(n_latent):
                s -= A[a, q] * A[b, q]
            precision[a, b], precision[b, a] = s, s
