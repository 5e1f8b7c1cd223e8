"""Sparse Gaussian process regression (Wei et al. 2011, eqs. 12 to 17), all outputs with one kernel.

z_k = f_k(y) + noise, k(y, y') = exp(-sum_d (y_d - y'_d)^2 / (2 l_d^2)) (eq. 17), each output k with a variance c_k of its own,
and the noise a share of it. The process is made sparse by M inducing inputs that are given: FITC, of Quinonero-Candela &
Rasmussen 2005, whom the paper follows. With Q = K_fu K_uu^-1 K_uf and L = diag(K_ff - Q) + noise I, the outputs have covariance
c_k (Q + L). c_k has a closed form and is eliminated; length scales and noise maximise what is left of the likelihood.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import Bounds, OptimizeResult, minimize

from config.arrays import Floats, ReadOnlyArrays

JITTER = 1e-6  # added to the covariance of inducing inputs
SHORTEST, LONGEST = 0.1, 300.0  # length scales, in standard deviations of an input
LEAST_NOISE, MOST_NOISE = 1e-4, 10.0  # share of the variance of the process
START_NOISE = 0.1


@dataclass(frozen=True, slots=True)
class SparseGaussianProcess(ReadOnlyArrays):
    """A learned process.

    Attributes:
        inducing: inducing inputs, (M, D).
        length: length scales, (D,).
        noise: variance, share of each output's.
        variance: c_k, (K,).
        coefficients: mean = k(y)' coefficients, (M, K).
        shrink: the variance is c_k (1 + noise - k(y)' shrink k(y)), (M, M).
    """

    inducing: Floats
    length: Floats
    noise: float
    variance: Floats
    coefficients: Floats
    shrink: Floats


@dataclass(frozen=True, slots=True)
class Prediction:
    """Outputs at N inputs.

    Attributes:
        mean: means, (N, K).
        share: variance of each over c_k, the same for all outputs, (N,).
        mean_by: derivatives of the means with respect to the inputs, (N, K, D).
        share_by: derivatives of the shares with respect to the inputs, (N, D).
    """

    mean: Floats
    share: Floats
    mean_by: Floats
    share_by: Floats


def predict_outputs(process: SparseGaussianProcess, Y: Floats) -> Prediction:
    """Return mean and variance of the outputs at inputs (N, D), eq. 16, noise included, and their derivatives."""
    Z = process.inducing
    k = compute_kernel(Y, Z, process.length)
    mean = k @ process.coefficients
    kC = k @ process.shrink
    taken = (kC * k).sum(axis=1)
    inverse2 = process.length**-2
    weighted = np.einsum("nm,md,mk->nkd", k, Z, process.coefficients, optimize=True)
    mean_by = (weighted - mean[:, :, None] * Y[:, None, :]) * inverse2
    share_by = -2.0 * ((kC * k) @ Z - taken[:, None] * Y) * inverse2
    return Prediction(mean, 1.0 + process.noise - taken, mean_by, share_by)


def compute_kernel(Y: Floats, Z: Floats, length: Floats) -> Floats:
    """Return k(y, z) of all pairs of inputs, eq. 17 with a variance of 1, (N, M).

    Args:
        Y: inputs, (N, D).
        Z: other inputs, (M, D).
        length: length scales, (D,).
    """
    a, b = Y / length, Z / length
    distance2 = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2.0 * a @ b.T
    return np.asarray(np.exp(-0.5 * np.maximum(distance2, 0.0)))


def learn_process(
    Y: Floats, outputs: Floats, inducing: Floats, start: Floats, max_steps: int, report: Callable[[int], None]
) -> SparseGaussianProcess:
    """Return the process whose length scales and noise are the most likely of inputs (N, D) and outputs (N, K).

    Args:
        Y: inputs, (N, D).
        outputs: outputs, (N, K).
        inducing: inducing inputs, (M, D).
        start: first length scales, (D,).
        max_steps: greatest number of steps of the optimiser.
        report: called with the number of steps done after each step.
    """
    steps = 0

    def one(intermediate_result: OptimizeResult) -> None:
        nonlocal steps
        steps += 1
        report(steps)

    low = [np.log(SHORTEST)] * len(start) + [np.log(LEAST_NOISE)]
    high = [np.log(LONGEST)] * len(start) + [np.log(MOST_NOISE)]
    found = minimize(
        partial(compute_negative_log_likelihood, Y=Y, outputs=outputs, inducing=inducing),
        np.clip(np.append(np.log(start), np.log(START_NOISE)), low, high),
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(low, high),
        callback=one,
        options={"maxiter": max_steps},
    )
    return build_process(Y, outputs, inducing, np.exp(found.x[:-1]), float(np.exp(found.x[-1])))


def build_process(Y: Floats, outputs: Floats, inducing: Floats, length: Floats, noise: float) -> SparseGaussianProcess:
    """Return the process of given parameters.

    Args:
        Y: inputs, (N, D).
        outputs: outputs, (N, K).
        inducing: inducing inputs, (M, D).
        length: length scales, (D,).
        noise: variance of the noise, relative to the signal's.
    """
    parts = _factor_process(Y, inducing, length, noise)
    fitted = cho_solve(parts.A, parts.Kuf @ (outputs / parts.diagonal[:, None]))
    a = _solve_outputs(parts, outputs)
    variance = np.maximum((outputs * a).sum(axis=0) / len(Y), 1e-12)
    M = len(inducing)
    shrink = cho_solve(parts.Kuu, np.eye(M)) - cho_solve(parts.A, np.eye(M))
    return SparseGaussianProcess(inducing.copy(), length.copy(), noise, variance, fitted, 0.5 * (shrink + shrink.T))


def compute_negative_log_likelihood(log_parameters: Floats, Y: Floats, outputs: Floats, inducing: Floats) -> tuple[float, Floats]:
    """Return -ln p(z | Y) up to a constant, its c_k the best ones, and its gradient by the logarithms of length scales and noise.

    -ln p = K/2 ln|S| + N/2 sum_k ln(z_k' S^-1 z_k / N), S = Q + L.

    Args:
        log_parameters: logarithms of length scales and noise, (D + 1,).
        Y: inputs, (N, D).
        outputs: outputs, (N, K).
        inducing: inducing inputs, (M, D).
    """
    length, noise = np.exp(log_parameters[:-1]), float(np.exp(log_parameters[-1]))
    n, n_outputs = outputs.shape
    parts = _factor_process(Y, inducing, length, noise)
    a = _solve_outputs(parts, outputs)
    squares = np.maximum((outputs * a).sum(axis=0), 1e-300)
    log_det = _compute_log_det(parts.A) - _compute_log_det(parts.Kuu) + np.log(parts.diagonal).sum()
    value = 0.5 * n_outputs * log_det + 0.5 * n * np.log(squares / n).sum()
    # G = d value / dS = K/2 S^-1 - sum_k N / (2 s_k) a_k a_k'; g its diagonal; H = G - diag(g)
    P = cho_solve(parts.Kuu, parts.Kuf)
    scaled = parts.Kuf / parts.diagonal
    half = cho_solve(parts.A, scaled)
    inverse_diagonal = 1.0 / parts.diagonal - (scaled * half).sum(axis=0)
    g = 0.5 * n_outputs * inverse_diagonal - 0.5 * ((n / squares) * a**2).sum(axis=1)
    SP = P.T / parts.diagonal[:, None] - half.T @ (scaled @ P.T)
    HP = 0.5 * n_outputs * SP - 0.5 * (a * (n / squares)) @ (a.T @ P.T) - g[:, None] * P.T
    by_Kfu, by_Kuu = 2.0 * HP, -P @ HP
    gradient = np.empty(len(log_parameters))
    gradient[:-1] = _derive_by_log_length(by_Kfu, parts.Kuf.T, Y, inducing, length)
    Kuu = compute_kernel(inducing, inducing, length)
    gradient[:-1] += _derive_by_log_length(by_Kuu, Kuu, inducing, inducing, length)
    gradient[-1] = noise * g.sum()
    return float(value), gradient


@dataclass(frozen=True, slots=True)
class _Parts:
    """Factors of K_uu and of A = K_uu + K_uf L^-1 K_fu; K_uf (M, N); diagonal of L, (N,)."""

    Kuu: tuple[Floats, bool]
    A: tuple[Floats, bool]
    Kuf: Floats
    diagonal: Floats


def _factor_process(Y: Floats, inducing: Floats, length: Floats, noise: float) -> _Parts:
    """Return what every evaluation starts from."""
    Kuf = compute_kernel(inducing, Y, length)
    Kuu = compute_kernel(inducing, inducing, length) + JITTER * np.eye(len(inducing))
    factor = cho_factor(Kuu, lower=True)
    diagonal = np.maximum(1.0 - (Kuf * cho_solve(factor, Kuf)).sum(axis=0), 0.0) + noise
    A = cho_factor(Kuu + (Kuf / diagonal) @ Kuf.T, lower=True)
    return _Parts(factor, A, Kuf, diagonal)


def _solve_outputs(parts: _Parts, outputs: Floats) -> Floats:
    """Return S^-1 outputs, (N, K)."""
    scaled = outputs / parts.diagonal[:, None]
    return np.asarray(scaled - (parts.Kuf.T @ cho_solve(parts.A, parts.Kuf @ scaled)) / parts.diagonal[:, None])


def _compute_log_det(factor: tuple[Floats, bool]) -> float:
    """Return the logarithm of the determinant of a factored matrix."""
    return 2.0 * float(np.log(np.diagonal(factor[0])).sum())


def _derive_by_log_length(by: Floats, K: Floats, Y: Floats, Z: Floats, length: Floats) -> Floats:
    """Return sum_ij by_ij dK_ij / d ln l_d, (D,), with dK_ij / d ln l_d = K_ij (y_id - z_jd)^2 / l_d^2."""
    E = by * K
    sums = (Y**2).T @ E.sum(axis=1) + (Z**2).T @ E.sum(axis=0) - 2.0 * (Y * (E @ Z)).sum(axis=0)
    return np.asarray(sums / length**2)
