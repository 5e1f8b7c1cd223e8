"""Check that a rig fits the cameras, by the image sizes and the epipolar distances of a sample of pairs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from calibration.camera import Rig
from capture.packets import Views
from capture.stereo.matching import match
from config.errors import CalibrationError
from config.settings import CAMERAS, MatchSettings

MIN_BLOBS, MIN_PAIRS = 4, 3  # fewer blobs fit any rig by chance
GOOD_PX = 1.5  # a match at this distance from its epipolar line counts half
MIN_QUALITY = 0.4
CLEARLY_BETTER = 0.1  # cameras that are rotated symmetrically fit swapped nearly as well


class SwappedCamerasError(CalibrationError):
    """Left and right are swapped."""


@dataclass(frozen=True, slots=True)
class RigFit:
    """How well a sample fits. quality: 0..1; epipolar_px: median distance; matched: share of the blobs."""

    n_pairs: int
    quality: float
    epipolar_px: float
    matched: float


def check_rig_fits(
    rig: Rig,
    sizes: Sequence[tuple[int, int]],
    sample: Iterable[Views],
    settings: MatchSettings | None = None,
    what: str = "recordings",
) -> RigFit:
    """Check that a rig is that of two cameras or recordings, left and right not swapped.

    sizes: width and height of each camera's images; sample: ten or more pairs spread over the recording. With fewer than three
    pairs of four blobs, or with one camera, only the sizes are checked. what: name of what is checked in the error sentences.
    Raises SwappedCamerasError, or CalibrationError: another size, or markers too far from their epipolar lines.
    """
    _check_sizes(rig, sizes)
    if rig.is_monocular:
        return RigFit(0, 0.0, float("inf"), 0.0)
    settings = settings or MatchSettings()
    usable = [pair for pair in sample if min(len(pair.left), len(pair.right)) >= MIN_BLOBS]
    fit = rig_fit(rig, usable, settings)
    if len(usable) < MIN_PAIRS:
        return fit
    swapped = rig_fit(Rig((rig.right, rig.left)), usable, settings)
    if swapped.quality > fit.quality + CLEARLY_BETTER and swapped.quality >= MIN_QUALITY:
        raise SwappedCamerasError(
            f"left and right are swapped: the markers lie {fit.epipolar_px:.1f} px from their epipolar lines as given and "
            f"{swapped.epipolar_px:.1f} px the other way round; give the two {what} in the other order"
        )
    if fit.quality < MIN_QUALITY:
        raise CalibrationError(
            f"the rig does not fit these {what}: {fit.matched:.0%} of the markers match, at a median of "
            f"{fit.epipolar_px:.1f} px from their epipolar lines, where nearly all within about 1 px were expected; "
            "a camera has moved, or the rig is of other cameras: calibrate again"
        )
    return fit


def rig_fit(rig: Rig, pairs: Sequence[Views], settings: MatchSettings) -> RigFit:
    """Return how well pairs of views fit a rig.

    A pair's quality is the sum of 1 / (1 + (d / GOOD_PX)^2) over its matches by the smaller number of blobs; the median over
    pairs is robust to time skew during fast motion.
    """
    qualities, distances, matched = [], [np.zeros(0)], []
    for pair in pairs:
        points = match(pair, rig, settings)
        n = min(len(pair.left), len(pair.right))
        qualities.append(float((1.0 / (1.0 + (points.epipolar_px / GOOD_PX) ** 2)).sum()) / n)
        distances.append(points.epipolar_px)
        matched.append(len(points.point_m) / n)
    every = np.concatenate(distances)
    return RigFit(
        len(pairs),
        float(np.median(qualities)) if pairs else 0.0,
        float(np.median(every)) if len(every) else float("inf"),
        float(np.mean(matched)) if pairs else 0.0,
    )


def _check_sizes(rig: Rig, sizes: Sequence[tuple[int, int]]) -> None:
    """Raise CalibrationError unless the images have the sizes of the calibration."""
    sides = ("camera's",) if rig.is_monocular else CAMERAS
    for side, camera, size in zip(sides, rig.cameras, sizes, strict=not rig.is_monocular):
        if tuple(size) != camera.size:
            raise CalibrationError(
                f"the {side} images are {size[0]}x{size[1]}, but the rig was calibrated at {camera.size[0]}x{camera.size[1]}; "
                "record at that size or calibrate at this one"
            )
