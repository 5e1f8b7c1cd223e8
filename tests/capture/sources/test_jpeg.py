"""JPEG images of cameras: their size by the header, complete or not."""

import cv2
import numpy as np
import pytest

from capture.sources.jpeg import announced_size, decoded, ends_grey, pixels, whole_jpeg
from tests.support.cameras.device import picture


@pytest.mark.parametrize("size", [(320, 240), (16, 8), (1, 4095)])
def test_the_size_that_a_jpeg_announces(size: tuple[int, int]) -> None:
    jpeg = cv2.imencode(".jpg", np.full((size[1], size[0], 3), 7, np.uint8))[1].tobytes()
    assert announced_size(jpeg) == size and pixels(jpeg).shape == (size[1], size[0], 3)
    assert announced_size(jpeg[:30]) == announced_size(b"") == announced_size(jpeg[1:]) == (0, 0)
    at = jpeg.index(b"\xff\xc0")
    assert pixels(jpeg[: at + 5] + b"\xff\xff\xff\xff" + jpeg[at + 9 :]) is None


def test_jpegs_are_whole_or_nothing() -> None:
    jpeg = cv2.imencode(".jpg", picture((64, 48), 60, 1))[1].tobytes()
    assert whole_jpeg(jpeg) == jpeg and whole_jpeg(jpeg + bytes(300)) == jpeg and whole_jpeg(jpeg + b"\x01\x02") == jpeg
    for damaged in (jpeg[:-1], jpeg[: len(jpeg) // 3], jpeg[2:], b"", b"\xff\xd8"):
        assert whole_jpeg(damaged) is None
    assert decoded(b"\xff\xd8garbage\xff\xd9") is None
    grey = np.full((48, 64, 3), 128, np.uint8)
    assert not ends_grey(grey)  # a wall may well be grey all over
    grey[:24] = 40
    assert ends_grey(grey)
