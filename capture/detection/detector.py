"""From a frame to blobs: one step for live capture and replay, with what a camera's detector learns meanwhile."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from capture.background.live import LiveBackground
from capture.background.statistics import Background, BackgroundBounds, compute_background_bounds
from capture.detection.blobs import PEAK, BlobMaker, RawBlobs, split_brighter_runs, split_colored_runs
from capture.detection.discs import fit_discs
from capture.detection.foreground import GAP_PX, MAX_RUNS, ForegroundRuns
from capture.detection.markers import (
    MAX_MARKERS,
    SAMPLING_COLOR_PX,
    SPECK_SHARE,
    SUSPECT_ELONGATION,
    DetectedMarkers,
    choose_markers,
    find_compact_blobs,
    make_no_markers,
    split_blobs,
)
from capture.detection.mode import (
    CORE,
    FLOOR,
    MEMBER,
    MIN_MARKERS,
    ColorTable,
    LightingDetector,
    Mode,
    Threshold,
    build_color_table,
    choose_mode,
    find_stable_threshold,
    measure_light,
)
from capture.detection.touching import BlobExtents, TouchingMarkers
from capture.landmarks.pacing import PacedLandmarks
from capture.packets import Blobs, Frame
from config.arrays import Image
from config.errors import CalibrationError
from config.settings import DetectorSettings

SPLIT_SHARE = 0.4  # of the way from threshold to peak, where touching markers are split
HARD_SPLIT_SHARE = 0.7  # the same for what looks like two markers: a single one may flicker up there
EAGER_FRAMES, EVERY_FRAMES = 5, 15  # the threshold is estimated in every frame at first, then in every fifteenth
COSTLY_FRAMES = 5  # or every fifth, while it is unknown and the estimate is slow
STRANGE_PEAK = 0.25  # sudden change of the markers' log peak for which the threshold is estimated at once
COSTLY_RUNS = 6_000  # more runs above some grey level are no markers, and too slow for every frame


@dataclass(frozen=True, slots=True)
class SoughtOnBody:
    """What is sought on the body: markers, and landmarks by a finder where there is one."""

    markers: bool = True
    landmarks: PacedLandmarks | None = None


@dataclass(frozen=True, slots=True)
class DetectorView:
    """The last frame of a detector: runs of foreground (row, first column, last), (R, 3), valid until the next step.

    threshold: grey level that bright markers exceed, None while unknown or in colour mode; flooded: too much foreground to
    detect anything.
    """

    mode: Mode | None
    threshold: float | None
    flooded: bool
    runs: NDArray[np.int32]


class Detector:
    """Detects the markers of one camera; follows the threshold, so frames must come in order.

    mode is None until the first frame; threshold is None while unknown, and in colour mode. An image that is all foreground, as
    when the light is switched on, gives no markers.
    """

    def __init__(
        self,
        settings: DetectorSettings,
        background: Background | None = None,
        colors_rgb: ArrayLike | None = None,
        live: LiveBackground | None = None,
        min_markers: int = MIN_MARKERS,
        sought: SoughtOnBody | None = None,
    ) -> None:
        """Prepare.

        background: learned beforehand; live: learned meanwhile, used instead of it; colors_rgb: expected marker colours,
        (C, 3) 0-255, None or empty for bright markers; min_markers: number of bright markers needed for the threshold, fewer
        than usual for a wand; sought: markers and landmarks, None: markers alone.
        """
        self._sought = sought or SoughtOnBody()
        self._background, self._live, self._min_markers = background, live, min_markers
        colors = np.zeros((0, 3)) if colors_rgb is None else np.asarray(colors_rgb, float).reshape(-1, 3)
        self._table: ColorTable | None = build_color_table(colors) if len(colors) else None
        self._maker, self._touching = BlobMaker(), TouchingMarkers()
        self._finder: ForegroundRuns | None = None
        self._runs, self._kinds = np.empty((2, MAX_RUNS, 3), np.int32), np.empty(MAX_RUNS, np.uint8)
        self._seen = self._runs[0, :0]
        self._size = (0, 0)
        self.mode: Mode | None = None
        self.threshold: Threshold | None = None
        self.adjust(settings)

    def adjust(self, settings: DetectorSettings) -> None:
        """Take other settings from the next frame on."""
        self._settings = settings
        given = self._background
        self._static = None if given is None else compute_background_bounds(given, settings.k_sigma, settings.min_difference)
        if self._live is not None:
            self._live.tune(settings.k_sigma, settings.min_difference)
        self.mode = None
        self._eager, self._strange, self._steps = EAGER_FRAMES, False, 0
        self._n_last, self._vanished, self._costly = 0, False, False

    @property
    def settings(self) -> DetectorSettings:
        """Return the settings in force."""
        return self._settings

    def relearn(self) -> None:
        """Learn the empty room again from the next frames on, if the background is learned meanwhile."""
        if self._live is not None:
            self._live.relearn(self._settings.learn_s)

    def notices(self) -> list[str]:
        """Return the background's notices since the last call."""
        return [] if self._live is None else self._live.notices()

    def details(self) -> dict[str, float]:
        """Return figures for the status."""
        return {} if self._sought.landmarks is None else self._sought.landmarks.details()

    @property
    def flooded(self) -> bool:
        """Whether the last frame had too much foreground to detect anything."""
        return self._finder is not None and self._finder.flooded

    def view(self) -> DetectorView:
        """Return a view of the last frame."""
        return DetectorView(self.mode, None if self.threshold is None else self.threshold.pixel, self.flooded, self._seen)

    def step(self, frame: Frame) -> Blobs:
        """Return the markers of one frame.

        Raises CalibrationError: the image has another size than the background.
        """
        light, dark_share = measure_light(frame.image)
        m = self._detect_markers(frame, dark_share) if self._sought.markers else make_no_markers()
        landmarks = None if self._sought.landmarks is None else self._sought.landmarks.step(frame)
        parts = (m.points_px, m.area_px, m.color_rgb, m.sigma_px)
        return Blobs(frame.camera, frame.index, frame.t_capture_ns, *parts, light, landmarks)

    def _detect_markers(self, frame: Frame, dark_share: float) -> DetectedMarkers:
        """Return the markers of one frame."""
        image = frame.image
        finder = self._prepare(image, dark_share)
        bounds = self._static if self._live is None else self._live.bounds()
        detect = self._by_color if self.mode is Mode.COLOR else self._bright
        markers = detect(image, finder, bounds, frame.t_capture_ns)
        if self._live is not None:
            self._live.observe(image, self._seen, frame.t_capture_ns, self.mode is Mode.DARK)
        self._steps += 1
        if len(markers) > MAX_MARKERS:
            finder.flooded = True
            markers = make_no_markers()
        return markers

    def _prepare(self, image: Image, dark_share: float) -> ForegroundRuns:
        """Allocate what depends on the first image; choose the mode again when the lighting has changed."""
        size = (image.shape[1], image.shape[0])
        if self._finder is None:
            if self._background is not None and self._background.size != size:
                width, height = self._background.size
                raise CalibrationError(
                    f"the images are {size[0]}x{size[1]}, but the background {width}x{height}; learn it from the same recording"
                )
            self._finder, self._size = ForegroundRuns(size), size
        if self.mode is None:
            self.mode = choose_mode(self._settings.mode, image, self._table is not None)
            self._room = LightingDetector(self.mode is Mode.DARK)
        elif self._settings.mode == "auto" and self._room.changed(dark_share):
            self.mode = Mode.DARK if self._room.dark else choose_mode("background", image, self._table is not None)
            self._eager, self._costly, self.threshold = EAGER_FRAMES, False, None
        return self._finder

    def _by_color(self, image: Image, finder: ForegroundRuns, bounds: BackgroundBounds | None, t_ns: int) -> DetectedMarkers:
        """Return compact blobs of marker colour within the foreground, each with a core of nearly pure colour."""
        assert self._table is not None
        self._seen = finder.brighter(image, 0, gap_px=GAP_PX) if bounds is None else finder.outside(image, bounds)
        runs, kinds = self._runs[0], self._kinds
        n = split_colored_runs(image, self._seen, self._table.kinds, runs, kinds)
        raw = self._maker.colored_blobs(image, runs[:n], kinds[:n], self._table.weights)
        markers = choose_markers(raw, self._size, self._settings.min_area_px, 255.0 * CORE, 0.0, SAMPLING_COLOR_PX)
        extents = BlobExtents(raw.boxes(markers.chosen), raw.sums[markers.chosen, PEAK] - 255.0 * MEMBER)
        return self._touching.step(image, markers, extents, self._table.weights, 255.0 * MEMBER, t_ns)

    def _bright(self, image: Image, finder: ForegroundRuns, bounds: BackgroundBounds | None, t_ns: int) -> DetectedMarkers:
        """Return compact blobs brighter than the threshold, which follows the images."""
        unknown = self.threshold is None and self._steps % (COSTLY_FRAMES if self._costly else 1) == 0
        if self._eager > 0 or unknown or self._steps % EVERY_FRAMES == 0:
            self._follow_threshold(image, finder, bounds)
        self._seen = self._runs[0, :0]
        if self.threshold is None:
            self._eager = max(self._eager - 1, 0)
            return make_no_markers()
        level = int(self.threshold.pixel)
        if self._live is not None and self.mode is Mode.BRIGHT and bounds is not None:
            self._seen = finder.outside(image, bounds)  # the background is learned outside of the whole performer
            found = self._runs[1, : split_brighter_runs(image, self._seen, level, self._runs[1])]
        else:
            found = self._seen = finder.brighter(image, level, bounds)
        raw = self._maker.bright_blobs(image, found, level)
        raw = self._split(image, found, raw, SPLIT_SHARE, 1.0)
        if raw.any_elongated(SUSPECT_ELONGATION):
            single = self._touching.single(raw.boxes(np.arange(len(raw))), t_ns)
            raw = self._split(image, found, raw, HARD_SPLIT_SHARE, SUSPECT_ELONGATION, single)
        min_peak = self.threshold.peak - level
        markers = choose_markers(raw, self._size, self._settings.min_area_px, min_peak, SPECK_SHARE)
        self._watch_peak(markers, level)
        extents = BlobExtents(raw.boxes(markers.chosen), raw.sums[markers.chosen, PEAK])
        return self._touching.step(image, markers, extents, None, level, t_ns)

    def _split(
        self,
        image: Image,
        found: NDArray[np.int32],
        raw: RawBlobs,
        share: float,
        elongated: float,
        single: NDArray[np.bool_] | None = None,
    ) -> RawBlobs:
        """Split touching markers: a blob at least so elongated that holds several at a higher threshold is replaced by these.

        single: marks blobs that are known to be one marker.
        """
        assert self.threshold is not None
        level = self.threshold.pixel
        runs = self._runs[0]
        n = split_brighter_runs(image, found, int(level + share * (self.threshold.level - level)), runs)
        parts = self._maker.bright_blobs(image, runs[:n], int(level), gap_px=GAP_PX)
        return split_blobs(raw, parts, elongated, self._settings.min_area_px, single)

    def _watch_peak(self, markers: DetectedMarkers, level: float) -> None:
        """Estimate the threshold at once where the markers are suddenly brighter, dimmer, or gone."""
        assert self.threshold is not None
        self._eager = max(self._eager - 1, 0)
        strange = not len(markers) or abs(np.log((markers.peak + level) / self.threshold.level)) > STRANGE_PEAK
        if strange and not self._strange:
            self._eager = EAGER_FRAMES
            # All at once: a performer who leaves takes one marker after the other.
            self._vanished = not len(markers) and self._n_last >= self._min_markers
        self._vanished = self._vanished and self._eager > 0 and not len(markers)
        self._strange, self._n_last = strange, len(markers)

    def _follow_threshold(self, image: Image, finder: ForegroundRuns, bounds: BackgroundBounds | None) -> None:
        """Estimate the threshold in this image and move towards it."""
        found = finder.brighter(image, FLOOR, bounds)
        n_pixels = int((found[:, 2] - found[:, 1] + 1).sum())
        self._costly = finder.flooded or len(found) > COSTLY_RUNS or 4 * n_pixels > self._size[0] * self._size[1]
        which = 0

        def above(threshold: int) -> RawBlobs:
            nonlocal found, which
            out = self._runs[which]
            found, which = out[: split_brighter_runs(image, found, threshold, out)], 1 - which
            few = found if len(found) <= COSTLY_RUNS else found[:0]
            raw = self._maker.bright_blobs(image, few, threshold)
            return raw.select(find_compact_blobs(raw, self._size, self._settings.min_area_px))

        estimate = find_stable_threshold(above, self._min_markers)
        if estimate is not None:
            old = None if self._vanished else self.threshold
            self.threshold = estimate if old is None else old.towards(estimate)


SIDE_PX = 48


def warm_detection() -> None:
    """Compile the kernels that a first frame may not use: every way to find foreground, and touching markers."""
    image = np.zeros((SIDE_PX, SIDE_PX, 3), np.uint8)
    image[20:28, 10:30] = 200
    none = np.zeros((SIDE_PX, 3 * SIDE_PX), np.uint8)
    finder, bounds = ForegroundRuns((SIDE_PX, SIDE_PX)), BackgroundBounds(none, none)
    finder.outside(image, bounds)
    finder.brighter(image, 100)
    finder.brighter(image, 100, bounds)
    box, at_px = np.array([10.0, 29.0, 20.0, 27.0]), np.array([[14.0, 23.5], [25.0, 23.5]])
    area_px, peak = np.full(2, 70.0), np.full(2, 150.0)
    for table in (None, np.ones((32, 32, 32), np.uint8)):
        fit_discs(image, box, 160.0, at_px, area_px, peak, table, 50.0)
