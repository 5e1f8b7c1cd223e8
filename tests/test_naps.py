"""Sleep of the machine, by clocks that are passed in."""

import time

from capture.naps import NAP_NS, Naps, clocks_ns

S = 1_000_000_000


def test_a_nap_is_what_either_clock_shows() -> None:
    now = [0, 100 * S]
    naps = Naps(lambda: (now[0], now[1]))
    for _ in range(5):
        now[0] += S // 20
        now[1] += S // 20
        assert naps.turn() == 0
    now[1] += 12 * 60 * S  # the clock of the stamps stood still, as on Linux
    assert naps.turn() == 12 * 60 * S
    now[0] += S // 20
    now[1] += S // 20
    assert naps.turn() == 0
    now[0] += NAP_NS + 7  # both went on: the process was stopped, or the system is Windows
    now[1] += NAP_NS + 7
    assert naps.turn() == NAP_NS + 7


def test_a_long_turn_is_no_nap() -> None:
    now = [0]
    naps = Naps(lambda: (now[0], now[0]))
    now[0] += NAP_NS
    assert naps.turn() == 0


def test_both_clocks_of_this_machine_go_on() -> None:
    first = clocks_ns()
    time.sleep(0.02)
    second = clocks_ns()
    assert all(later - earlier >= 15_000_000 for earlier, later in zip(first, second, strict=True))
