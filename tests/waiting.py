"""Waiting for what other threads and processes do: as short as it takes, as long as a busy machine may need."""

import time
from collections.abc import Callable

PATIENCE_S = 30.0


def wait_until(holds: Callable[[], object], seconds: float = PATIENCE_S, pause_s: float = 0.005) -> None:
    """Return as soon as `holds` is true; fail when it is not after so long."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(pause_s)
