"""A robust plane through points of unlike accuracy.

u . x_i - h_i = d: u its unit normal, d its distance from the origin along u, h_i the known height of point i above it.
Gauss-Newton on two tilts and d, each point weighted by 1 / (u' C_i u + s^2), outliers by Tukey's biweight.
"""

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from config.arrays import Floats
from database.geometry.rotations import compute_tangents

STEPS = 12
TUKEY = 4.685  # Tukey's biweight at 95% efficiency for Gaussian noise
MIN_SPREAD_M = 1e-4


@dataclass(frozen=True, slots=True)
class FittedPlane:
    """A fitted plane.

    up: unit normal, (3,); offset_m: u . x of its points [m]; centre_m: weighted mean of the points, (3,), where offset and tilts
    are least correlated; axes: the two directions of tilt, (2, 3); covariance: of both tilts [rad] and the offset [m], (3, 3);
    residual_m: of each point, positive above, (N,); weight: of each point, 0..1, 0 for an outlier, (N,).
    """

    up: Floats
    offset_m: float
    centre_m: Floats
    axes: Floats
    covariance: Floats
    residual_m: Floats
    weight: Floats

    @property
    def tilt_sigma_rad(self) -> float:
        """Standard deviation of the tilt in its worst direction."""
        return float(np.sqrt(np.linalg.eigvalsh(self.covariance[:2, :2])[-1]))

    def height_sigma_m(self, point_m: Floats) -> float:
        """Return the standard deviation of the plane's height at a point, (3,)."""
        row = np.append(self.axes @ (point_m - self.centre_m), -1.0)
        return float(np.sqrt(row @ self.covariance @ row))

    def heights_m(self, points_m: Floats) -> Floats:
        """Return the heights of points above the plane: (..., 3) [m] -> (...,)."""
        return np.asarray(points_m @ self.up - self.offset_m)

    def nearest(self, point_m: Floats) -> Floats:
        """Return the plane's point nearest to another, (3,)."""
        return np.asarray(point_m - self.up * (self.up @ point_m - self.offset_m))


def fit_plane(
    points_m: Floats,
    covariance_m2: Floats,
    up: Floats,
    above_m: Floats | float = 0.0,
    sigma_m: float = 0.001,
    robust: bool = True,
) -> FittedPlane:
    """Fit a plane, by Gauss-Newton steps with reduced weights for outliers.

    Args:
        points_m: the points, (N, 3), N >= 3.
        covariance_m2: of each, (N, 3, 3).
        up: initial normal, (3,) unit.
        above_m: how far each lies above the plane, (N,), or one for all.
        sigma_m: error of every point besides its covariance.
        robust: allow for outliers.
    """
    height = np.broadcast_to(np.asarray(above_m, float), len(points_m))
    up = up / np.linalg.norm(up)
    weight = np.ones(len(points_m))
    offset = float(np.median(points_m @ up - height))
    for _ in range(STEPS):
        variance = np.einsum("i,nij,j->n", up, covariance_m2, up) + sigma_m**2
        w = weight / variance
        centre = (w[:, None] * points_m).sum(axis=0) / w.sum()
        axes = compute_tangents(up)
        J = np.column_stack([(points_m - centre) @ axes.T, -np.ones(len(points_m))])
        residual = points_m @ up - height - offset
        H = J.T @ (w[:, None] * J) + np.diag([MIN_SPREAD_M**2, MIN_SPREAD_M**2, 0.0]) * w.sum()
        step = -np.linalg.solve(H, J.T @ (w * residual))
        # The offset is that of the centre: a rotation about it changes u . x at the origin.
        at_centre = offset - up @ centre + step[2]
        up = up + step[0] * axes[0] + step[1] * axes[1]
        up = up / np.linalg.norm(up)
        offset = float(at_centre + up @ centre)
        residual = points_m @ up - height - offset
        if robust:
            weight = _compute_biweights(residual / np.sqrt(variance))
    chi2 = max(float((w * residual**2).sum() / max(weight.sum() - 3.0, 1.0)), 1.0)
    return FittedPlane(up, offset, centre, compute_tangents(up), np.linalg.inv(H) * chi2, residual, weight)


def _compute_biweights(normalised: Floats) -> Floats:
    """Return Tukey's weights, on a scale no smaller than the known noise, (N,)."""
    scale = max(1.0, 1.4826 * float(np.median(np.abs(normalised))))
    return np.asarray(np.maximum(1.0 - (normalised / (TUKEY * scale)) ** 2, 0.0) ** 2 + 1e-9)


def sample_triples(points_m: Floats, rng: np.random.Generator, n_max: int) -> NDArray[np.int64]:
    """Return triples of points, (T, 3): all of them, or random ones where there are too many.

    Args:
        points_m: the points, (N, 3).
        rng: draws the random ones.
        n_max: how many at most.
    """
    n = len(points_m)
    if n < 3:
        return np.zeros((0, 3), np.int64)
    if n * (n - 1) * (n - 2) // 6 <= n_max:
        return np.array(list(itertools.combinations(range(n), 3)), np.int64)
    chosen = rng.integers(0, n, (n_max, 3))
    distinct = (chosen[:, 0] != chosen[:, 1]) & (chosen[:, 1] != chosen[:, 2]) & (chosen[:, 2] != chosen[:, 0])
    return np.asarray(chosen[distinct], np.int64)


def compute_planes_through(points_m: Floats, chosen: NDArray[np.int64], up: Floats, max_tilt_rad: float) -> tuple[Floats, Floats]:
    """Return the planes through triples that are nearly level: normals (K, 3) and offsets (K,) [m].

    Collinear triples are left out.

    Args:
        points_m: the points, (N, 3).
        chosen: indices of the triples, (T, 3).
        up: the expected normal, (3,), unit.
        max_tilt_rad: largest angle between normals and `up`.
    """
    a, b, c = (points_m[chosen[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a)
    length = np.linalg.norm(normal, axis=1)
    longest = np.maximum(np.linalg.norm(b - a, axis=1), np.linalg.norm(c - a, axis=1))
    good = length > 0.05 * longest**2 + 1e-12
    normal = normal[good] / length[good, None]
    normal = normal * np.sign(normal @ up)[:, None]
    level = normal @ up > np.cos(max_tilt_rad)
    return normal[level], np.einsum("ki,ki->k", normal[level], a[good][level])
