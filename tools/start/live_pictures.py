"""Live pictures to choose cameras by: each source is read in a thread, and the newest picture kept."""

import threading
import time
from pathlib import Path

from capture.sources.network.address import hide_secrets
from capture.sources.webcam.backends import choose_backend
from capture.sources.webcam.webcam import DeviceProvider
from config.arrays import Image
from config.errors import DuocapError
from config.settings import Settings
from stream.web.picture import FRAME, GREEN, CameraPicture
from tools.run.cameras import is_recorded, open_camera

VIDEO_SUFFIXES = (".avi", ".mkv", ".mov", ".mp4")
SHOWN_HZ = 8.0  # of recordings, which are read no faster than they are shown
END_S = 3.0  # a camera that opens cannot be told to stop; after so long it is left to end by itself


class LivePicture(threading.Thread):
    """One source that is looked at. image: the newest picture, BGR; fault: why there is none."""

    def __init__(self, source: str, number: int, settings: Settings) -> None:
        super().__init__(name=f"look-{number}", daemon=True)
        self.source, self.fault = source, ""
        self.image: Image | None = None
        self._number, self._camera, self._ending = number, settings.camera, threading.Event()
        self.start()

    def run(self) -> None:
        """Read until told to end; a recording begins again at its end."""
        try:
            while not self._ending.is_set():
                self._read()
        except DuocapError as error:
            self.fault = " ".join(str(error).split())

    def _read(self) -> None:
        """Read the source to its end."""
        source, waits = open_camera(self.source, self._number, None, self._camera), is_recorded(self.source)
        try:
            while not self._ending.is_set() and (frame := source.read()) is not None:
                self.image = frame.image
                if waits and self._ending.wait(1.0 / SHOWN_HZ):
                    break
        finally:
            source.close()

    def draw(self, chosen: bool) -> CameraPicture:
        """Return what is shown of it. chosen: it is one of the rig's."""
        image, name = self.image, Path(hide_secrets(self.source)).name or self.source
        size = (640, 480) if image is None else (image.shape[1], image.shape[0])
        message = "" if image is not None else "no picture" if self.fault else "opening"
        return CameraPicture(name, image, size, color=GREEN if chosen else FRAME, message=message)

    def end(self) -> None:
        """Let the source go."""
        self._ending.set()


def end_looks(looks: list[LivePicture]) -> None:
    """End all, and wait until their cameras are closed: another process opens them next."""
    for look in looks:
        look.end()
    until_s = time.monotonic() + END_S
    for look in looks:
        look.join(max(until_s - time.monotonic(), 0.0))


def list_sources(settings: Settings, folder: Path) -> list[str]:
    """Return what may be a camera: the webcams of this machine, and the videos in a folder. Raises SettingsError."""
    webcams = [camera.label for camera in DeviceProvider().lister(choose_backend(settings.camera.backend))]
    videos = sorted(file.name for file in folder.iterdir() if file.suffix.lower() in VIDEO_SUFFIXES) if folder.is_dir() else []
    return webcams + videos
