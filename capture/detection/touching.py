"""Split a blob of two or three touching markers, where their tracks of the last frames predict them.

Each camera's markers are tracked at constant velocity. Where a track finds no blob of its own but is predicted inside that of
another, discs of the sizes both had before are fitted to the blob's pixels, from the predicted positions on. They are used where
they fit the pixels far better than one disc, so that a marker hidden behind another, or one blurred by motion, stays one. Markers
that touch from the start are left to `capture.detection.markers.split_blobs`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from capture.detection.discs import fit_discs
from capture.detection.markers import DetectedMarkers
from config.arrays import Floats, Image, Ints
from config.jit import kernel

MAX_TRACKED = 128  # markers; more are not tracked
KNOWN_S = 0.25  # a track must have had a blob of its own for so long to be searched in another's
SHARED_S = 2.0  # and may then have none for so long
LOST_S = 0.25  # how long a track outlives its last marker
GATE_SHARE = 0.03  # of the image's mean side, in 1/30 s: largest distance of a marker from its prediction
MARGIN_PX = 1.5  # around a blob's box, within which a track may be in it
FOLLOW = 0.6  # share of the new velocity
AREA_FOLLOW = 0.3
# Columns of a track: position, velocity [px/s], area, peak, colour, seconds since it was seen, seconds with a blob of its own
# since it last had none for too long, seconds in another's since.
X, Y, VX, VY, AREA, PEAK, RED, GREEN, BLUE, LOST, OWN, SHARED = range(12)
N_TRACK = 12


class BlobExtents(NamedTuple):
    """Boxes of markers: first and last column, first and last row, (N, 4); and the peak of each above the threshold, (N,)."""

    boxes: Floats
    peaks: Floats


class _MeasuredMarkers(NamedTuple):
    """Markers of a frame for `_update`; a peak of NaN means that the marker shares its blob."""

    points_px: Floats
    area_px: Floats
    color_rgb: Floats
    peaks: Floats


class TouchingMarkers:
    """Tracks one camera's markers and splits those that touch."""

    def __init__(self) -> None:
        self._tracks = np.zeros((0, N_TRACK))
        self._t_ns: int | None = None

    def step(
        self, image: Image, markers: DetectedMarkers, extents: BlobExtents, table: Image | None, level: float, t_ns: int
    ) -> DetectedMarkers:
        """Return the markers of a frame with those that touch split.

        Args:
            image: BGR, (H, W, 3).
            markers: detected in the frame.
            extents: boxes and peaks of the markers.
            table: weights of colours (32, 32, 32), None: the brightest channel is fitted.
            level: threshold of the blobs.
        """
        elapsed_s = self._elapsed_s(t_ns)
        self._t_ns = t_ns
        if len(markers) > MAX_TRACKED or elapsed_s > LOST_S or elapsed_s < 0.0:
            self._tracks = np.zeros((0, N_TRACK))
        tracks, peaks = self._tracks, extents.peaks
        predict_tracks(tracks, elapsed_s)
        gate = GATE_SHARE * 0.5 * (image.shape[0] + image.shape[1]) * max(30.0 * elapsed_s, 0.5)
        track_of, host = np.empty(len(markers), np.int64), np.empty(len(tracks), np.int64)
        shared = _link_markers(tracks, markers.points_px, extents.boxes, gate, track_of, host)
        split = self._split(image, markers, extents, table, level, track_of, host) if shared else None
        if split is not None:
            markers, track_of, peaks = split
        kept = np.empty((len(markers) + len(tracks), N_TRACK))
        measured = _MeasuredMarkers(markers.points_px, markers.area_px, markers.color_rgb, peaks)
        n = _update_tracks(tracks, measured, track_of, elapsed_s, kept)
        self._tracks = kept[: min(n, 2 * MAX_TRACKED)]
        return markers

    def single(self, boxes: Floats, t_ns: int) -> NDArray[np.bool_]:
        """Return which boxes (N, 4) hold the prediction of exactly one marker, long known: what looks like two is one."""
        elapsed_s = self._elapsed_s(t_ns)
        x, y = (self._tracks[:, [X, Y]] + elapsed_s * self._tracks[:, [VX, VY]]).T
        inside = (x >= boxes[:, :1] - MARGIN_PX) & (x <= boxes[:, 1:2] + MARGIN_PX)
        inside &= (y >= boxes[:, 2:3] - MARGIN_PX) & (y <= boxes[:, 3:] + MARGIN_PX)
        known = inside & (self._tracks[:, OWN] >= KNOWN_S)
        return np.asarray((inside.sum(axis=1) == 1) & known.any(axis=1))

    def _elapsed_s(self, t_ns: int) -> float:
        """Return the time since the last frame [s]."""
        return 0.0 if self._t_ns is None else (t_ns - self._t_ns) * 1e-9

    def _split(
        self,
        image: Image,
        markers: DetectedMarkers,
        extents: BlobExtents,
        table: Image | None,
        level: float,
        track_of: Ints,
        host: Ints,
    ) -> tuple[DetectedMarkers, Ints, Floats] | None:
        """Return markers, tracks and peaks with shared blobs replaced by fitted discs; None where none is."""
        whole = np.ones(len(markers), np.bool_)
        found: list[tuple[int, Floats, Floats]] = []
        for j in np.unique(host[host >= 0]):
            inside = np.append(np.nonzero(host == j)[0], track_of[j] if track_of[j] >= 0 else [])
            inside = inside.astype(np.int64)
            if not 2 <= len(inside) <= 3 or self._tracks[inside, OWN].min() < KNOWN_S:
                continue
            t = self._tracks[inside]
            area_px = float(markers.area_px[j])
            fit = fit_discs(image, extents.boxes[j], area_px, t[:, [X, Y]], t[:, AREA], t[:, PEAK], table, level)
            if fit is None:
                continue
            whole[j] = False
            found += [(int(i), center, sigma) for i, center, sigma in zip(inside, *fit, strict=True)]
        if not found:
            return None
        which = np.array([i for i, _, _ in found])
        t = self._tracks[which]
        split = DetectedMarkers(
            np.concatenate([markers.points_px[whole], np.array([center for _, center, _ in found])]),
            np.concatenate([markers.area_px[whole], t[:, AREA]]),
            np.concatenate([markers.color_rgb[whole], t[:, [RED, GREEN, BLUE]]]),
            np.concatenate([markers.sigma_px[whole], np.array([sigma for _, _, sigma in found])]),
            markers.peak,
            np.concatenate([markers.chosen[whole], np.full(len(found), -1)]),
        )
        peaks = np.concatenate([extents.peaks[whole], np.full(len(which), np.nan)])
        return split, np.concatenate([track_of[whole], which]), peaks


@kernel
def predict_tracks(tracks: Floats, elapsed_s: float) -> None:
    """Move tracks on by their velocities."""
    for i in range(len(tracks)):
        tracks[i, X] += elapsed_s * tracks[i, VX]
        tracks[i, Y] += elapsed_s * tracks[i, VY]


@kernel
def _link_markers(tracks: Floats, points: Floats, boxes: Floats, gate: float, track_of: Ints, host: Ints) -> bool:
    """Write the track of each marker, nearest pairs first, and for other tracks the marker whose box holds them; -1: none.

    Returns whether any track lies in another's box.
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
                dx, dy = points[j, 0] - tracks[i, X], points[j, 1] - tracks[i, Y]
                squared = dx * dx + dy * dy
                if squared < best:
                    best, which, whose = squared, j, i
        if which < 0:
            break
        track_of[which] = whose
        taken[whose] = True
    some = False
    for i in range(len(tracks)):
        if taken[i] or tracks[i, OWN] < KNOWN_S:
            continue
        x, y = tracks[i, X], tracks[i, Y]
        for j in range(len(points)):
            b = boxes[j]
            if b[0] - MARGIN_PX <= x <= b[1] + MARGIN_PX and b[2] - MARGIN_PX <= y <= b[3] + MARGIN_PX:
                host[i] = j
                some = True
                break
    return some


@kernel
def _update_tracks(tracks: Floats, measured: _MeasuredMarkers, track_of: Ints, elapsed_s: float, out: Floats) -> int:
    """Write the present tracks: those of the markers first, then those lost not long ago. Returns their number."""
    points, peaks = measured.points_px, measured.peaks
    found = np.zeros(len(tracks), np.bool_)
    n = len(points)
    for j in range(n):
        i, o = track_of[j], out[j]
        o[VX], o[VY], o[AREA], o[LOST], o[OWN], o[SHARED] = 0.0, 0.0, measured.area_px[j], 0.0, 1e-9, 0.0
        o[PEAK] = peaks[j]
        if i >= 0:
            found[i] = True
            t = tracks[i]
            since = max(elapsed_s + t[LOST], 1e-3)
            for c in range(2):  # t is the prediction: the difference corrects the velocity
                correction = (points[j, c] - t[X + c]) / since
                o[VX + c] = t[VX + c] + (FOLLOW if t[OWN] > 1e-9 else 1.0) * correction
            own = peaks[j] >= 0.0
            o[AREA] = t[AREA] + AREA_FOLLOW * (measured.area_px[j] - t[AREA]) if own else t[AREA]
            o[PEAK] = t[PEAK] + AREA_FOLLOW * (peaks[j] - t[PEAK]) if own else t[PEAK]
            o[OWN] = t[OWN] + since if own else t[OWN]
            o[SHARED] = 0.0 if own else t[SHARED] + since
            if o[SHARED] > SHARED_S:
                o[OWN] = 1e-9
        o[X], o[Y] = points[j, 0], points[j, 1]
        o[RED], o[GREEN], o[BLUE] = measured.color_rgb[j, 0], measured.color_rgb[j, 1], measured.color_rgb[j, 2]
    for i in range(len(tracks)):
        if not found[i] and tracks[i, LOST] + elapsed_s < LOST_S and tracks[i, OWN] >= KNOWN_S:
            out[n] = tracks[i]
            out[n, LOST] += elapsed_s
            n += 1
    return n
