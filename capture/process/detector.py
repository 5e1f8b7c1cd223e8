"""The detector of a live camera; imports no more than a camera's process needs, which is started while somebody waits."""

from capture.background.live import LiveBackground
from capture.detection.detector import Detector, SoughtOnBody
from capture.landmarks.pacing import open_landmarks
from capture.process.control import RoomSettings
from capture.sources.source import Source
from config.settings import DetectorSettings


def open_detector(settings: DetectorSettings, source: Source, room: RoomSettings | None = None) -> Detector:
    """Return the detector of a live source, with a background that is learned meanwhile.

    Args:
        settings: of the detector.
        source: the camera.
        room: what is known of room and performer; None: nothing, bright markers.
    Raises: LandmarksUnavailableError: landmarks are wanted, but cannot be found.
    """
    room = room or RoomSettings()
    live = LiveBackground(settings.k_sigma, settings.min_difference, room.learn_s)
    live.warm()
    sought = SoughtOnBody(room.has_markers, open_landmarks(room.landmarks))
    return Detector(settings, colors_rgb=list(room.colors_rgb), live=live, sought=sought)
