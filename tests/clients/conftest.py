"""Fixtures that the tests of several clients share."""

from collections.abc import Iterator

import pytest

from stream.protocol.compose import compose_skeleton_message
from stream.publish.publisher import Publisher
from tests.support import fakes


@pytest.fixture
def publisher() -> Iterator[Publisher]:
    """Return a publisher of a subject's skeleton."""
    opened = Publisher("tcp://127.0.0.1:0")
    opened.publish(compose_skeleton_message(fakes.subject()))
    yield opened
    opened.close()
