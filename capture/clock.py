"""The clock of all timestamps, a detector of suspends, and the ways to find the time offset between two cameras."""

import sys
import time
from collections.abc import Callable
from enum import StrEnum


def now_ns() -> int:
    """Return monotonic nanoseconds that compare between processes of one machine.

    `time.perf_counter_ns` is system-wide since Python 3.10: CLOCK_MONOTONIC on Linux, mach_absolute_time on macOS (both also
    what `time.monotonic_ns` reads there) and the performance counter since boot on Windows, where `time.monotonic_ns` before
    Python 3.13 has steps of 16 ms, a whole frame.
    """
    return time.perf_counter_ns()


class OffsetMethod(StrEnum):
    """An event by which the time offset of two cameras is found."""

    FLASH = "flash"
    JUMP = "jump"


SUSPEND_NS = 5_000_000_000  # a turn of a loop takes a few hundredths of a second

Clocks = Callable[[], tuple[int, int]]


def read_both_clocks_ns() -> tuple[int, int]:
    """Return the clock of all timestamps and one that goes on while the machine sleeps [ns].

    The clock of the timestamps stands still in sleep on Linux and macOS; CLOCK_BOOTTIME and macOS's CLOCK_MONOTONIC do not. On
    Windows either goes on.
    """
    name = {"linux": "CLOCK_BOOTTIME", "darwin": "CLOCK_MONOTONIC"}.get(sys.platform, "")
    return now_ns(), time.clock_gettime_ns(getattr(time, name)) if name else time.monotonic_ns()


class SuspendDetector:
    """Notices that a loop stood still: the machine slept, or the process was stopped. Call `turn` in every turn of the loop."""

    def __init__(self, clocks: Clocks = read_both_clocks_ns) -> None:
        self._clocks, self._last = clocks, clocks()

    def turn(self) -> int:
        """Return how long the loop stood still, 0 if not unusually long [ns]."""
        before, self._last = self._last, self._clocks()
        gap_ns = max(now - then for now, then in zip(self._last, before, strict=True))
        return gap_ns if gap_ns > SUSPEND_NS else 0
