"""Kernels that judge the cells of a live background: which are the body, which may become background, whether the light changed.

The state of the cells, (9, rows, columns), is described in `kernels`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from capture.background.kernels import (
    CELL_PX,
    CHANGE_LEVELS,
    CHANGE_SHARE,
    HELD,
    KEPT,
    KEPT_FROM,
    KEPT_TO,
    KNOWN,
    MIN_FOREGROUND_PX,
    MOVED,
    OCCUPIED,
    RECENT_S,
    STILL,
    VISITED,
)
from config.jit import kernel

# Elements of the sums of one half of the image: cells, cells out of bounds, brightness of the image and of the background.
N_CELLS, N_OUT, IMAGE_SUM, MEAN_SUM = range(4)
MOVING_S = 2.5  # within which all movement is one body's
FAR_ROWS = 3  # foreground further from all movement than the image's height by this is not the body's
REACH_CELLS = 2  # around movement where nothing is known yet: perhaps the same body
KEEP_S = 10.0  # a stored image that was not seen again is replaced after this
AWAY_SHARE = 0.05  # of the width: least distance of two positions of the body that do not overlap
PROVEN_S = 1e9  # longer than any wait


class WaitTimes(NamedTuple):
    """How long a cell waits to become background [s]: an unknown one, a known one, one that was free when the light changed.

    counting: whether time counts now, 0 or 1.
    """

    unknown_s: float
    known_s: float
    relit_s: float
    counting: float


@kernel
def count_foreground(
    runs: NDArray[np.int32], row: int, cells: NDArray[np.float64], everywhere: bool, counts: NDArray[np.int32]
) -> None:
    """Count pixels of foreground by cell in rows of cells `row` - 1 to `row` + 1.

    Args:
        runs: (row, first column, last), (R, 3), sorted by row.
        row: number of the row of cells.
        cells: state of every cell, by the columns at the top of the module.
        everywhere: also in unknown cells, where in the light all is foreground.
        counts: (rows, C); written.
    """
    first, last = (row - 1) * CELL_PX, (row + 2) * CELL_PX
    counts[max(row - 1, 0) : row + 2] = 0
    low, high = 0, len(runs)
    while low < high:
        middle = (low + high) // 2
        if runs[middle, 0] < first:
            low = middle + 1
        else:
            high = middle
    for i in range(low, len(runs)):
        y = runs[i, 0]
        if y >= last:
            break
        r = y // CELL_PX
        for c in range(runs[i, 1] // CELL_PX, runs[i, 2] // CELL_PX + 1):
            if everywhere or cells[KNOWN, r, c] > 0.0:
                counts[r, c] += min(runs[i, 2], (c + 1) * CELL_PX - 1) - max(runs[i, 1], c * CELL_PX) + 1


@kernel
def recall_row(
    image: NDArray[np.uint8],
    row: int,
    t_s: float,
    kept: NDArray[np.uint8],
    cells: NDArray[np.float64],
    body: NDArray[np.uint8],
    moving: NDArray[np.float64],
    wait_s: float,
) -> None:
    """Find cells of a row that look as they did when the body was elsewhere: these are no part of the body.

    Args:
        image: BGR, (H, 3 W).
        row: number of the row of cells.
        t_s: time of the image.
        kept: stored images, (H, 3 W).
        cells: state of every cell, by the columns at the top of the module.
        body: 1 where a cell is the body's, (rows, C).
        moving: first and last column of cells in which something moved in the last seconds, (2,), first > last where nothing
            did.
        wait_s: how long ago the image must have been stored where a background is known.
    """
    height, n_bytes = image.shape
    y0, y1, size, n_columns = row * CELL_PX, min((row + 1) * CELL_PX, height), 3 * CELL_PX, cells.shape[2]
    gap = AWAY_SHARE * n_columns
    if moving[0] > moving[1]:
        return
    for c in range(n_columns):
        known = cells[KNOWN, row, c] > 0.0
        covered = known and t_s - cells[OCCUPIED, row, c] <= RECENT_S
        if body[row, c] or t_s - cells[MOVED, row, c] <= RECENT_S or (known and not covered):
            continue
        first, last = size * c, min(size * (c + 1), n_bytes)
        differing = 0
        for y in range(y0, y1):
            for i in range(first, last):
                difference = np.float32(image[y, i]) - np.float32(kept[y, i])
                differing += int(abs(difference) > np.float32(CHANGE_LEVELS))
        same = differing <= CHANGE_SHARE * (y1 - y0) * (last - first)
        age_s = t_s - cells[KEPT, row, c]
        if same:
            cells[KEPT_FROM, row, c] = max(cells[KEPT_FROM, row, c], moving[0])
            cells[KEPT_TO, row, c] = min(cells[KEPT_TO, row, c], moving[1])
            if cells[KEPT_FROM, row, c] > cells[KEPT_TO, row, c] + gap and age_s >= (wait_s if known else 0.0):
                cells[STILL, row, c] = PROVEN_S
        elif age_s > KEEP_S:
            cells[KEPT, row, c], cells[KEPT_FROM, row, c], cells[KEPT_TO, row, c] = t_s, moving[0], moving[1]
            for y in range(y0, y1):
                kept[y, first:last] = image[y, first:last]


@kernel
def find_body(
    cells: NDArray[np.float64], t_s: float, body: NDArray[np.uint8], stack: NDArray[np.int32], moving: NDArray[np.float64]
) -> int:
    """Mark the cells of the body: those that changed, and the connected foreground near them.

    Where nothing is known, the surroundings of movement count as well.

    Args:
        cells: state of every cell, by the columns at the top of the module.
        t_s: time of the image.
        body: 1 where a cell is the body's, (rows, C); written.
        stack: scratch, (rows * C,).
        moving: first and last column in which something moved in the last seconds, (2,); written.
    Returns: The number of cells that moved.
    """
    n_rows, n_columns = body.shape
    body[:, :] = 0
    n, n_moved = 0, 0
    moving[0], moving[1] = n_columns, -1.0
    far = n_rows // FAR_ROWS
    top, bottom, left, right = n_rows, -1, n_columns, -1
    for r in range(n_rows):
        for c in range(n_columns):
            if t_s - cells[MOVED, r, c] <= MOVING_S:
                moving[0], moving[1] = min(moving[0], c), max(moving[1], c)
            if t_s - cells[MOVED, r, c] > RECENT_S:
                continue
            n_moved += 1
            top, bottom, left, right = min(top, r), max(bottom, r), min(left, c), max(right, c)
            for y in range(max(r - REACH_CELLS, 0), min(r + REACH_CELLS + 1, n_rows)):
                for x in range(max(c - REACH_CELLS, 0), min(c + REACH_CELLS + 1, n_columns)):
                    near = abs(y - r) <= 1 and abs(x - c) <= 1
                    if body[y, x] == 0 and (near or cells[KNOWN, y, x] == 0.0):
                        body[y, x] = 1
                        stack[n] = y * n_columns + x
                        n += 1
    while n > 0:
        n -= 1
        r, c = stack[n] // n_columns, stack[n] % n_columns
        for y in range(max(r - 1, top - far, 0), min(r + 2, bottom + far + 1, n_rows)):
            for x in range(max(c - 1, left - far, 0), min(c + 2, right + far + 1, n_columns)):
                there = cells[KNOWN, y, x] > 0.0 and t_s - cells[OCCUPIED, y, x] <= RECENT_S
                if body[y, x] == 0 and there:
                    body[y, x] = 1
                    stack[n] = y * n_columns + x
                    n += 1
    return n_moved


@kernel
def compare_light(
    image: NDArray[np.uint8],
    t_s: float,
    mean: NDArray[np.float32],
    bounds: NDArray[np.uint8],
    cells: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> None:
    """Compare the image with the background at the middle of every free, known cell.

    Args:
        image: BGR, (H, 3 W).
        t_s: time of the image.
        mean: of the background, (H, 3 W).
        bounds: of the background, (2, H, 3 W).
        cells: state of every cell, by the columns at the top of the module.
        sums: of the left and the right half, (2, 4): N_CELLS .. MEAN_SUM; written.
    """
    height, width = image.shape
    n_rows, n_columns = cells.shape[1:]
    sums[:, :] = 0.0
    for r in range(n_rows):
        y = min(r * CELL_PX + CELL_PX // 2, height - 1)
        for c in range(n_columns):
            if cells[KNOWN, r, c] == 0.0 or t_s - cells[OCCUPIED, r, c] <= RECENT_S:
                continue
            x = min(3 * (c * CELL_PX + CELL_PX // 2), width - 3)
            side = sums[(2 * c) // n_columns]
            out = 0
            for i in range(x, x + 3):
                out |= image[y, i] < bounds[0, y, i] or image[y, i] > bounds[1, y, i]
                side[IMAGE_SUM] += image[y, i]
                side[MEAN_SUM] += mean[y, i]
            side[N_CELLS] += 1.0
            side[N_OUT] += out


@kernel
def decide_row(
    row: int,
    t_s: float,
    cells: NDArray[np.float64],
    body: NDArray[np.uint8],
    counts: NDArray[np.int32],
    waits: WaitTimes,
    dark: bool,
    absorb: NDArray[np.uint8],
) -> int:
    """Mark the cells of a row whose image has stayed long enough to be background; return their number.

    In the dark only cells without bright spots are marked: a planted foot may stay for long.

    Args:
        row: number of the row of cells.
        t_s: time of the image.
        cells: state of every cell, by the columns at the top of the module.
        body: 1 where a cell is the body's, (rows, C).
        counts: pixels of foreground by cell, (rows, C).
        waits: for how long a cell has to wait.
        dark: the room is dark.
        absorb: marks of the cells, (C,); written.
    """
    n = 0
    for c in range(cells.shape[2]):
        absorb[c] = 0
        known = cells[KNOWN, row, c] > 0.0
        bright = counts[row, c] >= MIN_FOREGROUND_PX
        if body[row, c] or cells[MOVED, row, c] == t_s or (dark and bright):
            continue
        if known and t_s - cells[OCCUPIED, row, c] > RECENT_S:
            continue
        cells[STILL, row, c] += waits.counting * max(t_s - cells[VISITED, row, c], 0.0)
        wait_s = waits.known_s if known else waits.unknown_s
        if cells[HELD, row, c] == 0.0:
            wait_s = min(wait_s, waits.relit_s)
        if cells[STILL, row, c] >= wait_s:
            absorb[c] = 1
            n += 1
    return n
