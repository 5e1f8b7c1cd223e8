"""Small images of a camera with what was detected: what can be requested, how they are made, encoded and decoded.

They are made where previews are encoded, never in the reading thread.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import cv2
import msgpack
import numpy as np
from numpy.typing import NDArray

from capture.packets import Blobs, Frame, Landmarks
from capture.sockets.wire import (
    MAX_BLOBS,
    MalformedMessageError,
    pack_floats,
    pack_landmarks,
    read_float_field,
    read_int_field,
    read_landmarks,
    read_message_field,
    unpack_map,
)
from capture.sources.jpeg import decode_jpeg, read_jpeg_size
from config.arrays import Floats, Image
from config.settings import CAMERA_NAMES

DIM = 0.5  # brightness of the background
TINT_BGR = (0, 150, 255)  # of the foreground
TINT_SHARE = 0.6
DARK_MEAN, DARK_GAMMA = 30.0, 0.5  # a dark room is brightened
FLOODED_SHARE = 0.2  # of the image: so much foreground is no performer
WIDTH_PX = 480
QUALITY = 75
TOPIC = re.compile(rb"(picture|foreground)(?: ([0-9]{1,5}) ([0-9]{1,5}) ([0-9]{1,5}) ([0-9]{1,5}))?\n")
MIN_REGION_PX = 16
MAX_FULL_PX = 1 << 14  # of a camera's image, along one side
MAX_SMALL_PX = 1024  # of a preview
MAX_WORD = 20

Region = tuple[int, int, int, int]


class PreviewKind(StrEnum):
    """What a preview shows."""

    PICTURE = "picture"
    FOREGROUND = "foreground"  # tinted, the rest dimmed


@dataclass(frozen=True, slots=True)
class DetectorOverlay:
    """What the detector saw in one frame.

    mode: dark, bright or color, empty before the first frame; level: brightness that markers exceed, None in colour mode or
    while unknown; runs: foreground as (row, first column, last), (R, 3); flooded: too much foreground to detect anything.
    """

    mode: str = ""
    level: int | None = None
    runs: NDArray[np.int32] = field(default_factory=lambda: np.zeros((0, 3), np.int32))
    flooded: bool = False

    def foreground(self, size: tuple[int, int]) -> NDArray[np.bool_]:
        """Return the mask of the foreground, (H, W), for a size (width, height)."""
        width, height = size
        if self.flooded:
            return np.ones((height, width), np.bool_)
        runs = self.runs[(self.runs[:, 0] < height) & (self.runs[:, 2] < width)]
        steps = np.zeros(height * (width + 1) + 1, np.int32)
        np.add.at(steps, runs[:, 0] * (width + 1) + runs[:, 1], 1)
        np.add.at(steps, runs[:, 0] * (width + 1) + runs[:, 2] + 1, -1)
        return np.asarray(np.cumsum(steps[:-1]).reshape(height, width + 1)[:, :width] > 0)


def make_overlay_source(detector: Any) -> Callable[[], DetectorOverlay] | None:
    """Return a function that copies what a detector saw in its last frame, None for a detector without a view."""
    view = getattr(detector, "view", None)
    if not callable(view):
        return None

    def overlay() -> DetectorOverlay:
        seen = view()
        level = None if seen.threshold is None else min(max(round(seen.threshold), 0), 255)
        return DetectorOverlay(str(seen.mode or ""), level, seen.runs.copy(), seen.flooded)

    return overlay


def draw_foreground(image: Image, mask: NDArray[np.bool_]) -> Image:
    """Return an image with tinted foreground, the rest grey and dim. Very large foreground is not tinted."""
    gray = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
    gamma = DARK_GAMMA if float(gray[::8, ::8].mean()) < DARK_MEAN else 1.0
    curve = (255.0 * DIM * (np.arange(256) / 255.0) ** gamma).astype(np.uint8)
    shown = cv2.cvtColor(cv2.LUT(gray, curve), cv2.COLOR_GRAY2BGR)
    kept = image
    if mask.mean() < FLOODED_SHARE:
        kept = cv2.addWeighted(image, 1.0 - TINT_SHARE, np.full_like(image, TINT_BGR), TINT_SHARE, 0.0)
    cv2.copyTo(kept, mask.view(np.uint8), shown)
    return np.asarray(shown, np.uint8)


@dataclass(frozen=True, slots=True)
class PreviewRequest:
    """What a viewer wants to see. region: x, y, width, height in the full image, None: all of it."""

    kind: PreviewKind = PreviewKind.PICTURE
    region: Region | None = None

    @property
    def topic(self) -> bytes:
        """The subscription topic: no topic is the beginning of another."""
        place = "" if self.region is None else " {} {} {} {}".format(*self.region)
        return f"{self.kind}{place}\n".encode()


def parse_topic(topic: bytes) -> PreviewRequest | None:
    """Return the request of a topic, None if it is invalid."""
    found = TOPIC.fullmatch(topic)
    if found is None:
        return None
    region = None if found[2] is None else (int(found[2]), int(found[3]), int(found[4]), int(found[5]))
    return PreviewRequest(PreviewKind(found[1].decode()), region)


@dataclass(frozen=True, slots=True)
class Preview:
    """A small image of one frame.

    size: of the camera's full image [px]; region: x, y, width, height of the part that is shown; points_px: blobs in the full
    image, (N, 2); area_px, sigma_px: of the blobs, (N,); mode, level, flooded: as in `DetectorOverlay`; landmarks: of the body in
    the full image, None where none were found.
    """

    camera: int
    index: int
    t_capture_ns: int
    size: tuple[int, int]
    points_px: Floats
    jpeg: bytes = field(repr=False)
    area_px: Floats = field(default_factory=lambda: np.zeros(0))
    sigma_px: Floats = field(default_factory=lambda: np.zeros(0))
    kind: PreviewKind = PreviewKind.PICTURE
    region: Region = (0, 0, 0, 0)
    mode: str = ""
    level: int | None = None
    flooded: bool = False
    landmarks: Landmarks | None = None

    def image(self) -> Image:
        """Return the image, BGR (h, w, 3). Raises MalformedMessageError: no JPEG, or too large."""
        width, height = read_jpeg_size(self.jpeg)
        if not (0 < width <= MAX_SMALL_PX and 0 < height <= MAX_SMALL_PX):
            raise MalformedMessageError(f"a preview of {width}x{height} pixels came, at most {MAX_SMALL_PX} a side; dropped")
        image = decode_jpeg(self.jpeg)
        if image is None:
            raise MalformedMessageError("a preview came whose JPEG is broken; it was dropped")
        return image


def make_preview(
    frame: Frame, blobs: Blobs, request: PreviewRequest | None = None, overlay: DetectorOverlay | None = None
) -> Preview:
    """Return what is requested of a frame, shrunk and compressed.

    Args:
        blobs: the markers detected in it.
        request: what is to be shown; None: the whole image.
        overlay: what the detector saw; None: nothing.
    """
    request, overlay = request or PreviewRequest(), overlay or DetectorOverlay()
    size = (frame.image.shape[1], frame.image.shape[0])
    x, y, width, height = region = clip_region(request.region, size)
    image = frame.image
    if request.kind is PreviewKind.FOREGROUND:
        image = draw_foreground(image, overlay.foreground(size))
    image = image[y : y + height, x : x + width]
    if max(width, height) > WIDTH_PX:
        scale = WIDTH_PX / max(width, height)
        small = (max(round(width * scale), 1), max(round(height * scale), 1))
        image = np.asarray(cv2.resize(image, small, interpolation=cv2.INTER_AREA), np.uint8)
    _, jpeg = cv2.imencode(".jpg", image, (cv2.IMWRITE_JPEG_QUALITY, QUALITY))
    return Preview(
        camera=frame.camera,
        index=frame.index,
        t_capture_ns=frame.t_capture_ns,
        size=size,
        points_px=blobs.points_px[:MAX_BLOBS],
        jpeg=jpeg.tobytes(),
        area_px=blobs.area_px[:MAX_BLOBS],
        sigma_px=blobs.sigma_px[:MAX_BLOBS],
        kind=request.kind,
        region=region,
        mode=overlay.mode,
        level=overlay.level,
        flooded=overlay.flooded,
        landmarks=blobs.landmarks,
    )


def clip_region(region: Region | None, size: tuple[int, int]) -> Region:
    """Return a region moved into an image of a size (width, height), at least MIN_REGION_PX large."""
    if region is None:
        return (0, 0, *size)
    width, height = (min(max(wanted, MIN_REGION_PX), full) for wanted, full in zip(region[2:], size, strict=True))
    return min(region[0], size[0] - width), min(region[1], size[1] - height), width, height


def encode_preview(preview: Preview) -> bytes:
    """Return the bytes of a preview."""
    content = {
        "camera": preview.camera,
        "index": preview.index,
        "t_capture_ns": preview.t_capture_ns,
        "width": preview.size[0],
        "height": preview.size[1],
        "blobs": pack_floats(np.column_stack([preview.points_px, preview.area_px, preview.sigma_px]), "<f4"),
        "kind": preview.kind.value,
        "region": preview.region,
        "mode": preview.mode,
        "level": -1 if preview.level is None else preview.level,
        "flooded": preview.flooded,
        "jpeg": preview.jpeg,
        **pack_landmarks(preview.landmarks),
    }
    return bytes(msgpack.packb(content, use_bin_type=True))


def decode_preview(payload: bytes) -> Preview:
    """Return the preview of a message, its image still compressed. Raises MalformedMessageError."""
    content = unpack_map(payload)
    blobs = read_float_field(content, "blobs", 4, "<f4")
    if len(blobs) > MAX_BLOBS:
        raise MalformedMessageError(f"a preview of {len(blobs)} blobs came, at most {MAX_BLOBS}; it was dropped")
    size = (read_int_field(content, "width", 1, MAX_FULL_PX), read_int_field(content, "height", 1, MAX_FULL_PX))
    level = read_int_field(content, "level", -1, 255)
    return Preview(
        camera=read_int_field(content, "camera", 0, len(CAMERA_NAMES) - 1),
        index=read_int_field(content, "index"),
        t_capture_ns=read_int_field(content, "t_capture_ns"),
        size=size,
        points_px=np.ascontiguousarray(blobs[:, :2]),
        jpeg=read_message_field(content, "jpeg", bytes),
        area_px=np.ascontiguousarray(blobs[:, 2]),
        sigma_px=np.ascontiguousarray(blobs[:, 3]),
        kind=PreviewKind.FOREGROUND
        if read_message_field(content, "kind", str) == PreviewKind.FOREGROUND
        else PreviewKind.PICTURE,
        region=_parse_region(read_message_field(content, "region", list), size),
        mode=str(read_message_field(content, "mode", str))[:MAX_WORD],
        level=None if level < 0 else level,
        flooded=bool(read_message_field(content, "flooded", bool)),
        landmarks=read_landmarks(content),
    )


def _parse_region(values: list[object], size: tuple[int, int]) -> Region:
    """Return a region that lies in the image. Raises MalformedMessageError."""
    whole = [value for value in values if isinstance(value, int) and not isinstance(value, bool)]
    if len(values) == len(whole) == 4:
        x, y, width, height = whole
        if x >= 0 and y >= 0 and width > 0 and height > 0 and x + width <= size[0] and y + height <= size[1]:
            return x, y, width, height
    raise MalformedMessageError(f"a preview of a region outside of {size[0]}x{size[1]} pixels came; it was dropped")
