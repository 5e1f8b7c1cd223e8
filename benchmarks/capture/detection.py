"""Detection of one frame against OpenCV's inRange + contours, with warm caches and with cold ones.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.capture.detection [--rounds 200] [--json F]

Drawn markers in noise, in the dark (brighter than a threshold) and before a learned background. OpenCV's share: inRange, its
opposite, outer contours, and moments of each; ours: runs of foreground and the sums of blobs, and beside them the detector's
whole step. `cold`: between any two calls a buffer larger than the caches is written. All take turns, on one thread; medians of
processor time.
"""

import time
from collections.abc import Callable

import cv2
import numpy as np

from benchmarks.report import build_parser, compute_percentiles, run_main, write_json
from capture.background.statistics import BackgroundBounds
from capture.detection.blobs import BlobMaker
from capture.detection.detector import Detector
from capture.detection.foreground import ForegroundRuns
from capture.packets import Frame
from config.arrays import Floats, Image
from config.settings import DetectorSettings

SIZES = ((640, 480), (1280, 720))
N_MARKERS, RADIUS_PX, LEVEL = 18, 5, 60
EVICT_BYTES = 96 << 20
Call = Callable[[], object]


def draw_image(size: tuple[int, int], room: bool) -> tuple[Image, BackgroundBounds]:
    """Return noise with markers on it, in the dark or before a room, and the bounds of what is behind them."""
    rng, (width, height) = np.random.default_rng(1), size
    patches = rng.uniform(30.0, 160.0, (height // 40, width // 40, 3)) if room else np.full((height // 40, width // 40, 3), 8.0)
    behind = np.kron(patches, np.ones((40, 40, 1)))
    image = np.clip(behind + rng.normal(0.0, 2.0, behind.shape), 0, 255).astype(np.uint8)
    for x, y in zip(rng.uniform(20, width - 20, N_MARKERS), rng.uniform(20, height - 20, N_MARKERS), strict=True):
        cv2.circle(image, (round(x), round(y)), RADIUS_PX, (250, 250, 250), -1, cv2.LINE_AA)
    lo, hi = (np.clip(behind + off, 0, 255).astype(np.uint8).reshape(height, -1) for off in (-14.0, 14.0))
    return image, BackgroundBounds(lo, hi)


def build_opencv_call(image: Image, lo: Image | Floats, hi: Image | Floats) -> Call:
    """Return a call of OpenCV's functions on one image; what is out of bounds is foreground.

    Args:
        image: the image.
        lo: least grey levels.
        hi: greatest grey levels.
    """

    def call() -> list[tuple[float, float]]:
        mask = cv2.bitwise_not(cv2.inRange(image, lo, hi))
        outlines, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
        moments = [cv2.moments(outline) for outline in outlines]
        return [(m["m10"] / m["m00"], m["m01"] / m["m00"]) for m in moments if m["m00"] > 0.0]

    return call


def build_calls(size: tuple[int, int], room: bool) -> dict[str, Call]:
    """Return what is measured."""
    image, bounds = draw_image(size, room)
    finder, maker = ForegroundRuns(size), BlobMaker()
    detector, frame = Detector(DetectorSettings(mode="dark")), Frame(0, 0, 0, image)
    shape = image.shape
    if room:
        opencv = build_opencv_call(image, bounds.lo.reshape(shape), bounds.hi.reshape(shape))
        return {"opencv": opencv, "kernel": lambda: maker.bright_blobs(image, finder.outside(image, bounds), 0)}
    return {
        "opencv": build_opencv_call(image, np.zeros(3), np.full(3, float(LEVEL))),
        "kernel": lambda: maker.bright_blobs(image, finder.brighter(image, LEVEL), LEVEL),
        "whole step": lambda: detector.step(frame),
    }


def measure_medians_us(measured: dict[str, Call], rounds: int, cold: bool) -> dict[str, float]:
    """Return the median time of every call [us]; they take turns.

    Args:
        measured: the calls by name.
        rounds: how often each is called.
        cold: whether caches are emptied before.
    """
    taken: dict[str, list[float]] = {name: [] for name in measured}
    buffer = np.zeros(EVICT_BYTES // 8)
    for n in range(-10, rounds):
        for name, call in measured.items():
            if cold:
                buffer += 1.0
            begun_ns = time.thread_time_ns()
            call()
            if n >= 0:
                taken[name].append(1e-3 * (time.thread_time_ns() - begun_ns))
    return {name: compute_percentiles(values, 50.0)[0] for name, values in taken.items()}


def main() -> None:
    """Print the table."""
    parser = build_parser(__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    options = parser.parse_args()
    cv2.setNumThreads(1)
    found: dict[str, dict[str, float]] = {}
    print(f"{'us a frame':<28}{'opencv':>9}{'kernel':>9}{'ahead':>8}{'step':>9}{'ahead':>8}")
    for size in SIZES:
        for room in (False, True):
            for cold in (False, True):
                name = f"{size[0]}x{size[1]} {'room' if room else 'dark'}, {'cold' if cold else 'warm'}"
                us = found[name] = measure_medians_us(build_calls(size, room), options.rounds, cold)
                ahead = {key: us["opencv"] / us[key] for key in us}
                text = f"{name:<28}{us['opencv']:>9.0f}{us['kernel']:>9.0f}{ahead['kernel']:>8.1f}"
                print(text + (f"{us['whole step']:>9.0f}{ahead['whole step']:>8.1f}" if "whole step" in us else ""), flush=True)
    write_json(options.json, found)


if __name__ == "__main__":
    run_main(main)
