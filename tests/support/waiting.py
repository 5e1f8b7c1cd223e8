"""Waiting for what other threads and processes do: as short as it takes, as long as a busy machine may need."""

import os
import time
from collections.abc import Callable

import psutil

PATIENCE_S = 30.0


def alone() -> bool:
    """Return whether no other tests run beside this one and the machine is not busy: only then is it fair to look at the
    clock.
    """
    return "PYTEST_XDIST_WORKER" not in os.environ and psutil.getloadavg()[0] <= 2.0 * (os.cpu_count() or 1)


def wait_until(holds: Callable[[], object], seconds: float = PATIENCE_S, pause_s: float = 0.005) -> None:
    """Return as soon as `holds` is true; fail when it is not after so long."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(pause_s)
