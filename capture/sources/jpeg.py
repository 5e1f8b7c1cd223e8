"""JPEG images of cameras: whether they are complete, and their pixels.

A fault of the cable cuts an image short or leaves a hole in it; decoders fill what is missing with grey.
"""

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

START, END = b"\xff\xd8", b"\xff\xd9"
PADDING = 4096  # some drivers hand out buffers that are longer than the frame
MAX_PIXELS = 1 << 25  # a little more than 7680 x 4320: a header of a few bytes can ask for gigabytes
MAX_SEGMENTS = 256  # before the pixels
FRAME_HEADS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
GREY = 128  # of missing parts


def strip_jpeg_padding(data: bytes) -> bytes | None:
    """Return a JPEG without padding, None where its beginning or its end is missing."""
    if not data.startswith(START):
        return None
    if data.endswith(END):
        return data
    stripped = data.rstrip(b"\0")
    if stripped.endswith(END):
        return stripped
    end = data.rfind(END, max(0, len(data) - PADDING))
    return data[: end + 2] if end > 0 else None


def decode_whole_jpeg(jpeg: bytes) -> NDArray[np.uint8] | None:
    """Return the pixels, BGR; None where they cannot be decoded or the lower part is missing."""
    image = decode_jpeg(jpeg)
    return None if image is None or has_grey_end(image) else image


def decode_jpeg(jpeg: bytes) -> NDArray[np.uint8] | None:
    """Return the pixels, BGR; None where they cannot be decoded, or are more than MAX_PIXELS."""
    width, height = read_jpeg_size(jpeg)
    if not 0 < width * height <= MAX_PIXELS:
        return None
    try:
        image = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_COLOR)
    except cv2.error:
        return None
    return None if image is None else np.ascontiguousarray(image, np.uint8)


def read_jpeg_size(jpeg: bytes) -> tuple[int, int]:
    """Return width and height by the header of a JPEG [px] (ITU-T T.81, B.2.2), 0 and 0 where it has none."""
    at = len(START)
    for _ in range(MAX_SEGMENTS):
        if at + 9 > len(jpeg) or jpeg[at] != 0xFF:
            break
        marker = jpeg[at + 1]
        if marker in FRAME_HEADS:
            return int.from_bytes(jpeg[at + 7 : at + 9], "big"), int.from_bytes(jpeg[at + 5 : at + 7], "big")
        without_length = marker == 0x01 or 0xD0 <= marker <= 0xD9
        at += 1 if marker == 0xFF else 2 if without_length else 2 + int.from_bytes(jpeg[at + 2 : at + 4], "big")
    return 0, 0


def has_grey_end(image: NDArray[Any]) -> bool:
    """Return whether the last rows are all the decoder's grey, but the first ones are not."""
    return bool((image[-4:] == GREY).all()) and not bool((image[:4] == GREY).all())


def find_jpeg_bytes(data: NDArray[Any]) -> bytes | None:
    """Return the bytes of a compressed frame (one row or column of bytes), None for pixels."""
    flat = data.ndim == 1 or (data.ndim in (2, 3) and data.size == max(data.shape))
    return data.tobytes() if flat and data.dtype == np.uint8 else None
