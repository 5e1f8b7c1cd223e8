"""The query, and the K nearest poses by exhaustive search (Chai & Hodgins 2005, eq. 2).

    d(n) = alpha |c_n - T(z_t, z_0) c_t|^2 + (1 - alpha) |q_n - 2 q_{t-1} + q_{t-2}|^2

with a weight for every coordinate in place of the one alpha: hidden markers have no weight, and metres and radians are brought
to one scale by their expected deviations. A marker that only one camera sees lies on a ray: of its difference e the part along
the ray's direction d is unknown, so |e|^2 - (e.d)^2 counts.
"""

from dataclasses import dataclass

import numpy as np

from config.arrays import Floats, Ints, Singles
from reconstruct.search.distances import NEGATIVE, NOT_FINITE, RawQuery, write_distances
from reconstruct.search.examples import Examples

NO_RAYS, NO_POSE = np.zeros((0, 3)), np.zeros(0)


@dataclass(frozen=True, slots=True)
class Query:
    """A query that poses are compared with.

    Attributes:
        marker_m: markers at the default root, (M, 3) [m], for those on a ray any point of it.
        marker_weight: weights of the markers, (M,) [1/m^2], zero where hidden.
        pose: predicted joint coordinates, (D,) [rad], or None.
        pose_weight: weights of the joint coordinates, (D,) [1/rad^2].
        ray: unit directions of the rays at the default root, (M, 3), zero for markers not on a ray; None where there is no ray.
    """

    marker_m: Floats
    marker_weight: Floats
    pose: Floats | None
    pose_weight: Floats
    ray: Floats | None = None


def check_fit(examples: Examples, raw: RawQuery) -> None:
    """Raise ValueError where a query's sizes are not those of the examples."""
    D = examples.pose.shape[1]
    if raw.marker_m.size != examples.marker_m.shape[1] or raw.pose.size not in (0, D):
        came = f"{raw.marker_m.size} marker and {raw.pose.size} joint coordinates"
        raise ValueError(f"a query of {came} does not fit examples of {examples.marker_m.shape[1]} and {D}")


def convert_raw_query(query: Query) -> RawQuery:
    """Return a query's arrays, empty ones in place of None."""
    ray = NO_RAYS if query.ray is None else np.ascontiguousarray(query.ray, np.float64)
    pose = NO_POSE if query.pose is None else np.ascontiguousarray(query.pose, np.float64)
    pose_weight = NO_POSE if query.pose is None else np.ascontiguousarray(query.pose_weight, np.float64)
    point, weight = (np.ascontiguousarray(part, np.float64) for part in (query.marker_m, query.marker_weight))
    if point.shape != (len(weight), 3) or ray.shape not in ((0, 3), point.shape) or pose.shape != pose_weight.shape:
        raise ValueError(
            f"markers {point.shape}, weights {weight.shape}, rays {ray.shape}, pose {pose.shape} do not fit together"
        )
    return RawQuery(point, weight, ray, pose, pose_weight)


def check_status(status: int) -> None:
    """Raise ValueError for the status of an invalid query."""
    if status == NOT_FINITE:
        raise ValueError("a query holds NaN or infinity; expected finite numbers, and weight 0 for markers that are not seen")
    if status == NEGATIVE:
        raise ValueError("a query holds a negative weight; expected 1/m^2 and 1/rad^2, or 0 for what is not seen")


def compute_distances(examples: Examples, query: Query, limit: float = np.inf) -> Singles:
    """Return the query's squared distance to every example, (N,) float32.

    Args:
        examples: the known poses.
        query: query that poses are compared with.
        limit: squared distance; for examples whose markers alone are farther, only the markers' part is computed.
    Raises ValueError: NaN in the query.
    """
    raw = convert_raw_query(query)
    check_fit(examples, raw)
    out = np.empty(len(examples), np.float32)
    check_status(write_distances(examples.features, raw, np.float32(limit), out))
    return out


def find_nearest(distances: Singles, count: int) -> Ints:
    """Return the indices of the `count` smallest distances, nearest first."""
    count = min(count, len(distances))
    chosen = np.argpartition(distances, count - 1)[:count]
    return chosen[np.argsort(distances[chosen], kind="stable")]


def find_nearest_examples(examples: Examples, query: Query, count: int, seeds: Ints | None = None) -> tuple[Ints, Singles]:
    """Return the `count` nearest examples, nearest first, and their squared distances: (K,) and (K,) float32.

    The `count`-th distance among them and the poses that follow them bounds the search, and most examples are excluded by their
    markers alone; the result is the same.

    Args:
        examples: the known poses.
        query: query that poses are compared with.
        count: number K of examples.
        seeds: examples likely to be near, such as those of the previous frame.
    Raises ValueError: NaN in the query.
    """
    n = len(examples)
    count = min(count, n)
    if seeds is None or count == n:
        distances = compute_distances(examples, query)
        chosen = find_nearest(distances, count)
        return chosen, distances[chosen]
    near = np.unique(np.clip(seeds[:, None] + np.arange(3), 0, n - 1))
    known = compute_distances(Examples(examples.pose[near], examples.marker_m[near], examples.clip[near], examples.fps), query)
    # Slack: single precision may round the same distance differently in the two loops.
    limit = 1.0001 * float(np.partition(known, count - 1)[count - 1]) + 1e-6 if len(known) >= count else np.inf
    found = compute_distances(examples, query, limit)
    rows = np.flatnonzero(found <= np.float32(limit))
    chosen = rows[find_nearest(found[rows], count)]
    return chosen, found[chosen]
