"""The detection stage against OpenCV's ways to the same blobs, on pairs of drawn frames with 18 markers in each view.

    python -m benchmarks.capture.detection [--rounds 200] [--paced 40] [--look LOOK] [--json F]

Ours is the whole of `Detector.step`: foreground, blobs, selection, centres, colours and their uncertainty. Peers: cv2.inRange (on
the bounds of the background; in the dark on a threshold) + dilate + findContours + moments, connectedComponentsWithStats on the
same mask, and MOG2 (without learning) + findContours; with a performer in view restricted to the markers' hues. None of these
gives weighted centres or separates markers from other blobs. The foreground kernel alone is compared with the sum of the bytes it
must read, cached. Hot: in a loop; paced: at 60 Hz with the caches swept before, and the frames written anew, as by a decoder.
Milliseconds of processor time; all methods take turns in each round, so that the ratios count.
"""

import time
from collections.abc import Callable

import cv2
import numpy as np

from benchmarks.capture.detection_scene import PAIRS, Scene, empty_room, noisy, scene
from benchmarks.report import parser_of, write_json
from capture.background.statistics import background_bounds
from capture.detection.detector import Detector
from capture.detection.foreground import ForegroundRuns
from capture.packets import Frame
from config.arrays import Image
from config.jit import kernel
from config.settings import DetectorSettings

SIZES = ((640, 480), (1280, 720))
LOOKS = ("dark", "bright", "color", "color, performer")
WARM = 4  # calls before the one that is timed, hot
# Of this thread, so that other programs on the machine count less; Windows counts it in steps of 16 ms.
CLOCK_NS = time.thread_time_ns if time.get_clock_info("thread_time").resolution < 1e-5 else time.perf_counter_ns
SWEEP = np.zeros(48 << 20, np.uint8)  # more than the caches hold
Stage = Callable[[int], object]  # what is timed, for pair k


@kernel
def _sum_bytes(flat: np.ndarray) -> int:
    """Sum 64-bit words: nothing that reads all bytes is faster."""
    total = np.uint64(0)
    for i in range(len(flat)):
        total += flat[i]
    return int(total & np.uint64(0xFF))


def _words(image: np.ndarray) -> np.ndarray:
    flat = image.reshape(-1)
    return flat[: len(flat) // 8 * 8].view(np.uint64)


def _moments(mask: np.ndarray) -> list[tuple[float, float]]:
    contours, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    centres = []
    for contour in contours:
        m = cv2.moments(contour)
        if m["m00"] > 0.0:
            centres.append((m["m10"] / m["m00"], m["m01"] / m["m00"]))
    return centres


def stages(given: Scene) -> dict[str, Stage]:
    """Return what is timed, by name; all see the same frames."""
    size, dark = given.size, given.look == "dark"
    settings = DetectorSettings(mode="dark" if dark else "background")
    detectors = [Detector(settings, given.background, given.colors_rgb) for _ in range(2)]
    frames = [
        [Frame(camera, k, k * 16_666_667, image) for camera, image in enumerate(pair)] for k, pair in enumerate(given.pairs)
    ]
    element = np.ones((3, 3), np.uint8)
    mog = cv2.createBackgroundSubtractorMOG2(detectShadows=False)
    threshold = int(given.threshold)
    if given.background is None:
        bounds = None
        lower: object = (0, 0, 0)
        upper: object = (threshold,) * 3
        learned = [noisy(empty_room("dark", size), np.random.default_rng(9)) for _ in range(4)]
    else:
        bounds = background_bounds(given.background, settings.k_sigma, settings.min_difference)
        lower = bounds.lo.reshape(size[1], size[0], 3)
        upper = bounds.hi.reshape(size[1], size[0], 3)
        learned = [given.background.mean.astype(np.uint8)] * 4
    for image in learned:
        mog.apply(image)
    finder = ForegroundRuns(size)

    def mask(image: np.ndarray) -> np.ndarray:
        return np.asarray(cv2.bitwise_not(cv2.inRange(image, lower, upper)))

    def marked(image: Image, foreground: Image) -> Image:
        """Keep what has a marker's hue, where a performer is in view: red or green, well saturated."""
        if "performer" not in given.look:
            return foreground
        hsv = cv2.cvtColor(image, cv2.COLOR_BGR2HSV)
        hues = [cv2.inRange(hsv, (low, 110, 60), (high, 255, 255)) for low, high in ((0, 10), (170, 180), (45, 75))]
        return np.asarray(foreground & (hues[0] | hues[1] | hues[2]))

    def ours(k: int) -> object:
        return [detector.step(frame) for detector, frame in zip(detectors, frames[k], strict=True)]

    def contours(k: int) -> object:
        return [_moments(cv2.dilate(marked(image, mask(image)), element)) for image in given.pairs[k]]

    def components(k: int) -> object:
        return [
            cv2.connectedComponentsWithStats(cv2.dilate(marked(image, mask(image)), element), connectivity=8, ltype=cv2.CV_16U)
            for image in given.pairs[k]
        ]

    def mixture(k: int) -> object:
        return [_moments(cv2.dilate(marked(image, mog.apply(image, learningRate=0)), element)) for image in given.pairs[k]]

    def bare(k: int) -> object:
        return [
            finder.brighter(image, threshold) if bounds is None else finder.outside(image, bounds) for image in given.pairs[k]
        ]

    words = [[_words(image) for image in pair] for pair in given.pairs]
    arrays = [] if bounds is None else [_words(bounds.lo), _words(bounds.hi)]

    def floor(k: int) -> object:
        return [_sum_bytes(array) for image in words[k] for array in (image, *arrays)]

    def inrange(k: int) -> object:
        return [mask(image) for image in given.pairs[k]]

    return {
        "ours": ours,
        "inRange + contours": contours,
        "components": components,
        "MOG2": mixture,
        "kernel": bare,
        "inRange": inrange,
        "floor": floor,
    }


def hot(timed: dict[str, Stage], rounds: int) -> dict[str, float]:
    """Return median milliseconds a pair, each method several times in a row so that it finds its own data cached."""
    taken: dict[str, list[float]] = {name: [] for name in timed}
    for r in range(rounds):
        for name, stage in timed.items():
            k = r % PAIRS
            for _ in range(WARM):
                stage(k)
            begun = CLOCK_NS()
            stage(k)
            taken[name].append((CLOCK_NS() - begun) * 1e-6)
    return {name: float(np.median(values)) for name, values in taken.items()}


def paced(timed: dict[str, Stage], given: Scene, rounds: int) -> dict[str, float]:
    """Return median milliseconds a pair at 60 Hz with swept caches."""
    taken: dict[str, list[float]] = {name: [] for name in timed}
    due = time.perf_counter()
    for r in range(rounds):
        for name, stage in timed.items():
            due = max(due + 1.0 / 60.0, time.perf_counter())
            SWEEP[::64] += 1
            time.sleep(max(due - time.perf_counter(), 0.0))
            for image in given.pairs[r % PAIRS]:
                image[:] = image.copy()
            begun = CLOCK_NS()
            stage(r % PAIRS)
            taken[name].append((CLOCK_NS() - begun) * 1e-6)
    return {name: float(np.median(values)) for name, values in taken.items()}


def report(label: str, ms: dict[str, float]) -> None:
    """Print one line of milliseconds and ratios."""
    peers = ("inRange + contours", "components", "MOG2")
    ratios = "  ".join(f"{name} {ms[name]:.3f} ({ms[name] / ms['ours']:.1f}x)" for name in peers)
    share = ms["kernel"] / ms["floor"]
    kernels = f"kernel {ms['kernel']:.3f}, inRange {ms['inRange']:.3f}, floor {ms['floor']:.3f} (kernel/floor {share:.2f})"
    print(f"{label:38s} ours {ms['ours']:.3f}  {ratios}  | {kernels}")


def main() -> None:
    """Print a line for each size, look and way of measuring."""
    parser = parser_of(__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--paced", type=int, default=40)
    parser.add_argument("--look", action="append", choices=LOOKS)
    arguments = parser.parse_args()
    cv2.setNumThreads(1)
    print("milliseconds a pair of frames, 18 markers a view (in brackets: how many times ours)")
    results = {}
    for size in SIZES:
        for look in arguments.look or LOOKS:
            given = scene(look, size)
            timed = stages(given)
            for k in range(PAIRS):
                found = [len(blobs) for blobs in timed["ours"](k)]  # type: ignore[attr-defined]
                if found != [given.n_markers] * 2:
                    print(f"  {look}: {found} markers found of {given.n_markers}")
            for way, ms in (("hot", hot(timed, arguments.rounds)), ("paced", paced(timed, given, arguments.paced))):
                label = f"{size[0]}x{size[1]} {look}, {way}"
                report(label, ms)
                results[label] = ms
    write_json(arguments.json, results)


if __name__ == "__main__":
    main()
