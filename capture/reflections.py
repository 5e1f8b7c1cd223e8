"""Bright spots that are no markers, told by one camera alone: they stay where they are while the body goes elsewhere.

A planted foot stays, too, and for long, but never while the rest of the body moves by more than its own size. So a spot is taken
for a reflection once it has been seen within a pixel or so, flickering or not, while the middle of the other spots moved by nine
tenths of their extent, and it is a marker again as soon as it moves. With a known number of markers no more are left out than
there are too many.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
STAY_PX = 1.5  # a spot this near to where it was has stayed
LEAST_S = 2.0  # how long it must have been known
LEAST_SHARE = 0.35  # of the frames since, in which it must have been seen: markers that come by are not the same spot
FORGET_S = 5.0  # how long it may not be seen: reflections flicker
MIDDLE = (0.15, 0.5, 0.85)  # quantiles of the others' places that are their extent and their middle
TRAVEL = 0.9  # of the others' extent, by which their middle must have moved meanwhile
GROWTH = 1.6  # or the factor by which their extent must have changed, when the body comes nearer
MIN_OTHERS = 4  # spots that are a body
MAX_SPOTS = 64
SETTLE = 0.05  # share of the way a place follows its spot, so that noise averages out


@dataclass
class _Spot:
    """A place at which something bright was: seen first and last [s], in how many frames of how many since, and the range of the
    others' middles and extents meanwhile."""

    place_px: Floats
    since_s: float
    seen_s: float
    low_px: Floats
    high_px: Floats
    least_px: float
    most_px: float
    n_seen: int = 1
    n_frames: int = 1
    still: bool = False

    def note(self, middle_px: Floats, extent_px: float) -> None:
        """Note where the others are now, and judge."""
        np.minimum(self.low_px, middle_px, out=self.low_px)
        np.maximum(self.high_px, middle_px, out=self.high_px)
        self.least_px, self.most_px = min(self.least_px, extent_px), max(self.most_px, extent_px)
        travel_px = float((self.high_px - self.low_px).max())
        known = self.seen_s - self.since_s >= LEAST_S and self.n_seen >= LEAST_SHARE * self.n_frames
        self.still = self.still or (known and (travel_px > TRAVEL * self.most_px or self.most_px > GROWTH * self.least_px))


class StandingSpots:
    """The standing spots of one camera; frames must come in order."""

    def __init__(self, n_markers: int | None = None) -> None:
        """Prepare. n_markers: how many the performer wears, None where that is not known."""
        self._n_markers = n_markers
        self._spots: list[_Spot] = []

    @property
    def places_px(self) -> Floats:
        """Where reflections are known, (R, 2)."""
        return np.array([spot.place_px for spot in self._spots if spot.still]).reshape(-1, 2)

    def markers(self, points_px: Floats, t_ns: int) -> NDArray[np.bool_]:
        """Tell which bright spots (N, 2) may be markers, (N,); the others are reflections."""
        t_s = 1e-9 * t_ns
        self._spots = [spot for spot in self._spots if t_s - spot.seen_s <= FORGET_S]
        for spot in self._spots:
            spot.n_frames += 1
        at = self._found(points_px, t_s)
        keep = np.array([not self._spots[k].still if k >= 0 else True for k in at], bool)
        self._judge(points_px, at, keep)
        if self._n_markers is not None:
            spare = max(len(points_px) - self._n_markers, 0)
            out = np.flatnonzero(~keep)
            order = np.argsort([self._spots[at[i]].since_s for i in out], kind="stable")  # those known longest go first
            keep[out[order[spare:]]] = True
        return keep

    def _found(self, points_px: Floats, t_s: float) -> NDArray[np.int64]:
        """Give the spot of every point, (N,), -1 for none: one that stayed, or a new one."""
        at = np.full(len(points_px), -1, np.int64)
        n_known = len(self._spots)
        if n_known and len(points_px):
            places = np.array([spot.place_px for spot in self._spots])
            apart = np.linalg.norm(points_px[:, None] - places[None], axis=2)
            for i in np.argsort(apart.min(axis=1), kind="stable"):
                k = int(np.argmin(apart[i]))
                if apart[i, k] <= STAY_PX:
                    at[i] = k
                    apart[:, k] = np.inf
        for i, k in enumerate(at.tolist()):
            if k >= 0:
                spot = self._spots[k]
                spot.place_px += SETTLE * (points_px[i] - spot.place_px)
                spot.seen_s = t_s
                spot.n_seen += 1
            elif len(self._spots) < MAX_SPOTS:
                at[i] = len(self._spots)
                nowhere = np.full(2, np.inf)
                self._spots.append(_Spot(points_px[i].copy(), t_s, t_s, nowhere, -nowhere, np.inf, 0.0))
        return at

    def _judge(self, points_px: Floats, at: NDArray[np.int64], keep: NDArray[np.bool_]) -> None:
        """Let every spot note where the others are that are not known to stay."""
        if int(keep.sum()) < MIN_OTHERS:
            return
        body = points_px[keep]
        low, middle, high = np.quantile(body, MIDDLE, axis=0)  # a reflection that is not known yet stands apart
        extent = float((high - low).max())
        for k in at.tolist():
            if k >= 0:
                self._spots[k].note(middle, extent)
