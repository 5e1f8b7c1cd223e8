"""Looking for the cameras' time offset when asked to: what both saw in the last seconds, and a flash or a jump in it."""

from collections import deque
from typing import Literal

import numpy as np

from capture.flash import flash_offset
from capture.jump import Course, FoundOffset, jump_offset
from capture.packets import Blobs
from capture.tracks import History

Way = Literal["flash", "jump"]
KEPT_S = 12.0
SEEK_S = 20.0  # how long a flash or a jump is waited for
LOOK_S = 0.5  # between two looks
LINKED = 0.7  # share of the blobs that must have tracks to tell how they moved
AFTER_S = 1.0  # how long after its peak a jump is over
GOOD_S = {"flash": 0.008, "jump": 0.003}  # an answer this sure ends the search at once
FAIR_S = {"flash": 0.015, "jump": 0.008}  # and one this sure is taken at its end


class TimeSearch:
    """Keeps what both cameras saw of light and movement, and seeks an offset in it while one is wanted."""

    def __init__(self) -> None:
        self._light: tuple[deque[tuple[float, float]], ...] = (deque(), deque())
        self._speed: tuple[deque[tuple[float, float, float]], ...] = (deque(), deque())
        self._before: list[Blobs | None] = [None, None]
        self._way: Way | None = None
        self._end_s = self._next_s = 0.0
        self._best: FoundOffset | None = None

    @property
    def seeking(self) -> bool:
        """Whether an offset is wanted."""
        return self._way is not None

    def note(self, blobs: Blobs, history: History | None) -> None:
        """Take a frame, with its own stamp, and the tracks of its blobs."""
        t_s, camera = blobs.t_capture_ns * 1e-9, blobs.camera
        if self._light[camera] and t_s <= self._light[camera][-1][0]:
            self._light[camera].clear()
            self._speed[camera].clear()
        self._light[camera].append((t_s, blobs.light))
        speed = None if history is None else speeds(self._before[camera], blobs, history)
        self._before[camera] = blobs
        if speed is not None:
            self._speed[camera].append((t_s - 0.5 * speed[2], speed[0], speed[1]))
        for kept in (self._light[camera], self._speed[camera]):
            while kept[0][0] < t_s - KEPT_S if kept else False:
                kept.popleft()

    def seek(self, way: Way, t_ns: int) -> None:
        """Begin to look, at the time of the newest stamp."""
        self._way, self._best = way, None
        self._end_s, self._next_s = t_ns * 1e-9 + SEEK_S, t_ns * 1e-9

    def step(self, t_ns: int) -> tuple[Way, FoundOffset | None] | None:
        """Look if it is time to; once the search is over, give its way and what was found, None in its place for nothing."""
        t_s, way = t_ns * 1e-9, self._way
        if way is None or self._next_s > t_s > self._next_s - 2.0 * SEEK_S:
            return None
        self._next_s = t_s + LOOK_S
        found = self._look(way, t_s)
        if found is not None and (self._best is None or found.sigma_s < self._best.sigma_s):
            self._best = found
        sure = self._best is not None and self._best.sigma_s < GOOD_S[way]
        if not sure and 0.0 <= self._end_s - t_s <= SEEK_S:
            return None
        self._way = None
        fair = self._best is not None and self._best.sigma_s < FAIR_S[way]
        return way, self._best if fair else None

    def _look(self, way: Way, t_s: float) -> FoundOffset | None:
        """Seek a flash or a jump in what is kept."""
        kept = self._light if way == "flash" else self._speed
        if min(len(kept[0]), len(kept[1])) < 8:
            return None
        left, right = (_course(list(side)) for side in kept)
        if way == "flash":
            return flash_offset(left, right)
        peak_s = left.t_s[int(np.argmax(np.abs(left.value).max(axis=1)))]
        return jump_offset(left, right) if t_s - peak_s > AFTER_S else None


def _course(rows: list[tuple[float, ...]]) -> Course:
    """Give kept rows (time, values) as a course."""
    table = np.array(rows)
    return Course(np.ascontiguousarray(table[:, 0]), np.ascontiguousarray(table[:, 1:]))


def speeds(before: Blobs | None, blobs: Blobs, history: History) -> tuple[float, float, float] | None:
    """Give how fast the blobs of a frame fell and moved [px/s], and over what time [s]; None where too few have tracks to tell.

    Where there are as many as in the frame before, the fall is told by the two lists of heights, each in order, which needs no
    links: at the moment of a take-off many are missed.
    """
    old = history.known > 1
    alike = before is not None and len(before) == len(blobs) and blobs.t_capture_ns > before.t_capture_ns
    if not old.any() or not (alike or old.mean() >= LINKED):
        return None
    back = history.back_s[old, 1]
    velocity = (history.points_px[old, 0] - history.points_px[old, 1]) / back[:, None]
    fall, speed, over_s = float(np.median(velocity[:, 1])), float(np.linalg.norm(velocity, axis=1).mean()), float(np.median(back))
    if before is not None and alike:
        over_s = (blobs.t_capture_ns - before.t_capture_ns) * 1e-9
        fall = float(np.median(np.sort(blobs.points_px[:, 1]) - np.sort(before.points_px[:, 1]))) / over_s
    return fall, max(speed, abs(fall)), over_s


def words(way: Way, found: FoundOffset | None, offset_ms: float) -> str:
    """Say what came of a search."""
    if found is None:
        do = "switch a light on and off five times" if way == "flash" else "stand still, jump once, stand still"
        return f"no {way} was seen by both cameras within {SEEK_S:.0f} s; {do}, in view of both"
    late = f"{abs(offset_ms):.1f} ms {'late' if offset_ms >= 0.0 else 'early'}"
    return f"the right camera's stamps are {late} (+-{1e3 * found.sigma_s:.1f}), by a {way}; now corrected"
