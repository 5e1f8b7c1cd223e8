"""Cameras that show frames drawn beforehand, forth and back, so that drawing is not measured."""

from dataclasses import dataclass, replace
from pathlib import Path

import cv2
import numpy as np

from capture.detection.detector import Detector
from capture.packets import Blobs, Frame
from capture.sources.simulated.camera import SimulatedCamera
from capture.sources.source import Facts, Source, Stamp
from config.arrays import Image
from config.settings import DetectorSettings

QUALITY = 90  # of JPEG; webcams are about there


@dataclass(frozen=True, slots=True)
class StoredFrames:
    """Stored frames of both cameras. n_shown: frames of a run; jpeg: compressed, as many webcams send them."""

    folder: Path
    size: tuple[int, int]
    fps: float
    n_shown: int
    jpeg: bool

    def file(self, camera: int) -> Path:
        """Return the raw frames of a camera."""
        return self.folder / f"{camera}.npy"


def store_frames(stored: StoredFrames, camera: SimulatedCamera, index: int, frames: range) -> None:
    """Draw frames of one camera, 0 or 1, and write them.

    Args:
        stored: where frames are written.
        camera: the camera.
        index: its number.
        frames: their numbers.
    """
    image = np.stack([camera.frame_at(k).image for k in frames])
    np.save(stored.file(index), image)


class StoredCamera:
    """One camera as a paced `Source`; compressed frames are bytes, (1, N, 1)."""

    def __init__(self, stored: StoredFrames, camera: int) -> None:
        self.name, self.size, self.fps = f"stored {camera}", stored.size, stored.fps
        self.n_frames: int | None = stored.n_shown
        self.truncated = False
        self.stamp, self.facts = Stamp.FILE, Facts()
        self._images = open_stored_images(stored, camera)
        self._camera, self._next = camera, 0

    def read(self) -> Frame | None:
        """Return the next frame, forth and back; None at the end."""
        assert self.n_frames is not None
        if self._next >= self.n_frames:
            return None
        index, n = self._next, len(self._images)
        self._next += 1
        k = index % (2 * n - 2)
        image = self._images[k if k < n else 2 * n - 2 - k]
        return Frame(self._camera, index, round(index * 1e9 / self.fps), image)

    def close(self) -> None:
        """Stop giving frames."""
        self.n_frames = 0


def open_stored_images(stored: StoredFrames, camera: int) -> list[Image]:
    """Return the frames of a camera."""
    raw = np.load(stored.file(camera))
    # Copies: slices of imencode's own arrays are slow.
    return [_compress_image(image) for image in raw] if stored.jpeg else list(raw)


def _compress_image(image: np.ndarray) -> np.ndarray:
    """Return an image as the bytes of a JPEG, (1, N, 1)."""
    done, data = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, QUALITY])
    assert done
    return np.array(data, np.uint8).reshape(1, -1, 1)


class DecodingDetector:
    """The detector of a camera that sends JPEG: decoding is part of its time."""

    def __init__(self, settings: DetectorSettings) -> None:
        self._detector = Detector(settings)

    def step(self, frame: Frame) -> Blobs:
        """Decode a frame and give its blobs."""
        image = cv2.imdecode(frame.image.reshape(-1), cv2.IMREAD_COLOR)
        assert image is not None
        return self._detector.step(replace(frame, image=np.asarray(image, np.uint8)))


def open_stored(stored: StoredFrames, camera: int) -> Source:
    """Open a camera."""
    return StoredCamera(stored, camera)


def build_decoding_detector(settings: DetectorSettings, source: Source) -> DecodingDetector:
    """Make the detector of a source of compressed frames."""
    return DecodingDetector(settings)
