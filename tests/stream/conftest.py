"""Fixtures that the tests of several pages share."""

import pytest

from tests.support.judges import program
from tests.support.ports import free_port


@pytest.fixture(scope="session")
def chromium() -> str:
    """Return the program, without which a test is skipped."""
    return program("chromium", "chromium-browser", "google-chrome")


@pytest.fixture
def port() -> int:
    """Return a port that nobody uses."""
    return free_port()
