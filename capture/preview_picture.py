"""A small picture of a camera with what was detected in it: what can be wished for, how it is made, encoded and decoded."""

import re
from dataclasses import dataclass, field

import cv2
import msgpack
import numpy as np
from numpy.typing import NDArray

from capture.look import Look, with_foreground
from capture.packets import Blobs, Floats, Frame
from capture.webcam_jpeg import announced_size
from capture.wire import MAX_BLOBS, MalformedMessageError, field_of, floats_of, int_of, packed, unpacked_map

Image = NDArray[np.uint8]
Region = tuple[int, int, int, int]
WIDTH_PX = 480
QUALITY = 75
PICTURE, FOREGROUND = "picture", "foreground"
TOPIC = re.compile(rb"(picture|foreground)(?: ([0-9]{1,5}) ([0-9]{1,5}) ([0-9]{1,5}) ([0-9]{1,5}))?\n")
MIN_REGION_PX = 16
MAX_FULL_PX = 1 << 14  # of a camera's picture, along one side
MAX_SMALL_PX = 1024  # of a preview's
MAX_WORD = 20


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody wants to see. kind: picture or foreground; region: x, y, width, height in the full picture, None: all."""

    kind: str = PICTURE
    region: Region | None = None

    @property
    def topic(self) -> bytes:
        """Give what previews of this kind begin with; ends so that no topic is the beginning of another."""
        place = "" if self.region is None else " {} {} {} {}".format(*self.region)
        return f"{self.kind}{place}\n".encode()


def wish_of(topic: bytes) -> Wish | None:
    """Give the wish of a topic, None for what is none."""
    found = TOPIC.fullmatch(topic)
    if found is None:
        return None
    region = None if found[2] is None else (int(found[2]), int(found[3]), int(found[4]), int(found[5]))
    return Wish(found[1].decode(), region)


@dataclass(frozen=True, slots=True)
class Preview:
    """A small picture of one moment.

    size: of the camera's full picture [px]; region: x, y, width, height of what is shown of it; points_px: blobs in the full
    picture, (N, 2); area_px, sigma_px: of these, (N,); kind: picture or foreground; mode, level, flooded: what the detector
    goes by, as in `Look`.
    """

    camera: int
    index: int
    t_capture_ns: int
    size: tuple[int, int]
    points_px: Floats
    jpeg: bytes = field(repr=False)
    area_px: Floats = field(default_factory=lambda: np.zeros(0))
    sigma_px: Floats = field(default_factory=lambda: np.zeros(0))
    kind: str = PICTURE
    region: Region = (0, 0, 0, 0)
    mode: str = ""
    level: int | None = None
    flooded: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether all of the camera's picture is shown."""
        return self.region == (0, 0, *self.size)

    def image(self) -> Image:
        """Give the picture, BGR (h, w, 3). Raises MalformedMessageError: no JPEG, or a large one."""
        width, height = announced_size(self.jpeg)
        if not (0 < width <= MAX_SMALL_PX and 0 < height <= MAX_SMALL_PX):
            raise MalformedMessageError(f"a preview of {width}x{height} pixels came, at most {MAX_SMALL_PX} a side; dropped")
        try:
            image = cv2.imdecode(np.frombuffer(self.jpeg, np.uint8), cv2.IMREAD_COLOR)
        except cv2.error as error:
            raise MalformedMessageError("a preview came whose JPEG is broken; it was dropped") from error
        if image is None:
            raise MalformedMessageError("a preview came whose JPEG is broken; it was dropped")
        return np.asarray(image, np.uint8)


def preview_of(frame: Frame, blobs: Blobs, wish: Wish | None = None, look: Look | None = None) -> Preview:
    """Shrink what is wished for of a frame to at most WIDTH_PX, never enlarge it, and make a JPEG of it."""
    wish, look = wish or Wish(), look or Look()
    size = (frame.image.shape[1], frame.image.shape[0])
    x, y, width, height = region = region_within(wish.region, size)
    image = frame.image
    if wish.kind == FOREGROUND:
        image = with_foreground(image, look.foreground(size))
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
        kind=wish.kind,
        region=region,
        mode=look.mode,
        level=look.level,
        flooded=look.flooded,
    )


def region_within(region: Region | None, size: tuple[int, int]) -> Region:
    """Give the part of a region that lies in a picture of a size, moved and enlarged so that there is something to see."""
    if region is None:
        return (0, 0, *size)
    width, height = (min(max(wanted, MIN_REGION_PX), full) for wanted, full in zip(region[2:], size, strict=True))
    return min(region[0], size[0] - width), min(region[1], size[1] - height), width, height


def encode_preview(preview: Preview) -> bytes:
    """Give the bytes of a preview."""
    content = {
        "camera": preview.camera,
        "index": preview.index,
        "t_capture_ns": preview.t_capture_ns,
        "width": preview.size[0],
        "height": preview.size[1],
        "blobs": packed(np.column_stack([preview.points_px, preview.area_px, preview.sigma_px]), "<f4"),
        "kind": preview.kind,
        "region": preview.region,
        "mode": preview.mode,
        "level": -1 if preview.level is None else preview.level,
        "flooded": preview.flooded,
        "jpeg": preview.jpeg,
    }
    return bytes(msgpack.packb(content, use_bin_type=True))


def decode_preview(payload: bytes) -> Preview:
    """Give the preview of a message, its picture still encoded; raises MalformedMessageError."""
    content = unpacked_map(payload)
    blobs = floats_of(content, "blobs", 4, "<f4")
    if len(blobs) > MAX_BLOBS:
        raise MalformedMessageError(f"a preview of {len(blobs)} blobs came, at most {MAX_BLOBS}; it was dropped")
    size = (int_of(content, "width", 1, MAX_FULL_PX), int_of(content, "height", 1, MAX_FULL_PX))
    level = int_of(content, "level", -1, 255)
    return Preview(
        camera=int_of(content, "camera", 0, 1),
        index=int_of(content, "index"),
        t_capture_ns=int_of(content, "t_capture_ns"),
        size=size,
        points_px=np.ascontiguousarray(blobs[:, :2]),
        jpeg=field_of(content, "jpeg", bytes),
        area_px=np.ascontiguousarray(blobs[:, 2]),
        sigma_px=np.ascontiguousarray(blobs[:, 3]),
        kind=FOREGROUND if field_of(content, "kind", str) == FOREGROUND else PICTURE,
        region=_region_of(field_of(content, "region", list), size),
        mode=str(field_of(content, "mode", str))[:MAX_WORD],
        level=None if level < 0 else level,
        flooded=bool(field_of(content, "flooded", bool)),
    )


def _region_of(values: list[object], size: tuple[int, int]) -> Region:
    """Give a region that lies in the picture. Raises MalformedMessageError."""
    whole = [value for value in values if isinstance(value, int) and not isinstance(value, bool)]
    if len(values) == len(whole) == 4:
        x, y, width, height = whole
        if x >= 0 and y >= 0 and width > 0 and height > 0 and x + width <= size[0] and y + height <= size[1]:
            return x, y, width, height
    raise MalformedMessageError(f"a preview of a region outside of {size[0]}x{size[1]} pixels came; it was dropped")
