"""Tracks of one camera's blobs through its last frames, and the positions of blobs between frames.

Blobs of successive frames are linked in one assignment: by the position a track predicts (at rest after its first frame, at
constant velocity from its second), by area and by colour. Nothing is known here of markers, bodies or the other camera.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from capture.packets import Blobs
from config.arrays import Floats
from config.jit import kernel

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


def _empty_table() -> TrackTable:
    none = np.zeros(0, np.int64)
    return TrackTable(none, np.zeros((0, DEPTH)), np.zeros((0, DEPTH, 2)), none.copy(), np.zeros(0), np.zeros((0, 3)))


class Tracks:
    """The tracks of one camera."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Restart without tracks."""
        self._t_ns: int | None = None
        self._tracks, self._n_tracks = _empty_table(), 0
        self._pace_px_s = 0.0

    def step(self, blobs: Blobs) -> BlobHistory:
        """Link the blobs of the next frame to the tracks; return the history of each.

        Blobs with non-finite positions are linked to nothing.
        """
        n, tracks = len(blobs), self._tracks
        elapsed_s = 0.0 if self._t_ns is None else (blobs.t_capture_ns - self._t_ns) * 1e-9
        row, error_px = self._link(blobs, elapsed_s)
        back, points, known = np.zeros((n, DEPTH)), np.empty((n, DEPTH, 2)), np.ones(n, np.int64)
        points[:] = blobs.points_px[:, None]
        old = row >= 0
        back[old, 1:] = tracks.back_s[row[old], :-1] + elapsed_s
        points[old, 1:] = tracks.points_px[row[old], :-1]
        known[old] = np.minimum(tracks.known[row[old]] + 1, DEPTH)
        speed = np.linalg.norm(points[old, 0] - points[old, 1], axis=1) / np.maximum(back[old, 1], 1e-6)
        if len(speed) and np.isfinite(pace := float(np.sqrt(speed @ speed / len(speed)))):
            self._pace_px_s = pace
        number = np.arange(self._n_tracks, self._n_tracks + n)
        number[old] = tracks.track[row[old]]
        self._n_tracks += n
        self._keep(TrackTable(number, back, points, known, blobs.area_px, blobs.color_rgb), row, elapsed_s)
        self._t_ns = blobs.t_capture_ns
        return BlobHistory(blobs.t_capture_ns, number, back, points, known, error_px, self._pace_px_s)

    def _link(self, blobs: Blobs, elapsed_s: float) -> tuple[NDArray[np.int64], Floats]:
        """Return the row of each blob's track, -1 for none, and its distance from the predicted position, (N,) [px]."""
        row, error_px = np.full(len(blobs), -1, np.int64), np.zeros(len(blobs))
        n_tracks = len(self._tracks.known)
        if not len(blobs) or not n_tracks or elapsed_s <= 0.0:
            return row, error_px
        cost, distance = np.empty((n_tracks, len(blobs))), np.empty((n_tracks, len(blobs)))
        extent = max(_extent_px(blobs.points_px), MIN_EXTENT_PX)
        _costs(self._tracks, blobs.points_px, blobs.area_px, blobs.color_rgb, elapsed_s, extent, cost, distance)
        rows, columns = linear_sum_assignment(cost)
        good = cost[rows, columns] < GATE2
        rows, columns = rows[good], columns[good]
        row[columns], error_px[columns] = rows, distance[rows, columns]
        return row, error_px

    def _keep(self, found: TrackTable, row: NDArray[np.int64], elapsed_s: float) -> None:
        """Keep the blobs' tracks, and for a while the tracks that found no blob."""
        old = self._tracks._replace(back_s=self._tracks.back_s + elapsed_s)
        missed = np.ones(len(old.known), bool)
        missed[row[row >= 0]] = False
        missed &= old.back_s[:, 0] < MISSED_S
        finite = np.isfinite(found.points_px[:, 0]).all(axis=1)
        self._tracks = TrackTable(*(np.concatenate([new[finite], kept[missed]]) for new, kept in zip(found, old, strict=True)))


@kernel
def _extent_px(points_px: Floats) -> float:
    """Return the median distance of finite points from their median position; 0 for less than two."""
    x, y = points_px[:, 0].copy(), points_px[:, 1].copy()
    n = 0
    for i in range(len(x)):
        if np.isfinite(x[i]) and np.isfinite(y[i]):
            x[n], y[n] = x[i], y[i]
            n += 1
    if n < 2:
        return 0.0
    middle_x, middle_y = np.median(x[:n]), np.median(y[:n])
    far = np.hypot(x[:n] - middle_x, y[:n] - middle_y)
    return float(np.median(far))


@kernel
def _costs(
    tracks: TrackTable,
    points_px: Floats,
    area_px: Floats,
    color_rgb: Floats,
    elapsed_s: float,
    extent_px: float,
    cost: Floats,
    distance: Floats,
) -> None:
    """Write the cost of every link, at most GATE2, and the distance from the predicted position, (T, N) each."""
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


def moved(blobs: Blobs, history: BlobHistory, ahead_s: Floats | float) -> Blobs:
    """Return blobs moved along their tracks to `ahead_s` after they were seen (negative: before), one value or (N,) [s].

    Positions are interpolated by a parabola through the last three. A blob without a track stays, and its sigma grows by the
    usual speed; that of others grows by how much their track bends.
    """
    n = len(blobs)
    ahead = np.broadcast_to(np.asarray(ahead_s, float), n)
    points, sigma = np.empty((n, 2)), np.empty(n)
    _move(history, ahead, blobs.sigma_px, points, sigma)
    return replace(blobs, points_px=points, sigma_px=sigma)


@kernel
def _move(history: BlobHistory, ahead: Floats, own_sigma: Floats, points: Floats, sigma: Floats) -> None:
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
