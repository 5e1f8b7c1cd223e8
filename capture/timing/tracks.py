"""Tracks of one camera's blobs through its last frames, and the positions of blobs between frames.

Blobs of successive frames are linked in one assignment: by the position a track predicts (at rest after its first frame, at
constant velocity from its second), by area and by colour. Nothing is known here of markers, bodies or the other camera.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from capture.packets import Blobs, Landmarks
from config.arrays import Floats
from config.jit import inline_kernel, kernel

DEPTH = 3  # frames a track remembers: enough for a parabola
MISSED_S = 0.12  # how long a track outlives its last blob
FRAME_S = 1.0 / 30.0
NOISE_PX = 1.0  # of a link, besides how far markers move
MIN_EXTENT_PX = 40.0
# In extents of what is seen (the median distance of blobs from their middle, about 0.45 m of a body):
UNKNOWN_SPEED = 0.12  # usual distance in FRAME_S where the speed is unknown
UNKNOWN_CHANGE = 0.05  # and from the position predicted by the velocity
GATE2 = 12.0  # squared sigmas, beyond which a blob is not the track's
AREA_SIGMA, COLOR_SIGMA = 0.7, 60.0  # usual difference from frame to frame: ln of area, grey levels
MAX_APPEARANCE = 4.0  # largest cost of area and colour
CURVATURE = 0.12  # share of a track's last second difference by which a position between two frames may be wrong


class BlobHistory(NamedTuple):
    """Earlier positions of the blobs of one frame.

    t_ns: of that frame; track: number of each blob's track, never used again, (N,); back_s: how long before the frame each blob
    was seen, newest first, 0 for the frame itself, (N, 3); points_px: where, (N, 3, 2); known: in how many frames, 1 to 3, (N,);
    prediction_error_px: distance of each from its predicted position, (N,); pace_px_s: usual speed of the blobs.
    """

    t_ns: int
    track: NDArray[np.int64]
    back_s: Floats
    points_px: Floats
    known: NDArray[np.int64]
    prediction_error_px: Floats
    pace_px_s: float


class TrackTable(NamedTuple):
    """The present tracks: as in BlobHistory, with area (T,) and colour (T, 3) of the last blob. back_s: before the last frame."""

    track: NDArray[np.int64]
    back_s: Floats
    points_px: Floats
    known: NDArray[np.int64]
    area_px: Floats
    color_rgb: Floats


class SeenBlobs(NamedTuple):
    """What of a frame's blobs links them to tracks: points_px, (N, 2); area_px, (N,); color_rgb, (N, 3)."""

    points_px: Floats
    area_px: Floats
    color_rgb: Floats


def _make_track_table(n: int) -> TrackTable:
    """Return a table of n tracks to be filled."""
    number, known = np.empty(n, np.int64), np.empty(n, np.int64)
    return TrackTable(number, np.empty((n, DEPTH)), np.empty((n, DEPTH, 2)), known, np.empty(n), np.empty((n, 3)))


class BlobTracker:
    """The tracks of one camera."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Restart without tracks."""
        self._t_ns: int | None = None
        self._tracks, self._n_tracks = _make_track_table(0), 0
        self._pace_px_s = 0.0

    def step(self, blobs: Blobs) -> BlobHistory:
        """Link the blobs of the next frame to the tracks; return the history of each.

        Blobs with non-finite positions are linked to nothing.
        """
        n, tracks = len(blobs), self._tracks
        elapsed_s = 0.0 if self._t_ns is None else (blobs.t_capture_ns - self._t_ns) * 1e-9
        seen = SeenBlobs(blobs.points_px, blobs.area_px, blobs.color_rgb)
        row, error_px = self._link(seen, elapsed_s)
        found, kept = _make_track_table(n), _make_track_table(n + len(tracks.known))
        n_kept, pace = _continue_tracks(tracks, seen, row, elapsed_s, self._n_tracks, found, kept)
        if np.isfinite(pace):
            self._pace_px_s = pace
        self._tracks = TrackTable._make(column[:n_kept] for column in kept)
        self._n_tracks, self._t_ns = self._n_tracks + n, blobs.t_capture_ns
        return BlobHistory(blobs.t_capture_ns, found.track, found.back_s, found.points_px, found.known, error_px, self._pace_px_s)

    def _link(self, seen: SeenBlobs, elapsed_s: float) -> tuple[NDArray[np.int64], Floats]:
        """Return the row of each blob's track, -1 for none, and its distance from the predicted position, (N,) [px]."""
        n, n_tracks = len(seen.points_px), len(self._tracks.known)
        row, error_px = np.full(n, -1, np.int64), np.zeros(n)
        if not n or not n_tracks or elapsed_s <= 0.0:
            return row, error_px
        cost, distance = np.empty((n_tracks, n)), np.empty((n_tracks, n))
        if _write_links(self._tracks, seen, elapsed_s, cost, distance, row, error_px):
            return row, error_px
        row[:], error_px[:] = -1, 0.0
        rows, columns = linear_sum_assignment(cost)
        good = cost[rows, columns] < GATE2
        rows, columns = rows[good], columns[good]
        row[columns], error_px[columns] = rows, distance[rows, columns]
        return row, error_px


@kernel
def _continue_tracks(
    tracks: TrackTable,
    seen: SeenBlobs,
    row: NDArray[np.int64],
    elapsed_s: float,
    n_before: int,
    found: TrackTable,
    kept: TrackTable,
) -> tuple[int, float]:
    """Write the track of every blob, and the tracks to keep: those of finite blobs, then for a while those that found none.

    n_before: tracks that there have been so far. Returns how many are kept, and the root mean square speed of linked blobs
    [px/s], NaN where none is linked.
    """
    missed = np.ones(len(tracks.known), np.bool_)
    n_kept = n_linked = 0
    square = 0.0
    for n in range(len(row)):
        r = row[n]
        found.track[n], found.known[n], found.area_px[n] = n_before + n, 1, seen.area_px[n]
        found.back_s[n, 0] = 0.0
        for k in range(DEPTH):
            found.points_px[n, k] = seen.points_px[n]
            found.color_rgb[n, k] = seen.color_rgb[n, k]
        if r < 0:
            found.back_s[n] = 0.0
        else:
            missed[r] = False
            found.track[n], found.known[n] = tracks.track[r], min(tracks.known[r] + 1, DEPTH)
            for k in range(1, DEPTH):
                found.back_s[n, k] = tracks.back_s[r, k - 1] + elapsed_s
                found.points_px[n, k] = tracks.points_px[r, k - 1]
            dx = found.points_px[n, 0, 0] - found.points_px[n, 1, 0]
            dy = found.points_px[n, 0, 1] - found.points_px[n, 1, 1]
            back = max(found.back_s[n, 1], 1e-6)
            square += (dx * dx + dy * dy) / (back * back)
            n_linked += 1
        if np.isfinite(seen.points_px[n, 0]) and np.isfinite(seen.points_px[n, 1]):
            _copy_track(found, n, 0.0, kept, n_kept)
            n_kept += 1
    for r in range(len(missed)):
        if missed[r] and tracks.back_s[r, 0] + elapsed_s < MISSED_S:
            _copy_track(tracks, r, elapsed_s, kept, n_kept)
            n_kept += 1
    return n_kept, np.sqrt(square / n_linked) if n_linked else np.nan


@inline_kernel
def _copy_track(source: TrackTable, r: int, elapsed_s: float, target: TrackTable, n: int) -> None:
    """Copy one track, seen longer ago by `elapsed_s`."""
    target.track[n], target.known[n], target.area_px[n] = source.track[r], source.known[r], source.area_px[r]
    for k in range(DEPTH):
        target.back_s[n, k] = source.back_s[r, k] + elapsed_s
        target.points_px[n, k, 0] = source.points_px[r, k, 0]
        target.points_px[n, k, 1] = source.points_px[r, k, 1]
        target.color_rgb[n, k] = source.color_rgb[r, k]


@inline_kernel
def _measure_extent_px(points_px: Floats) -> float:
    """Return the median distance of finite points from their median position; 0 for less than two."""
    x, y = points_px[:, 0].copy(), points_px[:, 1].copy()
    n = 0
    for i in range(len(x)):
        if np.isfinite(x[i]) and np.isfinite(y[i]):
            x[n], y[n] = x[i], y[i]
            n += 1
    extent = 0.0
    if n > 1:
        middle_x, middle_y = np.median(x[:n]), np.median(y[:n])
        extent = np.median(np.hypot(x[:n] - middle_x, y[:n] - middle_y))
    return float(extent)


@inline_kernel
def _write_costs(tracks: TrackTable, seen: SeenBlobs, elapsed_s: float, cost: Floats, distance: Floats) -> None:
    """Write the cost of every link, at most GATE2, and the distance from the predicted position, (T, N) each."""
    points_px, area_px, color_rgb = seen.points_px, seen.area_px, seen.color_rgb
    extent_px = max(_measure_extent_px(points_px), MIN_EXTENT_PX)
    for i in range(len(tracks.known)):
        back, places = tracks.back_s[i], tracks.points_px[i]
        ahead = (back[0] + elapsed_s) / FRAME_S
        x, y = places[0, 0], places[0, 1]
        sigma = NOISE_PX + UNKNOWN_SPEED * extent_px * ahead
        if tracks.known[i] > 1:
            share = (back[0] + elapsed_s) / max(back[1] - back[0], 1e-6)
            x += share * (places[0, 0] - places[1, 0])
            y += share * (places[0, 1] - places[1, 1])
            sigma = NOISE_PX * (1.0 + share) + UNKNOWN_CHANGE * extent_px * ahead * ahead
        for j in range(len(points_px)):
            dx, dy = points_px[j, 0] - x, points_px[j, 1] - y
            squared = dx * dx + dy * dy
            distance[i, j] = np.sqrt(squared)
            total = squared / (sigma * sigma)
            unlike = np.log(max(area_px[j], 0.1) / max(tracks.area_px[i], 0.1)) / AREA_SIGMA
            unlike = unlike * unlike
            for c in range(3):
                d = (color_rgb[j, c] - tracks.color_rgb[i, c]) / COLOR_SIGMA
                unlike += d * d
            total += min(unlike, MAX_APPEARANCE)
            cost[i, j] = total if total < GATE2 else GATE2  # also where a position is not finite


@kernel
def _write_links(
    tracks: TrackTable,
    seen: SeenBlobs,
    elapsed_s: float,
    cost: Floats,
    distance: Floats,
    row: NDArray[np.int64],
    error_px: Floats,
) -> bool:
    """Write costs and distances of all links, and the links themselves where no two compete; return whether none do."""
    _write_costs(tracks, seen, elapsed_s, cost, distance)
    return link_nearest(cost, distance, row, error_px)


@inline_kernel
def link_nearest(cost: Floats, distance: Floats, row: NDArray[np.int64], error_px: Floats) -> bool:
    """Link each blob to the track of least cost, (N,), or each track to the blob where these are more; False if two want one.

    In nearly all frames none do, and no assignment costs less: what has no partner costs GATE2 whatever it is given.
    """
    n_tracks, n, apart = cost.shape[0], cost.shape[1], True
    by_blob = n <= n_tracks
    taken = np.zeros(max(n_tracks, n), np.bool_)
    for a in range(n if by_blob else n_tracks):
        least, best = GATE2, -1
        for b in range(n_tracks if by_blob else n):
            c = cost[b, a] if by_blob else cost[a, b]
            if c < least:
                least, best = c, b
        if best >= 0:
            apart = apart and not taken[best]
            taken[best] = True
            i, j = (best, a) if by_blob else (a, best)
            row[j], error_px[j] = i, distance[i, j]
    return apart


def extrapolate_blobs(blobs: Blobs, history: BlobHistory, ahead_s: Floats | float, t_ns: int | None = None) -> Blobs:
    """Return blobs moved along their tracks to another time.

    Positions are interpolated by a parabola through the last three. A blob without a track stays, and its sigma grows by the
    usual speed; that of others grows by how much their track bends.

    Args:
        blobs: the markers detected in it.
        history: where the blobs were before.
        ahead_s: after they were seen (negative: before), one value or (N,) [s].
        t_ns: their new timestamp; None: the old one.
    """
    n = len(blobs)
    ahead = np.empty(n)
    ahead[:] = ahead_s
    points, sigma = np.empty((n, 2)), np.empty(n)
    _interpolate_tracks(history, ahead, blobs.sigma_px, points, sigma)
    t_ns = blobs.t_capture_ns if t_ns is None else t_ns
    parts = (points, blobs.area_px, blobs.color_rgb, sigma)
    return Blobs(blobs.camera, blobs.index, t_ns, *parts, blobs.light, blobs.landmarks)


@dataclass(frozen=True, slots=True)
class LandmarkHistory:
    """The landmarks of one frame and of the one before: t_ns: of the frame; back_s: how long before it the other was taken."""

    t_ns: int
    landmarks: Landmarks
    before: Landmarks
    back_s: float

    def extrapolate(self, ahead_s: Floats) -> Landmarks:
        """Return the landmarks at other times, (33,) after the frame (negative: before) [s], at constant velocity by name."""
        now = self.landmarks
        velocity_px_s = (now.image_px - self.before.image_px) / self.back_s
        return replace(now, image_px=now.image_px + ahead_s[:, None] * velocity_px_s)


class LandmarkTracker:
    """Keeps the last landmarks of one camera."""

    def __init__(self) -> None:
        self._last: tuple[int, Landmarks] | None = None

    def step(self, blobs: Blobs) -> LandmarkHistory | None:
        """Take the next frame; return its landmarks with those before, None where either is missing."""
        if blobs.landmarks is None:
            return None
        last, self._last = self._last, (blobs.t_capture_ns, blobs.landmarks)
        back_s = 0.0 if last is None else (blobs.t_capture_ns - last[0]) * 1e-9
        known = last is not None and 0.0 < back_s <= MISSED_S
        return LandmarkHistory(blobs.t_capture_ns, blobs.landmarks, last[1], back_s) if last is not None and known else None


@kernel
def _interpolate_tracks(history: BlobHistory, ahead: Floats, own_sigma: Floats, points: Floats, sigma: Floats) -> None:
    """Interpolate every track at its own time by Lagrange's polynomial through its newest positions."""
    back_s, places = history.back_s, history.points_px
    for n in range(len(own_sigma)):
        t, count = ahead[n], history.known[n]
        x = y = weight2 = 0.0
        for a in range(count):
            weight = 1.0
            for b in range(count):
                if b != a:
                    gap = back_s[n, b] - back_s[n, a]  # of times -back
                    weight *= (t + back_s[n, b]) / gap
            x += weight * places[n, a, 0]
            y += weight * places[n, a, 1]
            weight2 += weight * weight
        points[n, 0], points[n, 1] = x, y
        if count == 1:
            error = history.pace_px_s * abs(t)
        else:
            u = t / back_s[n, 1]  # -1: at the position before; between, the line is off by at most an eighth of the bend
            error = CURVATURE * 4.0 * abs(u * (1.0 + u)) * history.prediction_error_px[n]
        sigma[n] = np.sqrt(own_sigma[n] * own_sigma[n] * max(weight2, 1.0) + error * error)
