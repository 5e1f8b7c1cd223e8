"""A camera in words: what is told is shown, what is hostile is shown as text, what is missing breaks nothing."""

from typing import Any

import numpy as np
import pytest

from capture.process.preview_image import Preview
from stream.protocol.messages import StatusMessage
from stream.viewer.tuning.html import format_camera_html, format_offset_html


def status(camera: Any, calibration: dict[str, Any] | None = None) -> StatusMessage:
    return StatusMessage("s", 0, "tracking", {}, {}, {}, calibration or {}, {"left": camera})


def preview(n: int, mode: str = "dark", level: int | None = 68, flooded: bool = False) -> Preview:
    sigma = np.linspace(0.05, 0.15, n)
    return Preview(0, 1, 2, (640, 480), np.zeros((n, 2)), b"", sigma, sigma, mode=mode, level=level, flooded=flooded)


def test_all_that_matters_is_said() -> None:
    told = {"name": "C270", "state": "live", "health": "black", "fps": 29.96, "stamp": "driver", "skipped": 3, "repeated": 0}
    html = format_camera_html("left", status(told), preview(14))
    for words in ("C270", ">live<", "black", "14 markers", "to 0.10 px", "bright spots in the dark, brighter than 68 of 255"):
        assert words in html, words
    for words in ("640×480", "30.0 frames/s", "stamped by its driver", "3 skipped"):
        assert words in html, words
    assert "the same again" not in html and "sharpness" not in html
    assert "sharpness 12.3" in format_camera_html("left", status(told), preview(14), 12.34)
    assert "1 marker<" in format_camera_html("left", status(told), preview(1))
    assert "Nearly all is foreground" in format_camera_html("left", status(told), preview(0, flooded=True))
    assert "colours in a lit room<" in format_camera_html("left", status(told), preview(3, "color", None))


@pytest.mark.parametrize("camera", [None, 5, "x", [], {}, {"fps": "many", "stamp": [1], "name": None, "health": {}, "state": {}}])
def test_anything_may_come(camera: Any) -> None:
    assert "no picture" in format_camera_html("left", status(camera), None)


def test_hostile_words_stay_words() -> None:
    evil = "<img src=x onerror=alert(1)>"
    html = format_camera_html("left", status({"name": evil, "health": evil, "state": evil, "stamp": evil}), preview(2, evil))
    assert "<img" not in html and "&lt;img" in html
    assert "no word of it" in format_camera_html("left", None, None)


def test_the_offset_is_said_with_its_sign_and_when_it_matters() -> None:
    def words(offset: object, sigma: object) -> str:
        return format_offset_html(status({}, {"time_offset_ms": offset, "time_offset_sigma_ms": sigma}))

    assert "8.3 ± 0.4 ms</b> late" in words(8.26, 0.4)
    assert "12.0 ± 1.0 ms</b> early" in words(-12.0, 1.0)
    assert "agree, to <b>2.0 ms" in words(0.5, 2.0)
    third = format_offset_html(
        status({}, {"time_offset_ms": 8.26, "third_time_offset_ms": -12.0, "third_time_offset_sigma_ms": 1.0})
    )
    assert (
        "right camera's stamps are <b>8.3 ms</b> late" in third
        and "third camera's stamps are <b>12.0 ± 1.0 ms</b> early" in third
    )
    assert "Nothing is known" in words("x", 1.0) and "Nothing is known" in format_offset_html(None)
