"""The brightness that tells markers from the rest, found from the images: each camera, each room has its own.

Count compact blobs at a ladder of thresholds: over the range between what is dim and what the markers reach, the count stays the
same. The longest such range in log brightness is taken (after the stability of Matas et al. 2002, maximally stable regions).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from capture.blobs import PEAK, RawBlobs

FLOOR = 14  # grey levels: below lies the noise of a webcam in the dark
LADDER = np.unique(np.round(FLOOR * 1.12 ** np.arange(26)).astype(int))
LADDER = LADDER[LADDER <= 235]
MIN_MARKERS = 3
MIN_RATIO = 1.3  # a range shorter than this could be chance
PEAK_SHARE = 0.25  # of the way from the pixel threshold to the markers' peak


@dataclass(frozen=True, slots=True)
class Threshold:
    """pixel: what belongs to a blob is brighter; peak: what a blob's brightest pixel must reach; level: typical peak; 0-255."""

    pixel: float
    peak: float
    level: float

    def towards(self, other: "Threshold", share: float) -> "Threshold":
        """Go a share of the way to another estimate."""
        pairs = ((self.pixel, other.pixel), (self.peak, other.peak), (self.level, other.level))
        return Threshold(*(a + share * (b - a) for a, b in pairs))


def stable_threshold(blobs_above: Callable[[int], RawBlobs]) -> Threshold | None:
    """Give the threshold of the longest stable range, None where no three compact blobs stay.

    blobs_above: the compact blobs of the image brighter than a threshold, weights counted from that threshold.
    """
    found = [blobs_above(int(threshold)) for threshold in LADDER]
    counts = np.array([len(blobs) for blobs in found])
    best, chosen = np.log(MIN_RATIO), -1
    for start, count in enumerate(counts):
        if count < MIN_MARKERS:
            continue
        slack = 1 if count >= 8 else 0
        same = np.abs(counts[start:] - count) <= slack
        end = start + (len(same) if same.all() else int(np.argmin(same))) - 1
        length = float(np.log(LADDER[end] / LADDER[start]))
        if length > best:
            best, chosen = length, start
    if chosen < 0:
        return None
    pixel = float(LADDER[chosen])
    level = float(np.median(found[chosen].sums[:, PEAK])) + pixel
    return Threshold(pixel, pixel + PEAK_SHARE * (level - pixel), level)
