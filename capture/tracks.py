"""Tracks of one camera's blobs through its last frames, and where along them each blob was at another moment.

Blobs of successive frames are linked all at once: by the place a track is expected at (at rest after its first frame, at constant
velocity from its second), by area and by colour. Nothing is known here of markers, bodies or the other camera.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from capture.packets import Blobs, Floats
from config.jit import kernel

DEPTH = 3  # frames a track remembers: as many as a parabola goes through
MISSED_S = 0.12  # how long a track outlives its last blob
FRAME_S = 1.0 / 30.0
NOISE_PX = 1.0  # of a link, besides how far markers move
LEAST_EXTENT_PX = 40.0
# In extents of what is seen (the median distance of blobs from their middle, about 0.45 m of a body):
UNKNOWN_SPEED = 0.12  # how far a blob usually goes in FRAME_S where nothing is known of its speed
UNKNOWN_CHANGE = 0.05  # and how far from where its velocity would have it
GATE2 = 12.0  # squared sigmas, beyond which a blob is not the track's; a track left over and a blob left over cost as much
AREA_SIGMA, COLOR_SIGMA = 0.7, 60.0  # usual difference from frame to frame: ln of area, grey levels
MOST_ALIKE = 4.0  # most that area and colour may count
CURVATURE = 0.12  # share of a track's last second difference by which a place between two frames may be off


@dataclass(frozen=True, slots=True)
class History:
    """Where the blobs of one frame were before.

    t_ns: of that frame; track: number of each blob's track, never used again, (N,); back_s: how long before it each blob was
    seen, newest first and 0 for the frame itself, (N, 3); points_px: where, (N, 3, 2); known: in how many frames, 1 to 3, (N,);
    strangeness_px: how far from the expected place each was found, (N,); pace_px_s: how fast blobs of this frame usually move.
    """

    t_ns: int
    track: NDArray[np.int64]
    back_s: Floats
    points_px: Floats
    known: NDArray[np.int64]
    strangeness_px: Floats
    pace_px_s: float


class Tracks:
    """The tracks of one camera."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Start anew."""
        self._t_ns: int | None = None
        self._seen_s = np.zeros((0, DEPTH))  # before self._t_ns, newest first
        self._points = np.zeros((0, DEPTH, 2))
        self._known = np.zeros(0, np.int64)
        self._area, self._color = np.zeros(0), np.zeros((0, 3))
        self._track, self._n_tracks = np.zeros(0, np.int64), 0
        self._pace_px_s = 0.0

    def step(self, blobs: Blobs) -> History:
        """Link the blobs of the next frame to the tracks and give where each was before.

        Blobs whose place is no finite number are linked to nothing.
        """
        n = len(blobs)
        gone_s = 0.0 if self._t_ns is None else (blobs.t_capture_ns - self._t_ns) * 1e-9
        track, strange = self._linked(blobs, gone_s)
        back, points, known = np.zeros((n, DEPTH)), np.empty((n, DEPTH, 2)), np.ones(n, np.int64)
        points[:] = blobs.points_px[:, None]
        old = track >= 0
        back[old, 1:] = self._seen_s[track[old], :-1] + gone_s
        points[old, 1:] = self._points[track[old], :-1]
        known[old] = np.minimum(self._known[track[old]] + 1, DEPTH)
        speed = np.linalg.norm(points[old, 0] - points[old, 1], axis=1) / np.maximum(back[old, 1], 1e-6)
        if len(speed) and np.isfinite(pace := float(np.sqrt(speed @ speed / len(speed)))):
            self._pace_px_s = pace
        number = np.arange(self._n_tracks, self._n_tracks + n)
        number[old] = self._track[track[old]]
        self._n_tracks += n
        self._keep(blobs, gone_s, track, (back, points, known, number))
        return History(blobs.t_capture_ns, number, back, points, known, strange, self._pace_px_s)

    def _linked(self, blobs: Blobs, gone_s: float) -> tuple[NDArray[np.int64], Floats]:
        """Give the track of every blob, -1 for none, and how far from the expected place each is, (N,) [px]."""
        track, strange = np.full(len(blobs), -1, np.int64), np.zeros(len(blobs))
        if not len(blobs) or not len(self._known) or gone_s <= 0.0:
            return track, strange
        cost, far = np.empty((len(self._known), len(blobs))), np.empty((len(self._known), len(blobs)))
        appearance = (self._area, self._color, blobs.area_px, blobs.color_rgb)
        extent = max(_extent_px(blobs.points_px), LEAST_EXTENT_PX)
        _costs(self._seen_s, self._points, self._known, blobs.points_px, gone_s, extent, appearance, (cost, far))
        rows, columns = linear_sum_assignment(cost)
        good = cost[rows, columns] < GATE2
        rows, columns = rows[good], columns[good]
        track[columns], strange[columns] = rows, far[rows, columns]
        return track, strange

    def _keep(
        self,
        blobs: Blobs,
        gone_s: float,
        track: NDArray[np.int64],
        found: tuple[Floats, Floats, NDArray[np.int64], NDArray[np.int64]],
    ) -> None:
        """Remember the blobs as the tracks' newest places, and for a while the tracks that found none."""
        missed = np.ones(len(self._known), bool)
        missed[track[track >= 0]] = False
        ages = self._seen_s + gone_s
        missed &= ages[:, 0] < MISSED_S
        finite = np.isfinite(blobs.points_px).all(axis=1)
        back, points, known, number = found
        self._seen_s = np.concatenate([back[finite], ages[missed]])
        self._points = np.concatenate([points[finite], self._points[missed]])
        self._known = np.concatenate([known[finite], self._known[missed]])
        self._track = np.concatenate([number[finite], self._track[missed]])
        self._area = np.concatenate([blobs.area_px[finite], self._area[missed]])
        self._color = np.concatenate([blobs.color_rgb[finite], self._color[missed]])
        self._t_ns = blobs.t_capture_ns


@kernel
def _extent_px(points_px: Floats) -> float:
    """Give the median distance of points from their median place, of those that are numbers; 0 for less than two."""
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
    seen_s: Floats,
    points: Floats,
    known: NDArray[np.int64],
    blobs_px: Floats,
    gone_s: float,
    extent_px: float,
    appearance: tuple[Floats, Floats, Floats, Floats],
    out: tuple[Floats, Floats],
) -> None:
    """Give the cost of every link, at most GATE2, and the distance from the expected place: tracks (T, ...), blobs (N, ...)."""
    area, color, blob_area, blob_color = appearance
    cost, far = out
    for i in range(len(known)):
        ahead = (seen_s[i, 0] + gone_s) / FRAME_S
        x, y = points[i, 0, 0], points[i, 0, 1]
        sigma = NOISE_PX + UNKNOWN_SPEED * extent_px * ahead
        if known[i] > 1:
            share = (seen_s[i, 0] + gone_s) / max(seen_s[i, 1] - seen_s[i, 0], 1e-6)
            x += share * (points[i, 0, 0] - points[i, 1, 0])
            y += share * (points[i, 0, 1] - points[i, 1, 1])
            sigma = NOISE_PX * (1.0 + share) + UNKNOWN_CHANGE * extent_px * ahead * ahead
        for j in range(len(blobs_px)):
            dx, dy = blobs_px[j, 0] - x, blobs_px[j, 1] - y
            squared = dx * dx + dy * dy
            far[i, j] = np.sqrt(squared)
            total = squared / (sigma * sigma)
            unlike = np.log(max(blob_area[j], 0.1) / max(area[i], 0.1)) / AREA_SIGMA
            unlike = unlike * unlike
            for c in range(3):
                d = (blob_color[j, c] - color[i, c]) / COLOR_SIGMA
                unlike += d * d
            total += min(unlike, MOST_ALIKE)
            cost[i, j] = total if total < GATE2 else GATE2  # also where a place is no number


def moved(blobs: Blobs, history: History, ahead_s: Floats | float, order: int = 2) -> Blobs:
    """Give blobs where they were `ahead_s` later (negative: earlier) than they were seen, one or (N,) [s], along their tracks.

    A parabola through the last three places (order 2) or a line through two (order 1). What has no track stays where it is, less
    sure by what blobs usually move; what has one is less sure by how much its track bends. Stamps are left to the caller.
    """
    n = len(blobs)
    ahead = np.broadcast_to(np.asarray(ahead_s, float), n)
    points, sigma = np.empty((n, 2)), np.empty(n)
    known = np.minimum(history.known, order + 1)
    _move(
        history.back_s,
        history.points_px,
        known,
        (ahead, blobs.sigma_px, history.strangeness_px),
        history.pace_px_s,
        points,
        sigma,
    )
    return replace(blobs, points_px=points, sigma_px=sigma)


@kernel
def _move(
    back_s: Floats,
    places: Floats,
    known: NDArray[np.int64],
    each: tuple[Floats, Floats, Floats],
    pace_px_s: float,
    points: Floats,
    sigma: Floats,
) -> None:
    """Interpolate every track at its own moment: Lagrange's polynomial through the `known` newest places."""
    ahead, own_sigma, strange = each
    for n in range(len(known)):
        t, count = ahead[n], known[n]
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
            off = pace_px_s * abs(t)
        else:
            u = t / back_s[n, 1]  # -1: at the place before; between, the line is off by at most an eighth of the bend
            off = CURVATURE * 4.0 * abs(u * (1.0 + u)) * strange[n]
        sigma[n] = np.sqrt(own_sigma[n] * own_sigma[n] * max(weight2, 1.0) + off * off)
