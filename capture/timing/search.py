"""Search for the cameras' time offset on request, by a flash or a jump in what both saw in the last seconds."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from capture.clock import OffsetMethod
from capture.packets import Blobs
from capture.timing.events import OffsetMeasurement, TimeSeries, flash_offset, jump_offset
from capture.timing.tracks import BlobHistory

KEPT_S = 12.0
SEARCH_S = 20.0  # how long to wait for a flash or a jump
LOOK_S = 0.5  # between two attempts
LINKED = 0.7  # share of the blobs that must have tracks for their speed to be known
AFTER_S = 1.0  # how long after its peak a jump is over
GOOD_S = {OffsetMethod.FLASH: 0.008, OffsetMethod.JUMP: 0.003}  # sigma at which the search ends at once
FAIR_S = {OffsetMethod.FLASH: 0.015, OffsetMethod.JUMP: 0.008}  # and at which a result is used at its end


@dataclass(slots=True)
class _Seen:
    """A frame, the history of its blobs until its speeds are asked for, then these: time [s], downward and mean [px/s]."""

    blobs: Blobs
    history: BlobHistory | None
    speed: tuple[float, float, float] | None = None


class TimeSearch:
    """Keeps both cameras' last seconds, and searches them for an offset on request: only then speeds are computed."""

    def __init__(self) -> None:
        self._light: tuple[deque[tuple[float, float]], ...] = (deque(), deque())
        self._seen: tuple[deque[_Seen], ...] = (deque(), deque())
        self._method: OffsetMethod | None = None
        self._end_s = self._next_s = 0.0
        self._best: OffsetMeasurement | None = None

    @property
    def searching(self) -> bool:
        """Whether a search is going on."""
        return self._method is not None

    def note(self, blobs: Blobs, history: BlobHistory | None) -> None:
        """Add a frame with its uncorrected timestamp, and the history of its blobs."""
        t_s, light, seen = blobs.t_capture_ns * 1e-9, self._light[blobs.camera], self._seen[blobs.camera]
        if light and t_s <= light[-1][0]:
            light.clear()
            seen.clear()
        light.append((t_s, blobs.light))
        seen.append(_Seen(blobs, history))
        while light[0][0] < t_s - KEPT_S:
            light.popleft()
            seen.popleft()

    def start(self, method: OffsetMethod, t_ns: int) -> None:
        """Begin to search, at the time of the newest timestamp."""
        self._method, self._best = method, None
        self._end_s, self._next_s = t_ns * 1e-9 + SEARCH_S, t_ns * 1e-9

    def step(self, t_ns: int) -> tuple[OffsetMethod, OffsetMeasurement | None] | None:
        """Search when due; at the end return the method and the offset found, or None for it."""
        t_s, method = t_ns * 1e-9, self._method
        if method is None or self._next_s > t_s > self._next_s - 2.0 * SEARCH_S:
            return None
        self._next_s = t_s + LOOK_S
        found = self._look(method, t_s)
        if found is not None and (self._best is None or found.sigma_s < self._best.sigma_s):
            self._best = found
        sure = self._best is not None and self._best.sigma_s < GOOD_S[method]
        if not sure and 0.0 <= self._end_s - t_s <= SEARCH_S:
            return None
        self._method = None
        fair = self._best is not None and self._best.sigma_s < FAIR_S[method]
        return method, self._best if fair else None

    def _look(self, method: OffsetMethod, t_s: float) -> OffsetMeasurement | None:
        """Return the offset by a flash or a jump in what is kept."""
        kept = self._light if method is OffsetMethod.FLASH else tuple(_speed_rows(side) for side in self._seen)
        if min(len(kept[0]), len(kept[1])) < 8:
            return None
        left, right = (_time_series(list(side)) for side in kept)
        if method is OffsetMethod.FLASH:
            return flash_offset(left, right)
        peak_s = left.t_s[int(np.argmax(np.abs(left.value).max(axis=1)))]
        return jump_offset(left, right) if t_s - peak_s > AFTER_S else None


def _speed_rows(frames: Iterable[_Seen]) -> list[tuple[float, float, float]]:
    """Return the speeds of one camera's frames, each with the time it is of [s], where they are known; remembers them."""
    rows, before = [], None
    for seen in frames:
        if seen.history is not None:
            found = speeds(before, seen.blobs, seen.history)
            seen.speed = None if found is None else (seen.blobs.t_capture_ns * 1e-9 - 0.5 * found[2], found[0], found[1])
            seen.history = None
        if seen.speed is not None:
            rows.append(seen.speed)
        before = seen.blobs
    return rows


def _time_series(rows: list[tuple[float, ...]]) -> TimeSeries:
    """Return rows (time, values) as a time series."""
    table = np.array(rows)
    return TimeSeries(np.ascontiguousarray(table[:, 0]), np.ascontiguousarray(table[:, 1:]))


def speeds(before: Blobs | None, blobs: Blobs, history: BlobHistory) -> tuple[float, float, float] | None:
    """Return the downward and the mean speed of a frame's blobs [px/s] and over what time [s]; None where too few have tracks.

    Where there are as many blobs as in the frame before, the downward speed comes from the two sorted lists of heights, which
    needs no links: many are missed at a take-off.
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


def describe_result(method: OffsetMethod, found: OffsetMeasurement | None, offset_ms: float) -> str:
    """Return the result of a search for the user."""
    if found is None:
        do = "switch a light on and off five times" if method is OffsetMethod.FLASH else "stand still, jump once, stand still"
        return f"no {method} was seen by both cameras within {SEARCH_S:.0f} s; {do}, in view of both"
    late = f"{abs(offset_ms):.1f} ms {'late' if offset_ms >= 0.0 else 'early'}"
    return f"the right camera's stamps are {late} (+-{1e3 * found.sigma_s:.1f}), by a {method}; now corrected"
