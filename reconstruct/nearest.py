"""The K nearest poses to a query by exhaustive search (Chai & Hodgins 2005, eq. 2).

    d(n) = alpha |c_n - T(z_t, z_0) c_t|^2 + (1 - alpha) |q_n - 2 q_{t-1} + q_{t-2}|^2

with a weight for every coordinate in place of the one alpha: markers not seen weigh nothing, and metres and radians are
brought to one scale by their expected deviations.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from config.jit import kernel
from database.rotations import Floats
from reconstruct.examples import Examples

Singles = NDArray[np.float32]


@kernel
def _distances(feature: Singles, query: Singles, weight: Singles, out: Singles) -> None:
    """Add the weighted squared distances of all rows of `feature` (N, F) to out (N,)."""
    n, width = feature.shape
    for row in range(n):
        s = np.float32(0.0)
        for i in range(width):
            e = feature[row, i] - query[i]
            s += weight[i] * e * e
        out[row] += s


@kernel
def _within(
    feature: tuple[Singles, Singles],
    query: tuple[Singles, Singles],
    weight: tuple[Singles, Singles],
    bound: float,
    rows: NDArray[np.int64],
    out: Singles,
) -> int:
    """Write rows whose two-part distance is at most `bound`, and the distances; the second part only where the first lets it."""
    n_found = 0
    limit = np.float32(bound)
    for row in range(feature[0].shape[0]):
        s = np.float32(0.0)
        for i in range(feature[0].shape[1]):
            e = feature[0][row, i] - query[0][i]
            s += weight[0][i] * e * e
        if s > limit:
            continue
        for i in range(feature[1].shape[1]):
            e = feature[1][row, i] - query[1][i]
            s += weight[1][i] * e * e
        if s <= limit:
            rows[n_found] = row
            out[n_found] = s
            n_found += 1
    return n_found


def squared_distances(
    examples: Examples, marker_m: Floats, marker_weight: Floats, pose: Floats | None, pose_weight: Floats
) -> Singles:
    """Give the query's distance to every example.

    marker_m: markers at the default root, (M, 3) [m]; marker_weight: (M,) [1/m^2], zero where unseen; pose: predicted
    joint coordinates, (D,) [rad], or None; pose_weight: (D,) [1/rad^2]. Returns (N,) float32.
    """
    out = np.zeros(len(examples), np.float32)
    seen = np.repeat(marker_weight > 0, 3)
    if seen.all():
        query, weight = marker_m.ravel(), np.repeat(marker_weight, 3)
    else:
        query, weight = np.where(seen, marker_m.ravel(), 0.0), np.repeat(marker_weight, 3)
    _distances(examples.marker_m, query.astype(np.float32), weight.astype(np.float32), out)
    if pose is not None:
        _distances(examples.pose, pose.astype(np.float32), pose_weight.astype(np.float32), out)
    return out


def nearest(distances: Singles, count: int) -> NDArray[np.int64]:
    """Give the indices of the `count` smallest distances, nearest first."""
    count = min(count, len(distances))
    chosen = np.argpartition(distances, count - 1)[:count]
    return chosen[np.argsort(distances[chosen], kind="stable")]


@dataclass(frozen=True, slots=True)
class Query:
    """What poses are compared with.

    marker_m: markers at the default root, (M, 3) [m]; marker_weight: (M,) [1/m^2], zero where unseen; pose: predicted
    joint coordinates, (D,) [rad], or None; pose_weight: (D,) [1/rad^2].
    """

    marker_m: Floats
    marker_weight: Floats
    pose: Floats | None
    pose_weight: Floats


def nearest_examples(
    examples: Examples, query: Query, count: int, seeds: NDArray[np.int64] | None = None
) -> tuple[NDArray[np.int64], Singles]:
    """Give the `count` nearest examples, nearest first, and their squared distances: (K,) and (K,) float32.

    seeds: examples likely to be near, such as those of the frame before. The `count`-th distance among them and the poses after
    them bounds the search, and most examples are ruled out by their markers alone; the result is that of trying all.
    """
    n = len(examples)
    count = min(count, n)
    if seeds is None or query.pose is None or count == n:
        distances = squared_distances(examples, query.marker_m, query.marker_weight, query.pose, query.pose_weight)
        chosen = nearest(distances, count)
        return chosen, distances[chosen]
    seen = np.repeat(query.marker_weight > 0, 3)
    marker = np.where(seen, query.marker_m.ravel(), 0.0).astype(np.float32)
    parts = (marker, query.pose.astype(np.float32))
    weights = (np.repeat(query.marker_weight, 3).astype(np.float32), query.pose_weight.astype(np.float32))
    near = np.unique(np.clip(seeds[:, None] + np.arange(3), 0, n - 1))
    few = Examples(examples.pose[near], examples.marker_m[near], examples.clip[near], examples.fps)
    known = squared_distances(few, query.marker_m, query.marker_weight, query.pose, query.pose_weight)
    # A hair of slack: single precision may round the same distance differently in the two loops.
    bound = 1.0001 * float(np.partition(known, count - 1)[count - 1]) + 1e-6 if len(known) >= count else np.inf
    rows, found = np.empty(n, np.int64), np.empty(n, np.float32)
    n_found = _within((examples.marker_m, examples.pose), parts, weights, bound, rows, found)
    chosen = nearest(found[:n_found], count)
    return rows[chosen], found[chosen]
