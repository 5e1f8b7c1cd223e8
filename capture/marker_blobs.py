"""Which blobs are markers, by size, shape and brightness; where their centres are and how well these are known."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from capture.blobs import RawBlobs
from config.jit import kernel

Floats = NDArray[np.float64]
MAX_AREA_SHARE = 0.004  # of the image: a marker is small
MIN_FILL, MAX_ELONGATION = 0.35, 4.0  # of its bounding box, and width to height
SPECK_SHARE = 0.07  # of the median area: smaller spots are glints
PIXEL_NOISE = 2.0  # grey levels, of a webcam in MJPG
SIGMA_FLOOR_PX = 0.015  # what compression leaves of even the brightest marker
SAMPLING_PX = 0.25  # over the root of the area: pixels and threshold cut the rim unevenly
SAMPLING_COLOR_PX = 0.5  # the same where colours tell the pixels: in a JPEG they have half the resolution
SHAPE_SHARE = 0.008  # of the radius: a marker is not lit evenly
MERGED_SHARE = 1.0  # of the radius, for each unit of elongation: two markers in one, or one blurred by motion
SUSPECT_ELONGATION = 1.4  # what is longer looks like two markers
MAX_MARKERS = 256  # more is noise or a flooded image
CUT_SHARE = 0.5  # of the radius: a marker cut by the edge of the image shows only a part


@dataclass(frozen=True, slots=True)
class Markers:
    """The blobs taken for markers: centres (N, 2) [px], areas (N,), mean colours RGB (N, 3), sigma of the centres (N,) [px].

    peak: median of their highest weights, 0 without any; chosen: which raw blobs they are, (N,).
    """

    points_px: Floats
    area_px: Floats
    color_rgb: Floats
    sigma_px: Floats
    peak: float
    chosen: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.points_px)

    def none(self) -> "Markers":
        """Give the same without any marker."""
        return Markers(self.points_px[:0], self.area_px[:0], self.color_rgb[:0], self.sigma_px[:0], 0.0, self.chosen[:0])


def compact(raw: RawBlobs, size: tuple[int, int], min_area_px: float) -> NDArray[np.bool_]:
    """Mark blobs of a marker's size and shape, (N,); size: of the image, width, height."""
    keep = np.empty(len(raw), np.bool_)
    _compact(raw.sums, min_area_px, MAX_AREA_SHARE * size[0] * size[1], keep)
    return keep


def choose_markers(
    raw: RawBlobs,
    size: tuple[int, int],
    min_area_px: float,
    least_peak: float,
    speck_share: float = SPECK_SHARE,
    sampling_px: float = SAMPLING_PX,
) -> Markers:
    """Give the compact blobs whose highest weight reaches least_peak, but for specks: smaller than a share of the median area.

    The standard deviation of a centre: pixel noise s moves the weighted centre of a disc of area A and summed weight W by
    s A / (sqrt(4 pi) W), to first order; a floor, sampling, uneven lighting, a cut by the image's edge and a shape like that of
    two markers in one are added in quadrature. The constants are those of benchmarks/centroid.py and of a real recording.
    """
    n = len(raw)
    points, area, color, sigma = np.empty((n, 2)), np.empty(n), np.empty((n, 3)), np.empty(n)
    chosen, keep = np.empty(n, np.int64), np.empty(n, np.bool_)
    _compact(raw.sums, min_area_px, MAX_AREA_SHARE * size[0] * size[1], keep)
    count = _chosen(raw.sums, keep, least_peak, speck_share, chosen)
    peak = _measure(raw.sums, chosen[:count], size, sampling_px, points, area, color, sigma)
    return Markers(points[:count], area[:count], color[:count], sigma[:count], peak, chosen[:count])


@kernel
def _extent(s: Floats) -> tuple[float, float]:
    """Give longer and shorter side of the bounding box of a blob's sums (13,)."""
    width, height = s[9] - s[8] + 1.0, s[11] - s[10] + 1.0
    return max(width, height), min(width, height)


@kernel
def _compact(sums: Floats, min_area: float, max_area: float, keep: NDArray[np.bool_]) -> None:
    """Mark blobs of a marker's size and shape; sums (N, 13)."""
    for i in range(len(sums)):
        s = sums[i]
        long, short = _extent(s)
        keep[i] = (
            s[0] > 0.0 and min_area <= s[6] <= max_area and s[6] >= MIN_FILL * (long * short) and long <= MAX_ELONGATION * short
        )


@kernel
def _chosen(sums: Floats, keep: NDArray[np.bool_], least_peak: float, speck_share: float, chosen: NDArray[np.int64]) -> int:
    """List the kept blobs bright enough that are no specks, and give their number."""
    n = 0
    for i in range(len(sums)):
        if keep[i] and sums[i, 7] >= least_peak:
            chosen[n] = i
            n += 1
    if n == 0:
        return 0
    least_area = speck_share * np.median(sums[chosen[:n], 6])
    count = 0
    for k in range(n):
        if sums[chosen[k], 6] >= least_area:
            chosen[count] = chosen[k]
            count += 1
    return count


@kernel
def _measure(
    sums: Floats,
    chosen: NDArray[np.int64],
    size: tuple[int, int],
    sampling: float,
    points: Floats,
    area: Floats,
    color: Floats,
    sigma: Floats,
) -> float:
    """Fill centres, areas, colours and sigmas of the chosen blobs, and give the median of their highest weights."""
    if len(chosen) == 0:
        return 0.0
    for k in range(len(chosen)):
        s = sums[chosen[k]]
        points[k, 0], points[k, 1] = s[1] / s[0], s[2] / s[0]
        area[k] = s[6]
        color[k, 0], color[k, 1], color[k, 2] = s[5] / s[0], s[4] / s[0], s[3] / s[0]
        sigma[k] = _sigma(s, size, sampling)
    return float(np.median(sums[chosen, 7]))


@kernel
def _sigma(s: Floats, size: tuple[int, int], sampling: float) -> float:
    """Give the standard deviation of the weighted centre of a blob's sums (13,) [px]."""
    radius = np.sqrt(s[6] / np.pi)
    long, short = _extent(s)
    noise = PIXEL_NOISE * s[6] / (np.sqrt(4.0 * np.pi) * s[0])
    shape = SHAPE_SHARE * radius
    cut = 0.0
    if s[8] <= 0 or s[10] <= 0 or s[9] >= size[0] - 1 or s[11] >= size[1] - 1:
        cut = CUT_SHARE * radius
    merged = MERGED_SHARE * radius * max(long / short - SUSPECT_ELONGATION, 0.0)
    floor = SIGMA_FLOOR_PX * SIGMA_FLOOR_PX + sampling * sampling / s[6]
    return float(np.sqrt(floor + noise * noise + shape * shape + cut * cut + merged * merged))
