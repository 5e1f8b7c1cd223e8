"""Does the rig fit the recordings? Found out from their sizes and from the epipolar distances of a sample of pairs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from calibration.camera import Rig
from capture.matching import match
from capture.packets import PairedBlobs
from config.cameras import CAMERAS
from config.errors import CalibrationError
from config.settings import MatchSettings

MIN_BLOBS, MIN_PAIRS = 4, 3  # fewer blobs fit any rig by chance; fewer pairs are no sample
GOOD_PX = 1.5  # a pair at this distance from its epipolar line is worth half
MIN_QUALITY = 0.4
CLEARLY_BETTER = 0.1  # cameras that are turned to each other alike fit swapped nearly as well


class SwappedCamerasError(CalibrationError):
    """Left and right were given the wrong way round."""


@dataclass(frozen=True, slots=True)
class RigFit:
    """How well a sample fits: pairs used; quality, 0..1; median epipolar distance [px] and share of blobs matched."""

    n_pairs: int
    quality: float
    epipolar_px: float
    matched: float


def check_rig_fits(
    rig: Rig, sizes: Sequence[tuple[int, int]], sample: Iterable[PairedBlobs], settings: MatchSettings | None = None
) -> RigFit:
    """Check that the rig is that of the two recordings, left and right the right way round.

    sizes: width and height of the images of each camera; sample: pairs spread over the recording, some ten or more. With fewer
    than three pairs of four blobs, or with one camera, nothing but the sizes can be judged. Raises SwappedCamerasError, or
    CalibrationError: another size, or markers too far from their epipolar lines.
    """
    _check_sizes(rig, sizes)
    if rig.is_lone:
        return RigFit(0, 0.0, float("inf"), 0.0)
    settings = settings or MatchSettings()
    usable = [pair for pair in sample if min(len(pair.left), len(pair.right)) >= MIN_BLOBS]
    fit = rig_fit(rig, usable, settings)
    if len(usable) < MIN_PAIRS:
        return fit
    swapped = rig_fit(Rig(rig.right, rig.left), usable, settings)
    if swapped.quality > fit.quality + CLEARLY_BETTER and swapped.quality >= MIN_QUALITY:
        raise SwappedCamerasError(
            f"left and right are swapped: the markers lie {fit.epipolar_px:.1f} px from their epipolar lines as given and "
            f"{swapped.epipolar_px:.1f} px the other way round; give the two recordings in the other order"
        )
    if fit.quality < MIN_QUALITY:
        raise CalibrationError(
            f"the rig does not fit these recordings: {fit.matched:.0%} of the markers match, at a median of "
            f"{fit.epipolar_px:.1f} px from their epipolar lines, where nearly all within about 1 px were expected; "
            "a camera has moved, or the rig is of other cameras: calibrate again"
        )
    return fit


def rig_fit(rig: Rig, pairs: Sequence[PairedBlobs], settings: MatchSettings) -> RigFit:
    """Measure how well pairs of views fit a rig.

    A pair's quality is the sum of 1 / (1 + (d / GOOD_PX)^2) over its matches by the smaller number of blobs; the median over
    pairs is taken, since a skew spoils the moments of fast motion.
    """
    qualities, distances, matched = [], [np.zeros(0)], []
    for pair in pairs:
        points = match(pair, rig, settings)
        n = min(len(pair.left), len(pair.right))
        qualities.append(float((1.0 / (1.0 + (points.epipolar_px / GOOD_PX) ** 2)).sum()) / n)
        distances.append(points.epipolar_px)
        matched.append(len(points.left) / n)
    every = np.concatenate(distances)
    return RigFit(
        len(pairs),
        float(np.median(qualities)) if pairs else 0.0,
        float(np.median(every)) if len(every) else float("inf"),
        float(np.mean(matched)) if pairs else 0.0,
    )


def _check_sizes(rig: Rig, sizes: Sequence[tuple[int, int]]) -> None:
    """Raise CalibrationError unless each recording has the size its camera was calibrated at."""
    sides = ("camera's",) if rig.is_lone else CAMERAS
    for side, camera, size in zip(sides, rig.cameras, sizes, strict=not rig.is_lone):
        if tuple(size) != camera.size:
            raise CalibrationError(
                f"the {side} images are {size[0]}x{size[1]}, but the rig was calibrated at {camera.size[0]}x{camera.size[1]}; "
                "record at that size or calibrate at this one"
            )
