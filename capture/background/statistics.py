"""Background statistics per pixel and channel: learned without the performer, or estimated with the performer in view."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from capture.background.kernels import MIN_SIGMA, accumulate_image
from capture.sources.source import Source
from config.arrays import Floats, Image
from config.errors import SourceError
from config.jit import kernel
from config.words import format_count

# 8-bit images: even a noiseless pixel flickers by rounding.
DARK_LEVEL, DARK_SHARE = 60, 0.95
MAX_IMAGES = 66_000  # whose squares are added in 32 bits
# Quantiles of a normal distribution, in standard deviations: q30 - q10, mean - q20, and median - q25.
Q10_TO_Q30, Q20_TO_MEAN, Q25_TO_MEDIAN = 0.7572, 0.8416, 0.6745


@dataclass(frozen=True, slots=True)
class Background:
    """The scene without the performer: mean and standard deviation, (H, W, 3) float32 BGR 0-255."""

    mean: NDArray[np.float32]
    std: NDArray[np.float32]

    def __post_init__(self) -> None:
        self.mean.setflags(write=False)
        self.std.setflags(write=False)

    @property
    def size(self) -> tuple[int, int]:
        """Width, height [px]."""
        return self.mean.shape[1], self.mean.shape[0]


@dataclass(frozen=True, slots=True)
class BackgroundBounds:
    """Range of background values, ends included: lo and hi, (H, 3 W) uint8 each, hi >= lo."""

    lo: Image
    hi: Image


def compute_background_bounds(background: Background, k_sigma: float, min_difference: float) -> BackgroundBounds:
    """Return mean +- max(k sigma, least difference) as 8-bit bounds within 0..255.

    Args:
        background: mean and standard deviation.
        k_sigma: standard deviations between mean and bound.
        min_difference: least difference between them [grey levels].
    """
    reach = np.maximum(k_sigma * background.std, min_difference)
    lo = np.clip(np.ceil(background.mean - reach), 0, 255).astype(np.uint8)
    hi = np.maximum(np.clip(np.floor(background.mean + reach), 0, 255).astype(np.uint8), lo)
    flat = (lo.shape[0], -1)
    return BackgroundBounds(np.ascontiguousarray(lo.reshape(flat)), np.ascontiguousarray(hi.reshape(flat)))


def is_dark(image: Image) -> bool:
    """Return whether nearly all pixels are near black, as in a dark room with retro-reflective markers."""
    brightest = image[::4, ::4].max(axis=2)
    return bool((brightest < DARK_LEVEL).mean() >= DARK_SHARE)


class ImageSums:
    """Sums of images without the performer and of their squares, which tell mean and deviation; of at most MAX_IMAGES."""

    def __init__(self, size: int) -> None:
        """Prepare for images of so many values."""
        self._total, self._squares = np.zeros(size, np.uint32), np.zeros(size, np.uint32)
        self.n = 0

    def add(self, image: Image) -> None:
        """Add an image."""
        accumulate_image(image.reshape(-1), self._total, self._squares)
        self.n += 1

    def mean_and_sigma(self) -> tuple[Floats, Floats]:
        """Return mean and standard deviation of every value, flat (Chai & Hodgins 2005, sec. 3.1); of two images at least."""
        mean = self._total / self.n
        return mean, np.sqrt(np.maximum(self._squares / self.n - mean * mean, 0.0) * (self.n / (self.n - 1.0)))


def learn_background(images: Iterable[Image]) -> Background:
    """Return mean and standard deviation over images without the performer. Raises SourceError: fewer than two images."""
    shape, sums = (0, 0, 3), ImageSums(0)
    for image in islice(images, MAX_IMAGES):
        if not sums.n:
            shape, sums = image.shape, ImageSums(image.size)
        sums.add(image)
    if sums.n < 2:
        raise SourceError(
            f"{format_count(sums.n, 'frame')} without the performer; at least 2 are needed, better a second's worth: give a "
            "longer --background"
        )
    mean, sigma = (values.astype(np.float32).reshape(shape) for values in sums.mean_and_sigma())
    return Background(mean, np.maximum(sigma, np.float32(MIN_SIGMA)))


def estimate_background(images: list[Image]) -> Background:
    """Estimate the background from a recording in which the performer covers no pixel for more than about half of the time.

    In the light: the median, and the smaller of its distances to the quartiles as 0.6745 sigma, since the performer disturbs one
    side only. In the dark markers only brighten pixels: mean and sigma come from the 10, 20 and 30% quantiles, so that a foot
    that stands still for most of the recording is foreground, and a permanent reflection is not. Raises SourceError: fewer than
    five images.
    """
    if len(images) < 5:
        raise SourceError(
            f"{format_count(len(images), 'frame is', 'frames are')} too few to estimate the background; record longer, or a "
            "background without the performer"
        )
    samples = np.stack([image.ravel() for image in images])
    dark = float(np.mean([is_dark(image) for image in images])) > 0.5
    shares = np.array([0.1, 0.2, 0.3] if dark else [0.25, 0.5, 0.75])
    quantiles = np.empty((3, samples.shape[1]), np.float32)
    write_quantiles(samples, np.round(shares * (len(images) - 1)).astype(np.int64), quantiles)
    low, middle, high = quantiles
    if dark:
        std = np.maximum((high - low) / Q10_TO_Q30, MIN_SIGMA)
        mean = np.minimum(middle + Q20_TO_MEAN * std, 255.0)
    else:
        std = np.maximum(np.minimum(middle - low, high - middle) / Q25_TO_MEDIAN, MIN_SIGMA)
        mean = middle
    shape = images[0].shape
    return Background(mean.reshape(shape).astype(np.float32), std.reshape(shape).astype(np.float32))


def sample_images(source: Source, wanted: int = 60) -> list[Image]:
    """Read a source to its end; return images spread evenly over it, `wanted` to twice as many if it has them."""
    kept: list[Image] = []
    stride = 1
    while (frame := source.read()) is not None:
        if frame.index % stride == 0:
            kept.append(frame.image)
        if len(kept) >= 2 * wanted:
            kept, stride = kept[::2], 2 * stride
    return kept


def read_images_between(source: Source, start_s: float, end_s: float) -> list[Image]:
    """Return the images of a source from one time until just before another, when the performer may be there; to the millisecond.

    Args:
        source: the recording.
        start_s, end_s: the times.
    Raises: SourceError: fewer than two images.
    """
    kept: list[Image] = []
    while (frame := source.read()) is not None and (t_ms := round(frame.t_capture_ns * 1e-6)) < round(end_s * 1e3):
        if t_ms >= round(start_s * 1e3):
            kept.append(frame.image)
    if len(kept) < 2:
        raise SourceError(
            f"{source.name}: {format_count(len(kept), 'frame')} from {start_s:g} to {end_s:g} s; give seconds within the "
            "recording"
        )
    return kept


@kernel
def write_quantiles(samples: NDArray[np.uint8], ranks: NDArray[np.int64], out: NDArray[np.float32]) -> None:
    """Write the values of three ascending ranks in each column: samples (n, P) -> out (3, P), by counting."""
    counts = np.zeros(256, np.int32)
    for p in range(samples.shape[1]):
        low, high = 255, 0
        for i in range(samples.shape[0]):
            value = int(samples[i, p])
            counts[value] += 1
            if value < low:
                low = value
            if value > high:
                high = value
        seen, rank = 0, 0
        for value in range(low, high + 1):
            seen += counts[value]
            counts[value] = 0
            while rank < 3 and seen > ranks[rank]:
                out[rank, p] = value
                rank += 1
