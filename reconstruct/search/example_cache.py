"""What follows from an example alone, remembered from frame to frame: most neighbours of a frame were those of the last."""

from collections.abc import Callable

import numpy as np

from config.arrays import Floats, Ints

SLOTS = 4096  # examples that are remembered, each in the one place that its row's last digits give it


class RememberedRows:
    """A cache of values of examples, (V,) each.

    Args:
        n_values: number V of values of an example.
        compute: function that returns the values of rows (K,) as (K, V); those of a row must not depend on the other rows.
    """

    def __init__(self, n_values: int, compute: Callable[[Ints], Floats]) -> None:
        self._compute = compute
        self._rows = np.full(SLOTS, -1, np.int64)
        self._values = np.empty((SLOTS, n_values))

    def of(self, rows: Ints) -> Floats:
        """Return the values of some rows, (K,): (K, V)."""
        slots = rows & (SLOTS - 1)
        found: Floats = self._values[slots]
        new = (self._rows[slots] != rows).nonzero()[0]
        if len(new):
            found[new] = computed = self._compute(rows[new])
            self._values[slots[new]], self._rows[slots[new]] = computed, rows[new]
        return found
