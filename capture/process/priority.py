"""Lower the priority of processes that do optional work, so that what is needed in time runs first."""

import logging
import os
import sys

log = logging.getLogger(__name__)

NICE = 15
BELOW_NORMAL, IDLE = 0x4000, 0x40  # priority classes of Windows


def lower_priority(idle: bool = False, nice: int = NICE) -> None:
    """Let other processes run first. idle: run only while no other wants the processor, where the system can do that.

    Under the idle policy of Linux a process that wakes up takes over at once, while a nice one may finish its slice of some
    milliseconds. A system that refuses leaves the priority as it is.
    """
    try:
        if sys.platform == "win32":
            import ctypes

            kernel = ctypes.windll.kernel32
            kernel.SetPriorityClass(kernel.GetCurrentProcess(), IDLE if idle else BELOW_NORMAL)
            return
        os.nice(nice)
        if idle and sys.platform == "linux":
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    except (OSError, AttributeError) as error:
        log.debug("the priority stays as it is: %s", error)
