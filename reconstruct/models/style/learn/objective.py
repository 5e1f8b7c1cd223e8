"""The objective of learning, L_GP, and its gradient (Grochow et al. 2004, eq. 2).

    L_GP = D/2 ln|K| + 1/2 sum_k w_k^2 Y_k' K^-1 Y_k + 1/2 sum_i |x_i|^2 + ln(alpha beta gamma / prod_k w_k^N)
    dL_GP/dK = 1/2 (D K^-1 - K^-1 Y W W Y' K^-1)

The paper's text has ln|K| with a factor D where the likelihood of D dimensions has D/2 (its own eq. 11). Kernels compute the
elementwise parts, LAPACK the rest; only lower triangles are written and read.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.linalg import blas

from config.arrays import Floats
from config.jit import kernel
from numerics.definite import invert_triangle_in_place


@kernel
def fill_covariance(X: Floats, alpha: float, beta: float, gamma: float, smooth: Floats, K: Floats) -> None:
    """Write alpha exp(-gamma/2 |x - x'|^2), and the same with 1/beta on the diagonal.

    Args:
        X: latent points, (N, Q).
        alpha: variance of the kernel.
        beta: precision of the noise.
        gamma: inverse squared width.
        smooth: kernel without noise, (N, N); written.
        K: kernel with noise, (N, N); written.
    """
    n, n_latent = X.shape
    for i in range(n):
        for j in range(i):
            distance2 = 0.0
            for q in range(n_latent):
                distance2 += (X[i, q] - X[j, q]) ** 2
            smooth[i, j] = alpha * np.exp(-0.5 * gamma * distance2)
            K[i, j] = smooth[i, j]
        smooth[i, i] = alpha
        K[i, i] = alpha + 1.0 / beta


@kernel
def chain_covariance(X: Floats, gamma: float, smooth: Floats, dK: Floats, dX: Floats) -> tuple[float, float, float]:
    """Add the gradient by X that follows from the one by K.

    Args:
        X: latent points, (N, Q).
        gamma: inverse squared width.
        smooth: kernel without noise, (N, N).
        dK: dL/dK, (N, N).
        dX: (N, Q); added to.
    Returns: the sums of dK * smooth, of dK's diagonal and of dK * smooth * |x - x'|^2.
    """
    n, n_latent = X.shape
    by_smooth, trace, by_distance = 0.0, 0.0, 0.0
    for i in range(n):
        for j in range(i):
            weight = 2.0 * dK[i, j] * smooth[i, j]
            distance2 = 0.0
            for q in range(n_latent):
                apart = X[i, q] - X[j, q]
                distance2 += apart * apart
                dX[i, q] -= gamma * weight * apart
                dX[j, q] += gamma * weight * apart
            by_smooth += weight
            by_distance += weight * distance2
        by_smooth += dK[i, i] * smooth[i, i]
        trace += dK[i, i]
    return by_smooth, trace, by_distance


@dataclass(frozen=True, slots=True)
class Workspace:
    """Arrays that evaluations of L_GP write to, so that they are allocated once."""

    smooth: Floats
    K: Floats
    scaled: Floats
    solved: Floats

    @classmethod
    def of(cls, n: int, n_features: int) -> Self:
        """Allocate for n poses."""
        return cls(np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n_features)), np.zeros((n, n_features)))


def compute_objective(
    X: Floats, ln_parameters: Floats, ln_scale: Floats, Y: Floats, work: Workspace | None = None
) -> tuple[float, Floats, Floats, Floats]:
    """Return L_GP and its gradients by X, ln(alpha, beta, gamma) and ln w.

    Args:
        X: latent points, (N, Q).
        ln_parameters: ln(alpha, beta, gamma), (3,).
        ln_scale: ln w, (D,).
        Y: features, (N, D), centred.
        work: memory to use, or None.
    Raises numpy.linalg.LinAlgError: K is not positive definite.
    """
    n, n_features = Y.shape
    w = Workspace.of(n, n_features) if work is None else work
    X = np.ascontiguousarray(X)
    alpha, beta, gamma = (float(v) for v in np.exp(ln_parameters))
    fill_covariance(X, alpha, beta, gamma, w.smooth, w.K)
    log_det = invert_triangle_in_place(w.K)
    np.multiply(Y, np.exp(ln_scale), out=w.scaled)
    # LAPACK and BLAS arrays are column-major: to them our lower triangles are upper ones, and our (N, D) arrays are (D, N).
    blas.dsymm(1.0, w.K.T, w.scaled.T, c=w.solved.T, side=1, lower=0, overwrite_c=1)
    blas.dsyrk(-0.5, w.solved.T, 0.5 * n_features, w.K.T, trans=1, lower=0, overwrite_c=1)  # K is dL/dK from here on
    dX = X.copy()
    by_smooth, trace, by_distance = chain_covariance(X, gamma, w.smooth, w.K, dX)
    fit = np.einsum("nd,nd->d", w.scaled, w.solved)
    likelihood = 0.5 * n_features * log_det + 0.5 * float(fit.sum()) - n * float(ln_scale.sum())
    L = likelihood + 0.5 * float(np.vdot(X, X)) + float(np.sum(ln_parameters))
    return L, dX, 1.0 + np.array([by_smooth, -trace / beta, -0.5 * gamma * by_distance]), fit - n
