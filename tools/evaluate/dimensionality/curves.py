"""Reconstruction error against the number of dimensions, of global PCA, a mixture of local linear models, and the local model.

Chai & Hodgins 2005, section 7.1. Every method projects a pose that it was not made from to B dimensions and back.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from config.arrays import Bools, Floats, Ints
from reconstruct.models.local.pca import LocalPca, compute_left_out_errors2, compute_pca

KMEANS_ROUNDS = 25
KMEANS_SAMPLE = 30_000  # poses that place the centres; all poses are then assigned
UNDER_DEG = 1.0  # as in the paper


@dataclass(frozen=True, slots=True)
class ErrorCurve:
    """Errors of a method: dimensions (n,), mean_deg and rms_deg (n,) over poses and joint angles; note: for the table."""

    method: str
    dimensions: Ints
    mean_deg: Floats
    rms_deg: Floats
    note: str = ""

    def dimensions_under(self, limit_deg: float = UNDER_DEG, rms: bool = False) -> int | None:
        """Return the fewest dimensions whose error is under the limit, None where none is."""
        error = self.rms_deg if rms else self.mean_deg
        under = np.flatnonzero(error < limit_deg)
        return int(self.dimensions[under[0]]) if len(under) else None


def curve(method: str, dimensions: Ints, residuals: Floats, moves: Bools, note: str = "") -> ErrorCurve:
    """Return the curve of residuals, (n dimensions, poses, D) [rad], over the joint angles that move, (D,)."""
    degrees = np.degrees(np.abs(residuals[:, :, moves]))
    return ErrorCurve(method, dimensions, degrees.mean(axis=(1, 2)), np.sqrt((degrees**2).mean(axis=(1, 2))), note)


def projected(error: Floats, directions: Floats, max_dimensions: int) -> Floats:
    """Return the residuals of centred poses, (T, D), outside the first 1 to B of some directions, (D, r): (B, T, D)."""
    left = np.empty((max_dimensions, *error.shape))
    rest = error
    for b in range(max_dimensions):
        if b < directions.shape[1]:
            u = directions[:, b]
            rest = rest - np.outer(rest @ u, u)
        left[b] = rest
    return left


def principal(poses: Floats) -> tuple[Floats, Floats]:
    """Return mean and principal directions, (D,) and (D, D), of many poses (N, D)."""
    mean = poses.mean(axis=0)
    centred = poses - mean
    return mean, np.linalg.eigh(centred.T @ centred)[1][:, ::-1]


def global_pca(poses: Floats, tests: Floats, max_dimensions: int, moves: Bools) -> ErrorCurve:
    """Reconstruct by the principal directions of the whole database."""
    mean, directions = principal(poses)
    residuals = projected(tests - mean, directions, max_dimensions)
    return curve("global PCA", np.arange(1, max_dimensions + 1), residuals, moves)


def _squared_distances(poses: Floats, centres: Floats) -> Floats:
    """Return |x - c|^2 less |x|^2, (N, k)."""
    return np.asarray(np.einsum("kd,kd->k", centres, centres) - 2.0 * poses @ centres.T)


def _first_centres(poses: Floats, count: int, rng: np.random.Generator) -> Floats:
    """Draw poses far from each other (k-means++; Arthur & Vassilvitskii 2007)."""
    chosen = [poses[rng.integers(len(poses))]]
    distance = np.sum((poses - chosen[0]) ** 2, axis=1)
    while len(chosen) < count and distance.sum() > 0.0:
        chosen.append(poses[rng.choice(len(poses), p=distance / distance.sum())])
        distance = np.minimum(distance, np.sum((poses - chosen[-1]) ** 2, axis=1))
    return np.array(chosen)


def clusters(poses: Floats, count: int, seed: int = 0) -> tuple[Floats, Ints]:
    """Partition poses by k-means. Return centres, (k, D), and the cluster of each pose, (N,); k may be less than `count`."""
    rng = np.random.default_rng(seed)
    sample = poses if len(poses) <= KMEANS_SAMPLE else poses[rng.choice(len(poses), KMEANS_SAMPLE, replace=False)]
    centres = _first_centres(sample, count, rng)
    for _ in range(KMEANS_ROUNDS):
        nearest = np.argmin(_squared_distances(sample, centres), axis=1)
        size = np.bincount(nearest, minlength=len(centres))
        sums = np.array([np.bincount(nearest, column, len(centres)) for column in sample.T]).T
        moved = np.where(size[:, None] > 0, sums / np.maximum(size, 1)[:, None], centres)
        if np.allclose(moved, centres, atol=1e-6):
            break
        centres = moved
    return centres, np.argmin(_squared_distances(poses, centres), axis=1)


def mixture(poses: Floats, tests: Floats, max_dimensions: int, count: int, moves: Bools, seed: int = 0) -> ErrorCurve:
    """Reconstruct by the principal directions of the cluster whose centre is nearest (Fukunaga & Olsen 1971)."""
    centres, member = clusters(poses, count, seed)
    filled = np.unique(member)
    nearest = filled[np.argmin(_squared_distances(tests, centres[filled]), axis=1)]
    residuals = np.empty((max_dimensions, *tests.shape))
    for k in np.unique(nearest):
        inside = poses[member == k]
        mean, directions = principal(inside)
        mine = nearest == k
        residuals[:, mine] = projected(tests[mine] - mean, directions[:, : max(len(inside) - 1, 0)], max_dimensions)
    note = f"{len(filled)} clusters"
    return curve("mixture of local linear models", np.arange(1, max_dimensions + 1), residuals, moves, note)


def best_mixture(
    poses: Floats, tests: Floats, max_dimensions: int, counts: Sequence[int], moves: Bools, seed: int = 0
) -> ErrorCurve:
    """Return the mixture whose number of clusters needs the fewest dimensions for less than a degree, else the lowest error.

    The number is chosen by the tests themselves, which favours the mixture: the comparison does not depend on a poor choice.
    """
    curves = [mixture(poses, tests, max_dimensions, count, moves, seed) for count in counts if count < len(poses)]
    return min(curves, key=lambda c: (c.dimensions_under() or max_dimensions + 1, float(c.mean_deg.mean())))


def local_model(
    poses: Floats, tests: Floats, neighbours: Ints, counts: Sequence[int], max_dimensions: int, moves: Bools
) -> ErrorCurve:
    """Reconstruct by the PCA of each pose's own nearest examples, K cross-validated for each pose and B (eq. 3).

    neighbours: rows of the poses nearest to each test, nearest first, (T, max(counts) or as many as there are).
    """
    residuals = np.empty((max_dimensions, *tests.shape))
    chosen = np.empty((len(tests), max_dimensions))
    for t, test in enumerate(tests):
        near = poses[neighbours[t]]
        candidates = sorted({min(count, len(near)) for count in counts})
        models = [compute_pca(near[:count]) for count in candidates]
        best = _best_by_dimension(models, max_dimensions)
        each = [projected((test - model.mean)[None], model.directions, max_dimensions)[:, 0] for model in models]
        for b, row in enumerate(best):
            residuals[b, t] = each[row][b]
            chosen[t, b] = candidates[row]
    usual = np.median(chosen, axis=0)
    note = f"median K {usual[min(4, max_dimensions - 1)]:.0f} at 5 dimensions"
    return curve("local model", np.arange(1, max_dimensions + 1), residuals, moves, note)


def _best_by_dimension(models: Sequence[LocalPca], max_dimensions: int) -> Ints:
    """Return the model of the smallest leave-one-out error in each dimension, all judged on the nearest examples, (B,)."""
    judged = min(len(model.scores) for model in models)
    if judged < 2:
        return np.full(max_dimensions, len(models) - 1)
    errors2 = np.array([compute_left_out_errors2(model, judged, max_dimensions).mean(axis=0) for model in models])
    return np.asarray(np.argmin(errors2, axis=0))
