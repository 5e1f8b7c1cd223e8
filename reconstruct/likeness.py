"""Likeness: how near the markers of a frame are to the nearest of the database's poses, whatever the past.

Whether other labels have their like is asked in nearly every frame and answered with no: so there is a quick way to that no. A
pose within some distance has every single marker within it, too, and the places of one marker in all poses lie side by side.
"""

import numpy as np
from numpy.typing import NDArray

from config.jit import kernel
from database.rotations import Floats
from reconstruct.examples import Examples, every
from reconstruct.nearest import Query, distances_of

Rows = NDArray[np.int64]
SLACK = 1.001  # single precision may round the same distance differently in two loops


@kernel
def _rows_within(points: NDArray[np.float32], place: Floats, reach2: float, rows: Rows) -> int:
    """Write which of some points (N, 3) lie within a squared distance of a place (3,) to rows (N,); give their number."""
    n = 0
    x, y, z = np.float32(place[0]), np.float32(place[1]), np.float32(place[2])
    for row in range(points.shape[0]):
        a, b, c = points[row, 0] - x, points[row, 1] - y, points[row, 2] - z
        rows[n] = row
        n += a * a + b * b + c * c <= reach2
    return n


class Likeness:
    """Every so many-th example, at least `enough` where there are as many, and their distances from a query."""

    def __init__(self, examples: Examples, enough: int) -> None:
        self._stride = max(1, len(examples) // enough)
        self.examples = every(examples, self._stride)
        n = len(self.examples)
        self._by_marker = np.ascontiguousarray(self.examples.marker_m.reshape(n, -1, 3).swapaxes(0, 1))
        self._rows = np.empty(n, np.int64)

    def nearest(self, query: Query) -> tuple[float, Floats]:
        """Give the squared distance [sigmas] of the nearest example and its joint coordinates, (D,) [rad]."""
        distances = distances_of(self.examples, query)
        row = int(np.argmin(distances))
        return float(distances[row]), self.examples.pose[row].astype(np.float64)

    def at_most(self, query: Query, rows: Rows) -> float:
        """Give a bound of the nearest distance, from the examples next to some, (K,), of all."""
        return float(distances_of(self._few(np.minimum(rows // self._stride, len(self.examples) - 1)), query).min())

    def any_within(self, query: Query, limit: float, marker: int) -> bool:
        """Tell whether an example is nearer than `limit` [squared sigmas], which one marker rules out for most.

        marker: one that is seen by both cameras, best one that few poses have where it is now.
        """
        assert query.ray is None or not query.ray[marker].any()
        if limit <= 0.0:
            return False
        weight = float(query.marker_weight[marker])
        reach2 = SLACK * limit / weight if weight > 0.0 else np.inf
        n = _rows_within(self._by_marker[marker], query.marker_m[marker], reach2, self._rows)
        return n > 0 and float(distances_of(self._few(self._rows[:n]), query).min()) <= SLACK * limit

    def _few(self, rows: Rows) -> Examples:
        """Give some of the examples."""
        e = self.examples
        return Examples(e.pose[rows], e.marker_m[rows], e.clip[rows], e.fps)
