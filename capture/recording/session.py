"""The files of a recorded session (session.toml, and left.mkv, left.2.mkv and so on), and a camera's images as a source."""

import heapq
import re
import tomllib
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from capture.packets import Frame
from capture.sources.jpeg import decode_jpeg, strip_jpeg_padding
from capture.sources.recorded_times import read_video_stamps
from capture.sources.source import DEFAULT_FPS, Facts, Source, Stamp
from config.errors import SourceError
from config.settings import CAMERA_NAMES

SESSION = "session.toml"
PART = re.compile(rf"(?P<stem>{'|'.join(CAMERA_NAMES)}|take)(?:\.(?P<part>[2-9]|[1-9]\d{{1,3}}))?\.(?P<suffix>mkv|mcap)")


def is_session(path: Path) -> bool:
    """Return whether a path is the folder of a session."""
    return (path / SESSION).is_file()


def name_part_file(folder: Path, stem: str, part: int, suffix: str) -> Path:
    """Return the file of a part: left.mkv, left.2.mkv and so on.

    Args:
        folder: of the session.
        stem: of the camera or take.
        part: its number, from 1.
        suffix: .mkv, .csv or .mcap.
    """
    return folder / (f"{stem}{suffix}" if part == 1 else f"{stem}.{part}{suffix}")


def list_recording_parts(folder: Path, stem: str, suffix: str) -> list[Path]:
    """Return the files of a camera or take in order.

    Args:
        folder: of the session.
        stem: of the camera or take.
        suffix: mkv or mcap.
    """
    found = {}
    for file in folder.iterdir():
        match = PART.fullmatch(file.name)
        if match and match["stem"] == stem and match["suffix"] == suffix:
            found[int(match["part"] or 1)] = file
    return [found[part] for part in sorted(found)]


def read_recorded_jpegs(file: Path) -> Iterator[bytes]:
    """Return the recorded JPEGs of a video up to the last complete one.

    Raises SourceError: it cannot be opened as a video of JPEGs.
    """
    last = b""
    for jpeg in _read_packets(file):
        if last:
            yield last
        last = jpeg
    if strip_jpeg_padding(last) is not None:
        yield last


def _read_packets(file: Path) -> Iterator[bytes]:
    """Return the packets of a video, the last one perhaps incomplete. Raises SourceError."""
    import av

    try:
        # With path and format: else a colon in a name is taken for a protocol, and a forged file for a list of addresses.
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
    """One camera's recorded images as a source. Frames keep their index and timestamp.

    parts: the videos in order, each with its CSV; epoch_ns: the time that counts as 0; t_read_ns: when the last frame was read.
    Raises SourceError: no part, no timestamps, or no image.
    """

    n_frames: int | None

    def __init__(self, parts: list[Path], camera: int, epoch_ns: int = 0) -> None:
        if not parts:
            raise SourceError(f"the session has no video of the {CAMERA_NAMES[camera]} camera")
        self.name, self._camera, self._epoch_ns = str(parts[0]), camera, epoch_ns
        stamps = [read_video_stamps(file.with_suffix(".csv"))[0] for file in parts]
        self._parts = list(zip(parts, stamps, strict=True))
        self.n_frames = sum(len(rows) for rows in stamps)
        self.truncated, self.stamp, self.facts = False, Stamp.FILE, Facts()
        self.t_read_ns = 0
        self.fps = _compute_rate(stamps)
        self._frames = self._read_all()
        first = next(self._frames, None)
        if first is None:
            raise SourceError(f"{self.name}: holds no picture")
        self._next: Frame | None = first[0]
        self._t_next_read_ns = first[1]
        self.size = (first[0].image.shape[1], first[0].image.shape[0])

    def read(self) -> Frame | None:
        """Return the next frame, or None at the end."""
        frame, self.t_read_ns = self._next, self._t_next_read_ns
        following = next(self._frames, None)
        self._next, self._t_next_read_ns = (None, 0) if following is None else following
        return frame

    def close(self) -> None:
        """Read no more."""
        self._frames.close()
        self._next = None

    def _read_all(self) -> Generator[tuple[Frame, int], None, None]:
        """Return frames and when they were read [ns]; what cannot be decoded is left out."""
        for file, rows in self._parts:
            for jpeg, (index, t_capture_ns, t_read_ns) in zip(read_recorded_jpegs(file), rows.tolist(), strict=False):
                image = decode_jpeg(jpeg)
                if image is not None:
                    yield Frame(self._camera, index, t_capture_ns - self._epoch_ns, image, jpeg), t_read_ns - self._epoch_ns


def _compute_rate(stamps: list[NDArray[np.int64]]) -> float:
    """Return the frame rate of timestamps [Hz]."""
    steps = np.concatenate([np.diff(rows[:, 1]) for rows in stamps])
    steps = steps[steps > 0]
    return float(1e9 / np.median(steps)) if len(steps) else DEFAULT_FPS


def read_session_camera_names(folder: Path) -> tuple[str, ...]:
    """Return the names of a session's cameras. Raises SourceError: its description cannot be read."""
    try:
        told = tomllib.loads((folder / SESSION).read_text("utf-8")).get("cameras", {})
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SourceError(f"{folder / SESSION}: cannot be read ({error}); give the folder of a session") from error
    names = tuple(name for name in CAMERA_NAMES if name in told)
    return names or CAMERA_NAMES[:2]


def open_session_videos(folder: Path) -> tuple[SessionVideo, ...]:
    """Return the cameras of a session; their timestamps count from the first image of any.

    Raises SourceError: a camera has no video or no timestamps.
    """
    parts = [list_recording_parts(folder, name, "mkv") for name in read_session_camera_names(folder)]
    stamps = [read_video_stamps(files[0].with_suffix(".csv"))[0] for files in parts if files]
    first_ns = [int(rows[0, 1]) for rows in stamps if len(rows)]
    return tuple(SessionVideo(files, camera, min(first_ns, default=0)) for camera, files in enumerate(parts))


def merge_in_time_order(sources: Sequence[Source]) -> Iterator[tuple[Frame | None, ...]]:
    """Return the frames of all cameras one by one in order of time, each in the place of its camera among None."""
    frames = (iter(source.read, None) for source in sources)
    for frame in heapq.merge(*frames, key=lambda frame: frame.t_capture_ns):
        yield tuple(frame if camera == frame.camera else None for camera in range(len(sources)))
