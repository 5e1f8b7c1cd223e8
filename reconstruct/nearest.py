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
from reconstruct.search_kernels import (
    NEGATIVE,
    NOT_FINITE,
    KernelQuery,
    RawQuery,
    Rows,
    Singles,
    _distances,
    _prepare,
)

NO_RAYS, NO_POSE = np.zeros((0, 3)), np.zeros(0)


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


def check_fit(examples: Examples, raw: RawQuery) -> None:
    """Raise ValueError where a query's sizes are not those of the examples."""
    D = examples.pose.shape[1]
    if raw[0].size != examples.marker_m.shape[1] or raw[3].size not in (0, D):
        came = f"{raw[0].size} marker and {raw[3].size} joint coordinates"
        raise ValueError(f"a query of {came} does not fit examples of {examples.marker_m.shape[1]} and {D}")


def kernel_query(query: Query) -> KernelQuery:
    """Give a query as the kernels take it; what is unseen may hold anything.

    Raises ValueError: NaN or infinity in what counts, or a weight below zero.
    """
    raw = raw_query(query)
    out = query_memory(len(raw[1]), len(raw[3]))
    n_rays = _prepare(raw, out)
    check_prepared(n_rays)
    return out[0], out[1], out[2][:n_rays], out[3][:n_rays], out[4], out[5]


def raw_query(query: Query) -> RawQuery:
    """Give a query's arrays, empty ones for what is None."""
    ray = NO_RAYS if query.ray is None else np.ascontiguousarray(query.ray, np.float64)
    pose = NO_POSE if query.pose is None else np.ascontiguousarray(query.pose, np.float64)
    pose_weight = NO_POSE if query.pose is None else np.ascontiguousarray(query.pose_weight, np.float64)
    point, weight = (np.ascontiguousarray(part, np.float64) for part in (query.marker_m, query.marker_weight))
    if point.shape != (len(weight), 3) or ray.shape not in ((0, 3), point.shape) or pose.shape != pose_weight.shape:
        raise ValueError(
            f"markers {point.shape}, weights {weight.shape}, rays {ray.shape}, pose {pose.shape} do not fit together"
        )
    return point, weight, ray, pose, pose_weight


def query_memory(n_markers: int, n_coordinates: int) -> KernelQuery:
    """Give room for a query of so many markers, all on rays, and pose coordinates."""
    single = np.float32
    flat = np.empty(3 * n_markers, single), np.empty(3 * n_markers, single)
    rays = np.empty(n_markers, np.int64), np.empty((n_markers, 3), single)
    return *flat, *rays, np.empty(n_coordinates, single), np.empty(n_coordinates, single)


def check_prepared(n_rays: int) -> None:
    """Raise ValueError where `_prepare` found something wrong."""
    if n_rays == NOT_FINITE:
        raise ValueError("a query holds NaN or infinity; expected finite numbers, and weight 0 for markers that are not seen")
    if n_rays == NEGATIVE:
        raise ValueError("a query holds a negative weight; expected 1/m^2 and 1/rad^2, or 0 for what is not seen")


def distances_of(examples: Examples, query: Query) -> Singles:
    """Give the query's distance to every example, (N,) float32. Raises ValueError: NaN in the query."""
    return _bounded_distances(examples, query, np.inf)


def _bounded_distances(examples: Examples, query: Query, bound: float) -> Singles:
    """Give the distances, (N,) float32; of examples farther than `bound`, perhaps only a part of it that is farther, too."""
    check_fit(examples, raw_query(query))
    out = np.empty(len(examples), np.float32)
    _distances((examples.marker_m, examples.pose), kernel_query(query), np.float32(bound), out)
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
    found = _bounded_distances(examples, query, bound)
    rows = np.flatnonzero(found <= np.float32(bound))
    chosen = rows[nearest(found[rows], count)]
    return chosen, found[chosen]
