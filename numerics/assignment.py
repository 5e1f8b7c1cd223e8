"""The few best ways to assign columns to rows, each row one or none (Murty 1968)."""

import numpy as np
from scipy.optimize import linear_sum_assignment

from config.arrays import Floats, Ints

IMPOSSIBLE = 1e6  # cost of what may not be


def find_likeliest_assignments(cost: Floats, missed: Floats, count: int, margin: float) -> list[tuple[float, Ints]]:
    """Return the assignments of least cost, least first, each with its cost: the column of every row, -1 for none (Murty 1968).

    Args:
        cost: of every row at every column, (M, P).
        missed: of a row without a column, (M,).
        count: how many at most.
        margin: by how much more one may cost than the least.
    """
    gain, base = np.minimum(cost - missed[:, None], IMPOSSIBLE), float(missed.sum())
    choice, open_rows = find_clear_assignments(gain, margin)
    has = np.flatnonzero(choice >= 0)
    base += float(gain[has, choice[has]].sum())
    if not len(open_rows):
        return [(base, choice)]
    free = np.setdiff1d(np.arange(gain.shape[1]), choice[has])
    columns, gain = len(free), gain[np.ix_(open_rows, free)]
    square = _append_misses(np.where(gain < margin, gain, IMPOSSIBLE))
    result = list[tuple[float, Ints]]()
    least, chosen = _solve_assignment(square)
    heap = [(least, 0, chosen, square, 0)]
    serial = 0
    while heap and len(result) < count:
        heap.sort(key=lambda node: node[:2])
        total, _, chosen, matrix, first = heap.pop(0)
        if result and total > result[0][0] - base + margin:
            break
        found = choice.copy()
        inside = chosen < columns
        found[open_rows[inside]] = free[chosen[inside]]
        if not any(np.array_equal(found, other) for _, other in result):
            result.append((base + total, found))
        if len(result) == count:
            break
        for row in range(first, len(open_rows)):
            part = matrix.copy()
            if chosen[row] < columns:
                part[row, chosen[row]] = IMPOSSIBLE
            else:
                part[row, columns:] = IMPOSSIBLE
            least, other = _solve_assignment(part)
            if least < min(IMPOSSIBLE, total + margin):
                serial += 1
                heap.append((least, serial, other, part, row))
            fixed = matrix[row, chosen[row]]
            matrix = matrix.copy()
            matrix[row] = IMPOSSIBLE
            if chosen[row] < columns:
                matrix[:, chosen[row]] = IMPOSSIBLE
            matrix[row, chosen[row]] = fixed
    return result


def find_clear_assignments(gain: Floats, margin: float) -> tuple[Ints, Ints]:
    """Return the column that a row has in every assignment worth considering, (M,), -1 for none, and the rows where it is open.

    No assignment costs less than every row's least. With all but one row's least, and the least but one of that row, it bounds
    what all cost in which that row has something else.

    Args:
        gain: of a row with a column over one without, (M, P), negative where it is likelier.
        margin: what is hopeless costs so much more than the least.
    """
    options = np.concatenate([np.zeros((len(gain), 2)), gain], axis=1)
    options[:, 0] = IMPOSSIBLE  # of a moment without points
    least, next_least = np.partition(options, 1, axis=1)[:, :2].T
    best = np.maximum(options.argmin(axis=1) - 2, -1)
    taken, beyond = best[best >= 0], 0.0
    if len(np.unique(taken)) < len(taken):
        beyond = _solve_assignment(_append_misses(gain))[0] - float(least.sum())
    clear = next_least - least > margin + beyond
    return np.where(clear, best, -1), np.flatnonzero(~clear)


def _append_misses(gain: Floats) -> Floats:
    """Return what rows gain with columns, (M, P), and with as many columns as rows that are none, (M, P + M)."""
    return np.concatenate([gain, np.zeros((len(gain), len(gain)))], axis=1)


def _solve_assignment(matrix: Floats) -> tuple[float, Ints]:
    """Return the least cost of an assignment, and the column of every row."""
    rows, chosen = linear_sum_assignment(matrix)
    return float(matrix[rows, chosen].sum()), chosen
