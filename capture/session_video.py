"""The pictures of one camera of a recorded session, part after part, with the stamps they were recorded with."""

import heapq
from collections.abc import Generator, Iterator
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

from capture.packets import Frame
from capture.session_files import parts_of
from capture.sources import DEFAULT_FPS, Facts, Stamp
from capture.video_stamps import read_video_stamps
from capture.webcam_jpeg import pixels, whole_jpeg
from config.cameras import CAMERAS
from config.errors import SourceError


def pictures_of(file: Path) -> Iterator[bytes]:
    """Give the JPEG bytes of a video as they were recorded; one that breaks off, after a kill, ends with its last whole picture.

    Raises SourceError: it cannot be opened as a video of JPEGs.
    """
    last = b""
    for jpeg in _packets(file):
        if last:
            yield last
        last = jpeg
    if whole_jpeg(last) is not None:
        yield last


def _packets(file: Path) -> Iterator[bytes]:
    """Give the packets of a video, the last one perhaps torn. Raises SourceError."""
    try:
        # Whole path and format: or a colon in a name is taken for a protocol, and a forged file for a list of addresses.
        with av.open(str(file.absolute()), format="matroska") as container:
            if not container.streams.video or container.streams.video[0].codec_context.name != "mjpeg":
                raise SourceError(f"{file}: holds no MJPEG; expected a video of a session that duocap recorded")
            for packet in container.demux(container.streams.video[0]):
                if packet.size:
                    yield bytes(packet)
    except (av.FFmpegError, OSError) as error:
        raise SourceError(
            f"{file}: cannot be read as a video ({error}); expected one of a session that duocap recorded"
        ) from error


class SessionVideo:
    """One camera's recorded pictures as a source. Frames keep index and stamp [ns] of when they were taken.

    parts: the videos in order, each with its CSV beside it; epoch_ns: the time that counts as 0; `t_read_ns` of the last frame
    is kept. Raises SourceError: no part, no stamps, or no picture.
    """

    n_frames: int | None

    def __init__(self, parts: list[Path], camera: int, epoch_ns: int = 0) -> None:
        if not parts:
            raise SourceError(f"the session has no video of the {CAMERAS[camera]} camera")
        self.name, self._camera, self._epoch_ns = str(parts[0]), camera, epoch_ns
        stamps = [read_video_stamps(file.with_suffix(".csv"))[0] for file in parts]
        self._parts = list(zip(parts, stamps, strict=True))
        self.n_frames = sum(len(rows) for rows in stamps)
        self.truncated, self.stamp, self.facts = False, Stamp.FILE, Facts()
        self.t_read_ns = 0
        self.fps = _rate(stamps)
        self._frames = self._read_all()
        first = next(self._frames, None)
        if first is None:
            raise SourceError(f"{self.name}: holds no picture")
        self._next: Frame | None = first[0]
        self._t_next_read_ns = first[1]
        self.size = (first[0].image.shape[1], first[0].image.shape[0])

    def read(self) -> Frame | None:
        """Give the next frame, or None at the end."""
        frame, self.t_read_ns = self._next, self._t_next_read_ns
        following = next(self._frames, None)
        self._next, self._t_next_read_ns = (None, 0) if following is None else following
        return frame

    def close(self) -> None:
        """Read no more."""
        self._frames.close()
        self._next = None

    def _read_all(self) -> Generator[tuple[Frame, int], None, None]:
        """Give frames with the times they were read [ns]; what cannot be decoded is left out."""
        for file, rows in self._parts:
            for jpeg, (index, t_capture_ns, t_read_ns) in zip(pictures_of(file), rows.tolist(), strict=False):
                image = pixels(jpeg)
                if image is not None:
                    yield Frame(self._camera, index, t_capture_ns - self._epoch_ns, image, jpeg), t_read_ns - self._epoch_ns


def _rate(stamps: list[NDArray[np.int64]]) -> float:
    """Give the frame rate that stamps show."""
    steps = np.concatenate([np.diff(rows[:, 1]) for rows in stamps])
    steps = steps[steps > 0]
    return float(1e9 / np.median(steps)) if len(steps) else DEFAULT_FPS


def session_videos(folder: Path) -> tuple[SessionVideo, SessionVideo]:
    """Give both cameras of a session; their stamps count from the first picture of either.

    Raises SourceError: a camera has no video or no stamps.
    """
    parts = [parts_of(folder, side, "mkv") for side in CAMERAS]
    stamps = [read_video_stamps(files[0].with_suffix(".csv"))[0] for files in parts if files]
    first_ns = [int(rows[0, 1]) for rows in stamps if len(rows)]
    left, right = (SessionVideo(files, camera, min(first_ns, default=0)) for camera, files in enumerate(parts))
    return left, right


def in_order(sources: tuple[SessionVideo, SessionVideo]) -> Iterator[tuple[Frame | None, Frame | None]]:
    """Give the frames of both cameras one by one as they were taken, each in its camera's place and None in the other."""
    frames = (iter(source.read, None) for source in sources)
    for frame in heapq.merge(*frames, key=lambda frame: frame.t_capture_ns):
        yield (frame, None) if frame.camera == 0 else (None, frame)
