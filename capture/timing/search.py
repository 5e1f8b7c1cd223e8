"""Search for the cameras' time offsets on request, by a flash or a jump in what all saw in the last seconds."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from capture.clock import OffsetMethod
from capture.packets import Blobs
from capture.timing.events import OffsetMeasurement, TimeSeries, estimate_flash_offset, estimate_jump_offset
from capture.timing.tracks import BlobHistory
from config.settings import CAMERA_NAMES

KEPT_S = 12.0
SEARCH_S = 20.0  # how long to wait for a flash or a jump
LOOK_S = 0.5  # between two attempts
LINKED = 0.7  # share of the blobs that must have tracks for their speed to be known
AFTER_S = 1.0  # how long after its peak a jump is over
GOOD_S = {OffsetMethod.FLASH: 0.008, OffsetMethod.JUMP: 0.003}  # sigma at which the search ends at once
FAIR_S = {OffsetMethod.FLASH: 0.015, OffsetMethod.JUMP: 0.008}  # and at which a result is used at its end


@dataclass(slots=True)
class _SeenFrame:
    """A frame, the history of its blobs until its speeds are asked for, then these: time [s], downward and mean [px/s]."""

    blobs: Blobs
    history: BlobHistory | None
    speed: tuple[float, float, float] | None = None


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The result of a search: of each camera but the first, how late its timestamps are, None where unknown."""

    method: OffsetMethod
    found: tuple[tuple[int, OffsetMeasurement | None], ...]


class TimeSearch:
    """Keeps the cameras' last seconds, and searches them for offsets on request: only then speeds are computed."""

    def __init__(self, n_cameras: int = 2) -> None:
        self._light: tuple[deque[tuple[float, float]], ...] = tuple(deque() for _ in range(n_cameras))
        self._seen: tuple[deque[_SeenFrame], ...] = tuple(deque() for _ in range(n_cameras))
        self._method: OffsetMethod | None = None
        self._end_s = self._next_s = 0.0
        self._best: dict[int, OffsetMeasurement] = {}

    def note(self, blobs: Blobs, history: BlobHistory | None) -> None:
        """Add a frame with its uncorrected timestamp, and the history of its blobs."""
        t_s, light, seen = blobs.t_capture_ns * 1e-9, self._light[blobs.camera], self._seen[blobs.camera]
        if light and t_s <= light[-1][0]:
            light.clear()
            seen.clear()
        light.append((t_s, blobs.light))
        seen.append(_SeenFrame(blobs, history))
        while light[0][0] < t_s - KEPT_S:
            light.popleft()
            seen.popleft()

    def start(self, method: OffsetMethod, t_ns: int) -> None:
        """Begin to search, at the time of the newest timestamp."""
        self._method, self._best = method, {}
        self._end_s, self._next_s = t_ns * 1e-9 + SEARCH_S, t_ns * 1e-9

    def step(self, t_ns: int) -> SearchResult | None:
        """Search when due; return the result at the end."""
        t_s, method = t_ns * 1e-9, self._method
        if method is None or self._next_s > t_s > self._next_s - 2.0 * SEARCH_S:
            return None
        self._next_s = t_s + LOOK_S
        others = range(1, len(self._seen))
        for camera in others:
            found = self._look(method, camera, t_s)
            if found is not None and (camera not in self._best or found.sigma_s < self._best[camera].sigma_s):
                self._best[camera] = found
        sure = all(camera in self._best and self._best[camera].sigma_s < GOOD_S[method] for camera in others)
        if not sure and 0.0 <= self._end_s - t_s <= SEARCH_S:
            return None
        self._method = None
        best = ((camera, self._best.get(camera)) for camera in others)
        fair = ((camera, found if found is not None and found.sigma_s < FAIR_S[method] else None) for camera, found in best)
        return SearchResult(method, tuple(fair))

    def _look(self, method: OffsetMethod, camera: int, t_s: float) -> OffsetMeasurement | None:
        """Return a camera's offset by a flash or a jump in what is kept of it and of the first."""
        pair = (0, camera)
        kept = [self._light[c] if method is OffsetMethod.FLASH else _collect_speeds(self._seen[c]) for c in pair]
        if min(len(kept[0]), len(kept[1])) < 8:
            return None
        first, other = (_series_from_rows(list(rows)) for rows in kept)
        if method is OffsetMethod.FLASH:
            return estimate_flash_offset(first, other)
        peak_s = first.t_s[int(np.argmax(np.abs(first.value).max(axis=1)))]
        return estimate_jump_offset(first, other) if t_s - peak_s > AFTER_S else None


def _collect_speeds(frames: Iterable[_SeenFrame]) -> list[tuple[float, float, float]]:
    """Return the speeds of one camera's frames, each with the time it is of [s], where they are known; remembers them."""
    rows, before = [], None
    for seen in frames:
        if seen.history is not None:
            found = measure_speeds(before, seen.blobs, seen.history)
            seen.speed = None if found is None else (seen.blobs.t_capture_ns * 1e-9 - 0.5 * found[2], found[0], found[1])
            seen.history = None
        if seen.speed is not None:
            rows.append(seen.speed)
        before = seen.blobs
    return rows


def _series_from_rows(rows: list[tuple[float, ...]]) -> TimeSeries:
    """Return rows (time, values) as a time series."""
    table = np.array(rows)
    return TimeSeries(np.ascontiguousarray(table[:, 0]), np.ascontiguousarray(table[:, 1:]))


def measure_speeds(before: Blobs | None, blobs: Blobs, history: BlobHistory) -> tuple[float, float, float] | None:
    """Return the downward and the mean speed of a frame's blobs [px/s] and over what time [s]; None where too few have tracks.

    Where there are as many blobs as in the frame before, the downward speed comes from the two sorted lists of heights, which
    needs no links: many are missed at a take-off.

    Args:
        before: blobs of the frame before; None: there is none.
        blobs: of this frame.
        history: where the blobs were before.
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


def describe_offset_search(method: OffsetMethod, camera: int, found: OffsetMeasurement | None) -> str:
    """Return the result of a search for one camera, for the user.

    Args:
        method: by which it was searched.
        found: None: nothing was found.
    """
    name = CAMERA_NAMES[camera]
    if found is None:
        do = "switch a light on and off five times" if method is OffsetMethod.FLASH else "stand still, jump once, stand still"
        both = f"the {CAMERA_NAMES[0]} and the {name} camera"
        return f"no {method} was seen by {both} within {SEARCH_S:.0f} s; {do}, in view of both"
    offset_ms = 1e3 * found.offset_s
    late = f"{abs(offset_ms):.1f} ms {'late' if offset_ms >= 0.0 else 'early'}"
    return f"the {name} camera's stamps are {late} (+-{1e3 * found.sigma_s:.1f}), by a {method}; now corrected"
