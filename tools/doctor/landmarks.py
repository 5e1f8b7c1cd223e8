"""What doctor sees of landmarks: whether a run can find them, and in how many pictures a second this machine does so."""

import os
import time

import numpy as np

from capture.landmarks.detector import LandmarkDetector
from capture.landmarks.network import LandmarksUnavailableError, import_interpreter
from capture.landmarks.pacing import BUSY
from capture.landmarks.region import Region
from capture.landmarks.weights import has_weights
from config.settings import LANDMARK_MODELS, Settings
from tools.doctor.finding import DoctorFinding, report_bad, report_good, report_note

AREA = "landmarks"
N_PICTURES = 12
SIZE = (640, 480)


def measure_picture_ms(detector: LandmarkDetector) -> float:
    """Return the median time for a picture of a tracked body [ms]."""
    image = np.random.default_rng(1).integers(0, 255, (SIZE[1], SIZE[0], 3), np.uint8)
    region = Region(np.array([320.0, 240.0]), 400.0)
    taken = []
    for _ in range(N_PICTURES):
        start = time.perf_counter()
        detector.detect(image, region)
        taken.append(1e3 * (time.perf_counter() - start))
    return float(np.median(taken))


def examine_landmarks(settings: Settings) -> list[DoctorFinding]:
    """Examine whether landmarks can be found, and at which rate; a hindrance only where the settings want them."""
    wanted = settings.landmarks.model
    there = [model for model in LANDMARK_MODELS if has_weights(model)]
    try:
        import_interpreter()
        if wanted in LANDMARK_MODELS and wanted not in there:
            LandmarkDetector(wanted)  # says what is missing
        return [_judge_model(model) for model in there] or [
            report_note(AREA, "no landmark model is here", "for bodies without markers: duocap landmarks get")
        ]
    except LandmarksUnavailableError as error:
        what, _, fix = str(error).rpartition("; ")
        report = report_note if wanted == "off" else report_bad
        return [report(AREA, what, fix)]


def compute_rates_hz(ms: float, n_cores: int) -> tuple[float, float]:
    """Return how many pictures a second of one camera, and of each of two, a run looks at on so many cores.

    Each camera has a thread, and the reconstruction takes up to a core beside the cameras, of two cores and more.
    ms: time for a picture.
    """
    one_hz = BUSY * 1e3 / ms
    return one_hz, one_hz * min(1.0, 0.5 * max(n_cores - 1, 1))


def _judge_model(model: str) -> DoctorFinding:
    """Return in how many pictures a second a model finds landmarks. Raises LandmarksUnavailableError."""
    ms = measure_picture_ms(LandmarkDetector(model))
    one_hz, two_hz = compute_rates_hz(ms, os.cpu_count() or 1)
    words = f"{model}: {ms:.0f} ms a picture; up to {one_hz:.0f} pictures a second of one camera, {two_hz:.0f} of each of two"
    return report_good(AREA, words, ms=round(ms, 1), two_cameras_hz=round(two_hz, 1))
