"""Logs: who gets which line."""

import io
import logging
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.errors import SettingsError
from config.logs import LogSettings, find_current_logs, start_logs


@pytest.fixture(autouse=True)
def _restore() -> Iterator[None]:
    """Leave no handlers behind."""
    yield
    start_logs(LogSettings())
    root = logging.getLogger()
    for handler in [h for h in root.handlers if getattr(h, "from_duocap", False)]:
        root.removeHandler(handler)


def test_details_go_to_the_file_and_only_with_verbose_to_stderr(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "deep" / "run.log"
    start_logs(LogSettings(verbose=False, file=file), "left-camera")
    logging.getLogger("capture.video").debug("opened at 30 Hz")
    logging.getLogger("capture.video").warning("two frames dropped")
    logging.getLogger("numba.core").debug("byte code")
    err = capsys.readouterr().err.splitlines()
    assert len(err) == 1
    assert re.fullmatch(r"\d\d:\d\d:\d\d\.\d{3} left-camera WARNING capture\.video: two frames dropped", err[0])
    written = file.read_text("utf-8").splitlines()
    assert len(written) == 2 and written[0].endswith("left-camera capture.video: opened at 30 Hz")


def test_starting_again_replaces_the_handlers(capsys: pytest.CaptureFixture[str]) -> None:
    start_logs(LogSettings())
    start_logs(LogSettings(verbose=True))
    logging.getLogger("tools.x").debug("once")
    captured = capsys.readouterr()
    assert captured.err.count("once") == 1 and captured.out == ""
    assert find_current_logs() == LogSettings(verbose=True)


def test_stderr_is_looked_up_at_every_line(monkeypatch: pytest.MonkeyPatch) -> None:
    start_logs(LogSettings())
    progress_display = io.StringIO()
    monkeypatch.setattr(sys, "stderr", progress_display)
    logging.getLogger("tools.x").info("below the progress bar")
    assert "below the progress bar" in progress_display.getvalue()


def test_an_unwritable_log_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot write the log"):
        start_logs(LogSettings(file=tmp_path))
