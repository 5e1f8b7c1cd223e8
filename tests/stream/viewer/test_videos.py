"""The videos of a session beside its poses: the picture of a time, whatever was shown before."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from capture.recording.video import VideoWriter
from stream.viewer.videos import CameraVideo, VideoPart, open_session_pictures

STEP_NS = 33_333_333


@pytest.fixture
def part(tmp_path: Path) -> VideoPart:
    file = tmp_path / "left.mkv"
    t_ns = 5_000_000_000 + np.arange(40, dtype=np.int64) * STEP_NS
    video = VideoWriter(file, (64, 48), 30.0)
    for n, at_ns in enumerate(t_ns.tolist()):
        _, jpeg = cv2.imencode(".jpg", np.full((48, 64, 3), 6 * n, np.uint8))
        video.write(jpeg.tobytes(), at_ns)
    video.close()
    return VideoPart(file, t_ns)


def test_the_last_picture_up_to_a_time_is_shown(part: VideoPart) -> None:
    video = CameraVideo([part])
    for n in (30, 3, 4, 39, 0):
        shown = video.picture_at(int(part.t_ns[n]) + STEP_NS // 2)
        assert shown is not None and abs(float(shown.image.mean()) - 6 * n) < 2.0
    assert video.picture_at(int(part.t_ns[0]) - 1) is None
    video.close()


def test_a_take_outside_a_session_has_none(tmp_path: Path) -> None:
    assert open_session_pictures(tmp_path / "walk.mcap") is None
