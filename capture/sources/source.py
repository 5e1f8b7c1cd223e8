"""The protocol of all sources of frames, their registry, and the sources for video files and folders of images."""

import re
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Protocol, runtime_checkable

import cv2
import numpy as np
from numpy.typing import NDArray

from capture.packets import Frame
from capture.rate import estimate_frame_period_s
from capture.sources.recorded_times import is_even, read_presentation_times
from config.arrays import Floats
from config.errors import SourceError
from config.units import NS_PER_S

IMAGE_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp", ".ppm", ".pgm"})
DEFAULT_FPS = 30.0

Facts = dict[str, int | float | str]


class CameraError(SourceError):
    """A webcam cannot be opened or read. camera: its name; problem: what it does, and what the user can do."""

    def __init__(self, camera: str, problem: str) -> None:
        super().__init__(camera, problem)
        self.camera, self.problem = camera, problem

    def __str__(self) -> str:
        return f"camera {self.camera!r} {self.problem}"


class Stamp(StrEnum):
    """Where the timestamp of a frame comes from, best first."""

    DRIVER = "driver"  # the camera's driver, on this machine's clock
    SENDER = "sender"  # the sender in the network, its clock mapped to ours
    READ = "read"  # when the frame was read
    CONTAINER = "container"  # the times that a video itself holds, where they are not at a fixed rate
    FILE = "file"  # a list of timestamps or the frame rate of a recording


@runtime_checkable
class Source(Protocol):
    """Frames of one camera, in order of time.

    size: width, height [px]; n_frames: number announced, None where unknown; truncated: it ended, or will end, before that;
    facts: what to report of it: settings in force, what was done otherwise than requested, counts of drops; empty for
    recordings.

    `read` of a camera waits for the next frame, for a few seconds at most, and raises SourceError when none comes: the camera is
    lost and must be closed and opened again. `close` may be called by another thread and ends the waiting.
    """

    name: str
    size: tuple[int, int]
    fps: float
    n_frames: int | None
    truncated: bool
    stamp: Stamp
    facts: Facts

    def read(self) -> Frame | None:
        """Return the next frame, or None at the end."""

    def close(self) -> None:
        """Release the source; `read` returns None afterwards."""


@runtime_checkable
class SkippingSource(Protocol):
    """A source that need not make the frames that nobody wants."""

    def thin(self, every: int) -> None:
        """Leave out all but every n-th frame from now on, counted from the first of all; fps is that of the frames given."""

    def skip(self, t_ns: int) -> int:
        """Leave out the next frames that were captured before t_ns; return how many of those that would have been given."""


Opener = Callable[[str, int, float | None, Floats | None], Source]
_OPENERS: list[tuple[Callable[[str], bool], Opener]] = []


def register_source(recognises: Callable[[str], bool], opener: Opener) -> None:
    """Add a kind of source for the specs that `recognises` accepts; the kind added last is asked first.

    opener: gets the arguments of `open_source`.
    """
    _OPENERS.insert(0, (recognises, opener))


def open_source(spec: str | Path, camera: int, fps: float | None = None, seconds: Floats | None = None) -> Source:
    """Open a source by the user's text: a video file, a folder of images, or a registered kind.

    Args:
        spec: the user's text.
        camera: 0 left, 1 right.
        fps: overrides the announced rate.
        seconds: time of each frame, (N,) [s].
    Raises: SourceError: nothing there, or nothing that can be read as frames.
    """
    text = str(spec)
    if fps is not None and not 0.1 <= fps <= 1000.0:
        raise SourceError(f"{fps:g} frames a second is implausible; give a rate between 0.1 and 1000")
    for recognises, opener in _OPENERS:
        if recognises(text):
            return opener(text, camera, fps, seconds)
    path = Path(text)
    if path.is_dir():
        return ImageFolder(path, camera, fps, seconds)
    if not path.exists():
        raise SourceError(f"{text}: no such file or folder; give a video file, a folder of images, or a camera")
    return VideoFile(path, camera, fps, seconds)


class _RecordedFrames:
    """What recorded sources share: frames of one size, counted from 0, at the times of a list or of the rate."""

    def __init__(self, path: Path, camera: int, first: NDArray[np.uint8]) -> None:
        self.name, self._camera, self._index = str(path), camera, 0
        self.size = (first.shape[1], first.shape[0])
        self.fps, self._seconds = DEFAULT_FPS, None  # type: float, Floats | None
        self.n_frames: int | None = None
        self.truncated, self.stamp, self.facts = False, Stamp.FILE, Facts()

    def read(self) -> Frame | None:
        """Return the next frame; None at the end. Raises SourceError: an image of another size."""
        t_ns = self._time_ns()
        found = None if t_ns is None else self._decode()
        if t_ns is None or found is None:
            return None
        where, image = found
        if (image.shape[1], image.shape[0]) != self.size:
            raise SourceError(
                f"{where} is {image.shape[1]}x{image.shape[0]}, but the first frame {self.size[0]}x{self.size[1]}; "
                "all must have one size"
            )
        self._index += 1
        return Frame(self._camera, self._index - 1, t_ns, image)

    def _time_ns(self) -> int | None:
        """Return the time of the next frame [ns], None past the end of the list."""
        if self._seconds is None:
            return round(self._index * NS_PER_S / self.fps)
        return round(float(self._seconds[self._index]) * NS_PER_S) if self._index < len(self._seconds) else None

    def _decode(self) -> tuple[str, NDArray[np.uint8]] | None:
        """Return what the next image is called and its pixels; None at the end, with `truncated` set where images are missing."""
        raise NotImplementedError


class VideoFile(_RecordedFrames):
    """A recorded video, decoded by OpenCV; `truncated` is set at the end if announced frames are missing."""

    def __init__(self, path: Path, camera: int, fps: float | None = None, seconds: Floats | None = None) -> None:
        """Open a video. Raises SourceError: not a video, or its first frame cannot be decoded."""
        if path.stat().st_size == 0:
            raise SourceError(f"{path}: the file is empty; expected a video")
        self._capture: cv2.VideoCapture | None = cv2.VideoCapture(str(path))
        ok, first = self._capture.read() if self._capture.isOpened() else (False, None)
        if not ok or first is None:
            self._capture.release()
            raise SourceError(
                f"{path}: cannot be read as a video; expected a file OpenCV can decode, such as AVI (MJPG) or MP4 (H.264)"
            )
        super().__init__(path, camera, first)
        self._next: NDArray[np.uint8] | None = convert_to_bgr(first)
        announced = int(self._capture.get(cv2.CAP_PROP_FRAME_COUNT))
        rate = float(self._capture.get(cv2.CAP_PROP_FPS))
        self.fps = fps or (rate if 0.1 <= rate <= 1000.0 else DEFAULT_FPS)
        self.n_frames = announced if 0 < announced < 1 << 31 else None
        own = read_presentation_times(path)
        if own is not None:
            self.n_frames = own.n_announced  # OpenCV may have it from the rate, or with frames that are not shown
        if own is not None and fps is None and seconds is None and not is_even(own, self.fps):
            self.stamp, self.fps, seconds = Stamp.CONTAINER, 1.0 / estimate_frame_period_s(own.seconds), own.seconds
        elif seconds is not None and len(seconds) > 1:
            self.fps = 1.0 / estimate_frame_period_s(seconds)
        self._seconds = seconds

    def _decode(self) -> tuple[str, NDArray[np.uint8]] | None:
        """Return the next image of the file; None at its end."""
        image, self._next = self._next, None
        if image is None and self._capture is not None:
            ok, decoded = self._capture.read()
            image = convert_to_bgr(decoded) if ok and decoded is not None else None
            # Some containers announce a frame or two more than they hold.
            self.truncated = image is None and self.n_frames is not None and self._index < self.n_frames - 2
        return None if image is None else (f"{self.name}: frame {self._index}", image)

    def close(self) -> None:
        """Release the file."""
        if self._capture is not None:
            self._capture.release()
        self._capture = self._next = None


class ImageFolder(_RecordedFrames):
    """A folder of images, one a frame, in natural order of their names (2 before 10).

    A damaged image ends the sequence and sets `truncated`.
    """

    def __init__(self, path: Path, camera: int, fps: float | None = None, seconds: Floats | None = None) -> None:
        """List the images. Raises SourceError: none there, or the first cannot be decoded."""
        found = (file for file in path.iterdir() if file.suffix.lower() in IMAGE_SUFFIXES and not file.name.startswith("."))
        self._files = sorted(found, key=lambda file: make_natural_key(file.name))
        if not self._files:
            raise SourceError(
                f"{path}: no images in this folder; expected files such as 0001.png ({', '.join(sorted(IMAGE_SUFFIXES))})"
            )
        first = _read_image(self._files[0])
        if first is None:
            raise SourceError(f"{self._files[0]}: cannot be decoded as an image; remove it or record again")
        super().__init__(path, camera, first)
        self.fps = fps or (1.0 / estimate_frame_period_s(seconds) if seconds is not None and len(seconds) > 1 else DEFAULT_FPS)
        self.n_frames, self._seconds = len(self._files), seconds

    def _decode(self) -> tuple[str, NDArray[np.uint8]] | None:
        """Return the next image; None at the end."""
        if self._index >= len(self._files):
            return None
        file = self._files[self._index]
        image = _read_image(file)
        self.truncated = image is None
        return None if image is None else (str(file), image)

    def close(self) -> None:
        """Forget the files."""
        self._files = []


def make_natural_key(name: str) -> list[tuple[int, int, str]]:
    """Return a sorting key with digits as numbers: img2 before img10."""
    parts = re.findall(r"\d+|\D+", name.lower())
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts]


def _read_image(path: Path) -> NDArray[np.uint8] | None:
    """Decode an image to BGR; through memory, since OpenCV cannot open every path on Windows."""
    try:
        image = cv2.imdecode(np.frombuffer(path.read_bytes(), np.uint8), cv2.IMREAD_COLOR)
    except (OSError, cv2.error):
        return None
    return None if image is None else convert_to_bgr(image)


def convert_to_bgr(image: NDArray[np.generic]) -> NDArray[np.uint8]:
    """Return a C-contiguous BGR uint8 image of a decoder's result."""
    if image.ndim == 2:
        image = np.repeat(image[:, :, None], 3, axis=2)
    return np.ascontiguousarray(image[:, :, :3], dtype=np.uint8)
