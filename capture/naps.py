"""Was the machine asleep? Told by two clocks: one that may stand still meanwhile, and one that goes on."""

import sys
import time
from collections.abc import Callable

from capture.clock import now_ns

NAP_NS = 5_000_000_000  # a turn takes a few hundredths of a second; after so long nothing that was silent can be blamed

Clocks = Callable[[], tuple[int, int]]


def clocks_ns() -> tuple[int, int]:
    """Give the clock of all stamps and one that goes on while the machine sleeps [ns].

    The clock of the stamps stands still in sleep on Linux and macOS; CLOCK_BOOTTIME and macOS's CLOCK_MONOTONIC do not. On
    Windows either goes on.
    """
    name = {"linux": "CLOCK_BOOTTIME", "darwin": "CLOCK_MONOTONIC"}.get(sys.platform, "")
    return now_ns(), time.clock_gettime_ns(getattr(time, name)) if name else time.monotonic_ns()


class Naps:
    """Notices that a loop did not turn for long: the machine slept, or the process was stopped. Call `turn` in every turn."""

    def __init__(self, clocks: Clocks = clocks_ns) -> None:
        self._clocks, self._last = clocks, clocks()

    def turn(self) -> int:
        """Give how long nothing turned until now, 0 where it was no nap [ns]."""
        before, self._last = self._last, self._clocks()
        gap_ns = max(now - then for now, then in zip(self._last, before, strict=True))
        return gap_ns if gap_ns > NAP_NS else 0
