"""Least squares with unknowns that are not negative, coupled from frame to frame, by an interior-point method.

minimise sum_t x_t' H_t x_t / 2 - g_t' x_t + r sum_t |x_t - x_(t-1)|^2 / 2 over x >= 0. Newton's steps of the predictor and
corrector (Mehrotra 1992) have a matrix that is banded, so that their cost is linear in the number of frames.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve_banded, cholesky_banded

from config.arrays import Bools, Floats
from numerics.banded import band_from_blocks

MAX_ITERATIONS = 60
GAP, RESIDUAL = 1e-9, 1e-7
TO_BOUND = 0.99  # of the way that a step may go towards it


@dataclass(frozen=True, slots=True)
class CoupledSquares:
    """N quadratic problems of K unknowns each, neighbours coupled.

    Attributes:
        H: Hessians, positive semidefinite, (N, K, K).
        g: gradients, (N, K).
        rate: r of each pair of neighbouring frames, (N - 1,).
        free: unknowns that are not zero, (N, K); those of a pair are coupled where both are free.
    """

    H: Floats
    g: Floats
    rate: Floats
    free: Bools

    def product(self, x: Floats) -> Floats:
        """Return the whole matrix times x, (N, K) -> (N, K)."""
        out = np.einsum("nij,nj->ni", self.H, np.where(self.free, x, 0.0))
        step = self.rate[:, None] * (self.free[1:] & self.free[:-1]) * np.diff(x, axis=0)
        out[1:] += step
        out[:-1] -= step
        return np.where(self.free, out, x)

    def banded(self) -> Floats:
        """Return the matrix in LAPACK's lower banded form, (K + 1, N K); fixed unknowns have a 1 on the diagonal."""
        k = self.g.shape[1]
        both = self.free[:, :, None] & self.free[:, None, :]
        H = np.where(both, self.H, 0.0)
        coupled = self.rate[:, None] * (self.free[1:] & self.free[:-1])
        diagonal = np.einsum("nii->ni", H)  # a view
        diagonal[1:] += coupled
        diagonal[:-1] += coupled
        diagonal[~self.free] = 1.0
        return band_from_blocks([H, -coupled[:, :, None] * np.eye(k)], k)[: k + 1]


def minimise_nonnegative(problem: CoupledSquares, start: float = 0.02) -> Floats:
    """Return x >= 0, (N, K), zero where it is not free. start: typical size of the unknowns."""
    free = problem.free
    if not free.any():
        return np.zeros(problem.g.shape)
    band, g = problem.banded(), np.where(free, problem.g, -1.0)
    x, z = np.full(g.shape, start), np.full(g.shape, start)
    for _ in range(MAX_ITERATIONS):
        e = problem.product(x) - g - z
        gap = float((x * z).mean())
        if gap < GAP and np.abs(e).max() < RESIDUAL * (1.0 + np.abs(g).max()):
            break
        matrix = band.copy()
        matrix[0] += (z / x).ravel()
        factor = cholesky_banded(matrix, lower=True, overwrite_ab=True, check_finite=False)
        dx, dz = _compute_newton_step(factor, e, x, z, np.zeros(g.shape))
        reach = _limit_step(x, dx, z, dz)
        centring = (float(((x + reach * dx) * (z + reach * dz)).mean()) / gap) ** 3
        dx, dz = _compute_newton_step(factor, e, x, z, (centring * gap - dx * dz) / x)
        reach = _limit_step(x, dx, z, dz)
        x, z = x + reach * dx, z + reach * dz
    return np.where(free, x, 0.0)


def _compute_newton_step(factor: Floats, e: Floats, x: Floats, z: Floats, correction: Floats) -> tuple[Floats, Floats]:
    """Return Newton's step of unknowns and multipliers, both (N, K)."""
    dx = cho_solve_banded((factor, True), (correction - e - z).ravel(), check_finite=False).reshape(x.shape)
    return dx, correction - z - z * dx / x


def _limit_step(x: Floats, dx: Floats, z: Floats, dz: Floats) -> float:
    """Return how far along a step both unknowns and multipliers stay above zero, at most 1."""
    ratios = [TO_BOUND * float((-a[d < 0.0] / d[d < 0.0]).min()) for a, d in ((x, dx), (z, dz)) if (d < 0.0).any()]
    return min([1.0, *ratios])
