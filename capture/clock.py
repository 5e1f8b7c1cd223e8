"""The one clock that stamps frames, blobs and poses in every process."""

import time


def now_ns() -> int:
    """Give monotonic nanoseconds that compare between processes of one machine.

    `time.perf_counter_ns` is system-wide since Python 3.10: CLOCK_MONOTONIC on Linux, mach_absolute_time on macOS (both also
    what `time.monotonic_ns` reads there) and the performance counter since boot on Windows, where `time.monotonic_ns` before
    Python 3.13 steps by 16 ms, a whole frame.
    """
    return time.perf_counter_ns()
