"""The videos of a recorded session beside its poses: the picture of every camera at a time, decoded in a thread of its own."""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import av
import numpy as np
from av.container import InputContainer
from numpy.typing import NDArray

from capture.packets import Landmarks
from capture.recording.session import is_session, list_recording_parts, read_session_camera_names
from capture.sources.jpeg import decode_jpeg
from capture.sources.recorded_times import read_video_stamps
from config.arrays import Floats, Image
from config.errors import DuocapError

log = logging.getLogger(__name__)

MS_NS = 1_000_000  # unit of the videos' own times
CLOSE_S = 2.0


@dataclass(frozen=True, slots=True)
class VideoPart:
    """One file of a camera. t_ns: when each of its pictures was captured, (N,)."""

    file: Path
    t_ns: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SeenPicture:
    """A picture, BGR, with the detections in it, (N, 2) [px], and the landmarks in the camera's full picture, None without."""

    image: Image
    points_px: Floats = field(default_factory=lambda: np.zeros((0, 2)))
    landmarks: Landmarks | None = None


# The landmarks that were found in the picture of a camera, by its number, of a time of capture [ns].
LandmarksOf = Callable[[int, int], Landmarks | None]


class CameraVideo:
    """The pictures of one camera by time; not shared between threads."""

    def __init__(self, parts: list[VideoPart], camera: int = 0, landmarks_of: LandmarksOf | None = None) -> None:
        self._parts, self._camera, self._landmarks_of = parts, camera, landmarks_of
        self._open: tuple[VideoPart, InputContainer] | None = None
        self._last: tuple[int, SeenPicture | None] = (-1, None)

    def picture_at(self, t_ns: int) -> SeenPicture | None:
        """Return the last picture up to a time; None before the first, and where it cannot be decoded."""
        part = next((part for part in reversed(self._parts) if part.t_ns[0] <= t_ns), None)
        if part is None:
            return None
        captured_ns = int(part.t_ns[max(int(np.searchsorted(part.t_ns, t_ns, side="right")) - 1, 0)])
        if self._last[0] != captured_ns:
            image = self._read(part, round((captured_ns - int(part.t_ns[0])) / MS_NS))
            found = None if self._landmarks_of is None else self._landmarks_of(self._camera, captured_ns)
            self._last = (captured_ns, None if image is None else SeenPicture(image, landmarks=found))
        return self._last[1]

    def close(self) -> None:
        """Close the file that is open."""
        if self._open is not None:
            self._open[1].close()
        self._open = None

    def _read(self, part: VideoPart, at_ms: int) -> Image | None:
        """Return the picture of a file's own time."""
        try:
            if self._open is None or self._open[0] is not part:
                self.close()
                self._open = (part, av.open(str(part.file.absolute()), format="matroska"))
            container = self._open[1]
            stream = container.streams.video[0]
            assert stream.time_base is not None
            container.seek(int(at_ms * 1e-3 / stream.time_base), stream=stream)
            for packet in container.demux(stream):
                if packet.pts is not None and packet.size and packet.pts * stream.time_base >= (at_ms - 0.5) * 1e-3:
                    return decode_jpeg(bytes(packet))
        except (av.FFmpegError, OSError) as error:
            log.debug("%s: %s", part.file, error)
        return None


class SessionPictures:
    """The pictures of a session's cameras about a time that is wanted. newest: of every camera, None where there is none."""

    def __init__(self, cameras: list[list[VideoPart]], landmarks_of: LandmarksOf | None = None) -> None:
        self.newest: tuple[SeenPicture | None, ...] = (None,) * len(cameras)
        self._cameras = [CameraVideo(parts, camera, landmarks_of) for camera, parts in enumerate(cameras)]
        self._wanted_ns: int | None = None
        self._changed, self._ending = threading.Event(), False
        self._thread = threading.Thread(target=self._run, name="viewer-videos", daemon=True)
        self._thread.start()

    def want(self, t_ns: int) -> None:
        """Have the pictures of a time decoded; times that were wanted before and have not been reached are left out."""
        if t_ns != self._wanted_ns:
            self._wanted_ns = t_ns
            self._changed.set()

    def close(self) -> None:
        """Stop the thread and close the files."""
        self._ending = True
        self._changed.set()
        self._thread.join(CLOSE_S)

    def _run(self) -> None:
        """Decode what is wanted until closed; the body of the thread."""
        while not self._ending:
            self._changed.wait()
            self._changed.clear()
            wanted_ns = self._wanted_ns
            if wanted_ns is not None and not self._ending:
                self.newest = tuple(camera.picture_at(wanted_ns) for camera in self._cameras)
        for camera in self._cameras:
            camera.close()


def open_session_pictures(take: Path, landmarks_of: LandmarksOf | None = None) -> SessionPictures | None:
    """Return the pictures beside a take that lies in the folder of a session; None where there are no videos."""
    folder = take.parent
    if not is_session(folder):
        return None
    try:
        names = read_session_camera_names(folder)
        cameras = [[_open_part(file) for file in list_recording_parts(folder, name, "mkv")] for name in names]
    except (DuocapError, OSError) as error:
        log.warning("no pictures beside the take: %s", error)
        return None
    whole = [[part for part in parts if len(part.t_ns)] for parts in cameras]
    return SessionPictures(whole, landmarks_of) if any(whole) else None


def _open_part(file: Path) -> VideoPart:
    """Return a video with the times of its pictures. Raises SourceError: it has none."""
    return VideoPart(file, np.ascontiguousarray(read_video_stamps(file.with_suffix(".csv"))[0][:, 1]))
