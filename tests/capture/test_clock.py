"""The detector of suspends, with given clocks."""

import time

from capture.clock import SUSPEND_NS, SuspendDetector, read_both_clocks_ns

S = 1_000_000_000


def test_a_suspend_shows_in_either_clock() -> None:
    now = [0, 100 * S]
    suspend = SuspendDetector(lambda: (now[0], now[1]))

    def turn_after(first_ns: int, second_ns: int) -> int:
        now[0] += first_ns
        now[1] += second_ns
        return suspend.turn()

    assert turn_after(S // 20, S // 20) == 0
    assert turn_after(0, 12 * 60 * S) == 12 * 60 * S  # the clock of the timestamps stood still, as on Linux
    assert turn_after(S // 20, S // 20) == 0
    assert turn_after(SUSPEND_NS + 7, SUSPEND_NS + 7) == SUSPEND_NS + 7  # the process was stopped, or the system is Windows
    assert turn_after(SUSPEND_NS, SUSPEND_NS) == 0, "a long turn is none"


def test_both_clocks_of_this_machine_advance() -> None:
    first = read_both_clocks_ns()
    time.sleep(0.02)
    assert all(later - earlier >= 15_000_000 for earlier, later in zip(first, read_both_clocks_ns(), strict=True))
