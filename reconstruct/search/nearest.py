"""The query, and the K nearest poses by exhaustive search (Chai & Hodgins 2005, eq. 2).

    d(n) = alpha |c_n - T(z_t, z_0) c_t|^2 + (1 - alpha) |q_n - 2 q_{t-1} + q_{t-2}|^2

with a weight for every coordinate in place of the one alpha: hidden markers have no weight, and metres and radians are brought
to one scale by their expected deviations. A marker that only one camera sees lies on a ray: of its difference e the part along
the ray's direction d is unknown, so |e|^2 - (e.d)^2 counts.
"""

from dataclasses import dataclass

import numpy as np

from config.arrays import Floats, Ints, Singles, read_only
from config.jit import kernel
from reconstruct.search.distances import NEGATIVE, NOT_FINITE, RawQuery, _distances, _least_distance
from reconstruct.search.examples import Examples, every

NO_RAYS, NO_POSE = np.zeros((0, 3)), np.zeros(0)
SLACK = 1.001  # single precision may round the same distance differently in two loops


@dataclass(frozen=True, slots=True)
class Query:
    """What poses are compared with.

    marker_m: markers at the default root, (M, 3) [m], for those on a ray any point of it; marker_weight: (M,) [1/m^2], zero
    where hidden; pose: predicted joint coordinates, (D,) [rad], or None; pose_weight: (D,) [1/rad^2]; ray: unit directions of
    the rays at the default root, (M, 3), zero for markers not on a ray; None where there is no ray.
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


def raw_query(query: Query) -> RawQuery:
    """Return a query's arrays, empty ones for what is None."""
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


def distances_of(examples: Examples, query: Query, limit: float = np.inf) -> Singles:
    """Return the query's squared distance to every example, (N,) float32.

    limit: of examples whose markers alone are farther, only the markers' part is computed. Raises ValueError: NaN in the query.
    """
    raw = raw_query(query)
    check_fit(examples, raw)
    out = np.empty(len(examples), np.float32)
    check_status(_distances(examples.features, raw, np.float32(limit), out))
    return out


def nearest(distances: Singles, count: int) -> Ints:
    """Return the indices of the `count` smallest distances, nearest first."""
    count = min(count, len(distances))
    chosen = np.argpartition(distances, count - 1)[:count]
    return chosen[np.argsort(distances[chosen], kind="stable")]


def nearest_examples(examples: Examples, query: Query, count: int, seeds: Ints | None = None) -> tuple[Ints, Singles]:
    """Return the `count` nearest examples, nearest first, and their squared distances: (K,) and (K,) float32.

    seeds: examples likely to be near, such as those of the previous frame. The `count`-th distance among them and the poses that
    follow them bounds the search, and most examples are excluded by their markers alone; the result is the same.
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
    # Slack: single precision may round the same distance differently in the two loops.
    limit = 1.0001 * float(np.partition(known, count - 1)[count - 1]) + 1e-6 if len(known) >= count else np.inf
    found = distances_of(examples, query, limit)
    rows = np.flatnonzero(found <= np.float32(limit))
    chosen = rows[nearest(found[rows], count)]
    return chosen, found[chosen]


@kernel
def _rows_within(
    first: Singles, second: Singles, position: Singles, weight: Singles, limit: float, work: Singles, rows: Ints
) -> int:
    """Write the poses in which two markers, (3, N) each, are within a weighted squared distance of two positions, (2, 3).

    weight: (2,); work: (N,); rows: (N,). Return the number of poses.
    """
    n = 0
    a0, a1, a2, b0, b1, b2 = position[0, 0], position[0, 1], position[0, 2], position[1, 0], position[1, 1], position[1, 2]
    v, w = weight[0], weight[1]
    for row in range(work.shape[0]):  # vector instructions: no iteration depends on another
        x, y, z = first[0, row] - a0, first[1, row] - a1, first[2, row] - a2
        p, q, r = second[0, row] - b0, second[1, row] - b1, second[2, row] - b2
        work[row] = v * (x * x + y * y + z * z) + w * (p * p + q * q + r * r)
    for row in range(work.shape[0]):
        rows[n] = row
        n += work[row] <= limit
    return n


class Likeness:
    """A subset of the examples, and how near the nearest of them is to a query.

    Whether any example is near other labels is asked in almost every frame, and the answer is almost always no. In a pose within
    some distance any two markers alone are within it too, so two markers, contiguous in memory, exclude most poses quickly.
    """

    def __init__(self, examples: Examples, min_examples: int) -> None:
        """Take every n-th example, at least `min_examples` where there are as many."""
        self._stride = max(1, len(examples) // min_examples)
        self.examples = every(examples, self._stride)
        n = len(self.examples)
        self._by_marker = np.ascontiguousarray(self.examples.marker_m.T).reshape(-1, 3, n)
        self._work = np.empty(n, np.float32)
        self._rows = np.empty(n, np.int64)

    def nearest(self, query: Query) -> tuple[float, Floats]:
        """Return the squared distance of the nearest example and its joint coordinates, (D,) [rad]."""
        distances = distances_of(self.examples, query)
        row = int(np.argmin(distances))
        return float(distances[row]), self.examples.pose[row].astype(np.float64)

    def at_most(self, query: Query, rows: Ints) -> float:
        """Return an upper bound of the nearest squared distance, from the subset's examples next to `rows`, (K,), of all."""
        return self._least_of(query, np.minimum(rows // self._stride, len(self.examples) - 1))

    def any_within(self, query: Query, limit: float, markers: tuple[int, int]) -> bool:
        """Return whether an example has a squared distance below `limit`.

        markers: two markers seen by both cameras, by which most examples are excluded.
        """
        assert query.ray is None or not query.ray[list(markers)].any()
        return limit > 0.0 and self._least_within(query, limit, markers) <= SLACK * limit

    def least(self, query: Query, rows: Ints, most: float) -> float:
        """Return the squared distance of the nearest example, or `most` if that is less.

        rows: examples that are probably near, (K,). By the bound from them and by the two markers farthest from the root of those
        that both cameras see, most examples are excluded.
        """
        limit = min(self.at_most(query, rows), most)
        seen = query.marker_weight > 0.0 if query.ray is None else (query.marker_weight > 0.0) & ~query.ray.any(axis=1)
        far = np.argsort(np.where(seen, (query.marker_m**2).sum(axis=1), -1.0))[-2:]
        if not seen[far].all():
            return min(self.nearest(query)[0], most)
        return min(limit, self._least_within(query, limit, (int(far[0]), int(far[1]))))

    def _least_within(self, query: Query, limit: float, markers: tuple[int, int]) -> float:
        """Return the least squared distance of the examples that two markers do not exclude, infinity if there are none."""
        first, second = (self._by_marker[marker] for marker in markers)
        position, weight = (part[list(markers)].astype(np.float32) for part in (query.marker_m, query.marker_weight))
        n = _rows_within(read_only(first), read_only(second), position, weight, SLACK * limit, self._work, self._rows)
        return self._least_of(query, self._rows[:n])

    def _least_of(self, query: Query, rows: Ints) -> float:
        """Return the least squared distance of some rows of the subset, (R,), infinity for none. Raises ValueError: NaN."""
        status, least = _least_distance(read_only(self.examples.marker_m), raw_query(query), rows)
        check_status(status)
        return float(least)
