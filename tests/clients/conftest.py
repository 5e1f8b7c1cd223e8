"""Fixtures that the tests of several clients share."""

from collections.abc import Iterator

import pytest

from stream.publish.publisher import Publisher
from tests.support.clients import SKELETON


@pytest.fixture
def publisher() -> Iterator[Publisher]:
    """Return a publisher of a subject's skeleton."""
    opened = Publisher("tcp://127.0.0.1:0")
    opened.publish(SKELETON)
    yield opened
    opened.close()
