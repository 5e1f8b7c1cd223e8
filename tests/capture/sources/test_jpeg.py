"""JPEG images of cameras: their size by the header, complete or not."""

import cv2
import numpy as np
import pytest

from capture.sources.jpeg import decode_jpeg, decode_whole_jpeg, has_grey_end, read_jpeg_size, strip_jpeg_padding
from tests.support.cameras.device import picture


@pytest.mark.parametrize("size", [(320, 240), (16, 8), (1, 4095)])
def test_the_size_that_a_jpeg_announces(size: tuple[int, int]) -> None:
    jpeg = cv2.imencode(".jpg", np.full((size[1], size[0], 3), 7, np.uint8))[1].tobytes()
    assert read_jpeg_size(jpeg) == size and decode_jpeg(jpeg).shape == (size[1], size[0], 3)
    assert read_jpeg_size(jpeg[:30]) == read_jpeg_size(b"") == read_jpeg_size(jpeg[1:]) == (0, 0)
    at = jpeg.index(b"\xff\xc0")
    assert decode_jpeg(jpeg[: at + 5] + b"\xff\xff\xff\xff" + jpeg[at + 9 :]) is None


def test_jpegs_are_whole_or_nothing() -> None:
    jpeg = cv2.imencode(".jpg", picture((64, 48), 60, 1))[1].tobytes()
    assert (
        strip_jpeg_padding(jpeg) == jpeg
        and strip_jpeg_padding(jpeg + bytes(300)) == jpeg
        and strip_jpeg_padding(jpeg + b"\x01\x02") == jpeg
    )
    for damaged in (jpeg[:-1], jpeg[: len(jpeg) // 3], jpeg[2:], b"", b"\xff\xd8"):
        assert strip_jpeg_padding(damaged) is None
    assert decode_whole_jpeg(b"\xff\xd8garbage\xff\xd9") is None
    grey = np.full((48, 64, 3), 128, np.uint8)
    assert not has_grey_end(grey)  # a wall may well be grey all over
    grey[:24] = 40
    assert has_grey_end(grey)
