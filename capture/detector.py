"""From a frame to blobs: one step for live and replay, with what a camera's detector learns on the way."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from capture.background import Background, Image
from capture.blobs import N_SUMS, PEAK, BlobMaker, RawBlobs, brighter_runs, colored_runs
from capture.color_table import CORE, MEMBER, ColorTable, color_table
from capture.foreground import GAP_PX, MAX_RUNS, Bounds, RunFinder, background_bounds
from capture.marker_blobs import MAX_MARKERS, SAMPLING_COLOR_PX, SPECK_SHARE, SUSPECT_ELONGATION, Markers, choose_markers, compact
from capture.mode import Mode, RoomWatch, choose_mode, light_of
from capture.packets import Blobs, Frame
from capture.part_blobs import taken_apart
from capture.split import TouchingMarkers
from capture.threshold import FLOOR, MIN_MARKERS, Threshold, stable_threshold
from config.errors import CalibrationError
from config.settings import DetectorSettings

SPLIT_SHARE = 0.4  # where between threshold and peak markers part
HARD_SPLIT_SHARE = 0.7  # the same for what looks like two markers: a lone one may flicker up there
EAGER_FRAMES, EVERY_FRAMES = 5, 15  # look for the threshold in every frame at first, now and then later
COSTLY_FRAMES = 5  # or every so often, where none is known and looking takes long
STRANGE_PEAK = 0.25  # log of the ratio by which the markers' peak must change at once for the threshold to be sought at once
COSTLY_RUNS = 6_000  # more than that above some grey level are no markers, and looking at them in every frame takes too long


class LearnsBackground(Protocol):
    """A background that is learned from the frames themselves."""

    def bounds(self) -> Bounds | None:
        """Give the bounds, which may change in place from frame to frame; None where nothing is known yet."""
        ...

    def observe(self, image: Image, runs: NDArray[np.int32], t_ns: int, dark: bool) -> None:
        """Learn from an image whose foreground is in runs (R, 3), in the dark bright spots only, taken at t_ns."""
        ...

    def tune(self, k_sigma: float, min_difference: float) -> None:
        """Take other settings."""
        ...

    def relearn(self, seconds: float) -> None:
        """Learn the empty room anew for so many seconds."""
        ...

    def events(self) -> list[str]:
        """Give what happened since the last call, in words."""
        ...


@dataclass(frozen=True, slots=True)
class DetectorView:
    """What a detector saw of its last frame: runs of foreground (row, first column, last), (R, 3), valid until the next step.

    threshold: grey level that bright markers exceed, None where none is known or colours tell them; flooded: so much is
    foreground that nothing was looked for.
    """

    mode: Mode | None
    threshold: float | None
    flooded: bool
    runs: NDArray[np.int32]


class Detector:
    """Markers of one camera; keeps the threshold it has found, so frames must come in order.

    mode is None until the first frame; threshold is None while none has been found, and in colour mode. An image that is all
    foreground, as when the light is switched on, gives no markers.
    """

    def __init__(
        self,
        settings: DetectorSettings,
        background: Background | None = None,
        colors_rgb: ArrayLike | None = None,
        live: LearnsBackground | None = None,
        least_markers: int = MIN_MARKERS,
    ) -> None:
        """Prepare.

        background: as it was learned beforehand; live: as it is learned meanwhile, used instead of it; colors_rgb: expected
        marker colours, (C, 3) 0-255, None or empty where markers are bright; least_markers: how many bright ones must be seen to
        tell markers from the rest, fewer than usual for a wand.
        """
        self._background, self._live, self._least_markers = background, live, least_markers
        colors = np.zeros((0, 3)) if colors_rgb is None else np.asarray(colors_rgb, float).reshape(-1, 3)
        self._table: ColorTable | None = color_table(colors) if len(colors) else None
        self._maker, self._touching = BlobMaker(), TouchingMarkers()
        self._finder: RunFinder | None = None
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
        self._static = None if given is None else background_bounds(given, settings.k_sigma, settings.min_difference)
        if self._live is not None:
            self._live.tune(settings.k_sigma, settings.min_difference)
        self.mode = None
        self._eager, self._strange, self._steps = EAGER_FRAMES, False, 0
        self._n_last, self._gone, self._costly = 0, False, False

    @property
    def settings(self) -> DetectorSettings:
        """Give the settings in force."""
        return self._settings

    def relearn(self) -> None:
        """Learn the empty room anew from the next frames on, where the background is learned meanwhile."""
        if self._live is not None:
            self._live.relearn(self._settings.learn_s)

    def events(self) -> list[str]:
        """Give what the background has to say since the last call, in words."""
        return [] if self._live is None else self._live.events()

    @property
    def flooded(self) -> bool:
        """Tell whether so much of the last frame was foreground that nothing was looked for."""
        return self._finder is not None and self._finder.flooded

    @property
    def foreground_share(self) -> float:
        """Share of the last frame's pixels that were foreground, 0..1."""
        if self.flooded:
            return 1.0
        return _pixels(self._seen) / max(self._size[0] * self._size[1], 1)

    def view(self) -> DetectorView:
        """Give what was seen of the last frame."""
        return DetectorView(self.mode, None if self.threshold is None else self.threshold.pixel, self.flooded, self._seen)

    def step(self, frame: Frame) -> Blobs:
        """Give the markers of one frame.

        Raises CalibrationError: the image has another size than the background.
        """
        image = frame.image
        light, dark_share = light_of(image)
        finder = self._prepared(image, dark_share)
        bounds = self._static if self._live is None else self._live.bounds()
        search = self._by_color if self.mode is Mode.COLOR else self._bright
        markers = search(image, finder, bounds, frame.t_capture_ns)
        if self._live is not None:
            self._live.observe(image, self._seen, frame.t_capture_ns, self.mode is Mode.DARK)
        self._steps += 1
        if len(markers) > MAX_MARKERS:
            finder.flooded = True
            markers = markers.none()
        m = markers
        return Blobs(frame.camera, frame.index, frame.t_capture_ns, m.points_px, m.area_px, m.color_rgb, m.sigma_px, light)

    def _prepared(self, image: Image, dark_share: float) -> RunFinder:
        """Make what depends on the first image, and choose the mode anew when the room has become another."""
        size = (image.shape[1], image.shape[0])
        if self._finder is None:
            if self._background is not None and self._background.size != size:
                width, height = self._background.size
                raise CalibrationError(
                    f"the images are {size[0]}x{size[1]}, but the background {width}x{height}; learn it from the same recording"
                )
            self._finder, self._size = RunFinder(size), size
        if self.mode is None:
            self.mode = choose_mode(self._settings.mode, image, self._table is not None)
            self._room = RoomWatch(self.mode is Mode.DARK)
        elif self._settings.mode == "auto" and self._room.changed(dark_share):
            self.mode = Mode.DARK if self._room.dark else choose_mode("background", image, self._table is not None)
            self._eager, self._costly, self.threshold = EAGER_FRAMES, False, None
        return self._finder

    def _by_color(self, image: Image, finder: RunFinder, bounds: Bounds | None, t_ns: int) -> Markers:
        """Give compact blobs of marker colour within the foreground, each with a core of nearly pure colour."""
        assert self._table is not None
        self._seen = finder.brighter(image, 0, gap_px=GAP_PX) if bounds is None else finder.outside(image, bounds)
        runs, kinds = self._runs[0], self._kinds
        n = colored_runs(image, self._seen, self._table.kinds, runs, kinds)
        raw = self._maker.colored_blobs(image, runs[:n], kinds[:n], self._table.weights)
        markers = choose_markers(raw, self._size, self._settings.min_area_px, 255.0 * CORE, 0.0, SAMPLING_COLOR_PX)
        boxes, peaks = raw.boxes(markers.chosen), raw.sums[markers.chosen, PEAK] - 255.0 * MEMBER
        return self._touching.step(image, markers, (boxes, peaks), self._table.weights, 255.0 * MEMBER, t_ns)

    def _bright(self, image: Image, finder: RunFinder, bounds: Bounds | None, t_ns: int) -> Markers:
        """Give compact blobs brighter than the threshold, which follows the images."""
        unknown = self.threshold is None and self._steps % (COSTLY_FRAMES if self._costly else 1) == 0
        if self._eager > 0 or unknown or self._steps % EVERY_FRAMES == 0:
            self._follow_threshold(image, finder, bounds)
        self._seen = self._runs[0, :0]
        if self.threshold is None:
            self._eager = max(self._eager - 1, 0)
            return self._none()
        level = int(self.threshold.pixel)
        if self._live is not None and self.mode is Mode.BRIGHT and bounds is not None:
            self._seen = finder.outside(image, bounds)  # the background is learned outside of the whole performer
            found = self._runs[1, : brighter_runs(image, self._seen, level, self._runs[1])]
        else:
            found = self._seen = finder.brighter(image, level, bounds)
        raw = self._maker.bright_blobs(image, found, level)
        raw = self._apart(image, found, raw, SPLIT_SHARE, 1.0)
        if raw.any_elongated(SUSPECT_ELONGATION):
            alone = self._touching.alone(raw.boxes(np.arange(len(raw))), t_ns)
            raw = self._apart(image, found, raw, HARD_SPLIT_SHARE, SUSPECT_ELONGATION, alone)
        least_peak = self.threshold.peak - level
        markers = choose_markers(raw, self._size, self._settings.min_area_px, least_peak, SPECK_SHARE)
        self._mind(markers, level)
        seen = raw.boxes(markers.chosen), raw.sums[markers.chosen, PEAK]
        return self._touching.step(image, markers, seen, None, level, t_ns)

    def _none(self) -> Markers:
        return choose_markers(RawBlobs(np.zeros((0, N_SUMS))), self._size, 0.0, 0.0)

    def _apart(
        self,
        image: Image,
        found: NDArray[np.int32],
        raw: RawBlobs,
        share: float,
        elongated: float,
        alone: NDArray[np.bool_] | None = None,
    ) -> RawBlobs:
        """Take markers that touch apart: a blob at least so elongated that holds several at a higher threshold becomes these.

        alone: marks blobs that are known to be one marker.
        """
        assert self.threshold is not None
        level = self.threshold.pixel
        runs = self._runs[0]
        n = brighter_runs(image, found, int(level + share * (self.threshold.level - level)), runs)
        parts = self._maker.bright_blobs(image, runs[:n], int(level), gap_px=GAP_PX)
        return taken_apart(raw, parts, elongated, self._settings.min_area_px, alone)

    def _mind(self, markers: Markers, level: float) -> None:
        """Look for the threshold at once where the markers are suddenly brighter or dimmer, or gone."""
        assert self.threshold is not None
        self._eager = max(self._eager - 1, 0)
        strange = not len(markers) or abs(np.log((markers.peak + level) / self.threshold.level)) > STRANGE_PEAK
        if strange and not self._strange:
            self._eager = EAGER_FRAMES
            self._gone = not len(markers) and self._n_last >= self._least_markers  # a performer leaves one marker after the other
        self._gone = self._gone and self._eager > 0 and not len(markers)
        self._strange, self._n_last = strange, len(markers)

    def _follow_threshold(self, image: Image, finder: RunFinder, bounds: Bounds | None) -> None:
        """Look for the threshold in this image and go a part of the way to it."""
        found = finder.brighter(image, FLOOR, bounds)
        self._costly = finder.flooded or len(found) > COSTLY_RUNS or 4 * _pixels(found) > self._size[0] * self._size[1]
        which = 0

        def above(threshold: int) -> RawBlobs:
            nonlocal found, which
            out = self._runs[which]
            found, which = out[: brighter_runs(image, found, threshold, out)], 1 - which
            few = found if len(found) <= COSTLY_RUNS else found[:0]
            raw = self._maker.bright_blobs(image, few, threshold)
            return raw.chosen(compact(raw, self._size, self._settings.min_area_px))

        estimate = stable_threshold(above, self._least_markers)
        if estimate is not None:
            old = None if self._gone else self.threshold
            self.threshold = estimate if old is None else old.towards(estimate)


def _pixels(runs: NDArray[np.int32]) -> int:
    """Give the number of pixels in runs (R, 3)."""
    return int((runs[:, 2] - runs[:, 1] + 1).sum())
