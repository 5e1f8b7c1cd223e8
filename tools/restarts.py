"""When a process that died is started again: at once, then after growing pauses, and no more where that is of no use."""

from dataclasses import dataclass

FIRST_PAUSE_NS, MAX_PAUSE_NS = 500_000_000, 10_000_000_000
QUICK_NS = 5_000_000_000  # a process that dies within so long of being ready will do so again
GOOD_NS = 60_000_000_000  # one that has worked for so long begins with a clean record
MAX_QUICK = 3


@dataclass(slots=True)
class Restarts:
    """The record of one process: how often it was started again in all, lately, and in a row without having worked."""

    n: int = 0
    _lately: int = 0
    _quick: int = 0

    def died(self, worked_ns: int) -> int | None:
        """Give the pause before it is started again [ns], None where it shall not be. worked_ns: since it was ready, 0: never."""
        if worked_ns >= GOOD_NS:
            self._lately = self._quick = 0
        self._quick = self._quick + 1 if worked_ns < QUICK_NS else 0
        if self._quick > MAX_QUICK:
            return None
        pause_ns = min(FIRST_PAUSE_NS << (self._lately - 1), MAX_PAUSE_NS) if 0 < self._lately < 16 else 0
        self.n += 1
        self._lately = min(self._lately + 1, 15)
        return pause_ns


def duration_words(ns: int) -> str:
    """Say how long something took."""
    seconds = ns * 1e-9
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
