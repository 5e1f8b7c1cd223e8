"""A page for what stands in 3D."""

from collections.abc import Iterator

import pytest
import viser


@pytest.fixture(scope="module")
def server() -> Iterator[viser.ViserServer]:
    """Return a page that nobody looks at."""
    server = viser.ViserServer(host="127.0.0.1", port=0, verbose=False)
    yield server
    server.stop()
