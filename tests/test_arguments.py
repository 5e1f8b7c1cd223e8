"""What commands check before they begin to work."""

from pathlib import Path

import pytest

from config.errors import DuocapError
from tools.arguments import check_sources


def test_a_source_that_is_not_there_is_told_first(tmp_path: Path) -> None:
    check_sources(str(tmp_path), None)
    with pytest.raises(DuocapError, match=r"^nothing: no such file or folder; give a video, a folder of images, or the folder"):
        check_sources(str(tmp_path), "nothing")


@pytest.mark.parametrize("camera", ["0", "/dev/video7", "rtsp://127.0.0.1:9/a", "http://user:geheim@127.0.0.1:9/video"])
def test_cameras_are_recorded_first_where_recordings_are_asked_for(camera: str, tmp_path: Path) -> None:
    """Whoever names a camera that runs is told to record, and no password is printed."""
    with pytest.raises(DuocapError, match=r"a camera that runs.*`duocap record`") as told:
        check_sources(str(tmp_path), camera)
    assert "geheim" not in str(told.value)
