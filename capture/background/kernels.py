"""Kernels by which the live background learns: running means of rows, their bounds, and what changed in the cells of the image.

Planes of a model (4, H, 3 W) float32: mean and sigma of the background, mean and sigma of what was there recently. Cells are
squares of CELL_PX pixels; their state (9, rows, columns) float64 holds times in seconds, planes OCCUPIED .. KEPT_TO.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from config.jit import inline_kernel, kernel

CELL_PX = 16
N_STATES = 9
# When foreground was last in the cell; when its image last changed; for how long it has stayed while others moved; 1: its
# background is known; when it was last visited; 1: the performer was there when the light changed; when its image was stored, and
# the columns in which something moved whenever it has looked like that since, from and to.
OCCUPIED, MOVED, STILL, KNOWN, VISITED, HELD, KEPT, KEPT_FROM, KEPT_TO = range(N_STATES)
# Elements of `drift`: time constant of the mean [s], gain of the last sweep, brightness of the free cells before and after.
MEMORY, GAIN, BEFORE, AFTER = range(4)
NEVER = -1e9

MEAN_TO_SIGMA = 1.2533  # of the absolute value of a normal variable
MIN_SIGMA = 0.5
SIGMA_SHARE = 0.25  # sigma follows so much more slowly than the mean
MIN_FOREGROUND_PX = 3  # fewer pixels of foreground in a cell are noise
CHANGE_LEVELS = 14.0  # grey levels by which a changed pixel differs from what was there recently
CHANGE_SHARE = 0.03  # least share of a cell's bytes that change with its image
RECENT_S = 1.5  # how long movement and foreground count as recent


class RowScratch(NamedTuple):
    """Work arrays of one row of cells: changed rows by byte, (3 W,), and shares of mean and sigma, (2, 3 W)."""

    changed: NDArray[np.uint8]
    share: NDArray[np.float32]


@inline_kernel
def _count_changes(pixels: NDArray[np.uint8], recent: NDArray[np.float32], counts: NDArray[np.uint8]) -> None:
    """Add 1 to the count of every byte that differs from what was there recently."""
    for i in range(len(pixels)):
        difference = np.float32(pixels[i]) - recent[i]
        counts[i] += np.uint8(abs(difference) > np.float32(CHANGE_LEVELS))


@kernel
def update_statistics(
    pixels: NDArray[np.uint8], mean: NDArray[np.float32], sigma: NDArray[np.float32], share: NDArray[np.float32]
) -> None:
    """Move mean and sigma towards the pixels by a share; share (2, n): of the mean, of sigma."""
    scale, least = np.float32(MEAN_TO_SIGMA), np.float32(MIN_SIGMA)
    of_mean, of_sigma = share[0], share[1]
    for i in range(len(pixels)):
        difference = np.float32(pixels[i]) - mean[i]
        mean[i] += of_mean[i] * difference
        sigma[i] = max(sigma[i] + of_sigma[i] * (scale * abs(difference) - sigma[i]), least)


@inline_kernel
def _write_bounds(
    mean: NDArray[np.float32], sigma: NDArray[np.float32], k: float, least: float, lo: NDArray[np.uint8], hi: NDArray[np.uint8]
) -> None:
    """Write mean +- max(k sigma, least) as 8-bit bounds, (n,) each."""
    factor, floor, zero, top = np.float32(k), np.float32(least), np.float32(0.0), np.float32(255.0)
    for i in range(len(mean)):
        reach = max(factor * sigma[i], floor)
        # Truncation is floor for non-negative numbers; ceil(x) = 255 - floor(255 - x).
        lo[i] = np.uint8(np.int32(255) - np.int32(top - max(mean[i] - reach, zero)))
        hi[i] = np.uint8(np.int32(min(mean[i] + reach, top)))


@kernel
def write_cell_bounds(
    model: NDArray[np.float32],
    cells: NDArray[np.float64],
    k: float,
    least: float,
    bounds: NDArray[np.uint8],
    first_row: int,
    last_row: int,
) -> None:
    """Write the bounds of rows of cells; in unknown cells everything but black is out of bounds.

    Args:
        model: mean and sigma of every pixel, (2, H, 3 W).
        cells: state of every cell, by the columns at the top of the module.
        k: standard deviations between mean and bound.
        least: least difference between them [grey levels].
        bounds: (2, H, 3 W); written.
        first_row, last_row: of cells, the last included.
    """
    height, n_bytes, size = model.shape[1], model.shape[2], 3 * CELL_PX
    for r in range(first_row, last_row + 1):
        y0, y1 = r * CELL_PX, min((r + 1) * CELL_PX, height)
        for y in range(y0, y1):
            _write_bounds(model[0, y], model[1, y], k, least, bounds[0, y], bounds[1, y])
        for c in range(cells.shape[2]):
            if cells[KNOWN, r, c] == 0.0:
                for y in range(y0, y1):
                    bounds[0, y, c * size : min((c + 1) * size, n_bytes)] = 0
                    bounds[1, y, c * size : min((c + 1) * size, n_bytes)] = 0


@kernel
def accumulate_image(image: NDArray[np.uint8], total: NDArray[np.uint32], squares: NDArray[np.uint32]) -> None:
    """Add an image and its squares to sums, at most 66,000 times.

    Args:
        image: the values, flat.
        total: sum of the images, flat.
        squares: sum of their squares, flat.
    """
    for i in range(len(image)):
        value = np.uint32(image[i])
        total[i] += value
        squares[i] += value * value


@kernel
def watch_row(
    image: NDArray[np.uint8],
    row: int,
    t_s: float,
    recent: NDArray[np.float32],
    cells: NDArray[np.float64],
    counts: NDArray[np.int32],
    memory_s: float,
    scratch: RowScratch,
) -> None:
    """Update OCCUPIED and MOVED of one row of cells: whether foreground is in or beside them, whether their image changed.

    Args:
        image: (H, 3 W).
        row: number of the row of cells.
        t_s: time of the image.
        recent: image followed over `memory_s`, (2, H, 3 W).
        cells: state of every cell, by the columns at the top of the module.
        counts: pixels of foreground by cell, (rows, C).
        memory_s: time over which `recent` follows the image.
    """
    height, n_bytes = image.shape
    y0, y1, size = row * CELL_PX, min((row + 1) * CELL_PX, height), 3 * CELL_PX
    n_rows, n_columns = counts.shape
    changed_rows, share = scratch.changed, scratch.share
    changed_rows[:] = 0
    for y in range(y0, y1):
        _count_changes(image[y], recent[0, y], changed_rows)
    for c in range(n_columns):
        for r in range(max(row - 1, 0), min(row + 2, n_rows)):
            for near in range(max(c - 1, 0), min(c + 2, n_columns)):
                if counts[r, near] >= MIN_FOREGROUND_PX:
                    cells[OCCUPIED, row, c] = t_s
        first, last = size * c, min(size * (c + 1), n_bytes)
        changed = 0
        for i in range(first, last):
            changed += int(changed_rows[i])
        if changed > CHANGE_SHARE * (y1 - y0) * (last - first):
            cells[MOVED, row, c], cells[STILL, row, c] = t_s, 0.0
            share[0, first:last], share[1, first:last] = 1.0, 0.0
        else:
            part = 1.0 - np.exp(-max(t_s - cells[VISITED, row, c], 0.0) / memory_s)
            share[0, first:last], share[1, first:last] = part, part
    for y in range(y0, y1):
        update_statistics(image[y], recent[0, y], recent[1, y], share)


@kernel
def learn_row(
    image: NDArray[np.uint8],
    row: int,
    t_s: float,
    model: NDArray[np.float32],
    cells: NDArray[np.float64],
    absorb: NDArray[np.uint8],
    scratch: RowScratch,
    drift: NDArray[np.float64],
) -> None:
    """Follow the image in the free cells of one row, and adopt what is in those marked in `absorb` as background.

    Covered cells get brighter as the free ones did.

    Args:
        image: BGR, (H, 3 W).
        row: number of the row of cells.
        t_s: time of the image.
        model: mean and sigma of every pixel, (2, H, 3 W).
        cells: state of every cell, by the columns at the top of the module.
        absorb: marks cells, (C,).
        drift: sums of the light, (4,): MEMORY .. AFTER.
    """
    height, n_bytes = image.shape
    y0, y1, size = row * CELL_PX, min((row + 1) * CELL_PX, height), 3 * CELL_PX
    share, gain = scratch.share, np.float32(drift[GAIN])
    for c in range(cells.shape[2]):
        first, last = size * c, min(size * (c + 1), n_bytes)
        part = 0.0
        if absorb[c]:
            for y in range(y0, y1):
                model[0, y, first:last], model[1, y, first:last] = model[2, y, first:last], model[3, y, first:last]
            cells[KNOWN, row, c], cells[STILL, row, c], cells[HELD, row, c] = 1.0, 0.0, 0.0
        elif cells[KNOWN, row, c] > 0.0 and t_s - cells[OCCUPIED, row, c] > RECENT_S:
            part = 1.0 - np.exp(-max(t_s - cells[VISITED, row, c], 0.0) / drift[MEMORY])
            cells[STILL, row, c] = 0.0
        elif cells[KNOWN, row, c] > 0.0 and gain != 1.0:
            for y in range(y0, y1):
                for i in range(first, last):
                    model[0, y, i] = min(model[0, y, i] * gain, np.float32(255.0))
        share[0, first:last], share[1, first:last] = part, SIGMA_SHARE * part
        cells[VISITED, row, c] = t_s
    middle = (y0 + y1) // 2
    for i in range(n_bytes):
        if share[0, i] > 0.0:
            drift[BEFORE] += model[0, middle, i]
            drift[AFTER] += model[0, middle, i] + share[0, i] * (image[middle, i] - model[0, middle, i])
    for y in range(y0, y1):
        update_statistics(image[y], model[0, y], model[1, y], share)
