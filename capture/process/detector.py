"""The detector of a live camera; imports no more than a camera's process needs, which is started while somebody waits."""

from collections.abc import Sequence

from capture.background.live import LiveBackground
from capture.detection.detector import Detector
from capture.sources.source import Source
from config.settings import DetectorSettings


def open_detector(
    settings: DetectorSettings, source: Source, colors_rgb: Sequence[Sequence[float]] = (), learn_s: float = 0.0
) -> Detector:
    """Return the detector of a live source, with a background that is learned meanwhile.

    Args:
        settings: of the detector.
        source: the camera.
        colors_rgb: of the markers, 0-255, empty where they are bright.
        learn_s: for so long the performer is out of view at first.
    """
    live = LiveBackground(settings.k_sigma, settings.min_difference, learn_s)
    live.warm()
    return Detector(settings, colors_rgb=list(colors_rgb), live=live)
