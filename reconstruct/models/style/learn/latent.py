"""Latent points of known poses: L_IK minimised over x alone, for many poses at once (Grochow et al. 2004, appendix B, eq. 3).

The residual of a pose is quadratic in k(x): with C = K^-1 Y, G = C W W C' and h = C W W y,

    |W (y - f(x))|^2 = |W y|^2 - 2 k'h + k'G k,    s2 = alpha + 1/beta - k'K^-1 k

So no array of D columns is needed after the start, and all poses' steps are a few products of matrices. Each pose has its own
damping (Levenberg-Marquardt) of its Q x Q Hessian.
"""

from dataclasses import dataclass

import numpy as np

from config.arrays import Bools, Floats, Ints
from numerics.definite import solve_each_damped
from reconstruct.models.style.model import StyleEvaluator, compute_covariance

FIRST_DAMPING, MIN_DAMPING, MAX_DAMPING = 1e-2, 1e-9, 1e6
MIN_GAIN = 1e-7  # of a pose's step, relative to its energy, with which it has converged


@dataclass(frozen=True, slots=True)
class LatentQuery:
    """Poses whose latent points are sought: |W y|^2, (P,), and h, (P, M); G, (M, M); number of features."""

    style: StyleEvaluator
    size2: Floats
    h: Floats
    G: Floats
    n_features: int

    def take(self, rows: Ints) -> "LatentQuery":
        """Return some of the poses."""
        return LatentQuery(self.style, self.size2[rows], self.h[rows], self.G, self.n_features)


def build_latent_query(style: StyleEvaluator, Y: Floats, seen: Bools | None = None) -> LatentQuery:
    """Return the query of the latent points of poses.

    Args:
        style: the model.
        Y: features of poses, (P, D), centred.
        seen: features that count, (D,), None for all.
    """
    scale = style.scale if seen is None else style.scale * seen
    WY, WC = Y * scale, style.coefficients * scale
    n_features = Y.shape[1] if seen is None else int(seen.sum())
    return LatentQuery(style, np.einsum("pd,pd->p", WY, WY), WY @ WC.T, WC @ WC.T, n_features)


def compute_energies(query: LatentQuery, X: Floats) -> Floats:
    """Return L_IK of the poses at X, (P, Q) -> (P,)."""
    k = compute_covariance(X, query.style.latent, query.style.parameters)
    residual2, s2 = _compute_residual_and_variance(query, k, k @ query.G, k @ query.style.inverse)
    return np.asarray(0.5 * residual2 / s2 + 0.5 * query.n_features * np.log(s2) + 0.5 * (X**2).sum(axis=1))


def find_best_active(query: LatentQuery) -> Floats:
    """Return for each pose the active latent point at which its L_IK is least, (P, Q)."""
    A, p = query.style.latent, query.style.parameters
    K = compute_covariance(A, A, p)
    residual2 = np.maximum(query.size2[:, None] - 2.0 * query.h @ K + np.einsum("mn,nm->m", K @ query.G, K), 0.0)
    s2 = _compute_variance(query, np.einsum("mn,nm->m", K @ query.style.inverse, K))
    energy = 0.5 * residual2 / s2 + 0.5 * query.n_features * np.log(s2) + 0.5 * (A**2).sum(axis=1)
    return np.asarray(A[np.argmin(energy, axis=1)])


def find_latent(query: LatentQuery, start: Floats, steps: int = 30) -> Floats:
    """Return the latent points that minimise L_IK of the poses, (P, Q); never worse than the start.

    Args:
        query: query of the poses.
        start: latent points to begin with, (P, Q).
        steps: greatest number of steps of the minimiser.
    """
    X, damping = np.array(start), np.full(len(start), FIRST_DAMPING)
    energy, busy = compute_energies(query, X), np.arange(len(X))
    for _ in range(steps):
        part = query.take(busy)
        gradient, hessian = _compute_derivatives(part, X[busy])
        ahead = X[busy] + solve_each_damped(hessian, gradient, damping[busy])
        energy_ahead = compute_energies(part, ahead)
        gain = energy[busy] - energy_ahead
        better = gain > 0.0
        damping[busy] = np.where(better, np.maximum(0.2 * damping[busy], MIN_DAMPING), 8.0 * damping[busy])
        X[busy[better]], energy[busy[better]] = ahead[better], energy_ahead[better]
        done = better & (gain < MIN_GAIN * np.maximum(np.abs(energy[busy]), 1.0)) | (damping[busy] > MAX_DAMPING)
        busy = busy[~done]
        if len(busy) == 0:
            break
    return X


def _compute_variance(query: LatentQuery, explained: Floats) -> Floats:
    """Return s2 from k'K^-1 k; rounding cannot make it negative."""
    p = query.style.parameters
    return np.maximum(p.alpha + 1.0 / p.beta - explained, 1e-9 * p.alpha)


def _compute_residual_and_variance(query: LatentQuery, k: Floats, kG: Floats, kI: Floats) -> tuple[Floats, Floats]:
    """Return |W (y - f)|^2 and s2, (P,) each, from k, k G and k K^-1, (P, M) each."""
    residual2 = query.size2 + np.einsum("pm,pm->p", k, kG - 2.0 * query.h)
    return np.maximum(residual2, 0.0), _compute_variance(query, np.einsum("pm,pm->p", k, kI))


def _compute_derivatives(query: LatentQuery, X: Floats) -> tuple[Floats, Floats]:
    """Return the gradient, (P, Q), and a positive definite Hessian, (P, Q, Q), of L_IK by x.

    The Hessian has the Gauss-Newton part of residual2 / (2 s2), that of the prior, and the convex terms in s2.
    """
    p, D = query.style.parameters, float(query.n_features)
    k = compute_covariance(X, query.style.latent, p)
    kG, kI = k @ query.G, k @ query.style.inverse
    residual2, s2 = _compute_residual_and_variance(query, k, kG, kI)
    J = -p.gamma * (X[:, :, None] - query.style.latent.T) * k[:, None, :]
    d_residual2 = 2.0 * np.einsum("pqm,pm->pq", J, kG - query.h)
    d_s2 = -2.0 * np.einsum("pqm,pm->pq", J, kI)
    excess = (residual2 / s2 - D) / s2
    gradient = 0.5 * (d_residual2 / s2[:, None] - excess[:, None] * d_s2) + X
    hessian = _multiply_both_sides(J, query.G) / s2[:, None, None] + np.eye(X.shape[1])
    hessian += np.maximum(excess, 0.0)[:, None, None] * _multiply_both_sides(J, query.style.inverse)
    bend = np.maximum(residual2 / s2 - 0.5 * D, 0.0) / s2**2
    hessian += bend[:, None, None] * d_s2[:, :, None] * d_s2[:, None, :]
    return gradient, hessian


def _multiply_both_sides(J: Floats, A: Floats) -> Floats:
    """Return J A J', (P, Q, Q), of J, (P, Q, M), and A, (M, M)."""
    JA = (J.reshape(-1, len(A)) @ A).reshape(J.shape)
    return np.asarray(JA @ J.transpose(0, 2, 1))
