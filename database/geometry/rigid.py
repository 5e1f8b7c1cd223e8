"""Rigid motions: of points, and fitted to corresponding points by least squares, also robustly.

The best rotation is the unit quaternion q that maximises q' N q (Horn 1987, section 4), where N is symmetric, 4x4 and made of the
points' covariance. Unlike the singular value decomposition of that covariance this cannot give a reflection, and Jacobi's method
finds the eigenvectors of so small a matrix in microseconds.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from config.arrays import Floats
from config.jit import inline_kernel, kernel
from database.geometry.rotations import matrix_from_rotvec, rotvec_from_matrix

MAX_SWEEPS = 12  # Jacobi's method converges quadratically: five suffice for well-conditioned points


@dataclass(frozen=True, slots=True)
class RigidMotion:
    """x -> rotation x + translation_m: rotation (3, 3), translation_m (3,) [m]."""

    rotation: Floats
    translation_m: Floats

    def move(self, points_m: Floats) -> Floats:
        """Return points moved, (..., 3) [m]."""
        return np.ascontiguousarray(points_m @ self.rotation.T + self.translation_m)

    def turn(self, rotvec: Floats) -> Floats:
        """Return the rotation vector, (3,) [rad], of an orientation moved."""
        return rotvec_from_matrix(self.rotation @ matrix_from_rotvec(rotvec))

    @property
    def inverse(self) -> "RigidMotion":
        """The motion back."""
        return RigidMotion(np.ascontiguousarray(self.rotation.T), -self.translation_m @ self.rotation)

    def after(self, first: "RigidMotion") -> "RigidMotion":
        """Return the motion that is `first`, then this one."""
        return RigidMotion(np.ascontiguousarray(self.rotation @ first.rotation), self.move(first.translation_m))


@inline_kernel
def _apply_jacobi_rotation(N: Floats, V: Floats, p: int, q: int) -> None:
    """Rotate coordinates p and q so that N[p, q] vanishes; V accumulates the rotations."""
    theta = 0.5 * (N[q, q] - N[p, p]) / N[p, q]
    t = 1.0 / (abs(theta) + math.sqrt(theta * theta + 1.0))
    if theta < 0.0:
        t = -t
    c = 1.0 / math.sqrt(t * t + 1.0)
    s = t * c
    for k in range(N.shape[0]):
        a, b = N[k, p], N[k, q]
        N[k, p], N[k, q] = c * a - s * b, s * a + c * b
    for k in range(N.shape[0]):
        a, b = N[p, k], N[q, k]
        N[p, k], N[q, k] = c * a - s * b, s * a + c * b
        a, b = V[k, p], V[k, q]
        V[k, p], V[k, q] = c * a - s * b, s * a + c * b


@inline_kernel
def _find_largest_eigenvector(N: Floats, V: Floats) -> int:
    """Write the eigenvectors of a symmetric matrix to the columns of V; return the index of the largest. Overwrites N."""
    n = N.shape[0]
    scale = 0.0
    for i in range(n):
        for j in range(n):
            V[i, j] = 1.0 if i == j else 0.0
            scale += N[i, j] * N[i, j]
    for _ in range(MAX_SWEEPS):
        off = 0.0
        for p in range(n - 1):
            for q in range(p + 1, n):
                off += N[p, q] * N[p, q]
        if off <= 1e-34 * scale:
            break
        for p in range(n - 1):
            for q in range(p + 1, n):
                if N[p, q] * N[p, q] > 1e-40 * scale:
                    _apply_jacobi_rotation(N, V, p, q)
    best = 0
    for i in range(1, n):
        if N[i, i] > N[best, best]:
            best = i
    return best


@kernel
def _fit_rigid(a: Floats, b: Floats, w: Floats, R: Floats, t: Floats) -> None:
    """Write the motion minimising sum w |R a + t - b|^2 to R (3, 3) and t (3,); a, b (n, 3), w (n,)."""
    total = 0.0
    mean_a, mean_b, S, N, V = np.zeros(3), np.zeros(3), np.zeros((3, 3)), np.empty((4, 4)), np.empty((4, 4))
    for m in range(w.shape[0]):
        total += w[m]
        for i in range(3):
            mean_a[i] += w[m] * a[m, i]
            mean_b[i] += w[m] * b[m, i]
    for i in range(3):
        mean_a[i] /= total
        mean_b[i] /= total
    for m in range(w.shape[0]):
        for i in range(3):
            for j in range(3):
                S[i, j] += w[m] / total * (a[m, i] - mean_a[i]) * (b[m, j] - mean_b[j])
    N[0, 0], N[1, 1] = S[0, 0] + S[1, 1] + S[2, 2], S[0, 0] - S[1, 1] - S[2, 2]
    N[2, 2], N[3, 3] = S[1, 1] - S[0, 0] - S[2, 2], S[2, 2] - S[0, 0] - S[1, 1]
    N[0, 1], N[0, 2], N[0, 3] = S[1, 2] - S[2, 1], S[2, 0] - S[0, 2], S[0, 1] - S[1, 0]
    N[1, 2], N[1, 3], N[2, 3] = S[0, 1] + S[1, 0], S[2, 0] + S[0, 2], S[1, 2] + S[2, 1]
    for i in range(4):
        for j in range(i):
            N[i, j] = N[j, i]
    k = _find_largest_eigenvector(N, V)
    q, x, y, z = V[0, k], V[1, k], V[2, k], V[3, k]
    R[0, 0], R[0, 1], R[0, 2] = q * q + x * x - y * y - z * z, 2.0 * (x * y - q * z), 2.0 * (x * z + q * y)
    R[1, 0], R[1, 1], R[1, 2] = 2.0 * (x * y + q * z), q * q - x * x + y * y - z * z, 2.0 * (y * z - q * x)
    R[2, 0], R[2, 1], R[2, 2] = 2.0 * (x * z - q * y), 2.0 * (y * z + q * x), q * q - x * x - y * y + z * z
    for i in range(3):
        t[i] = mean_b[i] - R[i, 0] * mean_a[0] - R[i, 1] * mean_a[1] - R[i, 2] * mean_a[2]


@inline_kernel
def _write_cauchy_weights(a: Floats, b: Floats, weight: Floats, scale2: float, R: Floats, t: Floats, w: Floats) -> None:
    """Write weight / (1 + weight |R a + t - b|^2 / scale2) to w, (n,)."""
    for m in range(weight.shape[0]):
        error2 = 0.0
        for i in range(3):
            e = R[i, 0] * a[m, 0] + R[i, 1] * a[m, 1] + R[i, 2] * a[m, 2] + t[i] - b[m, i]
            error2 += e * e
        w[m] = weight[m] / (1.0 + weight[m] * error2 / scale2)


@kernel
def _fit_robust(a: Floats, b: Floats, weight: Floats, scale2: float, rounds: int, started: bool, R: Floats, t: Floats) -> None:
    """Fit `rounds` times with Cauchy weights of the previous motion, the first time of R and t if `started`, else without."""
    w = weight.copy()
    for k in range(rounds):
        if started or k > 0:
            _write_cauchy_weights(a, b, weight, scale2, R, t, w)
        _fit_rigid(a, b, w, R, t)


def fit_rigid_motion(source: ArrayLike, target: ArrayLike, weights: ArrayLike | None = None) -> tuple[Floats, Floats]:
    """Return R, t minimising sum w |R a + t - b|^2 (Horn 1987, without scale).

    Where the points do not determine the rotation (all on one line or in one place), it is one of the best motions.

    Args:
        source, target: corresponding points, (n, 3) [m], n >= 3.
        weights: (n,), default equal.
    Returns: R (3, 3), t (3,) [m].
    """
    a, b = np.ascontiguousarray(source, np.float64), np.ascontiguousarray(target, np.float64)
    w = np.ones(len(a)) if weights is None else np.ascontiguousarray(weights, np.float64)
    R, t = np.empty((3, 3)), np.empty(3)
    _fit_rigid(a, b, w, R, t)
    return R, t


def fit_rigid_motion_robustly(
    source: Floats, target: Floats, weights: Floats, sigmas: float, rounds: int, start: tuple[Floats, Floats] | None
) -> tuple[Floats, Floats]:
    """Return R, t minimising sum rho(w |R a + t - b|^2), rho(s) = c^2 ln(1 + s / c^2), by iteratively reweighted fits.

    Args:
        source, target: (n, 3) [m], n >= 3.
        weights: 1 / variance, (n,) [1/m^2].
        sigmas: c.
        rounds: number of fits.
        start: motion for the first weights, without which the first fit is a plain one.
    Returns: R (3, 3), t (3,) [m].
    """
    R, t = np.empty((3, 3)), np.empty(3)
    if start is not None:
        R[:], t[:] = start
    a, b = np.ascontiguousarray(source, np.float64), np.ascontiguousarray(target, np.float64)
    _fit_robust(a, b, np.ascontiguousarray(weights, np.float64), sigmas**2, rounds, start is not None, R, t)
    return R, t
