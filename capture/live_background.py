"""The background of a live camera: learned in the empty room, kept up to date around the performer, scaled as the light changes.

Each frame visits one row of cells of 16 pixels, so the whole image every half second. A cell in or beside the foreground is left
alone, but brightens as the others do. What is foreground becomes background when it was there with the body in two places, or
for minutes without moving while the body moves elsewhere. Where nothing is known, all is foreground.
"""

import math

import numpy as np
from numpy.typing import NDArray

from capture.background import Background
from capture.background_cells_kernels import count_foreground, decide_row, find_body, recall_row, sample_light
from capture.foreground import Bounds
from capture.light_change import gain_field, scaled
from capture.live_background_kernels import (
    CELL_PX,
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
    accumulate,
    bound_cells,
    learn_row,
    watch_row,
)

Image = NDArray[np.uint8]
MEMORY_S = 8.0  # within which the background follows slow changes
RECENT_MEMORY_S = 3.0  # the same for what was there recently
UNKNOWN_DARK_S = 5.0  # how long a cell of which nothing is known must stay dark to be known
RECALL_S = 20.0  # how long a new thing must have been there that was seen with the body in two places
ABSORB_S = 120.0  # how long a new thing must stand still, others moving, to be background
RELIGHT_S, RELIGHT_STAY_S = 4.0, 1.5  # after a change of light: how long, and how fast, free cells are learned anew
LIGHT_STEP = 0.04  # log brightness by which both halves must change at once
OUT_SHARE = 0.25  # or share of free cells that are suddenly out of bounds, in both halves
LEAST_LIGHT = 12.0  # mean grey level below which a room is too dark for its brightness to be compared
MIN_FREE = 12  # cells in each half that can tell
MAX_RESTLESS, RESTLESS_SIGMA = 0.1, 10.0  # share of a cell that may flicker by more grey levels while it is learned
TOLD_CELLS, TELL_S = 4, 60.0  # so many cells at once are a thing worth telling of, so often
MIN_LEARN_FRAMES, MAX_LEARN_FRAMES = 2, 60_000


class LiveBackground:
    """Mean and sigma of every pixel, and the bounds that follow; a pure function of the frames in their order.

    The bounds it gives change in place: what is made from them is made anew for every frame.
    """

    def __init__(self, k_sigma: float, min_difference: float, learn_s: float = 0.0, background: Background | None = None) -> None:
        """Prepare. learn_s: seconds at the start without the performer, 0 for none; background: known beforehand."""
        self._k, self._least = k_sigma, min_difference
        self._given = background
        self._learn_s = learn_s
        self._events: list[str] = []
        self._size = (0, 0)

    @property
    def learning(self) -> bool:
        """Tell whether the empty room is being learned."""
        return self._learn_s > 0.0

    @property
    def known(self) -> float:
        """Share of the image whose background is known."""
        return float((self._cells[KNOWN] > 0.0).mean()) if self._size[0] else 0.0

    def bounds(self) -> Bounds | None:
        """Give the bounds, which change in place from frame to frame; None where nothing at all is known yet."""
        return self._both if self._size[0] and self._cells[KNOWN].any() else None

    def events(self) -> list[str]:
        """Give what happened since the last call, in words."""
        told, self._events = self._events, []
        return told

    def relearn(self, seconds: float) -> None:
        """Learn the empty room anew for so many seconds; what is known holds until then."""
        self._learn_s = max(seconds, 0.0)
        self._learned_from: float | None = None
        self._n_learned = 0
        if self.learning:
            self._tell(f"learning the background for {seconds:g} s: stay out of the camera's view")

    def tune(self, k_sigma: float, min_difference: float) -> None:
        """Take other settings."""
        self._k, self._least = k_sigma, min_difference
        if self._size[0]:
            self._rebound()

    def warm(self) -> None:
        """Compile every kernel on pictures of its own, so that the first real ones do not wait for it."""
        other = LiveBackground(self._k, self._least, 1e-3)
        image, runs = np.full((2 * CELL_PX, 8 * CELL_PX, 3), 100, np.uint8), np.zeros((1, 3), np.int32)
        for index in range(8):
            other.observe(image, runs, index * 1_000_000_000)

    def observe(self, image: Image, runs: NDArray[np.int32], t_ns: int, dark: bool = False) -> None:
        """Learn from an image (H, W, 3) whose foreground is in runs (R, 3), sorted by row, taken at t_ns.

        dark: foreground are bright spots only, above the detector's threshold.
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
        """Make everything for images of one size."""
        height, width = image.shape[:2]
        rows, columns = -(-height // CELL_PX), -(-width // CELL_PX)
        self._size = (width, height)
        self._model = np.full((4, height, 3 * width), 2.0, np.float32)
        self._model[0] = self._model[2] = image.reshape(height, -1)
        self._bytes = np.zeros((2, height, 3 * width), np.uint8)
        self._both = Bounds(self._bytes[0], self._bytes[1])
        self._cells = np.zeros((N_STATES, rows, columns))
        self._cells[[OCCUPIED, MOVED, KEPT]], self._cells[VISITED] = NEVER, t_s
        self._counts, self._body = np.zeros((rows, columns), np.int32), np.zeros((rows, columns), np.uint8)
        self._stack, self._absorb = np.zeros(rows * columns, np.int32), np.zeros(columns, np.uint8)
        self._halves = np.zeros((2, 4))
        self._work = np.zeros(3 * width, np.uint8), np.zeros((2, 3 * width), np.float32)
        self._kept, self._moving = np.zeros((height, 3 * width), np.uint8), np.array([1.0, 0.0])
        self._drift = np.array([MEMORY_S, 1.0, 0.0, 0.0])
        self._row, self._n_moved, self._n_absorbed = 0, 0, 0
        self._relit_s = self._told_s = NEVER
        if self._given is not None and self._given.size == self._size:
            self._take(self._given.mean.reshape(height, -1), self._given.std.reshape(height, -1))
        if self.learning:
            self.relearn(self._learn_s)

    def _take(self, mean: NDArray[np.float32], sigma: NDArray[np.float32]) -> None:
        """Take over a whole background."""
        self._model[0], self._model[1] = mean, np.maximum(sigma, MIN_SIGMA)
        self._cells[KNOWN], self._cells[STILL], self._cells[HELD] = 1.0, 0.0, 0.0
        self._rebound()

    def _rebound(self) -> None:
        """Make all bounds anew."""
        bound_cells(self._model, self._cells, self._k, self._least, self._bytes, 0, len(self._counts) - 1)

    def _tell(self, text: str) -> None:
        """Keep an event until it is asked for."""
        self._events.append(text)

    def _learn(self, flat: Image, t_s: float) -> None:
        """Add an image of the empty room, and finish when the time is over."""
        if self._learned_from is None:
            self._learned_from = t_s
            self._total, self._squares = np.zeros(flat.size, np.uint32), np.zeros(flat.size, np.uint32)
        accumulate(flat.reshape(-1), self._total, self._squares)
        self._n_learned += 1
        over = t_s - self._learned_from >= self._learn_s and self._n_learned >= MIN_LEARN_FRAMES
        if not over and self._n_learned < MAX_LEARN_FRAMES:
            return
        n = self._n_learned
        mean = self._total / n
        sigma = np.sqrt(np.maximum(self._squares / n - mean * mean, 0.0) * (n / (n - 1.0)))
        del self._total, self._squares
        self._learn_s = 0.0
        self._finish_learning(flat, mean.reshape(flat.shape), sigma.reshape(flat.shape), t_s)

    def _finish_learning(self, flat: Image, mean: NDArray[np.float64], sigma: NDArray[np.float64], t_s: float) -> None:
        """Take over what was learned; cells in which something moved stay unknown."""
        self._take(mean.astype(np.float32), sigma.astype(np.float32))
        self._model[2:] = self._model[:2]
        self._cells[VISITED] = t_s
        self._cells[[OCCUPIED, MOVED]] = NEVER
        restless = _by_cell(sigma > RESTLESS_SIGMA, self._counts.shape) > MAX_RESTLESS
        self._cells[KNOWN][restless] = 0.0
        self._rebound()
        share = float(restless.mean())
        if share > 0.01:
            self._tell(
                f"the background is learned, but {100 * share:.0f} % of the image moved meanwhile; "
                "learn it again with nobody in view"
            )
        else:
            self._tell("the background is learned")

    def _light_changed(self, flat: Image, t_s: float) -> bool:
        """Tell whether both halves of the free image changed at once."""
        sums = self._halves
        sample_light(flat, t_s, self._model[0], self._bytes, self._cells, sums)
        left, right = sums.tolist()  # plain numbers: this is asked of every frame
        if min(left[0], right[0]) < MIN_FREE:
            return False
        steps = [math.log((half[2] + half[0]) / (half[3] + half[0])) for half in (left, right)]
        both = min(steps) > LIGHT_STEP or max(steps) < -LIGHT_STEP
        dim = left[3] + right[3] < 3.0 * LEAST_LIGHT * (left[0] + right[0])
        jumped = both and not dim  # in the dark a grey level is a large share, and markers need no background
        return jumped or all(half[1] > OUT_SHARE * half[0] for half in (left, right))

    def _relight(self, image: Image, t_s: float, dark: bool) -> None:
        """Scale the background to the new light, and learn its free cells anew in the next seconds; or begin anew."""
        first = t_s - self._relit_s > RELIGHT_S
        if first:
            self._cells[HELD] = 0.0
        self._cells[HELD][t_s - self._cells[OCCUPIED] <= RECENT_S] = 1.0
        free = (self._cells[KNOWN] > 0.0) & (self._cells[HELD] == 0.0)
        field = None if dark else gain_field(image.reshape(image.shape[0], -1), self._model[0], free)
        self._relit_s = t_s
        if field is None:
            self._start_anew(image)
        else:
            scaled(self._model, field, self._size)
            np.maximum(self._model[1::2], MIN_SIGMA, out=self._model[1::2])
        self._rebound()
        if first and field is None:
            self._tell("the light changed so much that the background is learned anew; it goes faster with nobody in view")
        elif first and field is not None:
            self._tell(
                f"the light changed to {100 * float(np.median(field)):.0f} %: the background was scaled and is learned anew"
            )

    def _start_anew(self, image: Image) -> None:
        """Forget the background where its light says nothing about the new one."""
        self._model[0] = self._model[2] = image.reshape(image.shape[0], -1)
        self._model[[1, 3]] = 2.0
        self._cells[KNOWN], self._cells[STILL] = 0.0, 0.0

    def _visit(self, flat: Image, runs: NDArray[np.int32], t_s: float, dark: bool) -> None:
        """Look after one row of cells."""
        row, cells = self._row, self._cells
        count_foreground(runs, row, cells, dark, self._counts)
        watch_row(flat, row, t_s, self._model[2:], cells, self._counts, RECENT_MEMORY_S, self._work)
        if not dark:
            recall_row(flat, row, t_s, self._kept, cells, self._body, self._moving, RECALL_S)
        waits_s = self._waits_s(t_s, dark)
        self._n_absorbed += decide_row(row, t_s, cells, self._body, self._counts, waits_s, dark, self._absorb)
        learn_row(flat, row, t_s, self._model, cells, self._absorb, self._work, self._drift)
        bound_cells(self._model, cells, self._k, self._least, self._bytes, row, row)
        self._row = (row + 1) % len(self._counts)
        if self._row == 0:
            self._end_sweep(t_s, dark)

    def _waits_s(self, t_s: float, dark: bool) -> NDArray[np.float64]:
        """Give how long cells wait to become background: unknown ones, known ones, free ones after a change of light."""
        relit = t_s - self._relit_s <= RELIGHT_S
        counts = relit or self._n_moved > 0 or dark
        return np.array([UNKNOWN_DARK_S if dark else ABSORB_S, ABSORB_S, RELIGHT_STAY_S if relit else np.inf, float(counts)])

    def _end_sweep(self, t_s: float, dark: bool) -> None:
        """Find what moves, for the next sweep, and how the light drifts; tell what was taken for background."""
        self._n_moved = find_body(self._cells, t_s, self._body, self._stack, self._moving)
        before, after = self._drift[2:]
        self._drift[1:] = after / before if before > 0.0 and not dark else 1.0, 0.0, 0.0
        quiet = t_s - self._relit_s > RELIGHT_S
        if quiet and self._n_absorbed >= TOLD_CELLS and t_s - self._told_s > TELL_S and self.known > 0.99 and not dark:
            self._tell("something that stays where it is was taken for background")
            self._told_s = t_s
        self._n_absorbed = 0


def _by_cell(mask: NDArray[np.bool_], shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Give the share of marked bytes by cell: (H, 3 W) -> (rows, C)."""
    height, n_bytes = mask.shape
    rows = np.minimum(np.arange(shape[0]) * CELL_PX, height)
    columns = np.minimum(np.arange(shape[1]) * 3 * CELL_PX, n_bytes)
    sums = np.add.reduceat(np.add.reduceat(mask.astype(np.float64), rows, axis=0), columns, axis=1)
    size = np.outer(np.diff(np.append(rows, height)), np.diff(np.append(columns, n_bytes)))
    return np.asarray(sums / size)
