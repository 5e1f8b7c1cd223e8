"""Select markers among blobs by size, shape and brightness; their centres and standard deviations.

Blobs that split into several at a higher threshold are markers that touch.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from capture.detection.blobs import AREA, PEAK, X0, X1, Y0, Y1, B, G, R, RawBlobs, W, X, Y
from config.arrays import Floats
from config.jit import inline_kernel, kernel

MAX_AREA_SHARE = 0.004  # of the image
MIN_FILL, MAX_ELONGATION = 0.35, 4.0  # of its bounding box, and width to height
SPECK_SHARE = 0.07  # of the median area: smaller blobs are glints
PIXEL_NOISE = 2.0  # grey levels, of a webcam in MJPG
SIGMA_FLOOR_PX = 0.015  # error by compression of even the brightest marker
SAMPLING_PX = 0.25  # over the root of the area: error by pixels and threshold at the rim
SAMPLING_COLOR_PX = 0.5  # the same by colour, which has half the resolution in a JPEG
SHAPE_SHARE = 0.008  # of the radius: error by uneven lighting
MERGED_SHARE = 1.0  # of the radius, by elongation: two markers in one, or motion blur
SUSPECT_ELONGATION = 1.4  # a longer blob looks like two markers
MAX_MARKERS = 256  # more are noise or a flooded image
CUT_SHARE = 0.5  # of the radius: a marker at the edge of the image shows only a part
PART_SHARE = 0.15  # least area of a part, of the whole
MAX_BLOBS = 500  # more are no markers


@dataclass(frozen=True, slots=True)
class DetectedMarkers:
    """Blobs selected as markers: centres (N, 2) [px], areas (N,), mean colours RGB (N, 3), sigmas of the centres (N,) [px].

    peak: median of their largest weights, 0 without any; chosen: indices of the raw blobs, (N,), -1 for one split from others.
    """

    points_px: Floats
    area_px: Floats
    color_rgb: Floats
    sigma_px: Floats
    peak: float
    chosen: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.points_px)


def make_no_markers() -> DetectedMarkers:
    """Return the markers of a frame that shows none."""
    none = np.zeros(0)
    return DetectedMarkers(np.zeros((0, 2)), none, np.zeros((0, 3)), none, 0.0, np.zeros(0, np.int64))


def find_compact_blobs(raw: RawBlobs, size: tuple[int, int], min_area_px: float) -> NDArray[np.bool_]:
    """Return which blobs have a marker's size and shape, (N,).

    Args:
        size: width and height of the image [px].
        min_area_px: least area of a marker.
    """
    keep = np.empty(len(raw), np.bool_)
    _mark_compact_blobs(raw.sums, min_area_px, MAX_AREA_SHARE * size[0] * size[1], keep)
    return keep


def choose_markers(
    raw: RawBlobs,
    size: tuple[int, int],
    min_area_px: float,
    min_peak: float,
    speck_share: float = SPECK_SHARE,
    sampling_px: float = SAMPLING_PX,
) -> DetectedMarkers:
    """Return the compact blobs that are bright enough, without specks.

    Standard deviation of a centre: pixel noise s moves the weighted centre of a disc of area A and total weight W by s A /
    (sqrt(4 pi) W), to first order; a floor, sampling, uneven lighting, the edge of the image and a shape like that of two
    markers in one are added in quadrature. The constants are from drawn markers and a real recording (docs/decisions/0029).

    Args:
        size: width and height of the image [px].
        min_area_px: least area of a marker.
        min_peak: least value of a blob's largest weight.
        speck_share: of the median area, below which a blob is a speck.
        sampling_px: error of a centre by sampling.
    """
    n = len(raw)
    points, area, color, sigma = np.empty((n, 2)), np.empty(n), np.empty((n, 3)), np.empty(n)
    chosen, keep = np.empty(n, np.int64), np.empty(n, np.bool_)
    _mark_compact_blobs(raw.sums, min_area_px, MAX_AREA_SHARE * size[0] * size[1], keep)
    count = _choose_blobs(raw.sums, keep, min_peak, speck_share, chosen)
    peak = _measure_blobs(raw.sums, chosen[:count], size, sampling_px, points, area, color, sigma)
    return DetectedMarkers(points[:count], area[:count], color[:count], sigma[:count], peak, chosen[:count])


@kernel
def _compute_box_sides(s: Floats) -> tuple[float, float]:
    """Return longer and shorter side of the bounding box of a blob's sums (13,)."""
    width, height = s[X1] - s[X0] + 1.0, s[Y1] - s[Y0] + 1.0
    return max(width, height), min(width, height)


@kernel
def _mark_compact_blobs(sums: Floats, min_area: float, max_area: float, keep: NDArray[np.bool_]) -> None:
    """Mark blobs of a marker's size and shape; sums (N, 13)."""
    for i in range(len(sums)):
        s = sums[i]
        long, short = _compute_box_sides(s)
        keep[i] = (
            s[W] > 0.0
            and min_area <= s[AREA] <= max_area
            and s[AREA] >= MIN_FILL * (long * short)
            and long <= MAX_ELONGATION * short
        )


@kernel
def _choose_blobs(sums: Floats, keep: NDArray[np.bool_], min_peak: float, speck_share: float, chosen: NDArray[np.int64]) -> int:
    """Write the indices of kept blobs that are bright enough and no specks; return their number."""
    n = 0
    for i in range(len(sums)):
        if keep[i] and sums[i, PEAK] >= min_peak:
            chosen[n] = i
            n += 1
    if n == 0:
        return 0
    min_kept_area = speck_share * np.median(sums[chosen[:n], AREA])
    count = 0
    for k in range(n):
        if sums[chosen[k], AREA] >= min_kept_area:
            chosen[count] = chosen[k]
            count += 1
    return count


@kernel
def _measure_blobs(
    sums: Floats,
    chosen: NDArray[np.int64],
    size: tuple[int, int],
    sampling: float,
    points: Floats,
    area: Floats,
    color: Floats,
    sigma: Floats,
) -> float:
    """Write centres, areas, colours and sigmas of the chosen blobs; return the median of their largest weights."""
    if len(chosen) == 0:
        return 0.0
    for k in range(len(chosen)):
        s = sums[chosen[k]]
        points[k, 0], points[k, 1] = s[X] / s[W], s[Y] / s[W]
        area[k] = s[AREA]
        color[k, 0], color[k, 1], color[k, 2] = s[R] / s[W], s[G] / s[W], s[B] / s[W]
        sigma[k] = _compute_centre_sigma(s, size, sampling)
    return float(np.median(sums[chosen, PEAK]))


@inline_kernel
def _compute_centre_sigma(s: Floats, size: tuple[int, int], sampling: float) -> float:
    """Return the standard deviation of the weighted centre of a blob's sums (13,) [px]."""
    radius = np.sqrt(s[AREA] / np.pi)
    long, short = _compute_box_sides(s)
    noise = PIXEL_NOISE * s[AREA] / (np.sqrt(4.0 * np.pi) * s[W])
    shape = SHAPE_SHARE * radius
    cut = 0.0
    if s[X0] <= 0 or s[Y0] <= 0 or s[X1] >= size[0] - 1 or s[Y1] >= size[1] - 1:
        cut = CUT_SHARE * radius
    merged = MERGED_SHARE * radius * max(long / short - SUSPECT_ELONGATION, 0.0)
    floor = SIGMA_FLOOR_PX * SIGMA_FLOOR_PX + sampling * sampling / s[AREA]
    return float(np.sqrt(floor + noise * noise + shape * shape + cut * cut + merged * merged))


def split_blobs(
    raw: RawBlobs, parts: RawBlobs, elongated: float, min_area_px: float, single: NDArray[np.bool_] | None = None
) -> RawBlobs:
    """Return the blobs, with those that hold several large parts replaced by these if they are elongated enough.

    A part belongs to the first blob whose bounding box contains its own.

    Args:
        parts: the parts that some of them have.
        elongated: ratio of a blob's sides from which it is split.
        min_area_px: least area of a part.
        single: marks blobs known to be one marker, (N,); None: none.
    """
    if not 0 < len(raw) < len(parts) + len(raw) <= MAX_BLOBS:
        return raw
    out = np.empty((len(raw) + len(parts), raw.sums.shape[1]))
    whole = np.zeros(len(raw), np.bool_) if single is None else single
    n = _write_split_blobs(raw.sums, parts.sums, whole, elongated, min_area_px, np.empty(len(parts), np.int64), out)
    return RawBlobs(out[:n]) if n else raw


@kernel
def _write_split_blobs(
    raw: Floats, parts: Floats, whole: NDArray[np.bool_], elongated: float, min_area: float, owner: NDArray[np.int64], out: Floats
) -> int:
    """Write whole blobs, then parts; return their number, 0 where all are whole. Sums are (.., 13)."""
    pieces = np.zeros(len(raw), np.int64)
    for p in range(len(parts)):
        s = parts[p]
        owner[p] = -1
        for i in range(len(raw)):
            b = raw[i]
            if s[X0] >= b[X0] and s[X1] <= b[X1] and s[Y0] >= b[Y0] and s[Y1] <= b[Y1]:
                if s[AREA] >= max(PART_SHARE * b[AREA], min_area):
                    owner[p] = i
                    pieces[i] += 1
                break
    n, some = 0, False
    for i in range(len(raw)):
        long, short = _compute_box_sides(raw[i])
        if pieces[i] > 1 and not whole[i] and long >= elongated * short:
            some = True
        else:
            pieces[i] = 0
            out[n] = raw[i]
            n += 1
    if not some:
        return 0
    for p in range(len(parts)):
        if owner[p] >= 0 and pieces[owner[p]] > 0:
            out[n] = parts[p]
            n += 1
    return n
