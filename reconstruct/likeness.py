"""Likeness: how near the markers of a frame are to the nearest of the database's poses, whatever the past.

Whether other labels have their like is asked in nearly every frame and answered with no: so there is a quick way to that no. In a
pose within some distance any two markers alone are within it, too, and the places of a marker in all poses lie side by side.
"""

import numpy as np
from numpy.typing import NDArray

from config.jit import kernel
from database.rotations import Floats
from reconstruct.examples import Examples, every
from reconstruct.nearest import Query, distances_of

Rows = NDArray[np.int64]
Singles = NDArray[np.float32]
SLACK = 1.001  # single precision may round the same distance differently in two loops


@kernel
def _rows_within(
    first: Singles, second: Singles, place: Singles, weight: Singles, limit: float, work: Singles, rows: Rows
) -> int:
    """Write which of two markers' places (3, N) each are within a weighted squared distance of two places (2, 3) to rows (N,).

    weight: (2,); work: (N,). Gives the number of rows.
    """
    n = 0
    a0, a1, a2, b0, b1, b2 = place[0, 0], place[0, 1], place[0, 2], place[1, 0], place[1, 1], place[1, 2]
    v, w = weight[0], weight[1]
    for row in range(work.shape[0]):  # vector instructions: nothing here depends on the row before
        x, y, z = first[0, row] - a0, first[1, row] - a1, first[2, row] - a2
        p, q, r = second[0, row] - b0, second[1, row] - b1, second[2, row] - b2
        work[row] = v * (x * x + y * y + z * z) + w * (p * p + q * q + r * r)
    for row in range(work.shape[0]):
        rows[n] = row
        n += work[row] <= limit
    return n


class Likeness:
    """Every so many-th example, at least `enough` where there are as many, and their distances from a query."""

    def __init__(self, examples: Examples, enough: int) -> None:
        self._stride = max(1, len(examples) // enough)
        self.examples = every(examples, self._stride)
        n = len(self.examples)
        self._by_marker = np.ascontiguousarray(self.examples.marker_m.T).reshape(-1, 3, n)
        self._work = np.empty(n, np.float32)
        self._rows = np.empty(n, np.int64)

    def nearest(self, query: Query) -> tuple[float, Floats]:
        """Give the squared distance [sigmas] of the nearest example and its joint coordinates, (D,) [rad]."""
        distances = distances_of(self.examples, query)
        row = int(np.argmin(distances))
        return float(distances[row]), self.examples.pose[row].astype(np.float64)

    def at_most(self, query: Query, rows: Rows) -> float:
        """Give an upper bound of the nearest distance, from the examples next to some, (K,), of all."""
        return float(distances_of(self._few(np.minimum(rows // self._stride, len(self.examples) - 1)), query).min())

    def any_within(self, query: Query, limit: float, markers: tuple[int, int]) -> bool:
        """Tell whether an example is nearer than `limit` [squared sigmas], which two markers rule out for most.

        markers: two that both cameras see, best where few poses have them both.
        """
        assert query.ray is None or not query.ray[list(markers)].any()
        if limit <= 0.0:
            return False
        first, second = (self._by_marker[marker] for marker in markers)
        place, weight = (part[list(markers)].astype(np.float32) for part in (query.marker_m, query.marker_weight))
        n = _rows_within(first, second, place, weight, SLACK * limit, self._work, self._rows)
        return n > 0 and float(distances_of(self._few(self._rows[:n]), query).min()) <= SLACK * limit

    def _few(self, rows: Rows) -> Examples:
        """Give some of the examples by their markers alone, as queries without a pose see them."""
        e = self.examples
        return Examples(np.empty((len(rows), 0), np.float32), e.marker_m[rows], e.clip[rows], e.fps)
