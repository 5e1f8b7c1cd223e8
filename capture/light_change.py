"""How the light of a room has changed: gains by cell and channel, estimated where the performer is not."""

import cv2
import numpy as np
from numpy.typing import NDArray

from capture.live_background_kernels import CELL_PX

STEP = 4  # every so many-th pixel in both directions is enough
LEAST, MOST = 12.0, 245.0  # darker pixels tell little of a gain, brighter ones are clipped
MIN_SAMPLES = 4  # of 16 in a cell
MAX_STRAY = 1.0  # log gain by which a cell may differ from the whole; beyond it something else is in it
SPREAD_CELLS = 2.5  # over which cells without a gain of their own take their neighbours'
MAX_GAIN = 50.0


def gain_field(image: NDArray[np.uint8], mean: NDArray[np.float32], free: NDArray[np.bool_]) -> NDArray[np.float32] | None:
    """Give by how much each cell got brighter, (rows, C, 3) BGR; None where too little is to be seen to tell.

    image, mean of the background: (H, 3 W); free: cells without the performer, whose neighbours tell theirs, (rows, C). The
    gain of a cell is the median over its pixels, so that a moved thing or an edge of the performer does not matter.
    """
    log_gain = _log_gains(image, mean, free.shape)
    log_gain[~free] = np.nan
    whole = np.full(3, np.nan)
    for channel in range(3):
        values = log_gain[..., channel]
        values = values[np.isfinite(values)]
        if len(values) >= max(8, 0.05 * free.size):
            whole[channel] = np.median(values)
    if not np.isfinite(whole).any():
        return None
    whole = np.where(np.isfinite(whole), whole, np.nanmean(whole))
    off = log_gain - whole
    good = np.isfinite(off) & (np.abs(np.nan_to_num(off)) < MAX_STRAY)
    weight = good.astype(np.float32)
    near = cv2.GaussianBlur(np.where(good, off, 0.0).astype(np.float32), (0, 0), SPREAD_CELLS)
    share = cv2.GaussianBlur(weight, (0, 0), SPREAD_CELLS)
    smooth = np.where(share > 1e-3, near / np.maximum(share, 1e-3), 0.0)
    return np.asarray(np.exp(np.clip(whole + smooth, -np.log(MAX_GAIN), np.log(MAX_GAIN))), np.float32)


def _log_gains(image: NDArray[np.uint8], mean: NDArray[np.float32], shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Give the median log ratio of image and background by cell and channel, (rows, C, 3), NaN where too few pixels tell."""
    height = image.shape[0]
    now = image.reshape(height, -1, 3)[::STEP, ::STEP].astype(np.float64)
    before = mean.reshape(height, -1, 3)[::STEP, ::STEP].astype(np.float64)
    telling = (before >= LEAST) & (before <= MOST) & (now >= 4.0) & (now <= MOST)
    ratio = np.where(telling, np.log(np.maximum(now, 1.0) / np.maximum(before, 1.0)), np.nan)
    rows, columns, n = *shape, CELL_PX // STEP
    padded = np.full((rows * n, columns * n, 3), np.nan)
    padded[: ratio.shape[0], : ratio.shape[1]] = ratio
    samples = np.sort(padded.reshape(rows, n, columns, n, 3).transpose(0, 2, 4, 1, 3).reshape(rows, columns, 3, -1), axis=-1)
    count = np.isfinite(samples).sum(axis=-1)  # NaN are sorted to the end
    middle = np.take_along_axis(samples, np.maximum(count - 1, 0)[..., None] // 2, axis=-1)[..., 0]
    return np.where(count >= MIN_SAMPLES, middle, np.nan)


def scaled(planes: NDArray[np.float32], field: NDArray[np.float32], size: tuple[int, int]) -> None:
    """Multiply planes (K, H, 3 W) by the gains of a field (rows, C, 3), smoothly from cell to cell; size: width, height."""
    width, height = size
    rows, columns = field.shape[:2]
    full = cv2.resize(field, (columns * CELL_PX, rows * CELL_PX), interpolation=cv2.INTER_LINEAR)
    planes *= np.ascontiguousarray(full[:height, :width]).reshape(height, 3 * width)
    np.clip(planes, 0.0, 255.0, out=planes)
