"""What learning minimises, L_GP, with its gradient by everything (Grochow et al. 2004, eq. 2).

    L_GP = D/2 ln|K| + 1/2 sum_k w_k^2 Y_k' K^-1 Y_k + 1/2 sum_i |x_i|^2 + ln(alpha beta gamma / prod_k w_k^N)
    dL_GP/dK = 1/2 (D K^-1 - K^-1 Y W W Y' K^-1)

The text of the paper has ln|K| with a factor D where the likelihood of D dimensions has D/2 (its own eq. 11).
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.linalg import blas, lapack

from database.rotations import Floats
from reconstruct.style.objective_kernels import chain_covariance, fill_covariance


@dataclass(frozen=True, slots=True)
class Workspace:
    """Arrays that evaluations of L_GP on N poses of D features write to, so that none of that size is made each time."""

    smooth: Floats
    K: Floats
    scaled: Floats
    solved: Floats

    @classmethod
    def of(cls, n: int, n_features: int) -> Self:
        """Make room."""
        return cls(np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n_features)), np.zeros((n, n_features)))


def objective(
    X: Floats, ln_parameters: Floats, ln_scale: Floats, Y: Floats, work: Workspace | None = None
) -> tuple[float, Floats, Floats, Floats]:
    """Give L_GP and its gradients by X, (N, Q), by ln(alpha, beta, gamma), (3,), and by ln w, (D,); Y: (N, D), means taken off.

    Raises numpy.linalg.LinAlgError: K is not positive definite.
    """
    n, n_features = Y.shape
    room = Workspace.of(n, n_features) if work is None else work
    X = np.ascontiguousarray(X)
    alpha, beta, gamma = (float(v) for v in np.exp(ln_parameters))
    fill_covariance(X, alpha, beta, gamma, room.smooth, room.K)
    log_det = _invert(room.K)
    np.multiply(Y, np.exp(ln_scale), out=room.scaled)
    # LAPACK and BLAS count columns first: to them our lower triangles are upper ones, and our (N, D) arrays are (D, N).
    blas.dsymm(1.0, room.K.T, room.scaled.T, c=room.solved.T, side=1, lower=0, overwrite_c=1)
    blas.dsyrk(-0.5, room.solved.T, 0.5 * n_features, room.K.T, trans=1, lower=0, overwrite_c=1)  # K is dL/dK from here on
    dX = X.copy()
    by_smooth, trace, by_distance = chain_covariance(X, gamma, room.smooth, room.K, dX)
    fit = np.einsum("nd,nd->d", room.scaled, room.solved)
    likelihood = 0.5 * n_features * log_det + 0.5 * float(fit.sum()) - n * float(ln_scale.sum())
    L = likelihood + 0.5 * float(np.vdot(X, X)) + float(np.sum(ln_parameters))
    return L, dX, 1.0 + np.array([by_smooth, -trace / beta, -0.5 * gamma * by_distance]), fit - n


def _invert(K: Floats) -> float:
    """Replace the lower triangle of K by that of its inverse; give ln|K|. Raises LinAlgError: K is not positive definite."""
    _, failed = lapack.dpotrf(K.T, lower=0, clean=0, overwrite_a=1)
    if failed:
        raise np.linalg.LinAlgError("the kernel matrix is not positive definite")
    log_det = 2.0 * float(np.log(np.diagonal(K)).sum())
    lapack.dpotri(K.T, lower=0, overwrite_c=1)
    return log_det
