"""Why a camera cannot be opened, on a made-up system."""

from pathlib import Path

import pytest

from capture.sources.webcam.backends import AVFOUNDATION, DSHOW, MSMF, V4L2, describe_open_failure, find_programs_using


def test_why_a_camera_cannot_be_opened(tmp_path: Path) -> None:
    dev, proc = tmp_path / "dev", tmp_path / "proc"
    (proc / "4711" / "fd").mkdir(parents=True)
    (proc / "4711" / "comm").write_text("cheese\n", encoding="utf-8")
    dev.mkdir()
    assert "is not there" in describe_open_failure(0, V4L2, dev, proc, "linux")
    (dev / "video0").touch()
    assert "another program may be using it" in describe_open_failure(0, V4L2, dev, proc, "linux")
    try:
        (proc / "4711" / "fd" / "9").symlink_to(dev / "video0")
    except OSError:
        pytest.skip("this system has no links")
    assert find_programs_using(dev / "video0", proc) == ["cheese (process 4711)"]
    assert describe_open_failure(0, V4L2, dev, proc, "linux") == "cheese (process 4711) uses it; end that program"
    assert "--set camera.backend=msmf" in describe_open_failure(0, DSHOW, platform="win32")
    assert "--set camera.backend=dshow" in describe_open_failure(0, MSMF, platform="win32")
    assert "System Settings" in describe_open_failure(0, AVFOUNDATION, platform="darwin")


def test_a_device_of_others_names_the_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "video3").touch()
    monkeypatch.setattr("capture.sources.webcam.backends.os.access", lambda path, mode: False)
    assert "sudo usermod -aG video" in describe_open_failure(3, V4L2, tmp_path, tmp_path, "linux")
