"""The background of a live camera: learned in the empty room, updated around the performer, scaled as the light changes.

Each frame visits one row of cells of 16 pixels, so the whole image every half second. A cell in or beside the foreground is not
updated, but brightens as the others do. Foreground becomes background when it was there with the body at two positions, or for
minutes without moving while the body moves elsewhere. Where nothing is known, all is foreground.
"""

import math

import cv2
import numpy as np
from numpy.typing import NDArray

from capture.background.cells import (
    IMAGE_SUM,
    MEAN_SUM,
    N_CELLS,
    N_OUT,
    WaitTimes,
    compare_light,
    count_foreground,
    decide_row,
    find_body,
    recall_row,
)
from capture.background.kernels import (
    AFTER,
    BEFORE,
    CELL_PX,
    GAIN,
    HELD,
    KEPT,
    KNOWN,
    MIN_SIGMA,
    MOVED,
    N_STATES,
    NEVER,
    OCCUPIED,
    RECENT_S,
    STILL,
    VISITED,
    RowScratch,
    learn_row,
    watch_row,
    write_cell_bounds,
)
from capture.background.statistics import BackgroundBounds, ImageSums
from config.arrays import Image

STEP = 4  # every fourth pixel in both directions is used
MIN_LEVEL, MAX_LEVEL = 12.0, 245.0  # darker pixels say little about a gain, brighter ones are saturated
MIN_SAMPLES = 4  # of 16 in a cell
MAX_STRAY = 1.0  # log gain by which a cell may differ from the whole; beyond it something else is there
SPREAD_CELLS = 2.5  # sigma of the smoothing over neighbours
MAX_GAIN = 50.0


def compute_gain_field(
    image: NDArray[np.uint8], mean: NDArray[np.float32], free: NDArray[np.bool_]
) -> NDArray[np.float32] | None:
    """Return the gain of brightness of each cell, (rows, C, 3) BGR; None where too few cells are free.

    The gain of a cell is the median over its pixels, which is robust to edges of the performer. Cells with the performer take
    their neighbours' gain.

    Args:
        image, mean: the image and the mean of the background, (H, 3 W).
        free: cells without the performer, (rows, C).
    """
    log_gain = _compute_log_gains(image, mean, free.shape)
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


def _compute_log_gains(image: NDArray[np.uint8], mean: NDArray[np.float32], shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return the median log ratio of image and background by cell and channel, (rows, C, 3), NaN with too few usable pixels."""
    height = image.shape[0]
    now = image.reshape(height, -1, 3)[::STEP, ::STEP].astype(np.float64)
    before = mean.reshape(height, -1, 3)[::STEP, ::STEP].astype(np.float64)
    usable = (before >= MIN_LEVEL) & (before <= MAX_LEVEL) & (now >= 4.0) & (now <= MAX_LEVEL)
    ratio = np.where(usable, np.log(np.maximum(now, 1.0) / np.maximum(before, 1.0)), np.nan)
    rows, columns, n = *shape, CELL_PX // STEP
    padded = np.full((rows * n, columns * n, 3), np.nan)
    padded[: ratio.shape[0], : ratio.shape[1]] = ratio
    samples = np.sort(padded.reshape(rows, n, columns, n, 3).transpose(0, 2, 4, 1, 3).reshape(rows, columns, 3, -1), axis=-1)
    count = np.isfinite(samples).sum(axis=-1)  # NaN are sorted to the end
    middle = np.take_along_axis(samples, np.maximum(count - 1, 0)[..., None] // 2, axis=-1)[..., 0]
    return np.where(count >= MIN_SAMPLES, middle, np.nan)


def scale_planes(planes: NDArray[np.float32], field: NDArray[np.float32], size: tuple[int, int]) -> None:
    """Multiply planes by a field of gains, interpolated between cells.

    Args:
        planes: (K, H, 3 W); written.
        field: gain of each cell, (rows, C, 3).
        size: width, height.
    """
    width, height = size
    rows, columns = field.shape[:2]
    full = cv2.resize(field, (columns * CELL_PX, rows * CELL_PX), interpolation=cv2.INTER_LINEAR)
    planes *= np.ascontiguousarray(full[:height, :width]).reshape(height, 3 * width)
    np.clip(planes, 0.0, 255.0, out=planes)


MEMORY_S = 8.0  # within which the background follows slow changes
RECENT_MEMORY_S = 3.0  # the same for what was there recently
UNKNOWN_DARK_S = 5.0  # how long an unknown cell must stay dark to be known
RECALL_S = 20.0  # least age of a new thing that was seen with the body at two positions
ABSORB_S = 120.0  # how long a new thing must stay, others moving, to be background
RELIGHT_S, RELIGHT_STAY_S = 4.0, 1.5  # after a change of light: for how long, and how fast, free cells are learned again
LIGHT_STEP = 0.04  # log brightness by which both halves must change at once
OUT_SHARE = 0.25  # or share of free cells that are suddenly out of bounds, in both halves
MIN_LIGHT = 12.0  # mean grey level below which a room is too dark to compare
MIN_FREE = 12  # free cells that are needed in each half
MAX_RESTLESS, RESTLESS_SIGMA = 0.1, 10.0  # share of a cell that may flicker by more grey levels while it is learned
NOTICE_CELLS, NOTICE_S = 4, 60.0  # cells of an absorbed thing worth a notice, and least time between two
MIN_LEARN_FRAMES, MAX_LEARN_FRAMES = 2, 60_000


class LiveBackground:
    """Mean and sigma of every pixel, and their bounds; a pure function of the frames in order. Bounds change in place."""

    def __init__(self, k_sigma: float, min_difference: float, learn_s: float = 0.0) -> None:
        """Prepare. learn_s: seconds at the start without the performer, 0 for none."""
        self._k, self._least = k_sigma, min_difference
        self._learn_s = learn_s
        self._notices: list[str] = []
        self._size = (0, 0)

    @property
    def learning(self) -> bool:
        """Whether the empty room is being learned."""
        return self._learn_s > 0.0

    @property
    def known(self) -> float:
        """Share of the image whose background is known."""
        return float((self._cells[KNOWN] > 0.0).mean()) if self._size[0] else 0.0

    def bounds(self) -> BackgroundBounds | None:
        """Return the bounds, which change in place from frame to frame; None where nothing at all is known yet."""
        return self._both if self._size[0] and self._cells[KNOWN].any() else None

    def notices(self) -> list[str]:
        """Return the notices since the last call."""
        notices, self._notices = self._notices, []
        return notices

    def relearn(self, seconds: float) -> None:
        """Learn the empty room again for some seconds; the known background is used until then."""
        self._learn_s = max(seconds, 0.0)
        self._sums: ImageSums | None = None
        if self.learning:
            self._notices.append(f"learning the background for {seconds:g} s: stay out of the camera's view")

    def tune(self, k_sigma: float, min_difference: float) -> None:
        """Take other settings."""
        self._k, self._least = k_sigma, min_difference
        if self._size[0]:
            self._update_bounds()

    def warm(self) -> None:
        """Compile every kernel on synthetic images."""
        other = LiveBackground(self._k, self._least, 1e-3)
        image, runs = np.full((2 * CELL_PX, 8 * CELL_PX, 3), 100, np.uint8), np.zeros((1, 3), np.int32)
        for index in range(8):
            other.observe(image, runs, index * 1_000_000_000)

    def observe(self, image: Image, runs: NDArray[np.int32], t_ns: int, dark: bool = False) -> None:
        """Learn from an image.

        Args:
            image: BGR, (H, W, 3).
            runs: its foreground as (row, first column, last), (R, 3), sorted by row.
            t_ns: when it was taken.
            dark: the foreground is only bright spots, above the detector's threshold.
        """
        t_s = 1e-9 * t_ns
        height, width = image.shape[:2]
        if self._size != (width, height):
            self._open(image, t_s)
        flat = image.reshape(height, 3 * width)
        if self.learning:
            self._learn(flat, t_s)
        elif self._light_changed(flat, t_s):
            self._relight(image, t_s, dark)
        else:
            self._visit(flat, runs, t_s, dark)

    def _open(self, image: Image, t_s: float) -> None:
        """Allocate everything for one image size."""
        height, width = image.shape[:2]
        rows, columns = -(-height // CELL_PX), -(-width // CELL_PX)
        self._size = (width, height)
        self._model = np.full((4, height, 3 * width), 2.0, np.float32)
        self._model[0] = self._model[2] = image.reshape(height, -1)
        self._bytes = np.zeros((2, height, 3 * width), np.uint8)
        self._both = BackgroundBounds(self._bytes[0], self._bytes[1])
        self._cells = np.zeros((N_STATES, rows, columns))
        self._cells[[OCCUPIED, MOVED, KEPT]], self._cells[VISITED] = NEVER, t_s
        self._counts, self._body = np.zeros((rows, columns), np.int32), np.zeros((rows, columns), np.uint8)
        self._stack, self._absorb = np.zeros(rows * columns, np.int32), np.zeros(columns, np.uint8)
        self._halves = np.zeros((2, 4))
        self._scratch = RowScratch(np.zeros(3 * width, np.uint8), np.zeros((2, 3 * width), np.float32))
        self._kept, self._moving = np.zeros((height, 3 * width), np.uint8), np.array([1.0, 0.0])
        self._drift = np.array([MEMORY_S, 1.0, 0.0, 0.0])
        self._row, self._n_moved, self._n_absorbed = 0, 0, 0
        self._relit_s = self._notified_s = NEVER
        if self.learning:
            self.relearn(self._learn_s)

    def _adopt(self, mean: NDArray[np.float32], sigma: NDArray[np.float32]) -> None:
        """Adopt a whole background."""
        self._model[0], self._model[1] = mean, np.maximum(sigma, MIN_SIGMA)
        self._cells[KNOWN], self._cells[STILL], self._cells[HELD] = 1.0, 0.0, 0.0
        self._update_bounds()

    def _update_bounds(self) -> None:
        """Write all bounds."""
        write_cell_bounds(self._model, self._cells, self._k, self._least, self._bytes, 0, len(self._counts) - 1)

    def _learn(self, flat: Image, t_s: float) -> None:
        """Add an image of the empty room; finish when the time is over."""
        if self._sums is None:
            self._sums, self._learned_from = ImageSums(flat.size), t_s
        self._sums.add(flat)
        over = t_s - self._learned_from >= self._learn_s and self._sums.n >= MIN_LEARN_FRAMES
        if over or self._sums.n >= MAX_LEARN_FRAMES:
            mean, sigma = (values.reshape(flat.shape) for values in self._sums.mean_and_sigma())
            self._learn_s, self._sums = 0.0, None
            self._finish_learning(flat, mean, sigma, t_s)

    def _finish_learning(self, flat: Image, mean: NDArray[np.float64], sigma: NDArray[np.float64], t_s: float) -> None:
        """Adopt what was learned; cells in which something moved stay unknown."""
        self._adopt(mean.astype(np.float32), sigma.astype(np.float32))
        self._model[2:] = self._model[:2]
        self._cells[VISITED] = t_s
        self._cells[[OCCUPIED, MOVED]] = NEVER
        restless = _compute_cell_shares(sigma > RESTLESS_SIGMA, self._counts.shape) > MAX_RESTLESS
        self._cells[KNOWN][restless] = 0.0
        self._update_bounds()
        share = float(restless.mean())
        if share > 0.01:
            self._notices.append(
                f"the background is learned, but {100 * share:.0f} % of the image moved meanwhile; "
                "learn it again with nobody in view"
            )
        else:
            self._notices.append("the background is learned")

    def _light_changed(self, flat: Image, t_s: float) -> bool:
        """Return whether both halves of the free image changed at once."""
        sums = self._halves
        compare_light(flat, t_s, self._model[0], self._bytes, self._cells, sums)
        left, right = sums.tolist()  # plain numbers: this runs for every frame
        if min(left[N_CELLS], right[N_CELLS]) < MIN_FREE:
            return False
        steps = [math.log((half[IMAGE_SUM] + half[N_CELLS]) / (half[MEAN_SUM] + half[N_CELLS])) for half in (left, right)]
        both = min(steps) > LIGHT_STEP or max(steps) < -LIGHT_STEP
        dim = left[MEAN_SUM] + right[MEAN_SUM] < 3.0 * MIN_LIGHT * (left[N_CELLS] + right[N_CELLS])
        jumped = both and not dim  # in the dark a grey level is a large change, and markers need no background
        return jumped or all(half[N_OUT] > OUT_SHARE * half[N_CELLS] for half in (left, right))

    def _relight(self, image: Image, t_s: float, dark: bool) -> None:
        """Scale the background to the new light, and learn its free cells again in the next seconds; or restart."""
        first = t_s - self._relit_s > RELIGHT_S
        if first:
            self._cells[HELD] = 0.0
        self._cells[HELD][t_s - self._cells[OCCUPIED] <= RECENT_S] = 1.0
        free = (self._cells[KNOWN] > 0.0) & (self._cells[HELD] == 0.0)
        field = None if dark else compute_gain_field(image.reshape(image.shape[0], -1), self._model[0], free)
        self._relit_s = t_s
        if field is None:
            self._restart(image)
        else:
            scale_planes(self._model, field, self._size)
            np.maximum(self._model[1::2], MIN_SIGMA, out=self._model[1::2])
        self._update_bounds()
        if first and field is None:
            self._notices.append(
                "the light changed so much that the background is learned anew; it goes faster with nobody in view"
            )
        elif first and field is not None:
            self._notices.append(
                f"the light changed to {100 * float(np.median(field)):.0f} %: the background was scaled and is learned anew"
            )

    def _restart(self, image: Image) -> None:
        """Forget the background, which cannot be scaled to the new light."""
        self._model[0] = self._model[2] = image.reshape(image.shape[0], -1)
        self._model[[1, 3]] = 2.0
        self._cells[KNOWN], self._cells[STILL] = 0.0, 0.0

    def _visit(self, flat: Image, runs: NDArray[np.int32], t_s: float, dark: bool) -> None:
        """Update one row of cells."""
        row, cells = self._row, self._cells
        count_foreground(runs, row, cells, dark, self._counts)
        watch_row(flat, row, t_s, self._model[2:], cells, self._counts, RECENT_MEMORY_S, self._scratch)
        if not dark:
            recall_row(flat, row, t_s, self._kept, cells, self._body, self._moving, RECALL_S)
        waits = self._waits(t_s, dark)
        self._n_absorbed += decide_row(row, t_s, cells, self._body, self._counts, waits, dark, self._absorb)
        learn_row(flat, row, t_s, self._model, cells, self._absorb, self._scratch, self._drift)
        write_cell_bounds(self._model, cells, self._k, self._least, self._bytes, row, row)
        self._row = (row + 1) % len(self._counts)
        if self._row == 0:
            self._end_sweep(t_s, dark)

    def _waits(self, t_s: float, dark: bool) -> WaitTimes:
        """Return how long cells wait to become background."""
        relit = t_s - self._relit_s <= RELIGHT_S
        counting = relit or self._n_moved > 0 or dark
        return WaitTimes(UNKNOWN_DARK_S if dark else ABSORB_S, ABSORB_S, RELIGHT_STAY_S if relit else np.inf, float(counting))

    def _end_sweep(self, t_s: float, dark: bool) -> None:
        """Find the body for the next sweep, and the drift of the light; notify of absorbed things."""
        self._n_moved = find_body(self._cells, t_s, self._body, self._stack, self._moving)
        before, after = self._drift[BEFORE], self._drift[AFTER]
        self._drift[GAIN:] = after / before if before > 0.0 and not dark else 1.0, 0.0, 0.0
        quiet = t_s - self._relit_s > RELIGHT_S
        if quiet and self._n_absorbed >= NOTICE_CELLS and t_s - self._notified_s > NOTICE_S and self.known > 0.99 and not dark:
            self._notices.append("something that stays where it is was taken for background")
            self._notified_s = t_s
        self._n_absorbed = 0


def _compute_cell_shares(mask: NDArray[np.bool_], shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return the share of marked bytes by cell: (H, 3 W) -> (rows, C)."""
    height, n_bytes = mask.shape
    rows = np.minimum(np.arange(shape[0]) * CELL_PX, height)
    columns = np.minimum(np.arange(shape[1]) * 3 * CELL_PX, n_bytes)
    sums = np.add.reduceat(np.add.reduceat(mask.astype(np.float64), rows, axis=0), columns, axis=1)
    size = np.outer(np.diff(np.append(rows, height)), np.diff(np.append(columns, n_bytes)))
    return np.asarray(sums / size)
