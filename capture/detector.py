"""From a frame to blobs: one step for live and replay, with what a camera's detector learns on the way."""

from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from capture.background import Background, Image, is_dark
from capture.blobs import AREA, N_SUMS, PEAK, BlobMaker, RawBlobs, W, brighter_runs, colored_runs
from capture.color_table import CORE, ColorTable, color_table
from capture.foreground import GAP_PX, MAX_RUNS, Bounds, RunFinder, background_bounds, brighter_than, everything
from capture.packets import Blobs, Frame
from capture.threshold import FLOOR, Threshold, stable_threshold
from config.errors import CalibrationError, SettingsError
from config.settings import DetectorSettings

MAX_AREA_SHARE = 0.004  # of the image: a marker is small
MIN_FILL, MAX_ELONGATION = 0.35, 4.0  # of its bounding box, and width to height
SPECK_SHARE = 0.12  # of the median area: smaller spots are glints
SPLIT_SHARE, PART_SHARE = 0.4, 0.15  # where between threshold and peak markers part; least area of a part, of the whole
HARD_SPLIT_SHARE, SUSPECT_ELONGATION = 0.7, 1.4  # the same for what looks like two markers: a lone one may flicker up there
EAGER_FRAMES, EVERY_FRAMES = 5, 15  # look for the threshold in every frame at first, now and then later
PIXEL_NOISE = 2.0  # grey levels, of a webcam in MJPG
SIGMA_FLOOR_PX = 0.06  # what compression and sampling leave of even the brightest marker
SHAPE_SHARE = 0.03  # of the radius: a marker is not lit evenly
MERGED_SHARE = 1.0  # of the radius, for each unit of elongation: two markers in one, or one blurred by motion
LIGHT_STEP = 16  # the mean brightness of an image is that of every so many-th pixel
CUT_SHARE = 0.5  # of the radius: a marker cut by the edge of the image shows only a part


class Mode(StrEnum):
    """What the markers are told by."""

    DARK = "dark"  # bright spots in a dark room
    BRIGHT = "bright"  # bright spots on the performer, in the light
    COLOR = "color"  # marker colours on the performer, in the light


def choose_mode(setting: str, image: Image, has_colors: bool) -> Mode:
    """Give the mode a setting asks for, by the image where it is `auto`.

    Raises SettingsError: not auto, dark or background.
    """
    if setting not in ("auto", "dark", "background"):
        raise SettingsError(f"detector.mode is {setting!r}; expected auto, dark or background")
    if setting == "dark" or (setting == "auto" and is_dark(image)):
        return Mode.DARK
    return Mode.COLOR if has_colors else Mode.BRIGHT


class Detector:
    """Markers of one camera; keeps the threshold it has found, so frames must come in order.

    mode is None until the first frame; threshold is None while none has been found, and in colour mode.
    """

    def __init__(
        self, settings: DetectorSettings, background: Background | None = None, colors_rgb: ArrayLike | None = None
    ) -> None:
        """Prepare. colors_rgb: expected marker colours, (C, 3) 0-255, None or empty where markers are bright."""
        self._settings, self._background = settings, background
        colors = np.zeros((0, 3)) if colors_rgb is None else np.asarray(colors_rgb, float).reshape(-1, 3)
        self._table: ColorTable | None = color_table(colors) if len(colors) else None
        self._static = None if background is None else background_bounds(background, settings.k_sigma, settings.min_difference)
        self._maker = BlobMaker()
        self._finder: RunFinder | None = None
        self._bounds: tuple[int, Bounds] | None = None
        self._colored = (np.empty((MAX_RUNS, 3), np.int32), np.empty(MAX_RUNS, np.uint8))
        self._steps = 0
        self.mode: Mode | None = None
        self.threshold: Threshold | None = None

    def step(self, frame: Frame) -> Blobs:
        """Give the markers of one frame.

        Raises CalibrationError: the image has another size than the background.
        """
        image = frame.image
        if self._finder is None or self.mode is None:
            size = (image.shape[1], image.shape[0])
            if self._background is not None and self._background.size != size:
                width, height = self._background.size
                raise CalibrationError(
                    f"the images are {size[0]}x{size[1]}, but the background {width}x{height}; learn it from the same recording"
                )
            self._finder = RunFinder(size)
            self.mode = choose_mode(self._settings.mode, image, self._table is not None)
        raw = self._colored_blobs(image) if self.mode is Mode.COLOR else self._bright_blobs(image)
        self._steps += 1
        return _packed(frame, raw)

    def _find(self, image: Image, bounds: Bounds, gap_px: int = GAP_PX) -> NDArray[np.int32]:
        """Give the runs of an image outside the bounds."""
        assert self._finder is not None
        return self._finder.runs(image, bounds, gap_px)

    def _colored_blobs(self, image: Image) -> RawBlobs:
        """Give compact blobs of marker colour within the foreground, each with a core of nearly pure colour."""
        assert self._table is not None
        if self._static is None:
            self._static = everything((image.shape[1], image.shape[0]))
        runs, kinds = self._colored
        n = colored_runs(image, self._find(image, self._static), self._table.kinds, runs, kinds)
        raw = self._maker.colored_blobs(image, runs[:n], kinds[:n], self._table.weights)
        return raw.chosen(compact(raw, image, self._settings.min_area_px) & (raw.sums[:, PEAK] >= 255.0 * CORE))

    def _bright_blobs(self, image: Image) -> RawBlobs:
        """Give compact blobs brighter than the threshold, which follows the images."""
        if self._steps < EAGER_FRAMES or self.threshold is None or self._steps % EVERY_FRAMES == 0:
            self._follow_threshold(image)
        if self.threshold is None:
            return RawBlobs(np.zeros((0, N_SUMS)))
        level = int(self.threshold.pixel)
        if self._bounds is None or self._bounds[0] != level:
            self._bounds = level, brighter_than(self._static, level, (image.shape[1], image.shape[0]))
        found = self._find(image, self._bounds[1], 0)
        raw = self._maker.bright_blobs(image, found, level)
        raw = self._split(image, found, raw, SPLIT_SHARE, 1.0)
        if len(raw) and raw.elongation.max() > SUSPECT_ELONGATION:
            raw = self._split(image, found, raw, HARD_SPLIT_SHARE, SUSPECT_ELONGATION)
        keep = compact(raw, image, self._settings.min_area_px) & (raw.sums[:, PEAK] + level >= self.threshold.peak)
        raw = raw.chosen(keep)
        return raw.chosen(raw.sums[:, AREA] >= SPECK_SHARE * np.median(raw.sums[:, AREA])) if len(raw) else raw

    def _split(self, image: Image, found: NDArray[np.int32], raw: RawBlobs, share: float, elongated: float) -> RawBlobs:
        """Take markers that touch apart: a blob at least so elongated that holds several at a higher threshold becomes these."""
        assert self.threshold is not None
        level = self.threshold.pixel
        core = int(level + share * (self.threshold.level - level))
        runs, _ = self._colored
        n = brighter_runs(image, found, core, runs)
        parts = self._maker.bright_blobs(image, runs[:n], int(level), gap_px=GAP_PX)
        owner = parts.inside(raw)
        large = (owner >= 0) & (parts.sums[:, AREA] >= np.maximum(PART_SHARE * raw.sums[owner, AREA], self._settings.min_area_px))
        pieces = np.bincount(owner[large], minlength=len(raw))
        apart = (pieces > 1) & (raw.elongation >= elongated)
        if not apart.any():
            return raw
        return RawBlobs(np.concatenate([raw.sums[~apart], parts.sums[large & apart[owner]]]))

    def _follow_threshold(self, image: Image) -> None:
        """Look for the threshold in this image and go a part of the way to it."""
        size = (image.shape[1], image.shape[0])
        floor = brighter_than(self._static, FLOOR, size)
        found = self._find(image, floor, 0)
        runs, _ = self._colored

        def above(threshold: int) -> RawBlobs:
            n = brighter_runs(image, found, threshold, runs)
            raw = self._maker.bright_blobs(image, runs[:n], threshold)
            return raw.chosen(compact(raw, image, self._settings.min_area_px))

        estimate = stable_threshold(above)
        if estimate is not None:
            self.threshold = estimate if self.threshold is None else self.threshold.towards(estimate)


def compact(raw: RawBlobs, image: Image, min_area_px: float) -> NDArray[np.bool_]:
    """Mark blobs of a marker's size and shape, (N,)."""
    extent = raw.extent_px
    area = raw.sums[:, AREA]
    fill = area / (extent[:, 0] * extent[:, 1])
    small = area <= MAX_AREA_SHARE * image.shape[0] * image.shape[1]
    return np.asarray(
        (raw.sums[:, W] > 0.0) & (area >= min_area_px) & small & (fill >= MIN_FILL) & (raw.elongation <= MAX_ELONGATION)
    )


def center_sigma_px(raw: RawBlobs, size: tuple[int, int]) -> NDArray[np.float64]:
    """Give the standard deviation of each weighted centre, (N,) [px].

    Pixel noise s moves the centre of a disc of area A and summed weight W by s A / (sqrt(4 pi) W), to first order; a floor,
    uneven lighting, a cut by the image's edge and a shape like that of two markers in one are added in quadrature.
    """
    area = raw.sums[:, AREA]
    radius = np.sqrt(area / np.pi)
    noise = PIXEL_NOISE * area / (np.sqrt(4.0 * np.pi) * raw.sums[:, W])
    cut = np.where(raw.touches_border(size), CUT_SHARE * radius, 0.0)
    merged = MERGED_SHARE * radius * np.maximum(raw.elongation - SUSPECT_ELONGATION, 0.0)
    return np.asarray(np.sqrt(SIGMA_FLOOR_PX**2 + noise**2 + (SHAPE_SHARE * radius) ** 2 + cut**2 + merged**2))


def _packed(frame: Frame, raw: RawBlobs) -> Blobs:
    """Give the packet of a frame's blobs."""
    size = (frame.image.shape[1], frame.image.shape[0])
    return Blobs(
        frame.camera,
        frame.index,
        frame.t_capture_ns,
        np.ascontiguousarray(raw.center_px),
        np.ascontiguousarray(raw.sums[:, AREA]),
        np.ascontiguousarray(raw.color_rgb),
        center_sigma_px(raw, size),
        float(frame.image[::LIGHT_STEP, ::LIGHT_STEP].mean()),
    )
