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
MIN_RATIO = 1.5  # a range shorter than this could be chance
BETTER = 1.5  # times the stability of another estimate is clearly better
FOLLOW = 0.2  # share of the way to a new estimate
PEAK_SHARE = 0.1  # of the way from the pixel threshold to the markers' peak


@dataclass(frozen=True, slots=True)
class Threshold:
    """pixel: what belongs to a blob is brighter; peak: what a blob's brightest pixel must reach; level: typical peak; 0-255.

    stability: log of the ratio over which the count of blobs stayed the same.
    """

    pixel: float
    peak: float
    level: float
    stability: float

    def towards(self, other: "Threshold") -> "Threshold":
        """Follow a new estimate: slowly, but at once where it is far more stable, as when the markers first come into view."""
        if other.stability > BETTER * self.stability:
            return other
        share = FOLLOW if self.stability < BETTER * other.stability else 0.25 * FOLLOW
        a, b = self, other
        pairs = ((a.pixel, b.pixel), (a.peak, b.peak), (a.level, b.level), (a.stability, b.stability))
        return Threshold(*(old + share * (new - old) for old, new in pairs))


def stable_threshold(blobs_above: Callable[[int], RawBlobs], least: int = MIN_MARKERS) -> Threshold | None:
    """Give the threshold of the longest stable range, None where not so many compact blobs stay.

    blobs_above: the compact blobs of the image brighter than a threshold, weights counted from that threshold; least: blobs.
    """
    found = [blobs_above(int(threshold)) for threshold in LADDER]
    counts = np.array([len(blobs) for blobs in found])
    best, chosen, last = float(np.log(MIN_RATIO)), -1, -1
    for start, count in enumerate(counts):
        if count < least:
            continue
        slack = 1 if count >= 8 else 0
        same = np.abs(counts[start:] - count) <= slack
        end = start + (len(same) if same.all() else int(np.argmin(same))) - 1
        length = float(np.log(LADDER[end] / LADDER[start]))
        if length > best:
            best, chosen, last = length, start, end
    if chosen < 0:
        return None
    level = float(np.median(found[chosen].sums[:, PEAK])) + float(LADDER[chosen])
    # Halfway in log brightness between the dim surroundings and the markers, so that neighbours are least likely to touch.
    pixel = min(float(np.sqrt(LADDER[chosen] * level)), float(LADDER[last]))
    return Threshold(pixel, pixel + PEAK_SHARE * (level - pixel), level, best)
