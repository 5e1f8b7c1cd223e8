"""Two or three markers in one blob, taken apart where their tracks of the last frames expect them.

Each camera's markers are followed at constant velocity. Where a track finds no blob of its own but is expected within that of
another, discs of the sizes both had when they were apart are laid over the blob's pixels by least squares, from the expected
places on. They are believed where they explain the pixels far better than one disc, so that a marker hidden beside another, or
one blurred by motion, stays one. What touches from the start is left to `part_blobs`.
"""

import numpy as np
from numpy.typing import NDArray

from capture.background import Image
from capture.disc_fit import fit_discs
from capture.marker_blobs import Markers
from config.jit import kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MOST = 128  # markers; more are not followed
KNOWN_S = 0.25  # for so long a track must have had a blob of its own to be sought in another's
SHARED_S = 2.0  # for so long it may then have none
LOST_S = 0.25  # how long a track outlives its last marker
GATE_SHARE = 0.03  # of the image's width and height together / 2, in 1/30 s: how far a marker may be from where it is expected
MARGIN_PX = 1.5  # around a blob's box: a track expected here may be in it
SETTLE = 0.6  # share of the new velocity
AREA_FOLLOW = 0.3
# Columns of a track: place, velocity [px/s], area, peak, colour, seconds since it was
# seen, seconds with a blob of its own since it had none for too long, seconds in another's since.
X, Y, VX, VY, AREA, PEAK, RED, GREEN, BLUE, LOST, OWN, SHARED = range(12)
N_TRACK = 12


class TouchingMarkers:
    """Follows one camera's markers and takes those apart that touch."""

    def __init__(self) -> None:
        self._tracks = np.zeros((0, N_TRACK))
        self._t_ns: int | None = None

    def step(
        self, image: Image, markers: Markers, found: tuple[Floats, Floats], table: Image | None, level: float, t_ns: int
    ) -> Markers:
        """Give the markers of a frame with those that touch taken apart.

        found: first and last column, first and last row of each marker, (N, 4), and how far above `level` its best pixel is,
        (N,);
        table: weights of colours (32, 32, 32), None: the brightest channel counts.
        """
        boxes, peaks = found
        gone_s = 0.0 if self._t_ns is None else (t_ns - self._t_ns) * 1e-9
        self._t_ns = t_ns
        if len(markers) > MOST or gone_s > LOST_S or gone_s < 0.0:
            self._tracks = np.zeros((0, N_TRACK))
        tracks = self._tracks
        ahead(tracks, gone_s)
        gate = GATE_SHARE * 0.5 * (image.shape[0] + image.shape[1]) * max(30.0 * gone_s, 0.5)
        track_of, host = np.empty(len(markers), np.int64), np.empty(len(tracks), np.int64)
        shared = _link(tracks, markers.points_px, markers.area_px, boxes, gate, track_of, host)
        out = self._apart(image, markers, found, table, level, track_of, host) if shared else None
        if out is not None:
            markers, track_of, peaks = out
        kept = np.empty((len(markers) + len(tracks), N_TRACK))
        n = _keep(tracks, (markers.points_px, markers.area_px, markers.color_rgb, peaks), track_of, gone_s, kept)
        self._tracks = kept[: min(n, 2 * MOST)]
        return markers

    def alone(self, boxes: Floats, t_ns: int) -> NDArray[np.bool_]:
        """Mark boxes (N, 4) in which one marker, long known, is expected and no other: what seems to be two there is one."""
        gone_s = 0.0 if self._t_ns is None else (t_ns - self._t_ns) * 1e-9
        x, y = (self._tracks[:, [X, Y]] + gone_s * self._tracks[:, [VX, VY]]).T
        inside = (x >= boxes[:, :1] - MARGIN_PX) & (x <= boxes[:, 1:2] + MARGIN_PX)
        inside &= (y >= boxes[:, 2:3] - MARGIN_PX) & (y <= boxes[:, 3:] + MARGIN_PX)
        known = inside & (self._tracks[:, OWN] >= KNOWN_S)
        return np.asarray((inside.sum(axis=1) == 1) & known.any(axis=1))

    def _apart(
        self,
        image: Image,
        markers: Markers,
        given: tuple[Floats, Floats],
        table: Image | None,
        level: float,
        track_of: Ints,
        host: Ints,
    ) -> tuple[Markers, Ints, Floats] | None:
        """Give markers, tracks and peaks with the blobs that several tracks are expected in replaced; None where none is."""
        boxes, peaks = given
        whole = np.ones(len(markers), np.bool_)
        found: list[tuple[int, Floats, Floats]] = []
        for j in np.unique(host[host >= 0]):
            inside = np.append(np.nonzero(host == j)[0], track_of[j] if track_of[j] >= 0 else [])
            inside = inside.astype(np.int64)
            if not 2 <= len(inside) <= 3 or self._tracks[inside, OWN].min() < KNOWN_S:
                continue
            t = self._tracks[inside]
            fit = fit_discs(image, boxes[j], float(markers.area_px[j]), t[:, [X, Y]], t[:, AREA], t[:, PEAK], table, level)
            if fit is None:
                continue
            whole[j] = False
            found += [(int(i), place, sigma) for i, place, sigma in zip(inside, *fit, strict=True)]
        if not found:
            return None
        which = np.array([i for i, _, _ in found])
        t = self._tracks[which]
        apart = Markers(
            np.concatenate([markers.points_px[whole], np.array([place for _, place, _ in found])]),
            np.concatenate([markers.area_px[whole], t[:, AREA]]),
            np.concatenate([markers.color_rgb[whole], t[:, [RED, GREEN, BLUE]]]),
            np.concatenate([markers.sigma_px[whole], np.array([sigma for _, _, sigma in found])]),
            markers.peak,
            np.concatenate([markers.chosen[whole], np.full(len(found), -1)]),
        )
        return apart, np.concatenate([track_of[whole], which]), np.concatenate([peaks[whole], np.full(len(which), np.nan)])


@kernel
def ahead(tracks: Floats, gone_s: float) -> None:
    """Move tracks on by their velocities."""
    for i in range(len(tracks)):
        tracks[i, X] += gone_s * tracks[i, VX]
        tracks[i, Y] += gone_s * tracks[i, VY]


@kernel
def _link(tracks: Floats, points: Floats, area: Floats, boxes: Floats, gate: float, track_of: Ints, host: Ints) -> bool:
    """Fill the track of each marker, nearest pairs first, and for tracks left over the marker whose box they lie in; -1: none.

    Tells whether any lies in one.
    """
    track_of[:] = -1
    host[:] = -1
    taken = np.zeros(len(tracks), np.bool_)
    while True:
        best, which, whose = gate * gate, -1, -1
        for j in range(len(points)):
            if track_of[j] >= 0:
                continue
            for i in range(len(tracks)):
                if taken[i]:
                    continue
                dx, dy = points[j, 0] - tracks[i, 0], points[j, 1] - tracks[i, 1]
                squared = dx * dx + dy * dy
                if squared < best:
                    best, which, whose = squared, j, i
        if which < 0:
            break
        track_of[which] = whose
        taken[whose] = True
    some = False
    for i in range(len(tracks)):
        if taken[i] or tracks[i, 10] < KNOWN_S:
            continue
        x, y = tracks[i, 0], tracks[i, 1]
        for j in range(len(points)):
            b = boxes[j]
            if b[0] - MARGIN_PX <= x <= b[1] + MARGIN_PX and b[2] - MARGIN_PX <= y <= b[3] + MARGIN_PX:
                host[i] = j
                some = True
                break
    return some


@kernel
def _keep(
    tracks: Floats,
    seen: tuple[Floats, Floats, Floats, Floats],
    track_of: Ints,
    gone_s: float,
    out: Floats,
) -> int:
    """Write the tracks as they are now: those of the markers first, then those lost not long ago. Gives their number.

    A peak that is no number: the marker was found in a blob it shares.
    """
    points, area, color, peaks = seen
    found = np.zeros(len(tracks), np.bool_)
    n = len(points)
    for j in range(n):
        i, o = track_of[j], out[j]
        o[2], o[3], o[4], o[9], o[10], o[11] = 0.0, 0.0, area[j], 0.0, 1e-9, 0.0
        o[5] = peaks[j]
        if i >= 0:
            found[i] = True
            t = tracks[i]
            since = max(gone_s + t[9], 1e-3)
            for c in range(2):  # t is where it was expected: the difference corrects the velocity
                correction = (points[j, c] - t[c]) / since
                o[2 + c] = t[2 + c] + (SETTLE if t[10] > 1e-9 else 1.0) * correction
            own = peaks[j] >= 0.0
            o[4] = t[4] + AREA_FOLLOW * (area[j] - t[4]) if own else t[4]
            o[5] = t[5] + AREA_FOLLOW * (peaks[j] - t[5]) if own else t[5]
            o[10] = t[10] + since if own else t[10]
            o[11] = 0.0 if own else t[11] + since
            if o[11] > SHARED_S:
                o[10] = 1e-9
        o[0], o[1] = points[j, 0], points[j, 1]
        o[6], o[7], o[8] = color[j, 0], color[j, 1], color[j, 2]
    for i in range(len(tracks)):
        if not found[i] and tracks[i, 9] + gone_s < LOST_S and tracks[i, 10] >= KNOWN_S:
            out[n] = tracks[i]
            out[n, 9] += gone_s
            n += 1
    return n
