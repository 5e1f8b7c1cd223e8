"""Kernels of the live background: running means of rows, bounds from them, and what each cell of the image has been doing.

Planes of a model (4, H, 3 W) float32: mean and sigma of the background, mean and sigma of what was there recently. Cells are
squares of CELL_PX pixels; their state (9, rows, columns) float64 holds times in seconds, planes OCCUPIED .. KEPT_TO.
"""

import numpy as np
from numpy.typing import NDArray

from config.jit import kernel

CELL_PX = 16
N_STATES = 9
# When foreground was last in it; when its picture last changed; how long it has stayed while others moved; 1: its background is
# known; when it was last visited; 1: the performer was there when the light changed; when its picture was put by, and the columns
# in which something moved whenever it was like that since, from and to.
OCCUPIED, MOVED, STILL, KNOWN, VISITED, HELD, KEPT, KEPT_FROM, KEPT_TO = range(N_STATES)
NEVER = -1e9

MEAN_TO_SIGMA = 1.2533  # of the absolute value of a normal variable
MIN_SIGMA = 0.5
SIGMA_SHARE = 0.25  # sigma follows so much slower than the mean
MIN_FOREGROUND_PX = 3  # fewer pixels of foreground in a cell are noise
CHANGE_LEVELS = 14.0  # grey levels by which a pixel differs from what was there recently
CHANGE_SHARE = 0.03  # of a cell's bytes that must do so: its picture has changed
RECENT_S = 1.5  # what moved or was occupied so long ago still counts


@kernel
def _note_changes(pixels: NDArray[np.uint8], recent: NDArray[np.float32], counts: NDArray[np.uint8]) -> None:
    """Count, byte by byte, in how many rows it differs from what was there recently."""
    for i in range(len(pixels)):
        difference = np.float32(pixels[i]) - recent[i]
        counts[i] += np.uint8(abs(difference) > np.float32(CHANGE_LEVELS))


@kernel
def _follow(pixels: NDArray[np.uint8], mean: NDArray[np.float32], sigma: NDArray[np.float32], share: NDArray[np.float32]) -> None:
    """Go a share of the way from mean and sigma to what these pixels say; share (2, n): of the mean, of sigma."""
    scale, least = np.float32(MEAN_TO_SIGMA), np.float32(MIN_SIGMA)
    of_mean, of_sigma = share[0], share[1]
    for i in range(len(pixels)):
        difference = np.float32(pixels[i]) - mean[i]
        mean[i] += of_mean[i] * difference
        sigma[i] = max(sigma[i] + of_sigma[i] * (scale * abs(difference) - sigma[i]), least)


@kernel
def _bound(
    mean: NDArray[np.float32], sigma: NDArray[np.float32], k: float, least: float, lo: NDArray[np.uint8], hi: NDArray[np.uint8]
) -> None:
    """Write mean +- max(k sigma, least) as 8-bit bounds, (n,) each."""
    factor, floor, zero, top = np.float32(k), np.float32(least), np.float32(0.0), np.float32(255.0)
    for i in range(len(mean)):
        reach = max(factor * sigma[i], floor)
        # Truncation is floor for what is not negative; ceil(x) = 255 - floor(255 - x).
        lo[i] = np.uint8(np.int32(255) - np.int32(top - max(mean[i] - reach, zero)))
        hi[i] = np.uint8(np.int32(min(mean[i] + reach, top)))


@kernel
def bound_cells(
    model: NDArray[np.float32],
    cells: NDArray[np.float64],
    k: float,
    least: float,
    bounds: NDArray[np.uint8],
    first_row: int,
    last_row: int,
) -> None:
    """Write the bounds of rows of cells, (2, H, 3 W); where nothing is known everything but black is out of them."""
    height, n_bytes, size = model.shape[1], model.shape[2], 3 * CELL_PX
    for r in range(first_row, last_row + 1):
        y0, y1 = r * CELL_PX, min((r + 1) * CELL_PX, height)
        for y in range(y0, y1):
            _bound(model[0, y], model[1, y], k, least, bounds[0, y], bounds[1, y])
        for c in range(cells.shape[2]):
            if cells[KNOWN, r, c] == 0.0:
                for y in range(y0, y1):
                    bounds[0, y, c * size : min((c + 1) * size, n_bytes)] = 0
                    bounds[1, y, c * size : min((c + 1) * size, n_bytes)] = 0


@kernel
def accumulate(image: NDArray[np.uint8], total: NDArray[np.uint32], squares: NDArray[np.uint32]) -> None:
    """Add an image and its squares to sums; all flat, at most 66,000 times."""
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
    work: tuple[NDArray[np.uint8], NDArray[np.float32]],
) -> None:
    """Note what the cells of one row do: whether foreground is in or beside them and whether their picture has changed.

    image (H, 3 W); recent (2, H, 3 W), followed over memory_s; counts (rows, C) of foreground pixels; work: (3 W,) and (2, 3 W).
    """
    height, n_bytes = image.shape
    y0, y1, size = row * CELL_PX, min((row + 1) * CELL_PX, height), 3 * CELL_PX
    n_rows, n_columns = counts.shape
    differing, share = work
    differing[:] = 0
    for y in range(y0, y1):
        _note_changes(image[y], recent[0, y], differing)
    for c in range(n_columns):
        for r in range(max(row - 1, 0), min(row + 2, n_rows)):
            for near in range(max(c - 1, 0), min(c + 2, n_columns)):
                if counts[r, near] >= MIN_FOREGROUND_PX:
                    cells[OCCUPIED, row, c] = t_s
        first, last = size * c, min(size * (c + 1), n_bytes)
        changed = 0
        for i in range(first, last):
            changed += int(differing[i])
        if changed > CHANGE_SHARE * (y1 - y0) * (last - first):
            cells[MOVED, row, c], cells[STILL, row, c] = t_s, 0.0
            share[0, first:last], share[1, first:last] = 1.0, 0.0
        else:
            part = 1.0 - np.exp(-max(t_s - cells[VISITED, row, c], 0.0) / memory_s)
            share[0, first:last], share[1, first:last] = part, part
    for y in range(y0, y1):
        _follow(image[y], recent[0, y], recent[1, y], share)


@kernel
def learn_row(
    image: NDArray[np.uint8],
    row: int,
    t_s: float,
    model: NDArray[np.float32],
    cells: NDArray[np.float64],
    absorb: NDArray[np.uint8],
    work: tuple[NDArray[np.uint8], NDArray[np.float32]],
    drift: NDArray[np.float64],
) -> None:
    """Follow the image in the free cells of one row, and take over what has stayed in those marked in `absorb` (C,).

    Cells that are covered get brighter as the free ones did. drift (4,): time within which the mean follows [s], gain of the
    last sweep, brightness of the free cells before and after in this one; work: room, (3 W,) and (2, 3 W).
    """
    height, n_bytes = image.shape
    y0, y1, size = row * CELL_PX, min((row + 1) * CELL_PX, height), 3 * CELL_PX
    share, gain = work[1], np.float32(drift[1])
    for c in range(cells.shape[2]):
        first, last = size * c, min(size * (c + 1), n_bytes)
        part = 0.0
        if absorb[c]:
            for y in range(y0, y1):
                model[0, y, first:last], model[1, y, first:last] = model[2, y, first:last], model[3, y, first:last]
            cells[KNOWN, row, c], cells[STILL, row, c], cells[HELD, row, c] = 1.0, 0.0, 0.0
        elif cells[KNOWN, row, c] > 0.0 and t_s - cells[OCCUPIED, row, c] > RECENT_S:
            part = 1.0 - np.exp(-max(t_s - cells[VISITED, row, c], 0.0) / drift[0])
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
            drift[2] += model[0, middle, i]
            drift[3] += model[0, middle, i] + share[0, i] * (image[middle, i] - model[0, middle, i])
    for y in range(y0, y1):
        _follow(image[y], model[0, y], model[1, y], share)
