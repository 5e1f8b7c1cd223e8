"""The viewer beside a run, in its real process: it says where its page is, speaks only when asked, and ends when told to."""

from dataclasses import replace

import pytest

from config.settings import Settings, StreamSettings, ViewerSettings
from tests.support.ports import free_address
from tools import viewer


def test_a_viewer_beside_a_run_keeps_quiet_unless_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it says unasked nobody reads while the run goes on: some minutes of that would fill the pipe and stop the page."""
    monkeypatch.setattr(viewer, "SEEN_S", 0.5)
    stream = replace(StreamSettings(), address=free_address(), service="")
    settings = replace(Settings(), stream=stream, viewer=replace(ViewerSettings(), port=0))
    process = viewer.ViewerProcess(viewer.ViewPlan(settings, browser=False))
    try:
        assert process.wait_ready().startswith("http://127.0.0.1:")
        assert not process._pipe.poll(2.0)
        process.wait_unseen()  # nobody ever looked, so it returns
        assert process._process.is_alive()
    finally:
        process.close()
    assert process._process.exitcode == 0
