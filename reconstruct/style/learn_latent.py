"""Latent points of known poses: L_IK minimised over x alone, for many poses at once (Grochow et al. 2004, appendix B, eq. 3).

What is left of a pose is quadratic in k(x): with C = K^-1 Y, G = C W W C' and h = C W W y,

    |W (y - f(x))|^2 = |W y|^2 - 2 k'h + k'G k,    s2 = alpha + 1/beta - k'K^-1 k

So nothing of D numbers is touched after the start, and all poses' steps are a few products of
matrices. Each pose has its own damping (Levenberg-Marquardt) on its Q x Q Hessian.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from database.rotations import Floats
from reconstruct.style.model import Level, covariance

FIRST_DAMPING, LEAST_DAMPING = 1e-2, 1e-9
SETTLED = 1e-7  # relative gain of a pose's step at which its place counts as found


@dataclass(frozen=True, slots=True)
class Asked:
    """Poses whose places are asked for, as seen by one level: |W y|^2, (P,), and h, (P, M); G, (M, M); D of them."""

    level: Level
    size2: Floats
    h: Floats
    G: Floats
    n_features: int


def asked(level: Level, Y: Floats, seen: NDArray[np.bool_] | None = None) -> Asked:
    """Prepare poses with features Y, (P, D), less their mean; seen: the features that count, (D,) bool, None: all."""
    scale = level.scale if seen is None else level.scale * seen
    WY, WC = Y * scale, level.coefficients * scale
    n_features = Y.shape[1] if seen is None else int(seen.sum())
    return Asked(level, np.einsum("pd,pd->p", WY, WY), WY @ WC.T, WC @ WC.T, n_features)


def likelihood(of: Asked, X: Floats) -> Floats:
    """Give L_IK of the poses at X, (P, Q) -> (P,)."""
    k = covariance(X, of.level.latent, of.level.parameters)
    rest2, s2 = _rest_and_variance(of, k, k @ of.G, k @ of.level.inverse)
    return np.asarray(0.5 * rest2 / s2 + 0.5 * of.n_features * np.log(s2) + 0.5 * (X**2).sum(axis=1))


def nearest_active(of: Asked) -> Floats:
    """Give of each pose the active latent point at which its L_IK is least, (P, Q)."""
    A, p = of.level.latent, of.level.parameters
    K = covariance(A, A, p)
    rest2 = np.maximum(of.size2[:, None] - 2.0 * of.h @ K + np.einsum("mn,nm->m", K @ of.G, K), 0.0)
    s2 = _variance(of, np.einsum("mn,nm->m", K @ of.level.inverse, K))
    energy = 0.5 * rest2 / s2 + 0.5 * of.n_features * np.log(s2) + 0.5 * (A**2).sum(axis=1)
    return np.asarray(A[np.argmin(energy, axis=1)])


def placed(of: Asked, start: Floats, steps: int = 30) -> Floats:
    """Give the latent points at which L_IK of the poses is least, (P, Q), from start, (P, Q); never worse than there."""
    X, damping = np.array(start), np.full(len(start), FIRST_DAMPING)
    energy, busy = likelihood(of, X), np.arange(len(X))
    for _ in range(steps):
        part = _only(of, busy)
        gradient, hessian = _slopes(part, X[busy])
        damped = hessian + damping[busy, None, None] * np.einsum("pqq->pq", hessian)[:, :, None] * np.eye(X.shape[1])
        ahead = X[busy] - np.linalg.solve(damped, gradient[:, :, None])[:, :, 0]
        energy_ahead = likelihood(part, ahead)
        gain = energy[busy] - energy_ahead
        better = gain > 0.0
        damping[busy] = np.where(better, np.maximum(0.2 * damping[busy], LEAST_DAMPING), 8.0 * damping[busy])
        X[busy[better]], energy[busy[better]] = ahead[better], energy_ahead[better]
        done = better & (gain < SETTLED * np.maximum(np.abs(energy[busy]), 1.0)) | (damping[busy] > 1e6)
        busy = busy[~done]
        if len(busy) == 0:
            break
    return X


def _only(of: Asked, rows: NDArray[np.int64]) -> Asked:
    """Ask for some of the poses only."""
    return Asked(of.level, of.size2[rows], of.h[rows], of.G, of.n_features)


def _variance(of: Asked, explained: Floats) -> Floats:
    """Give s2, of what k'K^-1 k explains of it, not less than nothing to rounding."""
    p = of.level.parameters
    return np.maximum(p.alpha + 1.0 / p.beta - explained, 1e-9 * p.alpha)


def _rest_and_variance(of: Asked, k: Floats, kG: Floats, kI: Floats) -> tuple[Floats, Floats]:
    """Give |W (y - f)|^2 and s2, (P,) each, from k, k G and k K^-1, (P, M) each."""
    rest2 = of.size2 + np.einsum("pm,pm->p", k, kG - 2.0 * of.h)
    return np.maximum(rest2, 0.0), _variance(of, np.einsum("pm,pm->p", k, kI))


def _slopes(of: Asked, X: Floats) -> tuple[Floats, Floats]:
    """Give gradient, (P, Q), and a positive definite Hessian, (P, Q, Q), of L_IK by x.

    The Hessian has the Gauss-Newton part of rest2 / (2 s2), that of the prior, and of the terms in s2 what bends upwards.
    """
    p, D = of.level.parameters, float(of.n_features)
    k = covariance(X, of.level.latent, p)
    kG, kI = k @ of.G, k @ of.level.inverse
    rest2, s2 = _rest_and_variance(of, k, kG, kI)
    J = -p.gamma * (X[:, :, None] - of.level.latent.T) * k[:, None, :]
    d_rest2 = 2.0 * np.einsum("pqm,pm->pq", J, kG - of.h)
    d_s2 = -2.0 * np.einsum("pqm,pm->pq", J, kI)
    too_sure = (rest2 / s2 - D) / s2
    gradient = 0.5 * (d_rest2 / s2[:, None] - too_sure[:, None] * d_s2) + X
    hessian = _squared(J, of.G) / s2[:, None, None] + np.eye(X.shape[1])
    hessian += np.maximum(too_sure, 0.0)[:, None, None] * _squared(J, of.level.inverse)
    bend = np.maximum(rest2 / s2 - 0.5 * D, 0.0) / s2**2
    hessian += bend[:, None, None] * d_s2[:, :, None] * d_s2[:, None, :]
    return gradient, hessian


def _squared(J: Floats, A: Floats) -> Floats:
    """Give J A J', (P, Q, Q), of J, (P, Q, M), and A, (M, M)."""
    JA = (J.reshape(-1, len(A)) @ A).reshape(J.shape)
    return np.asarray(JA @ J.transpose(0, 2, 1))
