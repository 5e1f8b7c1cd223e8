"""Check that a rig fits the cameras, by the image sizes and the epipolar distances of a sample of views.

Where it does not, see whether it would if two cameras were exchanged, one were mirrored, or one were another camera.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from calibration.camera import Rig
from capture.packets import Blobs, Views
from capture.stereo.matching import match
from config.errors import CalibrationError
from config.settings import CAMERA_NAMES, MatchSettings

MIN_BLOBS, MIN_PAIRS = 4, 3  # fewer blobs fit any rig by chance
GOOD_PX = 1.5  # a match at this distance from its epipolar line counts half
MIN_QUALITY = 0.4
CLEARLY_BETTER = 0.1  # cameras that are rotated symmetrically fit swapped nearly as well
OPPOSITE = -0.5  # cosine of the angle between two views that may show different sides of a body, and so tell nothing

Pair = tuple[int, int]


class SwappedCamerasError(CalibrationError):
    """Two cameras are swapped."""


class StrangeCameraError(CalibrationError):
    """One camera, by its number, does not fit the rig, while the others do."""

    def __init__(self, text: str, camera: int) -> None:
        super().__init__(text)
        self.camera = camera


@dataclass(frozen=True, slots=True)
class RigFit:
    """How well two views of a sample fit. quality: 0..1; epipolar_px: median distance; matched: share of the blobs."""

    n_pairs: int
    quality: float
    epipolar_px: float
    matched: float


def check_rig_fits(
    rig: Rig,
    sizes: Sequence[tuple[int, int]],
    sample: Iterable[Views],
    what: str = "recordings",
) -> RigFit:
    """Check that a rig is that of these cameras or recordings, in their order; return how well the worst two fit.

    Where no two cameras have three moments of four blobs, or with one camera, only the sizes are checked.

    Args:
        sizes: width and height of each camera's images.
        sample: ten or more moments spread over the recording.
        what: name of what is checked in the error sentences.
    Raises: SwappedCamerasError, StrangeCameraError, or CalibrationError: another size, markers far from their lines.
    """
    _check_sizes(rig, sizes)
    check = _RigCheck(rig, list(sample), what)
    if not check.fits:
        return check.scant
    if len(rig) == 2 or check.bad:
        check.check_order()
    if check.bad:
        check.check_mirrored()
        raise check.misfit()
    return min(check.fits.values(), key=lambda fit: fit.quality)


class _RigCheck:
    """How well each two views of a sample fit, where there is enough of them. scant: of the first two where there is not."""

    def __init__(self, rig: Rig, sample: list[Views], what: str) -> None:
        self._rig, self._what = rig, what
        pairs = [pair for pair in combinations(range(len(rig)), 2) if len(rig) == 2 or _is_same_side(rig, pair)]
        usable = {pair: _select_views(sample, pair) for pair in pairs}
        self.scant = RigFit(len(usable.get((0, 1), ())), 0.0, float("inf"), 0.0)
        self._usable = {pair: views for pair, views in usable.items() if len(views) >= MIN_PAIRS}
        self.fits = self._fits_of(rig)
        self.bad = [pair for pair, fit in self.fits.items() if fit.quality < MIN_QUALITY]

    def _fits_of(self, rig: Rig, cameras: Iterable[int] | None = None) -> dict[Pair, RigFit]:
        """Return the fit of each pair, by another rig where one of some cameras is in it."""
        of = None if cameras is None else set(cameras)
        return {
            pair: measure_rig_fit(Rig(tuple(rig.cameras[c] for c in pair)), views)
            if of is None or of & set(pair)
            else self.fits[pair]
            for pair, views in self._usable.items()
        }

    def check_order(self) -> None:
        """Raise SwappedCamerasError where the rig fits clearly better with two cameras exchanged."""
        as_given = _compute_mean_quality(self.fits)
        for one, other in combinations(range(len(self._rig)), 2):
            cameras = list(self._rig.cameras)
            cameras[one], cameras[other] = cameras[other], cameras[one]
            fits = self._fits_of(Rig(tuple(cameras)), (one, other))
            good = min(fit.quality for fit in fits.values()) >= MIN_QUALITY
            if good and _compute_mean_quality(fits) > as_given + CLEARLY_BETTER:
                of_both = [pair for pair in fits if one in pair or other in pair]
                before_px, after_px = (np.median([table[pair].epipolar_px for pair in of_both]) for table in (self.fits, fits))
                raise SwappedCamerasError(
                    f"{CAMERA_NAMES[one]} and {CAMERA_NAMES[other]} are swapped: the markers lie {before_px:.1f} px from their "
                    f"epipolar lines as given and {after_px:.1f} px the other way round; give the two {self._what} in the other "
                    "order"
                )

    def check_mirrored(self) -> None:
        """Raise CalibrationError where the rig fits with the images of one camera mirrored."""
        for camera, of in enumerate(self._rig.cameras):
            fits = [
                measure_rig_fit(
                    Rig(tuple(self._rig.cameras[c] for c in pair)),
                    [_mirror_view(both, pair.index(camera), of.size[0]) for both in views],
                )
                for pair, views in self._usable.items()
                if camera in pair
            ]
            if fits and min(fit.quality for fit in fits) >= MIN_QUALITY:
                raise CalibrationError(
                    f"the images of the {CAMERA_NAMES[camera]} camera are mirrored: the markers lie within "
                    f"{max(fit.epipolar_px for fit in fits):.1f} px of their epipolar lines once they are turned left to right; "
                    "switch mirroring off in the camera's own program, or turn the video"
                )

    def misfit(self) -> CalibrationError:
        """Return why the rig does not fit: the camera that is in all bad pairs, where there is one."""
        worst = min((self.fits[pair] for pair in self.bad), key=lambda fit: fit.quality)
        shown = (
            f"{worst.matched:.0%} of the markers match, at a median of {worst.epipolar_px:.1f} px from their epipolar lines, "
            "where nearly all within about 1 px were expected"
        )
        strange = [
            camera for camera in range(len(self._rig)) if all((camera in pair) == (pair in self.bad) for pair in self.fits)
        ]
        if len(self._rig) > 2 and len(strange) == 1:
            text = (
                f"the {CAMERA_NAMES[strange[0]]} of these {self._what} does not fit the rig, the others do: {shown}; that camera "
                "has moved, or it is another one: leave it out, or calibrate again"
            )
            return StrangeCameraError(text, strange[0])
        then = "a camera has moved, or the rig is of other cameras: calibrate again"
        return CalibrationError(f"the rig does not fit these {self._what}: {shown}; {then}")


def _is_same_side(rig: Rig, pair: Pair) -> bool:
    """Return whether two cameras look at the same side of a body."""
    one, other = (rig.cameras[camera].rotation[2] for camera in pair)
    return float(one @ other) > OPPOSITE


def _select_views(sample: Iterable[Views], pair: Pair) -> list[Views]:
    """Return the views of two cameras at the moments at which both see enough."""
    both = [(views.blobs[pair[0]], views.blobs[pair[1]]) for views in sample]
    return [Views((a, b)) for a, b in both if a is not None and b is not None and min(len(a), len(b)) >= MIN_BLOBS]


def _compute_mean_quality(fits: dict[Pair, RigFit]) -> float:
    """Return the mean quality of all pairs."""
    return float(np.mean([fit.quality for fit in fits.values()]))


def _mirror_view(both: Views, side: int, width_px: int) -> Views:
    """Return two views, one of them turned left to right."""

    def turn(view: int, blobs: Blobs) -> Blobs:
        x_px = width_px - 1.0 - blobs.points_px[:, 0]
        return replace(blobs, points_px=np.column_stack([x_px, blobs.points_px[:, 1]])) if view == side else blobs

    return both.changed(turn)


def measure_rig_fit(rig: Rig, pairs: Sequence[Views]) -> RigFit:
    """Return how well pairs of views fit a rig.

    A pair's quality is the sum of 1 / (1 + (d / GOOD_PX)^2) over its matches by the smaller number of blobs; the median over
    pairs is robust to time skew during fast motion.

    Args:
        pairs: what two cameras saw, at several times.
    """
    qualities, distances, matched = [], [np.zeros(0)], []
    for pair in pairs:
        points = match(pair, rig, MatchSettings())
        n = min(len(pair[0]), len(pair[1]))
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
    sides = ("camera's",) if len(rig) == 1 else CAMERA_NAMES[: len(rig)]
    for side, camera, size in zip(sides, rig.cameras, sizes, strict=len(rig) > 1):
        if tuple(size) != camera.size:
            raise CalibrationError(
                f"the {side} images are {size[0]}x{size[1]}, but the rig was calibrated at {camera.size[0]}x{camera.size[1]}; "
                "record at that size or calibrate at this one"
            )
