"""The K nearest poses to a query by exhaustive search (Chai & Hodgins 2005, eq. 2).

    d(n) = alpha |c_n - T(z_t, z_0) c_t|^2 + (1 - alpha) |q_n - 2 q_{t-1} + q_{t-2}|^2

with a weight for every coordinate in place of the one alpha: markers not seen weigh nothing, and metres and radians are
brought to one scale by their expected deviations. A marker that one camera alone sees lies on a ray; the difference e along it
is unknown, so that only |e|^2 - (e.d)^2 counts, with d the ray's direction.
"""

from dataclasses import dataclass

import numpy as np

from database.rotations import Floats
from reconstruct.examples import Examples
from reconstruct.search_kernels import KernelQuery, Rows, Singles, _distances, _within


@dataclass(frozen=True, slots=True)
class Query:
    """What poses are compared with.

    marker_m: markers at the default root, (M, 3) [m], for those on a ray any point of it; marker_weight: (M,) [1/m^2], zero
    where unseen; pose: predicted joint coordinates, (D,) [rad], or None; pose_weight: (D,) [1/rad^2]; ray: directions of the
    lines of sight at the default root, (M, 3), of length 1 where one camera alone sees the marker and zero elsewhere; or None.
    """

    marker_m: Floats
    marker_weight: Floats
    pose: Floats | None
    pose_weight: Floats
    ray: Floats | None = None


def kernel_query(query: Query) -> KernelQuery:
    """Give a query as the kernels take it; what is unseen may hold anything.

    Raises ValueError: NaN or infinity in what counts, or a weight below zero.
    """
    weight = np.asarray(query.marker_weight, float)
    seen = weight != 0.0
    point = np.where(seen[:, None], query.marker_m, 0.0)
    ray = np.zeros_like(point) if query.ray is None else np.where(seen[:, None], query.ray, 0.0)
    pose = np.zeros(0) if query.pose is None else np.where(query.pose_weight != 0.0, query.pose, 0.0)
    pose_weight = np.zeros(0) if query.pose is None else np.asarray(query.pose_weight, float)
    _check(weight, point, ray, pose, pose_weight)
    on_ray = np.flatnonzero((ray != 0.0).any(axis=1))
    d = ray[on_ray]
    # The ray's point nearest the root, so that single precision subtracts no large squares.
    point[on_ray] -= (point[on_ray] * d).sum(axis=1, keepdims=True) * d
    scaled = d * np.sqrt(weight[on_ray])[:, None]
    single = np.float32
    flat = point.ravel().astype(single), np.repeat(weight, 3).astype(single)
    return *flat, on_ray, scaled.astype(single), pose.astype(single), pose_weight.astype(single)


def _check(weight: Floats, point: Floats, ray: Floats, pose: Floats, pose_weight: Floats) -> None:
    """Raise ValueError unless all is finite and no weight negative."""
    if not all(np.isfinite(part).all() for part in (weight, point, ray, pose, pose_weight)):
        raise ValueError("a query holds NaN or infinity; expected finite numbers, and weight 0 for markers that are not seen")
    if weight.min(initial=0.0) < 0.0 or pose_weight.min(initial=0.0) < 0.0:
        raise ValueError("a query holds a negative weight; expected 1/m^2 and 1/rad^2, or 0 for what is not seen")


def distances_of(examples: Examples, query: Query) -> Singles:
    """Give the query's distance to every example, (N,) float32. Raises ValueError: NaN in the query."""
    out = np.empty(len(examples), np.float32)
    _distances((examples.marker_m, examples.pose), kernel_query(query), out)
    return out


def squared_distances(
    examples: Examples,
    marker_m: Floats,
    marker_weight: Floats,
    pose: Floats | None,
    pose_weight: Floats,
    ray: Floats | None = None,
) -> Singles:
    """Give the query's distance to every example, (N,) float32; arguments as the fields of `Query`."""
    return distances_of(examples, Query(marker_m, marker_weight, pose, pose_weight, ray))


def nearest(distances: Singles, count: int) -> Rows:
    """Give the indices of the `count` smallest distances, nearest first."""
    count = min(count, len(distances))
    chosen = np.argpartition(distances, count - 1)[:count]
    return chosen[np.argsort(distances[chosen], kind="stable")]


def nearest_examples(examples: Examples, query: Query, count: int, seeds: Rows | None = None) -> tuple[Rows, Singles]:
    """Give the `count` nearest examples, nearest first, and their squared distances: (K,) and (K,) float32.

    seeds: examples likely to be near, such as those of the frame before. The `count`-th distance among them and the poses after
    them bounds the search, and most examples are ruled out by their markers alone; the result is that of trying all.
    Raises ValueError: NaN in the query.
    """
    n = len(examples)
    count = min(count, n)
    if seeds is None or count == n:
        distances = distances_of(examples, query)
        chosen = nearest(distances, count)
        return chosen, distances[chosen]
    near = np.unique(np.clip(seeds[:, None] + np.arange(3), 0, n - 1))
    known = distances_of(Examples(examples.pose[near], examples.marker_m[near], examples.clip[near], examples.fps), query)
    # A hair of slack: single precision may round the same distance differently in the two loops.
    bound = 1.0001 * float(np.partition(known, count - 1)[count - 1]) + 1e-6 if len(known) >= count else np.inf
    rows, found = np.empty(n, np.int64), np.empty(n, np.float32)
    n_found = _within((examples.marker_m, examples.pose), kernel_query(query), bound, rows, found)
    chosen = nearest(found[:n_found], count)
    return rows[chosen], found[chosen]
