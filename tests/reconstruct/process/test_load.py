"""When frames come faster than they can be solved: told once, and over when it has been calm for a while."""

from reconstruct.process.load import REST_NS, LoadWatch

TURN_NS = 25_000_000


def test_optional_work_rests_while_moments_are_skipped_and_goes_on_some_seconds_after() -> None:
    load, t_ns, changes = LoadWatch(), 0, []
    for k in range(600):
        t_ns += TURN_NS
        crowded = 100 <= k < 200
        if load.turn(2 if crowded else 1, int(crowded), t_ns):
            changes.append((k, load.late, load.words()))
    (begun, late, words), (ended, later, calm) = changes
    assert late and 100 <= begun < 110 and "moments of the last second were skipped" in words
    assert not later and ended - 200 > REST_NS // TURN_NS and "again" in calm


def test_one_hiccup_is_no_load() -> None:
    load = LoadWatch()
    assert not any(load.turn(1, 0, k * TURN_NS) for k in range(40))
    assert not load.turn(4, 2, 41 * TURN_NS) and not load.late
